"""The few repairs that every text gets before anything counts its characters."""

from __future__ import annotations

import re
import unicodedata

# Marks that are never seen and that split words for a search: NUL, soft hyphen, zero-width blank, word joiner,
# byte order mark and the noncharacters U+FFFE and U+FFFF. The zero-width joiners stay: Hindi and Persian spell
# with them.
_UNSEEN = re.compile("[\x00\u00ad\u200b\u2060\ufeff\ufffe\uffff]")
_LINE_END = re.compile("\r\n?|[\x85\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f]")


def clean(text: str) -> str:
    r"""Make `text` storable and comparable without changing what a reader sees.

    Returns:
        NFC (decomposed Hangul is put together), ``\n`` at line ends, without NUL, soft hyphens, byte order
        marks and noncharacters; other control characters become blanks, and a lone surrogate, which no
        database takes, becomes U+FFFD.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _CONTROL.sub(" ", _UNSEEN.sub("", _LINE_END.sub("\n", text)))
    return unicodedata.normalize("NFC", text)
