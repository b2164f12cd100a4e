"""Plain text and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from silmari.model import Prose
from silmari.reading.cleaning import clean
from silmari.reading.content import Content
from silmari.reading.limits import Limits

MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd")

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NOT_HEADING = re.compile(r"\s*(?:[-*+>|#]|\d+[.)]\s|```|~~~)")
_FIELD = re.compile(r"([A-Za-z_]+)\s*[:=]\s*(.*?)\s*$")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARK = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")

_DATE_LABEL = re.compile(
    r"\W{0,4}(?:작성\s?일[자시]?|등록\s?일[자시]?|게시\s?일[자시]?|발행\s?일[자시]?|배포\s?일[자시]?|보도\s?일[자시]?|공고\s?일[자시]?"
    r"|시행\s?일[자시]?|수정\s?일[자시]?|입력\s?일?시?|최종\s?수정\s?일?|일\s?[자시]|날\s?짜|기준\s?일[자시]?"
    r"|date|dated|published(?:\s+on)?|posted(?:\s+on)?|issued(?:\s+on)?|created(?:\s+on)?|(?:last\s+)?updated(?:\s+on)?"
    r"|effective(?:\s+date)?|release\s+date|publication\s+date)\W{0,4}[:：]\W{0,4}(.{4,60})",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+", re.IGNORECASE)
_AFTER_DATE = re.compile(r"\s*[(|/]|\s{2,}|\s+\d{1,2}:\d{2}|,\s")
_HEAD_LINES = 15
_ALONE_LINES = 5
_MAX_TITLE = 80


def read(data: bytes, name: str, limits: Limits) -> Content:
    """Read a text file.

    Markdown (told by the suffix of `name`) gives one section a heading, each an exact slice of the file's text
    with its place in it as ``{"chars": [start, end]}``; other text is one section. `limits` holds nothing for
    text beyond the size, which the door checks.

    Returns:
        Category ``text``. The title is the front matter's or the first top heading (Markdown), or a short first
        line that is followed by a blank one. A date is one that the front matter or the head of the text states.
    """
    from silmari.reading.encoding import decode

    text = clean(decode(data))
    if name.lower().endswith(MARKDOWN_SUFFIXES):
        return _markdown(text)
    date = _stated_date(text)
    return Content("text", _plain_title(text), (Prose(text),), date, "content" if date else None)


@dataclass(frozen=True, slots=True)
class _Part:
    """A heading (level 0: none), where it begins, and where the text below it stands."""

    level: int
    heading: str
    at: int
    start: int
    end: int


def _markdown(text: str) -> Content:
    matter, body = _front_matter(text)
    parts = list(_parts(text, body))
    sections = tuple(_sections(text, parts))
    title = _unquoted(matter.get("title", "")) or next((part.heading for part in parts if part.level == 1), "")
    stated = _unquoted(matter.get("date", ""))
    date = (_parsed(stated) if stated else None) or _stated_date(text[body:])
    return Content("text", title, sections, date, "content" if date else None)


def _front_matter(text: str) -> tuple[dict[str, str], int]:
    """Fields of the block between ``---`` (or ``+++``) lines at the top, and where the text goes on.

    Only simple ``name: value`` lines count; nested YAML is passed over.
    """
    fence = text[:3]
    if fence not in ("---", "+++") or text[3:4] != "\n":
        return {}, 0
    ending = re.compile(r"^(?:---|\.\.\.)[ \t]*$" if fence == "---" else r"^\+\+\+[ \t]*$", re.MULTILINE)
    stop = ending.search(text, 4)
    if not stop:
        return {}, 0
    fields = (_FIELD.match(line) for line in text[4 : stop.start()].split("\n"))
    return {field[1].lower(): field[2] for field in fields if field}, stop.end()


def _parts(text: str, body: int) -> Iterator[_Part]:
    """Cut Markdown at its headings; what stands in code fences is never one."""
    level, heading, at, start = 0, "", body, body
    fence = ""
    before: tuple[int, str] | None = None
    for begin, line in _lines(text, body):
        marks = _FENCE.match(line)
        if fence:
            if marks and marks[1].startswith(fence) and not line.strip().strip(marks[1][0]):
                fence = ""
            before = None
            continue
        if marks:
            fence, before = marks[1], None
            continue
        atx, setext = _ATX.match(line), _SETEXT.match(line)
        if atx and (found := _shown(atx[2] or "")):
            yield _Part(level, heading, at, start, begin)
            level, heading, at, start = len(atx[1]), found, begin, begin + len(line)
            before = None
        elif setext and before:
            yield _Part(level, heading, at, start, before[0])
            level, heading, at = 1 if setext[1][0] == "=" else 2, _shown(before[1]), before[0]
            start = begin + len(line)
            before = None
        else:
            # Only a paragraph of one line can be a heading that the next line underlines.
            alone = before is None and line.strip() and not _NOT_HEADING.match(line)
            before = (begin, line) if alone and text[:begin].rstrip(" \t")[-2:] in ("\n\n", "\n", "") else None
    yield _Part(level, heading, at, start, len(text))


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    for line in text[start:].split("\n"):
        yield start, line
        start += len(line) + 1


def _sections(text: str, parts: list[_Part]) -> Iterator[Prose]:
    above: list[_Part] = []
    for number, part in enumerate(parts):
        while above and part.level and above[-1].level >= part.level:
            above.pop()
        if part.level:
            above.append(part)
        body = text[part.start : part.end]
        start, end = part.start + len(body) - len(body.lstrip()), part.start + len(body.rstrip())
        path = [each.heading for each in above]
        if start < end:
            start -= _indent(text, start, part.start)
        elif part.level and not (number + 1 < len(parts) and parts[number + 1].level > part.level):
            # A heading with nothing below it is itself the text; one with deeper headings is in their path.
            start, end = part.at, part.start
            path.pop()
        if start < end:
            yield Prose(text[start:end], {"chars": [start, end]}, " > ".join(path))


def _indent(text: str, start: int, low: int) -> int:
    """How far the first line is indented: an indented code block keeps its first blanks."""
    line = text.rfind("\n", low, start) + 1
    return start - max(line, low)


def _shown(heading: str) -> str:
    """A heading without links, emphasis and anchors."""
    return " ".join(_MARK.sub("", _LINK.sub(r"\1", re.sub(r"\{#[^}]*\}\s*$", "", heading))).split())


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1].strip() if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _plain_title(text: str) -> str:
    """The first line if it is clearly a title: short, alone, no sentence, no date, no field."""
    lines = text.lstrip("\n").split("\n", 2)
    if len(lines) < 3 or lines[1].strip() or not lines[2].strip():
        return ""
    first = " ".join(lines[0].split())
    if not 2 <= len(first) <= _MAX_TITLE or first[-1] in ".?!。,;:…" or _DATE_LABEL.match(first):
        return ""
    if re.match(r"[-*+>|=~\d]|\[\d", first) and not re.match(r"\d{4}년|\d+\. ?\S", first):
        return ""
    return "" if re.match(r"[^:：]{1,20}[:：]\s", first) or (_parsed(first) and len(first) < 15) else first


def _stated_date(text: str) -> str | None:
    """The date that the head of a text states: after a label, or alone on one of the first lines."""
    head = [line for line in text[:3000].split("\n") if line.strip()][:_HEAD_LINES]
    for line in head:
        if (label := _DATE_LABEL.match(line)) and (found := _leading(label[1])):
            return found
    for line in head[:_ALONE_LINES]:
        bare = line.strip(" \t()[]<>*_#-–—.")
        if len(bare) <= 30 and any(char.isdigit() for char in bare) and (found := _parsed(bare)):
            return found
    return None


def _parsed(value: str) -> str | None:
    from silmari.reading.dates import parse_date

    return parse_date(value)


def _leading(value: str) -> str | None:
    """The date at the beginning of what follows a label: mail headers have a weekday before, pages more behind it."""
    bare = _WEEKDAY.sub("", value).strip(" *_")
    shorter = (bare, *(bare[: cut.start()] for cut in _AFTER_DATE.finditer(bare)))
    return next((found for part in shorter if (found := _parsed(part.strip(" ,(*_")))), None)
