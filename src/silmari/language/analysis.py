"""Text to the tokens that BM25 counts, and a question to weighted tokens, in one way for every engine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from silmari.language import latin
from silmari.language.korean import Korean, Word
from silmari.language.names import passage_names, spelled_names
from silmari.language.normalise import clean, normalise

# Raise it whenever the same text gives other tokens or names: bases that were built before must be rebuilt.
ANALYSER_VERSION = 5
# Of a question, so much is analysed; a longer one is a pasted document.
MAX_QUESTION_CHARS = 4_000

# No token of a word begins with this sign, so a bigram never meets a word.
BIGRAM = "#"

# Measured over all sets with one setting, see docs/notes-sparse.md; the optimum is flat.
STEM_WEIGHT = 1.0
COMPOUND_WEIGHT = 0.5
BIGRAM_WEIGHT = 0.5
SPELLED_WEIGHT = 0.3

_KOREAN_STOP_WORDS = frozenset(
    # Interrogatives, requests, demonstratives, and verbs and nouns that every text has.
    "누구 무엇 뭐 무어 뭣 어디 언제 왜 어찌 어떻다 어떠하다 어떻 어떤 어느 몇 며칠 얼마 얼마나 무슨 "
    "어떻게 알리다 알다 설명 서술 말하다 말씀 가르치다 찾다 궁금 궁금하다 답 답하다 대답 질문 제시 "
    "여부 이것 그것 저것 여기 거기 저기 이 그 저 우리 저희 나 너 당신 대하다 관하다 위하다 "
    "따르다 통하다 의하다 있다 없다 하다 되다 이다 아니다 주다 같다 보다 가지다 이루어지다 이렇다 "
    "그렇다 그러다 그리고 그러나 그런데 따라서 또는 및 혹은 또한 또 등 때문 경우 만약 만일".split()
)
_LATIN_STOP_WORDS = frozenset(map(latin.word, latin.STOP_WORDS | latin.QUESTION_WORDS))


class Analysed(NamedTuple):
    """What is kept of a passage: its tokens and its names, each joined by single blanks."""

    tokens: str
    names: str


class Analyser:
    """The one analysis of passages and questions. Thread-safe; Kiwi is loaded when Hangul first comes.

    Args:
        user_dictionary: Words that Kiwi should know, one a line; see `silmari.language.korean.Korean`.

    Attributes:
        fingerprint: Changes when the same text may give other tokens.

    Raises:
        UsageError: The user dictionary cannot be used.
    """

    def __init__(self, user_dictionary: Path | None = None) -> None:
        self._korean = Korean(user_dictionary)
        words = hashlib.sha256(user_dictionary.read_bytes()).hexdigest()[:12] if user_dictionary else "none"
        packages = ("kiwipiepy", "kiwipiepy_model", "snowballstemmer")
        self.fingerprint = "-".join(
            [f"silmari-{ANALYSER_VERSION}", *(f"{name}-{version(name)}" for name in packages), f"words-{words}"]
        )

    def tokens(self, text: str) -> list[str]:
        """Return the tokens under which `text` is found, repeated as often as they count.

        No token is empty, holds a blank, or is longer than 64 characters and the bigram sign.
        """
        shown = normalise(text)
        return indexed(shown, self._korean.words(shown))

    def tokens_many(self, texts: Sequence[str]) -> list[list[str]]:
        """Return `tokens` of each text; Korean analysis runs on all cores."""
        shown = [normalise(text) for text in texts]
        analysed = self._korean.words_many(shown)
        return [indexed(text, words) for text, words in zip(shown, analysed, strict=True)]

    def passages_many(self, parts: Sequence[tuple[str, str]]) -> list[Analysed]:
        """Analyse passages, Korean ones on all cores.

        Args:
            parts: Context (title and headings) and text of each. The context's words count twice, since
                they say what the passage is about.

        Returns:
            Tokens as `tokens` gives them, and names as `silmari.language.names.passage_names` does.
        """
        heads = [normalise(f"{context}\n") if context else "" for context, _ in parts]
        shown = [head + head + normalise(text) for head, (_, text) in zip(heads, parts, strict=True)]
        analysed = self._korean.analysed_many(shown)
        return [
            Analysed(" ".join(indexed(text, words)), " ".join(passage_names(*part, text, nouns, 2 * len(head))))
            for part, head, text, (words, nouns) in zip(parts, heads, shown, analysed, strict=True)
        ]

    def names(self, text: str) -> list[str]:
        """Return the names in `text` as it spells them, in its order: runs of capitals and of nouns, quoted terms."""
        shown = normalise(text)
        ((_, nouns),) = self._korean.analysed_many([shown])
        return spelled_names(clean(text), shown, nouns)

    def query(self, text: str) -> dict[str, float]:
        """Return the tokens of a question, each with the weight that its BM25 is multiplied by.

        Stop words and question words (누구, 알려줘, what) are left out, unless nothing else is there.
        Only the first 4,000 characters count.
        """
        shown = normalise(text[:MAX_QUESTION_CHARS])
        return asked(shown, self._korean.words(shown))


def indexed(text: str, words: Sequence[Word]) -> list[str]:
    """Return the tokens of a normalised text, given its Korean words."""
    tokens = [token for piece in latin.pieces(text) for token in piece]
    for word in words:
        # Within one word nothing counts twice: 서울 is spelled like its only stem.
        tokens.extend(dict.fromkeys([*word.stems, *word.compounds, word.spelled]))
        tokens.extend(BIGRAM + pair for pair in word.bigrams)
    return tokens


def asked(text: str, words: Sequence[Word]) -> dict[str, float]:
    """Return the weighted tokens of a normalised question, given its Korean words."""
    telling: dict[str, float] = {}
    idle: dict[str, float] = {}
    for token, weight, stop in _weighed(text, words):
        chosen = idle if stop else telling
        # A word that a question repeats is not asked for twice.
        chosen[token] = max(weight, chosen.get(token, 0.0))
    return telling or idle


def _weighed(text: str, words: Sequence[Word]) -> Iterator[tuple[str, float, bool]]:
    """Each token of a question with its weight and whether it is a stop word."""
    for piece in latin.pieces(text):
        for token in piece:
            yield token, 1.0, token in _LATIN_STOP_WORDS
    for word in words:
        stops = [stem in _KOREAN_STOP_WORDS for stem in word.stems]
        # 무엇인가요: all of it only asks.
        idle = all(stops) and not word.compounds
        for stem, stop in zip(word.stems, stops, strict=True):
            yield stem, STEM_WEIGHT, stop
        for compound in word.compounds:
            yield compound, COMPOUND_WEIGHT, False
        for pair in word.bigrams:
            yield BIGRAM + pair, BIGRAM_WEIGHT, idle
        yield word.spelled, SPELLED_WEIGHT, idle
