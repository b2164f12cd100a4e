"""The compound file format of the old Office programs: names of its streams, and their bytes."""

from __future__ import annotations

import datetime as dt
import struct
from array import array
from dataclasses import dataclass

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_END = 0xFFFFFFFA  # from here on sector numbers are marks (free, end of chain, table)
_MINI_CUTOFF = 4096


class DamagedFileError(ValueError):
    """The bytes do not follow the format."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    kind: int
    start: int
    size: int


class CompoundFile:
    """A read-only view of a compound file that lies in memory; every chain is bounded by its length.

    Raises:
        DamagedFileError: If header, sector table or directory cannot be followed.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < 512 or not data.startswith(MAGIC):
            raise DamagedFileError("no compound file header")
        self._data = data
        shift, mini_shift = struct.unpack_from("<HH", data, 30)
        if shift not in (9, 12) or mini_shift != 6:
            raise DamagedFileError("sector sizes are wrong")
        self._size = 1 << shift
        directory, mini_table = struct.unpack_from("<I", data, 48)[0], struct.unpack_from("<I", data, 60)[0]
        self._table = self._sector_table()
        self._entries = self._directory(self._chain(directory))
        self._mini_table = _numbers(self._chain(mini_table)) if mini_table < _END else array("I")
        root = next((entry for entry in self._entries if entry.kind == 5), None)
        self._mini = self._chain(root.start) if root and root.start < _END else b""

    @property
    def names(self) -> frozenset[str]:
        """Names of all streams and storages, at any depth."""
        return frozenset(entry.name for entry in self._entries)

    def stream(self, *names: str) -> bytes | None:
        """Bytes of the first stream that has one of these names (any case), or None."""
        wanted = [name.lower() for name in names]
        for name in wanted:
            for entry in self._entries:
                if entry.kind == 2 and entry.name.lower() == name:
                    return self._read(entry)
        return None

    def _read(self, entry: _Entry) -> bytes:
        if entry.size >= _MINI_CUTOFF:
            return self._chain(entry.start)[: entry.size]
        pieces, sector, table = [], entry.start, self._mini_table
        for _ in range(len(table) + 1):
            if sector >= len(table):
                break
            pieces.append(self._mini[sector * 64 : sector * 64 + 64])
            sector = table[sector]
        return b"".join(pieces)[: entry.size]

    def _sector(self, number: int) -> bytes:
        start = (number + 1) * self._size
        return self._data[start : start + self._size]

    def _sector_table(self) -> array[int]:
        numbers = [n for n in struct.unpack_from("<109I", self._data, 76) if n < _END]
        following = struct.unpack_from("<I", self._data, 68)[0]
        most = len(self._data) // self._size + 1
        while following < _END and len(numbers) <= most:
            sector = self._sector(following)
            if len(sector) < self._size:
                break
            values = _numbers(sector)
            numbers += [n for n in values[:-1] if n < _END]
            following = values[-1]
        if len(numbers) > most:
            raise DamagedFileError("the sector table is longer than the file")
        return _numbers(b"".join(map(self._sector, numbers)))

    def _chain(self, first: int) -> bytes:
        pieces, sector, table = [], first, self._table
        for _ in range(len(table)):
            if sector >= len(table):
                break
            pieces.append(self._sector(sector))
            sector = table[sector]
        return b"".join(pieces)

    @staticmethod
    def _directory(data: bytes) -> list[_Entry]:
        entries = []
        for at in range(0, len(data) - 127, 128):
            length, kind = struct.unpack_from("<HB", data, at + 64)
            if kind not in (1, 2, 5) or not 2 <= length <= 64:
                continue
            name = data[at : at + length - 2].decode("utf-16-le", errors="replace")
            start, size = struct.unpack_from("<II", data, at + 116)
            entries.append(_Entry(name, kind, start, size))
        if not entries:
            raise DamagedFileError("the directory is empty")
        return entries


@dataclass(frozen=True, slots=True)
class Summary:
    """Title and day of the last change (ISO), as the program that wrote the file noted them."""

    title: str = ""
    date: str | None = None


def summary(container: CompoundFile) -> Summary:
    """The document properties; empty where there are none or they cannot be read."""
    data = container.stream("\x05SummaryInformation") or b""
    try:
        start = struct.unpack_from("<I", data, 44)[0]
        count = min(struct.unpack_from("<I", data, start + 4)[0], 100)
        pairs = [struct.unpack_from("<II", data, start + 8 + 8 * index) for index in range(count)]
        places = {key: start + offset for key, offset in pairs}
        page = struct.unpack_from("<H", data, places[1] + 4)[0] if 1 in places else 0
        title = _property_text(data, places[2], page) if 2 in places else ""
        days = [day for key in (13, 12) if key in places and (day := _property_day(data, places[key]))]
    except (struct.error, LookupError, ValueError, OverflowError):
        return Summary()
    return Summary(title, days[0] if days else None)


def _property_text(data: bytes, at: int, page: int) -> str:
    kind, length = struct.unpack_from("<II", data, at)
    if kind != 30 or length > 4096:
        return ""
    encoding = {1200: "utf-16-le", 65001: "utf-8"}.get(page, f"cp{page or 1252}")
    return data[at + 8 : at + 8 + length].decode(encoding, errors="replace").partition("\0")[0].strip()


def _property_day(data: bytes, at: int) -> str | None:
    kind, ticks = struct.unpack_from("<IQ", data, at)
    if kind != 64 or not ticks:
        return None
    day = dt.datetime(1601, 1, 1) + dt.timedelta(microseconds=ticks // 10)
    return day.date().isoformat() if day.year >= 1980 else None


def _numbers(data: bytes) -> array[int]:
    values: array[int] = array("I")
    values.frombytes(data[: len(data) // 4 * 4])
    if struct.pack("=I", 1) != struct.pack("<I", 1):
        values.byteswap()
    return values
