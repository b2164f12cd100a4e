"""What a sentence or row needs around it to be understood: the sentence before it, the head of its table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from silmari.answering.units import Unit

# Of a sentence that says something; a Hangul syllable counts twice.
_SHORT = 16
_ENDS = re.compile(r"[.!?。！？…][\"'”’)\]」』》]*$|(다|요|음|임|함|됨)[\"'”’)\]]*$")
_BULLET = re.compile(r"\s*[-*•·▪◦‣○●]\s")
_NAMED = re.compile(r"\s*(?:[-*•·▪◦‣○●]\s+)?[^:\n|]{1,30}:\s+\S")
_PIPED = re.compile(r"\|.*\|\s*$")
_LEANS_BACK = re.compile(
    r"(그|그녀|그들|이들|저들|이|이것|그것|이곳|그곳|여기|거기|이때|그때|당시|이날|동사|당사자|전자|후자|둘|양측)"
    r"(은|는|이|가|을|를|의|에|에서|에게|도|만|로|으로|와|과)?(?=[\s,])"
    r"|(이|그|해당|위|상기|이러한|그러한|이런|그런|이와 같은)\s+[가-힣]"
    r"|(또한|또|그러나|그런데|하지만|그리고|따라서|그래서|그러므로|반면|한편|다만|즉|이어|이후|이에|이로써|이를|아울러|게다가|결국|더욱이|왜냐하면|때문에)(?=[\s,])"
    r"|(he|she|it|they|this|that|these|those|his|her|its|their|there|such|both|the (former|latter|same)|however|but|"
    r"therefore|thus|hence|moreover|furthermore|also|then|instead|so|and|or|meanwhile|nevertheless|additionally|"
    r"in addition|as a result|for this reason|afterwards?|later|similarly|likewise|consequently)\b",
    re.I,
)


def leans_back(text: str) -> bool:
    """Whether a sentence begins with a word that points to the one before it."""
    return bool(_LEANS_BACK.match(text))


def incomplete(text: str) -> bool:
    """Whether a piece of prose cannot stand alone: a heading, a name, a question, a word or two."""
    if is_piped(text):
        return False
    return _size(text) < _SHORT or not _ENDS.search(text) or text.endswith(("?", "？"))


def stands_in_list(text: str) -> bool:
    """Whether a piece without the end of a sentence is an item of a list, or a name with its value."""
    return bool(_BULLET.match(text)) or has_name(text)


def has_name(text: str) -> bool:
    """Whether a line says what its value is, such as ``Place: room 402``."""
    return bool(_NAMED.match(text)) and not text.endswith(("?", "？"))


def is_piped(text: str) -> bool:
    """Whether a line is a row of a table that is drawn with bars, as in Markdown."""
    return bool(_PIPED.match(text)) and text.count("|") > 2


def heads(units: Sequence[Unit]) -> dict[int, int]:
    """For the place of each row drawn with bars, that of the first row of its table, which names the columns."""
    found: dict[int, int] = {}
    first: int | None = None
    for place, unit in enumerate(units):
        if not is_piped(unit.text):
            first = None
        elif first is None:
            first = place
        else:
            found[place] = first
    return found


def _size(text: str) -> int:
    return len(text) + sum("가" <= char <= "힣" for char in text)
