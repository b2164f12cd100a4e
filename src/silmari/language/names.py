"""Names in a text: what it speaks of, in Korean and in English, by rule and without a language model.

A *topic* is what a passage is about: its title, or the name that its first sentence marks as its topic
(``세종대왕은 …``, ``Vienna is …``). A *mention* is any name that it holds. Both are given by their
`silmari.language.normalise.key`, so that ``㈜한빛 전자는`` and ``한빛전자`` meet.

A name that is missed costs a link; a common word that is taken for a name costs little, since words of many
passages link nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from silmari.language.korean import Noun
from silmari.language.latin import QUESTION_WORDS, STOP_WORDS
from silmari.language.normalise import clean, key

MAX_NAME_CHARS = 80
# Words of one name at most, and names side by side that may be one (앨버트 아인슈타인).
_LONGEST = 8
_SIDE_BY_SIDE = 4
_FIRST_CHARS = 160

# Initials and a few titles keep their full stop; any other stop ends a name.
_TOKEN = re.compile(r"(?:[^\W\d_]\.)+(?!\w)|(?:Dr|Mr|Mrs|Ms|St|Jr|Sr|Prof|Mt)\.|[^\W_][\w'’\-]*|[^\w\s]")
_INNER = frozenset(
    "of the de da do del della di du van von der den la le las los el for in on at to a y e and &".split()
)
# Where a run may also end: "Vienna and Graz" are two names, "Trinidad and Tobago" is one.
_LOOSE = frozenset("for in on at to a and &".split())
_QUOTED = re.compile(
    r"“([^“”\n]{2,60})”|「([^「」\n]{2,60})」|『([^『』\n]{2,60})』|《([^《》\n]{2,60})》|〈([^〈〉\n]{2,60})〉"
    r'|(?<![\w"])"(?=\S)([^"\n]{2,60})(?<=\S)"(?![a-zA-Z0-9"])|(?<!\w)‘([^‘’\n]{2,60})’(?!\w)'
)
_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]")
_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)
_IS = re.compile(r"\s(?:is|was|are|were|refers|has|had|became)\s")
# Jakob Bernoulli (1654–1705): he was
_HEAD = re.compile(r"\s*(?P<head>[^\s:.!?(（][^:.!?\n(（]{1,60}(?:[(（][^()（）\n]{0,60}[)）])?):\s")
_AFTER_BRACKETS = re.compile(r"\s?[(（][^()（）]*[)）](?:은|는|이란|란)\s")
_POSSESSIVE = re.compile(r"['’]s?$")
# Punctuation around a name is not of it.
_EDGES = re.compile(r"^[\W_]+|[^\w.)+#]+$")
_JOINT = frozenset({"", " ", "\u00a0"})
# Capitalised only because they begin a sentence.
_OPENERS = frozenset(
    "however although moreover therefore meanwhile additionally furthermore finally later since like unlike among "
    "despite according following originally currently today although because many several another see note".split()
)
_COMMON = STOP_WORDS | QUESTION_WORDS | _OPENERS
_STOP = re.compile(r"(?<=[a-z]{2})[.!?]\s")


# What a key in `passage_names` may begin with; none of a name's own does.
TITLE = "="
MARKED = "~"


def passage_names(context: str, text: str, shown: str, nouns: Sequence[Noun], begin: int) -> list[str]:
    """The names of a passage, each once.

    Args:
        context: Its title and headings, joined by `` > ``.
        text: As it was read.
        shown: Both in the normalised form that was analysed, `text` from `begin` on.
        nouns: The runs of nouns in `shown`.
        begin: Where in `shown` the text begins.

    Returns:
        Keys without blanks: those of title and headings after `TITLE`, that of the name which the first
        sentence marks as its topic after `MARKED`, then all that are mentioned, titles included.
    """
    clear = clean(text)
    titles = [one for part in context.split(" > ") for one in title_keys(part)]
    marked = topic(clear, shown, [noun for noun in nouns if noun.start >= begin])
    mentioned = [*latin_names(clear), *name_keys(quoted(clear)), *korean_names(shown, nouns)]
    return [
        *(TITLE + one for one in dict.fromkeys(titles)),
        *(MARKED + one for one in marked),
        *dict.fromkeys([*titles, *marked, *mentioned]),
    ]


def title_keys(title: str) -> list[str]:
    """The keys under which a title is named: all of it, without its brackets, without its article."""
    spelled = [title, _BRACKETS.sub("", title)]
    spelled += [_ARTICLE.sub("", one, count=1) for one in spelled]
    return name_keys(clean(one).replace("_", " ") for one in spelled)


def entity_keys(names: Iterable[str]) -> list[str]:
    """The keys of names that somebody else has marked as such: whole, without an article."""
    return name_keys(_ARTICLE.sub("", clean(one).strip(), count=1) for one in names)


def name_keys(spelled: Iterable[str]) -> list[str]:
    """Distinct keys, in order, of those that name something."""
    found = (_EDGES.sub("", key(one)) for one in spelled if len(one) <= MAX_NAME_CHARS)
    return [one for one in dict.fromkeys(found) if telling(one)]


def telling(one: str) -> bool:
    """Whether a key says something: it has a letter, more than one character, and is no common word."""
    return len(one) > 1 and one not in _COMMON and any(char.isalpha() for char in one)


def spelled_names(text: str, shown: str, nouns: Sequence[Noun]) -> list[str]:
    """Names as they are spelled, each once, such as those of a question.

    Args:
        text: As it was written.
        shown: Its normalised form, which was analysed.
        nouns: The runs of nouns in `shown`; those side by side count as one name here.
    """
    runs: list[tuple[int, int]] = []
    for noun in nouns:
        if runs and shown[runs[-1][1] : noun.start] == " ":
            runs[-1] = (runs[-1][0], noun.end)
        else:
            runs.append((noun.start, noun.end))
    korean = (shown[start:end] for start, end in runs)
    found: dict[str, str] = {}
    for one in [*_latin(text), *quoted(text), *korean]:
        for same in name_keys([one]):
            found.setdefault(same, one)
    return list(found.values())


def latin_names(text: str) -> list[str]:
    """Keys of the runs of capitalised words, and of their parts where a run may be several names."""
    return name_keys(_latin(text))


def _latin(text: str) -> list[str]:
    found: list[str] = []
    run: list[str] = []
    inner: list[str] = []
    end = 0
    for match in _TOKEN.finditer(text):
        word, blank = match[0], text[end : match.start()]
        end = match.end()
        if run and len(run) < _LONGEST and blank in _JOINT:
            if word[0].isupper() or (word[0].isdigit() and not inner):
                run += [*inner, word]
                inner = []
                continue
            if word.lower() in _INNER and len(inner) < 2:
                inner.append(word)
                continue
        found += _parts(run)
        run, inner = [word] if word[0].isupper() else [], []
    return [*found, *_parts(run)]


def _parts(run: list[str]) -> Iterator[str]:
    """A run, and what it has between its loose connectors, without words that begin any sentence."""
    while run and run[0].lower() in _COMMON:
        run = run[1:]
    parts: list[list[str]] = [[]]
    for word in run:
        if word.lower() in _LOOSE:
            parts.append([])
        elif parts[-1] or word.lower() not in _INNER:
            parts[-1].append(word)
    for words in [run, *parts] if len(parts) > 1 else [run]:
        if words:
            yield _POSSESSIVE.sub("", " ".join(words))


def korean_names(text: str, nouns: Sequence[Noun]) -> list[str]:
    """Keys of the runs of nouns written as one, and of up to four of them side by side."""
    found: list[str] = []
    for at, noun in enumerate(nouns):
        end = noun.end
        found.append(text[noun.start : end])
        for other in nouns[at + 1 : at + _SIDE_BY_SIDE]:
            if text[end : other.start] != " ":
                break
            end = other.end
            found.append(text[noun.start : end])
    return name_keys(found)


def quoted(text: str) -> Iterator[str]:
    """Quoted terms, as they are spelled."""
    return (match[match.lastindex or 0] for match in _QUOTED.finditer(text))


def topic(text: str, shown: str, nouns: Sequence[Noun]) -> list[str]:
    """The key of the name that the first sentence marks as its topic, if it marks one."""
    begin = nouns[0].start if nouns else 0
    for at, noun in enumerate(nouns):
        if noun.start - begin > _FIRST_CHARS:
            break
        if noun.topic or _AFTER_BRACKETS.match(shown, noun.end):
            first = at
            while at - first < _SIDE_BY_SIDE and first and shown[nouns[first - 1].end : nouns[first].start] == " ":
                first -= 1
            return name_keys([shown[nouns[first].start : noun.end]])
    said = _HEAD.match(text) or _IS.search(text, 0, _FIRST_CHARS)
    if said is None:
        return []
    head = _ARTICLE.sub(
        "",
        _BRACKETS.sub("", text[: said.end("head") if said.re is _HEAD else said.start()]).partition(",")[0].strip(),
        count=1,
    )
    words = head.split()
    plain = head[:1].isupper() and len(words) <= _LONGEST and words[0].lower() not in _COMMON
    return name_keys([head]) if plain and not _STOP.search(head) else []
