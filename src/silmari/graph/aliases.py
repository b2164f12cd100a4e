"""Soft edges between names that may be spellings of one name.

Every name has a few *forms* (`silmari.language.spellings`); names that share a form are candidates, and what was
done to both says how likely they mean the same. Names are therefore never compared all with all, and an edge
depends on nothing but the names that share the form: what comes or goes changes its own edges and their rivals'.

A short name that several longer ones continue is shared among them; below `LEAST` there is no edge. Edges are never
closed transitively: two persons who share a bare name are not joined by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from silmari.language.spellings import NEUTRAL_TITLE, TITLED_END, Made, forms

LEAST = 0.2
# A form that more names share says nothing but between those that are the same letter by letter.
_CROWD = 500
# Names that are the same letter by letter: beyond, each is joined with the first only.
_MOST_SAME = 12
# What changed is kept beside the arrays up to this many names, or this share of all.
_LOOSE = 2_000
_LOOSE_SHARE = 0.1

# How surely a form stands for its name, when it is the name's only bearer.
_SAME = {Made.WHOLE: 1.0, Made.COMMON: 1.0, Made.BARE: 0.95, Made.BESIDE: 0.9, NEUTRAL_TITLE: 0.95}
_SHORT = {
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
    **dict.fromkeys(range(NEUTRAL_TITLE + 1, TITLED_END), 0.9),
}
_MEETING = {
    (Made.ACRONYM, Made.EXPANDED): 0.75,
    (Made.ACRONYM, Made.TWO_LETTERS): 0.45,
    (Made.ABBREVIATED, Made.FULL): 0.7,
    (Made.LATIN, Made.HANGUL): 0.7,
    (Made.SURNAMED, Made.GIVEN_NAMED): 0.6,
    (Made.CODE, Made.CODED): 0.55,
}
_BOTH_SHORT = {
    frozenset({Made.ADDRESSED, Made.LAST}): 0.7,
    **{frozenset({Made.EPITHET, title}): 0.6 for title in range(NEUTRAL_TITLE + 1, TITLED_END)},
    **{frozenset({Made.MIDDLE, title}): 0.6 for title in range(NEUTRAL_TITLE + 1, TITLED_END)},
    **{frozenset({title}): 0.5 for title in range(NEUTRAL_TITLE + 1, TITLED_END)},
}
_ALIKE = 0.65
_REASONS = {
    Made.WHOLE: "same letters",
    Made.COMMON: "same letters",
    Made.BARE: "article, possessive or legal form left out",
    Made.BESIDE: "two spellings side by side",
    Made.GENERATION: "Jr., Sr. or number left out",
    Made.QUALIFIED: "the words in brackets left out",
    Made.PLACED: "the place after the comma left out",
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
    Made.ADDRESSED: "title and last name",
    Made.EXPANDED: "initials",
    Made.TWO_LETTERS: "initials",
    Made.FULL: "given name as initial",
    Made.HANGUL: "Hangul and Latin spelling sound alike",
    Made.GIVEN_NAMED: "family name and title",
    Made.CODED: "initials of its syllables",
    **dict.fromkeys(range(NEUTRAL_TITLE, TITLED_END), "title left out"),
}


class NamedEntity(Protocol):
    """What is read of an entity."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def name(self) -> str:
        """Its spelling."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Two entities that may be one.

    Attributes:
        a: The lesser number.
        b: The greater number.
        score: How surely, above 0 to 1.
        reason: Why, in a few words.
    """

    a: int
    b: int
    score: float
    reason: str


class _Member(NamedTuple):
    owner: int
    made: int
    core: int


def find_aliases(
    entities: Iterable[NamedEntity], *, verdicts: Iterable[tuple[int, int, bool]] = ()
) -> list[Alias]:
    """All alias edges between entities, by their numbers.

    Args:
        entities: Each once.
        verdicts: What a person decided: two entities, and whether they are the same.
    """
    aliases = Aliases(entities)
    aliases.decide(verdicts)
    return aliases.all()


class Aliases:
    """The alias edges of a base, kept current. What it gives is the same as after a rebuild.

    Args:
        entities: Each once.
    """

    def __init__(self, entities: Iterable[NamedEntity] = ()) -> None:
        self._verdicts: dict[tuple[int, int], bool] = {}
        self._decided: dict[int, set[int]] = {}
        self._build((entity.id, *_read(entity.name)) for entity in entities)

    def __len__(self) -> int:
        return len(self._ids) - len(self._dead) + len(self._loose)

    def update(self, touched: Iterable[int], found: Iterable[NamedEntity]) -> None:
        """Take entities out, and those of them that still are something in again.

        Args:
            touched: Entities that came, went or changed their name.
            found: Those of them that are there now.
        """
        for item in touched:
            self._remove(item)
        for entity in found:
            self._remove(entity.id)
            core, held = _read(entity.name)
            self._loose[entity.id] = core, held
            for form, _ in held:
                self._loose_of.setdefault(form, set()).add(entity.id)
        if len(self._loose) + len(self._dead) > max(_LOOSE, _LOOSE_SHARE * len(self._ids)):
            self._build(list(self._rows()))

    def decide(self, verdicts: Iterable[tuple[int, int, bool]]) -> None:
        """Replace what a person decided: two entities, and whether they are the same (score 1) or not (no edge)."""
        self._verdicts = {(min(a, b), max(a, b)): same for a, b, same in verdicts if a != b}
        self._decided = {}
        for a, b in self._verdicts:
            self._decided.setdefault(a, set()).add(b)
            self._decided.setdefault(b, set()).add(a)

    def all(self) -> list[Alias]:
        """All edges, by the numbers of their ends."""
        best: dict[tuple[int, int], tuple[float, str]] = {}
        for form in self._shared_forms():
            _keep_best(best, _pairs(self._members(form)))
        return self._judged(best, self._verdicts)

    def of(self, item: int) -> list[Alias]:
        """The edges of one entity, the surest first."""
        return sorted(self._edges([item]), key=lambda alias: (-alias.score, alias.a, alias.b))

    def edges_of(self, items: Iterable[int]) -> list[tuple[int, int, float]]:
        """The edges with at least one end among `items`, each once, by the numbers of their ends: (a, b, score)."""
        return [(alias.a, alias.b, alias.score) for alias in self._edges(items)]

    def _edges(self, items: Iterable[int]) -> list[Alias]:
        wanted = frozenset(items)
        best: dict[tuple[int, int], tuple[float, str]] = {}
        for form in {form for item in wanted for form in self._forms_of(item)}:
            members = self._members(form)
            if len(members) > 1:
                _keep_best(best, (pair for pair in _pairs(members) if pair[0] in wanted or pair[1] in wanted))
        decided = [(min(item, other), max(item, other)) for item in wanted for other in self._decided.get(item, ())]
        return self._judged(best, decided)

    def _judged(
        self, best: dict[tuple[int, int], tuple[float, str]], decided: Iterable[tuple[int, int]]
    ) -> list[Alias]:
        for pair in decided:
            if not self._verdicts[pair]:
                best.pop(pair, None)
            elif pair[0] in self and pair[1] in self:
                best[pair] = 1.0, "you said that they are the same"
        return [Alias(*pair, score, reason) for pair, (score, reason) in sorted(best.items())]

    def __contains__(self, item: int) -> bool:
        return item in self._loose or self._place(item) is not None

    # The arrays: forms owner by owner, and where each form stands in the order of forms

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What `from_arrays` needs, with nothing loose: to be kept on disk and mapped into memory."""
        if self._loose or self._dead:
            self._build(list(self._rows()))
        return {
            "ids": self._ids,
            "cores": self._cores,
            "ends": self._ends,
            "forms": self._forms,
            "made": self._made,
            "order": self._order,
            "sorted": self._sorted,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Aliases:
        """The same edges again, without verdicts; the arrays are only read."""
        aliases = cls()
        aliases._set(arrays)
        return aliases

    def _set(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._ids, self._cores, self._ends = arrays["ids"], arrays["cores"], arrays["ends"]
        self._forms, self._made = arrays["forms"], arrays["made"]
        self._order, self._sorted = arrays["order"], arrays["sorted"]
        self._dead: set[int] = set()
        self._loose: dict[int, tuple[int, list[tuple[int, int]]]] = {}
        self._loose_of: dict[int, set[int]] = {}

    def _build(self, rows: Iterable[tuple[int, int, Sequence[tuple[int, int]]]]) -> None:
        ids: list[int] = []
        cores: list[int] = []
        ends = [0]
        found: list[int] = []
        made: list[int] = []
        for item, core, held in sorted(rows) if isinstance(rows, list) else rows:
            ids.append(item)
            cores.append(core)
            found += [form for form, _ in held]
            made += [how for _, how in held]
            ends.append(len(found))
        numbers = np.array(ids, np.int64)
        if len(numbers) > 1 and not (numbers[1:] > numbers[:-1]).all():
            parts = [
                (ids[at], cores[at], list(zip(found[ends[at] : ends[at + 1]], made[ends[at] : ends[at + 1]], strict=True)))
                for at in range(len(ids))
            ]
            self._build(sorted(parts))
            return
        forms_ = np.array(found, np.uint64)
        order = np.argsort(forms_, kind="stable").astype(np.int32)
        self._set(
            {
                "ids": numbers,
                "cores": np.array(cores, np.uint64),
                "ends": np.array(ends, np.int32),
                "forms": forms_,
                "made": np.array(made, np.uint8),
                "order": order,
                "sorted": forms_[order],
            }
        )

    def _rows(self) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        for at, item in enumerate(self._ids.tolist()):
            if item not in self._dead:
                part = slice(int(self._ends[at]), int(self._ends[at + 1]))
                held = zip(self._forms[part].tolist(), self._made[part].tolist(), strict=True)
                yield item, int(self._cores[at]), list(held)
        for item, (core, held_) in self._loose.items():
            yield item, core, held_

    def _remove(self, item: int) -> None:
        if item in self._loose:
            for form, _ in self._loose.pop(item)[1]:
                self._loose_of[form].discard(item)
        elif self._place(item) is not None:
            self._dead.add(item)

    def _place(self, item: int) -> int | None:
        at = int(np.searchsorted(self._ids, item))
        return at if at < len(self._ids) and self._ids[at] == item and item not in self._dead else None

    def _forms_of(self, item: int) -> list[int]:
        if item in self._loose:
            return [form for form, _ in self._loose[item][1]]
        at = self._place(item)
        return [] if at is None else self._forms[int(self._ends[at]) : int(self._ends[at + 1])].tolist()

    def _shared_forms(self) -> Iterator[int]:
        """The forms that several entities may have, each once."""
        starts = np.flatnonzero(np.concatenate([[True], self._sorted[1:] != self._sorted[:-1]])) if len(self._sorted) else []
        sizes = np.diff(np.append(starts, len(self._sorted)))
        for form in self._sorted[np.asarray(starts, np.int64)[sizes > 1]].tolist():
            if form not in self._loose_of:
                yield form
        yield from sorted(form for form, owners in self._loose_of.items() if owners)

    def _members(self, form: int) -> list[_Member]:
        """Who has a form, by number."""
        low, high = np.searchsorted(self._sorted, np.array([form], np.uint64), "left")[0], 0
        high = np.searchsorted(self._sorted, np.array([form], np.uint64), "right")[0]
        places = self._order[low:high]
        rows = np.searchsorted(self._ends, places, "right") - 1
        owners = self._ids[rows].tolist()
        found = list(map(_Member, owners, self._made[places].tolist(), self._cores[rows].tolist()))
        if self._dead:
            found = [member for member in found if member.owner not in self._dead]
        if loose := self._loose_of.get(form):
            for item in loose:
                core, held = self._loose[item]
                found += [_Member(item, made, core) for one, made in held if one == form]
            found.sort()
        return found


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _read(name: str) -> tuple[int, list[tuple[int, int]]]:
    """A name's core and forms, as numbers."""
    core, found = forms(name)
    return _hash(core), [(_hash(form.text), int(form.made)) for form in found]


def _keep_best(
    best: dict[tuple[int, int], tuple[float, str]], pairs: Iterable[tuple[int, int, float, str]]
) -> None:
    for a, b, score, reason in pairs:
        pair = (a, b) if a < b else (b, a)
        known = best.get(pair)
        if known is None or (score, reason) > known:
            best[pair] = score, reason


def _pairs(members: Sequence[_Member]) -> Iterator[tuple[int, int, float, str]]:
    """The edges among the names that share one form."""
    if len(members) < 2:
        return
    same = [member for member in members if member.made in _SAME]
    yield from _same(same)
    if len(members) > _CROWD:
        return
    short = [member for member in members if member.made in _SHORT]
    if short:
        yield from _shortened(same, short)
    rest = [member for member in members if member.made not in _SAME and member.made not in _SHORT]
    if rest:
        yield from _meeting(rest)


def _same(same: Sequence[_Member]) -> Iterator[tuple[int, int, float, str]]:
    """Each with each, or beyond a few with the first."""
    for at, one in enumerate(same[: _MOST_SAME if len(same) <= _MOST_SAME else 1]):
        for other in same[at + 1 :]:
            if one.owner != other.owner:
                told = max(one.made, other.made)
                yield one.owner, other.owner, _rounded(0.95 * _SAME[one.made] * _SAME[other.made]), _REASONS[told]


def _shortened(same: Sequence[_Member], short: Sequence[_Member]) -> Iterator[tuple[int, int, float, str]]:
    """A short name and those that continue it, each by its share; and two longer ones that surely fit."""
    shares, rivals = _shares([(member, _SHORT[member.made]) for member in short])
    for long in short:
        for bare in same:
            score = _SHORT[long.made] * _SAME[bare.made] * shares[_rival(long)]
            # A common word is no short name: king is not Martin Luther King, nor are The Graves Michael Graves.
            fits = bare.made != Made.COMMON and (long.made != Made.LAST or bare.made == Made.WHOLE)
            if score >= LEAST and fits and bare.owner != long.owner:
                yield bare.owner, long.owner, _rounded(score), _REASONS[long.made] + _among(rivals)
    for at, one in enumerate(short):
        for other in short[at + 1 :]:
            base = _BOTH_SHORT.get(frozenset({one.made, other.made}))
            if base is None or one.owner == other.owner:
                continue
            score = base * min(shares[_rival(one)], shares[_rival(other)]) if one.made != other.made else base
            if score >= LEAST:
                yield one.owner, other.owner, _rounded(score), _REASONS[max(one.made, other.made)] + _among(rivals)


def _meeting(members: Sequence[_Member]) -> Iterator[tuple[int, int, float, str]]:
    for (left, right), base in _MEETING.items():
        ones = [member for member in members if member.made == left]
        others = [member for member in members if member.made == right]
        if not ones or not others:
            continue
        shares, rivals = _shares([(member, 1.0) for member in others])
        turned, _ = _shares([(member, 1.0) for member in ones]) if left == Made.LATIN else ({}, 1)
        for one in ones:
            for other in others:
                score = base * shares[_rival(other)] * turned.get(_rival(one), 1.0)
                if score >= LEAST and one.owner != other.owner:
                    yield one.owner, other.owner, _rounded(score), _REASONS[right] + _among(rivals)
    alike = [member for member in members if member.made == Made.ALIKE]
    if 1 < len(alike) <= _MOST_SAME:
        for at, one in enumerate(alike):
            for other in alike[at + 1 :]:
                yield one.owner, other.owner, _ALIKE, "spelled alike"


def _rival(member: _Member) -> tuple[int, int]:
    """Two names with one core are no rivals, unless titles of different fields tell them apart."""
    return (member.made, 0) if member.made > NEUTRAL_TITLE else (0, member.core)


def _shares(weighted: Sequence[tuple[_Member, float]]) -> tuple[dict[tuple[int, int], float], int]:
    """How much of a short name each of those that continue it may claim, and how many they are."""
    claims: dict[tuple[int, int], float] = {}
    for member, weight in weighted:
        claims[_rival(member)] = max(weight, claims.get(_rival(member), 0.0))
    total = sum(claims.values())
    return {rival: weight / total for rival, weight in claims.items()}, len(claims)


def _among(rivals: int) -> str:
    return f"; {rivals} names may be meant" if rivals > 1 else ""


def _rounded(score: float) -> float:
    return round(score, 3)
