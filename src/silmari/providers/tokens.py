"""How many tokens a text has, without the model's tokenizer."""

from __future__ import annotations

import math
import re

_PIECES = re.compile(
    r"(?P<wide>[가-힣\u3040-\u30ff\u3400-\u9fff]+)|(?P<latin>[A-Za-z]+)|(?P<digits>\d+)|(?P<space>[^\S\n]+)|(?P<other>.)",
    re.S,
)


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model counts, without its tokenizer; rather too many.

    A Hangul syllable or CJK character counts one (the newer vocabularies need 0.6 to 0.9, the older
    1.2), a Latin word one for every five letters begun, digits one for every three.
    """
    total = 0.0
    for match in _PIECES.finditer(text):
        kind, length = match.lastgroup, match.end() - match.start()
        if kind == "wide":
            total += length
        elif kind == "latin":
            total += math.ceil(length / 5)
        elif kind == "digits":
            total += math.ceil(length / 3)
        elif kind == "other":
            total += 1 if ord(match[0]) < 0x3000 else 1.5
        elif length > 4:
            total += length / 4
    return math.ceil(total)
