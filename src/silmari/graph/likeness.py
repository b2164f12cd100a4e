"""How surely names that share a form mean the same, by what was done to each of them.

A short name that several longer ones continue is shared among them; below `LEAST` there is no edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from silmari.language.made import NEUTRAL_TITLE, TITLED_END, Made

LEAST = 0.2
# A form that more names share says nothing but between those that are the same letter by letter.
_CROWD = 500
# Names that are the same letter by letter, or are spelled alike: of more, each is joined with the first only.
_MOST_SAME = 12

_FIELDS = range(NEUTRAL_TITLE + 1, TITLED_END)
# How surely a form stands for its name when the name is the only one that has it.
_SAME: Mapping[int, float] = {
    Made.WHOLE: 1.0,
    Made.COMMON: 1.0,
    Made.BARE: 0.95,
    Made.BESIDE: 0.9,
    NEUTRAL_TITLE: 0.95,
}
_SHORT: Mapping[int, float] = {
    Made.GENERATION: 0.6,
    Made.QUALIFIED: 0.4,
    Made.PLACED: 0.6,
    Made.LAST: 0.7,
    Made.FIRST: 0.6,
    Made.FIRSTS: 0.5,
    Made.KIND_OF_PLACE: 0.5,
    Made.CALLED_AFTER: 0.35,
    Made.EPITHET: 0.75,
    Made.PART: 0.4,
    Made.MIDDLE: 0.7,
    Made.INVERTED: 0.6,
    Made.CLIPPED: 0.8,
    Made.ADDRESSED: 0.55,
    **dict.fromkeys(_FIELDS, 0.9),
}
# Of two shortened names.
_BOTH_SHORT: Mapping[frozenset[int], float] = {
    frozenset({Made.ADDRESSED, Made.LAST}): 0.7,
    **{frozenset({Made.EPITHET, title}): 0.6 for title in _FIELDS},
    **{frozenset({Made.MIDDLE, title}): 0.6 for title in _FIELDS},
    **{frozenset({title}): 0.5 for title in _FIELDS},
}
# Of two names that have the same form in these two ways.
_MEETING: Mapping[tuple[int, int], float] = {
    (Made.ACRONYM, Made.EXPANDED): 0.75,
    (Made.ACRONYM, Made.TWO_LETTERS): 0.45,
    (Made.ABBREVIATED, Made.FULL): 0.7,
    (Made.HANGUL, Made.LATIN): 0.7,
    (Made.SURNAMED, Made.GIVEN_NAMED): 0.6,
    (Made.CODE, Made.CODED): 0.55,
}
_ALIKE = 0.65
# In place of a `Made`: a person decided.
SAID = 255
_REASONS: Mapping[int, str] = {
    Made.WHOLE: "the same letters",
    Made.COMMON: "the same letters",
    Made.BARE: "article, possessive or legal form left out",
    Made.BESIDE: "two spellings side by side",
    Made.GENERATION: "Jr., Sr. or number left out",
    Made.QUALIFIED: "words in brackets left out",
    Made.PLACED: "place after the comma left out",
    Made.LAST: "last name alone",
    Made.FIRST: "trade left out",
    Made.FIRSTS: "trade left out",
    Made.KIND_OF_PLACE: "kind of place left out",
    Made.CALLED_AFTER: "kind of place left out",
    Made.EPITHET: "epithet left out",
    Made.PART: "part of it",
    Made.MIDDLE: "middle name left out",
    Made.INVERTED: "words the other way around",
    Made.CLIPPED: "kind of school clipped",
    Made.ADDRESSED: "title with last name",
    Made.EXPANDED: "initials",
    Made.TWO_LETTERS: "initials",
    Made.FULL: "given name as initial",
    Made.LATIN: "Hangul and Latin spelling sound alike",
    Made.GIVEN_NAMED: "family name with title",
    Made.CODED: "initials of its syllables",
    Made.ALIKE: "spelled alike",
    SAID: "said to be the same",
    **dict.fromkeys(range(NEUTRAL_TITLE, TITLED_END), "title left out"),
}
_RIVALS = 1 << 8
_MOST_RIVALS = (1 << 8) - 1

# Without one of these in a group no two of its names meet.
NEEDED = frozenset(
    {*_SAME, *(one for one, _ in _MEETING), *(made for pair in _BOTH_SHORT for made in pair), Made.ALIKE}
)


class Member(NamedTuple):
    """A name that has a form.

    Attributes:
        owner: The name's number.
        made: How the form was made of it: a `Made`, or that of a title.
        core: What names without rivalry share, see `silmari.language.made.Found`.
    """

    owner: int
    made: int
    core: int


class Pair(NamedTuple):
    """Two names that may be the same, how surely (above 0, below 1), and why; see `reason`."""

    one: int
    other: int
    score: float
    why: int


def reason(why: int) -> str:
    """A few words for `Pair.why`."""
    rivals = why // _RIVALS
    return _REASONS[why % _RIVALS] + (f"; one of {rivals} that may be meant" if rivals > 1 else "")


def pairs(members: Sequence[Member]) -> Iterator[Pair]:
    """The edges among the names that share one form."""
    same = [member for member in members if member.made in _SAME]
    yield from _same(same)
    if len(members) > _CROWD:
        return
    short = [member for member in members if member.made in _SHORT]
    if short:
        yield from _shortened(same, short)
    rest = [member for member in members if member.made not in _SAME and member.made not in _SHORT]
    if len(rest) > 1:
        yield from _meeting(rest)


def _same(same: Sequence[Member]) -> Iterator[Pair]:
    for one, other in _some(same):
        yield _pair(one, other, 0.95 * _SAME[one.made] * _SAME[other.made], max(one.made, other.made))


def _some(members: Sequence[Member]) -> Iterator[tuple[Member, Member]]:
    """Each with each, or of many each with the first."""
    for at, one in enumerate(members[: None if len(members) <= _MOST_SAME else 1]):
        for other in members[at + 1 :]:
            if one.owner != other.owner:
                yield one, other


def _shortened(same: Sequence[Member], short: Sequence[Member]) -> Iterator[Pair]:
    """A short name with those that continue it, each by its share; and two longer ones that fit each other."""
    shares = _shares(short, _SHORT)
    for long in short:
        share = shares[_rival(long)]
        if _SHORT[long.made] * share < LEAST:
            continue
        for bare in same:
            # A common word is no short name: king is not Martin Luther King, nor are The Graves Michael Graves.
            fits = bare.made != Made.COMMON and (long.made != Made.LAST or bare.made == Made.WHOLE)
            score = _SHORT[long.made] * _SAME[bare.made] * share
            if fits and score >= LEAST and bare.owner != long.owner:
                yield _pair(bare, long, score, long.made, len(shares))
    if _LINKED.isdisjoint(member.made for member in short):
        return
    for at, one in enumerate(short):
        for other in short[at + 1 :]:
            base = _BOTH_SHORT.get(frozenset({one.made, other.made}))
            if base is None or one.owner == other.owner:
                continue
            score = base if one.made == other.made else base * min(shares[_rival(one)], shares[_rival(other)])
            if score >= LEAST:
                yield _pair(one, other, score, max(one.made, other.made), len(shares))


_LINKED = frozenset(made for pair in _BOTH_SHORT for made in pair)


def _meeting(members: Sequence[Member]) -> Iterator[Pair]:
    for (left, right), base in _MEETING.items():
        ones = [member for member in members if member.made == left]
        others = [member for member in members if member.made == right]
        if not ones or not others:
            continue
        shares = _shares(others)
        # Sounds are alike by chance, so that there must be few on either side.
        turned = _shares(ones) if left == Made.HANGUL else {}
        for one in ones:
            for other in others:
                score = base * shares[_rival(other)] * turned.get(_rival(one), 1.0)
                if score >= LEAST and one.owner != other.owner:
                    yield _pair(one, other, score, right, len(shares))
    for one, other in _some([member for member in members if member.made == Made.ALIKE]):
        yield _pair(one, other, _ALIKE, Made.ALIKE)


def _rival(member: Member) -> tuple[int, int]:
    """Two names with one core are no rivals, unless titles of different fields tell them apart."""
    return (member.made, 0) if member.made > NEUTRAL_TITLE else (member.made == Made.ADDRESSED, member.core)


def _shares(members: Sequence[Member], weights: Mapping[int, float] | None = None) -> dict[tuple[int, int], float]:
    """How much of a short name each of its rivals may claim.

    The shares add up to 1, apart from those of titles with a last name: they do not say whose it is.
    """
    claims: dict[tuple[int, int], float] = {}
    for member in members:
        weight = weights[member.made] if weights else 1.0
        claims[_rival(member)] = max(weight, claims.get(_rival(member), 0.0))
    totals = [0.0, 0.0]
    for (vague, _), weight in claims.items():
        totals[vague == 1] += weight
    return {rival: weight / totals[rival[0] == 1] for rival, weight in claims.items()}


def _pair(one: Member, other: Member, score: float, made: int, rivals: int = 1) -> Pair:
    return Pair(one.owner, other.owner, round(score, 3), int(made) + _RIVALS * min(rivals, _MOST_RIVALS))
