"""Which files a person means: files, folders, globs, less what is never content."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# One of them lies in the folder of every knowledge base.
KNOWLEDGE_BASE_FILES = frozenset(("silmari.sqlite", "silmari.postgresql"))
_PASSED_FOLDERS = frozenset(("__pycache__", "node_modules", "$recycle.bin", "system volume information", "__macosx"))
_PASSED_FILES = frozenset(("thumbs.db", "desktop.ini", "ehthumbs.db"))
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read, or a place that cannot be read.

    Attributes:
        path: As it stands on the disk (its name may be decomposed Unicode).
        problem: None, or one sentence without the path that says what is wrong.
    """

    path: Path
    problem: str | None = None


def discover(paths: Sequence[str | Path], exclude: Sequence[str] = ()) -> Iterator[Found]:
    """Find the files that `paths` name, each once, always in the same order.

    Passed over inside of folders and globs: hidden files and folders, lock files of Office programs
    (``~$…``), ``__pycache__``, ``node_modules``, knowledge bases, and what is no regular file. A file
    that is named itself is taken even then. Links to folders are followed, each real folder once.

    Args:
        paths: Files, folders (with all folders below) and glob patterns, where ``**`` spans folders.
            An existing file whose name contains glob characters is meant literally.
        exclude: Glob patterns of files and folders to leave out, compared with the name and with the
            path below the named folder; upper and lower case are alike.

    Yields:
        Files, and problems: a path that does not exist, a pattern that matches nothing, a folder or
        link that cannot be opened.
    """
    excluded = _excluder(exclude)
    seen: set[str] = set()
    for given in paths:
        if not str(given).strip():  # to Python the empty path is the working folder, to a person a slip
            yield Found(Path(given), "was given as an empty path; name a file or folder")
            continue
        for found in _expand(Path(given).expanduser(), excluded):
            key = written(os.path.abspath(found.path))
            if key not in seen:
                seen.add(key)
                yield found


def on_disk(path: Path) -> Path | None:
    """The path as the disk spells it, found in any normal form of Unicode; None if there is none.

    Systems differ in how they store ``가``: as one character or decomposed, as the same name or two. A name
    with bytes that are no UTF-8 is found as it is `written` too.
    """
    if os.path.lexists(path):
        return path
    if str(path).isascii() and "\\udc" not in str(path):
        return None
    anchor = Path(path.anchor) if path.anchor else Path()
    current = anchor
    for part in path.parts[1:] if path.anchor else path.parts:
        step = current / part
        if not os.path.lexists(step):
            wanted = written(part)
            try:
                names = sorted(os.listdir(current))
            except OSError:
                return None
            same = next((name for name in names if written(name) == wanted), None)
            if same is None:
                return None
            step = current / same
        current = step
    return current


def glob_regex(pattern: str) -> re.Pattern[str]:
    """A glob as a pattern for whole relative paths with ``/``, NFC, upper and lower case alike.

    ``*`` and ``?`` stay within one name, ``**`` as a whole part spans any number of folders.
    """
    pattern = unicodedata.normalize("NFC", pattern.replace(os.sep, "/"))
    pieces = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            pieces.append("(?:[^/]+/)*")
            at += 3
            continue
        if pattern[at:] == "**" and (at == 0 or pattern[at - 1] == "/"):
            pieces.append(".*")
            break
        if char == "*":
            pieces.append("[^/]*")
        elif char == "?":
            pieces.append("[^/]")
        elif char == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            negated = inner[0] in "!^"
            pieces.append(f"[{'^' if negated else ''}{inner[1:] if negated else inner}]")
            at = end
        else:
            pieces.append(re.escape(char))
        at += 1
    try:
        return re.compile("".join(pieces), re.IGNORECASE | re.DOTALL)
    except re.error:  # a set such as [z-a], which matches nothing
        return re.compile(r"(?!)")


_Test = Callable[[str], bool]


def _excluder(patterns: Sequence[str]) -> _Test:
    compiled = [glob_regex(pattern.removeprefix("./").rstrip("/")) for pattern in patterns if pattern.strip("./")]

    def excluded(relative: str) -> bool:
        name = relative.rpartition("/")[2]
        return any(pattern.fullmatch(relative) or pattern.fullmatch(name) for pattern in compiled)

    return excluded


def _expand(path: Path, excluded: _Test) -> Iterator[Found]:
    real = on_disk(path)
    if real is None and (refused := _refused(path)):
        yield Found(path, refused)
        return
    if real is None:
        if _MAGIC.search(str(path)):
            yield from _glob(path, excluded)
        else:
            yield Found(path, "does not exist; check how it is spelled")
        return
    try:
        mode = os.stat(real).st_mode
    except OSError as error:
        yield Found(real, _reason(error))
        return
    if stat.S_ISDIR(mode):
        yield from _walk(real, excluded)
    elif excluded(written(real.name)):
        return
    elif stat.S_ISREG(mode):
        yield Found(real)
    else:
        yield Found(real, "is no regular file")


def _refused(path: Path) -> str | None:
    """Why one may not even see whether there is something at a path, or None."""
    try:
        os.lstat(path)
    except PermissionError as error:
        return _reason(error)
    except (OSError, ValueError):
        pass
    return None


def _glob(path: Path, excluded: _Test) -> Iterator[Found]:
    parts = path.parts
    first = next(index for index, part in enumerate(parts) if _MAGIC.search(part))
    root = on_disk(Path(*parts[:first])) if first else Path()
    if root is None or not os.path.isdir(root):
        yield Found(path, "matches nothing: the folder before the pattern does not exist")
        return
    wanted = glob_regex("/".join(parts[first:]))
    deep = len(parts) - first if "**" not in parts else None
    matched = False
    for found in _walk(root, excluded, depth=deep, inside=wanted):
        if found.problem is None:
            matched = True
        yield found
    if not matched:
        yield Found(path, "matches no file")


def _walk(
    root: Path, excluded: _Test, *, depth: int | None = None, inside: re.Pattern[str] | None = None
) -> Iterator[Found]:
    """Files below a folder: real folders first, then what links lead to, so that links name nothing twice.

    With `inside`, only files whose path below `root` matches it, and everything below folders that do.
    """
    visited: set[tuple[int, int]] = set()
    links: deque[tuple[Path, str, bool]] = deque()
    stack: list[tuple[Path, str, bool]] = [(root, "", inside is None)]
    while stack or links:
        folder, relative, whole = stack.pop() if stack else links.popleft()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: written(entry.name))
        except OSError as error:
            yield Found(folder, _reason(error))
            continue
        if folder != root and any(entry.name in KNOWLEDGE_BASE_FILES for entry in listed):
            continue
        below: list[tuple[Path, str, bool]] = []
        for entry in listed:
            name = written(entry.name)
            path = f"{relative}{name}"
            if _is_passed(name) or excluded(path):
                continue
            taken = whole or (inside is not None and inside.fullmatch(path) is not None)
            try:
                if entry.is_dir():
                    if not whole and not taken and depth is not None and path.count("/") + 1 >= depth:
                        continue
                    queue = links if entry.is_symlink() else below
                    queue.append((folder / entry.name, f"{path}/", taken))
                elif taken and entry.is_file():
                    yield Found(folder / entry.name)
                elif taken and entry.is_symlink() and not os.path.exists(entry.path):
                    yield Found(folder / entry.name, "is a link to nothing")
            except OSError as error:
                yield Found(folder / entry.name, _reason(error))
        stack.extend(reversed(below))


def _is_passed(name: str) -> bool:
    lower = name.lower()
    return name.startswith((".", "~$")) or lower in _PASSED_FOLDERS or lower in _PASSED_FILES


def written(name: str) -> str:
    """A name as it is written down: NFC, and bytes of it that are no UTF-8 as escapes."""
    return unicodedata.normalize("NFC", name).encode("utf-8", "backslashreplace").decode("utf-8")


def _reason(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "may not be opened: give yourself the right to read it"
    if isinstance(error, FileNotFoundError):
        return "does not exist any more"
    return f"cannot be opened: {error.strerror or error}"
