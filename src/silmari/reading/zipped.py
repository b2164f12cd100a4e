"""Zip containers that lie in memory: their members' real bytes, whatever sizes the directory claims."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator

from silmari.errors import UnreadableError
from silmari.reading.limits import Limits

MAGIC = b"PK\x03\x04"
_PIECE = 1 << 20
_BIG = 64 << 20  # below this no member is worth a second thought
_MAX_MEMBERS = 20_000


def members(data: bytes) -> dict[str, zipfile.ZipInfo]:
    """The members by name.

    Raises:
        UnreadableError: If the directory is damaged or absurdly long.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError, EOFError) as error:
        raise UnreadableError("is a damaged zip container; open it in its program and save it anew") from error
    if len(infos) > _MAX_MEMBERS:
        raise UnreadableError(f"holds {len(infos):,} parts, more than a document has")
    found = {info.filename: info for info in infos}
    if len(found) < len(infos):  # programs disagree on which of two parts of one name counts
        raise UnreadableError("is a damaged zip container; open it in its program and save it anew")
    return found


def check_inflation(data: bytes, infos: dict[str, zipfile.ZipInfo], limits: Limits) -> None:
    """Refuse a container whose directory already admits that it inflates beyond the limits."""
    total = sum(info.file_size for info in infos.values())
    if total > limits.max_inflated_bytes:
        raise too_large(limits)
    for info in infos.values():
        if info.file_size > _BIG and info.file_size > limits.max_inflation * max(1, info.compress_size):
            raise _bomb(info.filename)


def pieces(data: bytes, info: zipfile.ZipInfo, limits: Limits) -> Iterator[bytes]:
    """One member's bytes, a megabyte at a time, counted as they really are.

    Raises:
        UnreadableError: If the member is damaged, encrypted, packed in an unusual way or inflates too far.
    """
    if info.flag_bits & 1:
        raise UnreadableError("is protected by a password; save a copy without it")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnreadableError("is packed in a way that workbooks do not use; open it in its program and save it anew")
    head = data[info.header_offset : info.header_offset + 30]
    if len(head) < 30 or not head.startswith(MAGIC):
        raise UnreadableError("is a damaged zip container; open it in its program and save it anew")
    start = info.header_offset + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    packed = memoryview(data)[start : start + info.compress_size]
    if info.compress_type == zipfile.ZIP_STORED:
        for at in range(0, len(packed), _PIECE):
            yield bytes(packed[at : at + _PIECE])
        return
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    total, at = 0, 0
    rest: bytes = b""
    while not inflater.eof:
        if not rest:
            rest = bytes(packed[at : at + _PIECE])
            at += _PIECE
        try:
            piece = inflater.decompress(rest, _PIECE)
        except zlib.error as error:
            raise UnreadableError(
                "is damaged: one of its parts cannot be unpacked; open it in its program and save it anew"
            ) from error
        exhausted = not rest and not piece
        rest = inflater.unconsumed_tail
        total += len(piece)
        if total > limits.max_inflated_bytes:
            raise too_large(limits)
        if total > _BIG and total > limits.max_inflation * max(1, info.compress_size):
            raise _bomb(info.filename)
        if piece:
            yield piece
        elif exhausted:
            raise UnreadableError("is cut short: one of its parts ends too early; copy it again")


def member(data: bytes, info: zipfile.ZipInfo, limits: Limits, most: int = 64 << 20) -> bytes:
    """A small member as a whole; an UnreadableError if it is longer than `most` bytes."""
    parts, total = [], 0
    for piece in pieces(data, info, limits):
        total += len(piece)
        if total > most:
            raise UnreadableError(f"has a part {info.filename!r} that is too large to be what it claims")
        parts.append(piece)
    return b"".join(parts)


def too_large(limits: Limits) -> UnreadableError:
    """The error for a container that inflates beyond the limit."""
    return UnreadableError(
        f"unpacks to more than {limits.max_inflated_bytes >> 20:,} MB, which is more than is read; split it"
    )


def _bomb(name: str) -> UnreadableError:
    return UnreadableError(f"has a part {name!r} that unpacks to far more than any real one (a zip bomb)")
