"""What the local engine has published: one small JSON file, replaced atomically.

Everything else in the engine's folder is either named in it or garbage of an unfinished write.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import get_args

from silmari.errors import KnowledgeBaseError
from silmari.model import Kind

KINDS: tuple[Kind, ...] = get_args(Kind)
# Raised when the files' layout changes: an engine of another layout counts as never filled.
_LAYOUT = 1
_NAME = "state.json"
# How often Windows is asked again when another process has the state file open.
_PATIENCE = 50
_OURS = re.compile(rf"(?:text|{'|'.join(KINDS)})-(\d+)(?:[.-].*)?|{re.escape(_NAME)}\.new")


@dataclass(frozen=True, slots=True)
class VectorState:
    """The published part of one kind's vectors.

    Attributes:
        generation: Number in the names of its files.
        dim: Length of a vector; 0 while there is none.
        rows: Published rows, dead ones included.
        dead: Published entries of the list of dead rows.
        graph: File name of the HNSW graph, or None.
        check: The graph file's checksum.
        covered: The graph holds the living of the first `covered` rows.
    """

    generation: int
    dim: int = 0
    rows: int = 0
    dead: int = 0
    graph: str | None = None
    check: str = ""
    covered: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """What readers may see.

    Attributes:
        base: Which knowledge base is mirrored.
        epoch: Which run of its change log.
        seq: The last change that is in.
        text: Folder name of the text index.
        opstamp: The text index's own count of operations; an index with less is not the one published.
        vectors: One entry a kind.
    """

    base: str
    epoch: str
    seq: int
    text: str
    opstamp: int
    vectors: Mapping[Kind, VectorState] = field(default_factory=dict)


def read_raw(folder: Path) -> bytes | None:
    """The state file as it stands, or None if there is none.

    Raises:
        KnowledgeBaseError: It is there and may not be read.
    """
    for _ in range(_PATIENCE):
        try:
            return (folder / _NAME).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            reason = problem
            if os.name != "nt" or not isinstance(problem, PermissionError):
                break
            time.sleep(0.01)  # Windows: it is being replaced
    raise KnowledgeBaseError(
        f"The search index in {folder} cannot be read ({reason.strerror}): give this user the right to read it."
    ) from reason


def parse(raw: bytes) -> State | None:
    """The state in `raw`, or None if it is damaged or of another layout."""
    try:
        found = json.loads(raw)
        if found.pop("layout") != _LAYOUT:
            return None
        vectors = {kind: VectorState(**found["vectors"][kind]) for kind in KINDS}
        return State(**{**found, "vectors": vectors})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def publish(folder: Path, state: State) -> bytes:
    """Replace the state file durably; returns what was written."""
    raw = json.dumps({"layout": _LAYOUT, **asdict(state)}, ensure_ascii=False).encode()
    fresh = folder / f"{_NAME}.new"
    with fresh.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    replace(fresh, folder / _NAME)
    return raw


def replace(source: Path, target: Path) -> None:
    """Rename over `target` and make the rename durable."""
    for attempt in range(_PATIENCE):
        try:
            os.replace(source, target)
            break
        except PermissionError:
            # Windows refuses while a reader has the file open, which takes it microseconds.
            if os.name != "nt" or attempt == _PATIENCE - 1:
                raise
            time.sleep(0.01)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make names in `folder` durable, where the system has such a thing."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def next_generation(folder: Path, state: State | None) -> int:
    """A number that no file of the engine carries or carried, so that nothing a reader has open is written over."""
    names = [path.name for path in folder.iterdir()]
    if state is not None:
        names.append(state.text)
        for kind, vectors in state.vectors.items():
            names += [f"{kind}-{vectors.generation}", vectors.graph or ""]
    return max((int(match[1]) for name in names if (match := _OURS.fullmatch(name)) and match[1]), default=0) + 1


def clean(folder: Path, state: State) -> None:
    """Remove what earlier generations and unfinished writes left; what cannot be removed now is left for later."""
    kept = {state.text}
    for kind, vectors in state.vectors.items():
        kept |= {f"{kind}-{vectors.generation}.{suffix}" for suffix in ("f16", "rows", "dead")}
        kept |= {vectors.graph or ""}
    for path in folder.iterdir():
        if path.name in kept or not _OURS.fullmatch(path.name):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            try:
                path.unlink()
            except OSError:  # Windows: a reader still has it mapped
                continue
