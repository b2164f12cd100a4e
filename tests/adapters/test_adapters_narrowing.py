"""An agent's wishes only ever narrow what the developer allows: compared with plain Python on random filters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from silmari.adapters.asking import narrowed
from silmari.model import Filter

CATEGORIES = ("pdf", "csv", "규정")
DAYS = st.none() | st.sampled_from(("1991-05-01", "2020-01-01", "2024-03-01", "2025-12-31"))
SETS = st.none() | st.frozensets(st.sampled_from(CATEGORIES))


def lets_through(where: Filter, category: str, day: str | None, document: int) -> bool:
    if where.categories is not None and category not in where.categories:
        return False
    if where.documents is not None and document not in where.documents:
        return False
    if day is None:
        return not (where.since or where.until)
    return not where.undated and (where.since or day) <= day <= (where.until or day)


@given(
    own=st.builds(Filter, SETS, DAYS, DAYS, st.none() | st.frozensets(st.integers(1, 3)), st.booleans()),
    wished=st.builds(Filter, SETS, DAYS, DAYS),
    category=st.sampled_from(CATEGORIES),
    day=DAYS,
    document=st.integers(1, 3),
)
def test_both_must_let_it_through(own: Filter, wished: Filter, category: str, day: str | None, document: int) -> None:
    passage = (category, day, document)
    assert lets_through(narrowed(own, wished), *passage) == (
        lets_through(own, *passage) and lets_through(wished, *passage)
    )
