"""Millions of keys without a dictionary of strings: sorted hashes, and the keys themselves as one run of bytes.

The hash of a key is a polynomial of its characters, so that those of all parts of a text come from one pass over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_BASE = np.uint64(0x9E6C63D0676A9A99)
_INVERSE = np.uint64(pow(0x9E6C63D0676A9A99, -1, 1 << 64))
_MIX = np.uint64(0x9E3779B97F4A7C15)
# Keys hashed at a time, and bits of the filter for each key: 1 in 128 of other texts passes it.
_CHUNK = 50_000
_FILTER_BITS = 7
_SMALLEST = 13


def prefixes(text: str) -> tuple[Hashes, Hashes]:
    """What the hashes of all parts of a text are made of: see `parts`."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    powers = np.full(len(codes) + 1, _BASE, np.uint64)
    inverses = np.full(len(codes) + 1, _INVERSE, np.uint64)
    powers[0] = inverses[0] = 1
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum((codes + np.uint64(1)) * _MIX * np.cumprod(powers)[:-1], out=sums[1:])
    return sums, np.cumprod(inverses)


def parts(text: tuple[Hashes, Hashes], starts: NDArray[Any], ends: NDArray[Any]) -> Hashes:
    """The hashes of ``text[start:end]`` for each pair."""
    sums, inverses = text
    mixed: Hashes = (sums[ends] - sums[starts]) * inverses[starts]
    return mixed ^ (mixed >> np.uint64(32))


def _hashes(keys: Sequence[str]) -> Hashes:
    found = [np.empty(0, np.uint64)]
    for first in range(0, len(keys), _CHUNK):
        chunk = keys[first : first + _CHUNK]
        ends = np.cumsum([len(key) for key in chunk])
        found.append(parts(prefixes("".join(chunk)), np.concatenate([[0], ends[:-1]]), ends))
    return np.concatenate(found)


class Keys:
    """Keys by number, from 0, and numbers by key.

    Args:
        ends: Where each key begins in `blob` and, last, where the last one ends.
        blob: All keys in UTF-8.
        hashes: Of the keys, ascending.
        order: The key's number for each hash.
        sizes: The lengths, in characters, that keys have.
    """

    def __init__(
        self,
        ends: NDArray[np.int64],
        blob: NDArray[np.uint8],
        hashes: Hashes,
        order: NDArray[np.int32],
        sizes: NDArray[np.int64],
    ) -> None:
        self._ends, self._blob, self._known, self._order = ends, blob, hashes, order
        self._sizes: set[int] = set(sizes.tolist())
        self._later: dict[int, str] = {}
        self._later_numbers: dict[str, int] = {}
        self._later_hashes: set[int] = set()
        self._gone: set[int] = set()
        self._count = len(ends) - 1
        self._filter: NDArray[np.uint8] | None = None

    @classmethod
    def build(cls, keys: Sequence[str]) -> Keys:
        """Number keys in their order; an empty one is a number without a key."""
        raw = [key.encode("utf-8", "surrogatepass") for key in keys]
        ends = np.zeros(len(raw) + 1, np.int64)
        np.cumsum([len(one) for one in raw], out=ends[1:])
        hashes = _hashes(keys)
        order = np.argsort(hashes, kind="stable")
        sizes = np.unique([len(key) for key in keys]).astype(np.int64)
        blob = np.frombuffer(b"".join(raw), np.uint8)
        return cls(ends, blob, hashes[order], order.astype(np.int32), sizes[sizes > 0])

    def __len__(self) -> int:
        return self._count

    @property
    def sizes(self) -> list[int]:
        """The lengths, in characters, that keys have or had, ascending."""
        return sorted(self._sizes)

    def key(self, number: int) -> str:
        """The key with this number; empty if it has none."""
        if number in self._later:
            return self._later[number]
        if number in self._gone or number + 1 >= len(self._ends):
            return ""
        return self._blob[self._ends[number] : self._ends[number + 1]].tobytes().decode("utf-8", "surrogatepass")

    def number(self, key: str, hashed: np.uint64 | None = None) -> int | None:
        """The number of a key, or None; `hashed` is its hash, where that is at hand."""
        if key in self._later_numbers:
            return self._later_numbers[key]
        if not key:
            return None
        wanted = _hashes([key])[0] if hashed is None else hashed
        at = int(self._known.searchsorted(wanted))
        while at < len(self._known) and self._known[at] == wanted:
            number = int(self._order[at])
            if self.key(number) == key:
                return number
            at += 1
        return None

    def put(self, number: int, key: str) -> None:
        """Give a number its key; an empty one takes it away."""
        if self.key(number) == key:
            return
        former = self._later.pop(number, "")
        if self._later_numbers.get(former) == number:
            del self._later_numbers[former]
        self._gone.add(number)
        self._count = max(self._count, number + 1)
        if key:
            self._later[number] = key
            self._later_numbers[key] = number
            self._sizes.add(len(key))
            hashed = _hashes([key])
            self._later_hashes.add(int(hashed[0]))
            if self._filter is not None:
                self._mark(self._filter, hashed)

    def take(self, keys: Iterable[str]) -> list[int]:
        """The number of each key; unknown ones get the next numbers."""
        found = []
        for key in keys:
            number = self.number(key)
            if number is None:
                number = self._count
                self.put(number, key)
            found.append(number)
        return found

    def perhaps(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Which of these are hashes of keys; of a few, the key may be gone or another one."""
        if self._filter is None:
            bits = max(_SMALLEST, int(self._count).bit_length() + _FILTER_BITS)
            self._shift = np.uint64(64 - bits)
            self._filter = np.zeros(1 << (bits - 3), np.uint8)
            self._mark(self._filter, self._known)
            self._mark(self._filter, np.array(sorted(self._later_hashes), np.uint64))
        spot, bit = self._spots(hashes)
        passed: NDArray[np.bool_] = (self._filter[spot] & bit) > 0
        chosen = np.flatnonzero(passed)
        some = hashes[chosen]
        at = np.searchsorted(self._known, some)
        held = np.zeros(len(some), bool)
        inside = at < len(self._known)
        held[inside] = self._known[at[inside]] == some[inside]
        if self._later_hashes:
            held |= np.fromiter((one in self._later_hashes for one in some.tolist()), bool, len(some))
        passed[chosen] = held
        return passed

    def __iter__(self) -> Iterator[str]:
        return (self.key(number) for number in range(self._count))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the constructor takes, all changes in it, for a snapshot."""
        if self._gone or self._later:
            fresh = Keys.build(list(self))
            self.__dict__.update(fresh.__dict__)
        sizes = np.array(self.sizes, np.int64)
        return {"ends": self._ends, "blob": self._blob, "hashes": self._known, "order": self._order, "sizes": sizes}

    def _mark(self, filter_: NDArray[np.uint8], hashes: Hashes) -> None:
        spot, bit = self._spots(hashes)
        np.bitwise_or.at(filter_, spot, bit)

    def _spots(self, hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        mixed = (hashes * _MIX) >> self._shift
        return (mixed >> np.uint64(3)).astype(np.int64), np.uint8(1) << (mixed & np.uint64(7)).astype(np.uint8)
