"""What may be done to a name so that it meets another spelling of it."""

from __future__ import annotations

from enum import IntEnum

from silmari.language.titles import TITLE_FIELDS


class Made(IntEnum):
    """How a form was made of a name."""

    # The whole name, without accents and punctuation; of a lower-case common word; without what is surely not of it
    # (article, legal form); one of two names that it spells side by side.
    WHOLE = 0
    COMMON = 1
    BARE = 2
    BESIDE = 3
    GENERATION = 10
    QUALIFIED = 11
    PLACED = 12
    LAST = 13
    FIRST = 14
    FIRSTS = 15
    KIND_OF_PLACE = 16
    EPITHET = 17
    PART = 18
    MIDDLE = 19
    INVERTED = 20
    CLIPPED = 21
    ADDRESSED = 22
    CALLED_AFTER = 23
    # Pairs of which one has the one, one the other.
    ACRONYM = 30
    EXPANDED = 31
    TWO_LETTERS = 32
    ABBREVIATED = 33
    FULL = 34
    HANGUL = 35
    LATIN = 36
    SURNAMED = 37
    GIVEN_NAMED = 38
    CODE = 39
    CODED = 40
    ALIKE = 41
    # With the number of the title's field added; the first field is the neutral one.
    TITLED = 50


NEUTRAL_TITLE = Made.TITLED
TITLED_END = Made.TITLED + len(TITLE_FIELDS)


class Found:
    """The forms of one name, as they are found.

    Attributes:
        core: The name without article, legal form and title, so that two names with one core are no rivals.
        forms: Each once, in the order in which they were found.
    """

    __slots__ = ("core", "forms")

    def __init__(self, whole: str, made: Made) -> None:
        self.core = whole
        self.forms: dict[tuple[str, int], None] = {(whole, int(made)): None}

    def add(self, text: str, made: int) -> None:
        """Note a form."""
        if text:
            self.forms[text, int(made)] = None

    def add_bare(self, text: str) -> None:
        """Note what is left of the name without what is surely not of it."""
        self.core = text
        self.add(text, Made.BARE)

    def add_titled(self, text: str, field: str) -> None:
        """Note what is left of the name without a title of a field."""
        self.core = text
        self.add(text, Made.TITLED + TITLE_FIELDS.index(field))
