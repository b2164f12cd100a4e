"""Policies as values: what may stand in them, and the one sentence for what may not."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from silmari.errors import UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Filter
from silmari.retrieval.policy import Policy, Tier
from silmari.retrieval.presets import FRESH, PRESETS, choose, policy_from
from silmari.retrieval.tiers import steps
from silmari.settings import Settings

TODAY = dt.date(2026, 11, 30)
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tiers": [{"max_age_days": -1}]}, "max_age_days"),
    ({"tiers": [{"max_age_days": [60, 30]}]}, "rise"),
    ({"tiers": [{"max_age_days": [30, 30]}]}, "rise"),
    ({"tiers": [{"max_age_days": []}]}, "rise"),
    ({"tiers": [{"max_age_days": 1.5}]}, "max_age_days"),
    ({"tiers": [{"max_age_days": 10**9}]}, "max_age_days"),
    ({"tiers": [{"max_age_days": True}]}, "max_age_days"),
    ({"tiers": [{"categories": [1]}]}, "categories"),
    ({"tiers": [{"categories": ""}]}, "categories"),
    ({"tiers": [{"since": "2024-02-30"}]}, "no date of the calendar"),
    ({"tiers": [{"until": 20240101}]}, "no date of the calendar"),
    ({"tiers": [{"since": "2024-02-01", "until": "2024-01-01"}]}, "swap"),
    ({"tiers": [{"older": True}]}, "max_age_days"),
    ({"tiers": [{"quota": 0}]}, "quota"),
    ({"tiers": [{"way": "naive"}]}, "way"),
    ({"tiers": [{"order": "random"}]}, "order"),
    ({"tiers": [{"recency": 2}]}, "recency"),
    ({"tiers": [{"half_life_days": 0}]}, "half_life_days"),
    ({"tiers": [{"min_relevance": 1.1}]}, "min_relevance"),
    ({"tiers": [{"undated": "no"}]}, "undated"),
    ({"tiers": [{"agee": 1}]}, "no field named agee"),
    ({"tiers": []}, "tiers"),
    ({"tiers": "tables"}, "tiers"),
    ({"tiers": ["tables"]}, "tier 1"),
    ({"min_relevance": -0.1}, "min_relevance"),
    ({"min_relevance": float("nan")}, "min_relevance"),
    ({"min_relevance": "0.5"}, "min_relevance"),
    ({"min_relevance": [0.2, 0.4]}, "below the one before"),
    ({"min_share": 3}, "min_share"),
    ({"minimum": 1}, "no field named minimum"),
]


@pytest.mark.parametrize(("table", "named"), WRONG, ids=str)
def test_what_is_wrong_is_told_in_one_sentence(table: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError) as told:
        policy_from("mine", table)
    sentence = str(told.value)
    assert named in sentence and "mine" in sentence
    assert "\n" not in sentence and sentence.endswith(".")


def test_objects_are_checked_as_tables_are() -> None:
    with pytest.raises(UsageError, match="max_age_days is -5"):
        Tier("old", max_age_days=-5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="min_relevance"):
        Policy("mine", min_relevance=(1.5,))
    assert Tier(max_age_days=30, categories="pdf") == Tier(max_age_days=(30,), categories=("pdf",))  # type: ignore[arg-type]
    assert policy_from("fresh", {"min_relevance": [0.4, 0.2]}) == Policy("fresh", min_relevance=(0.4, 0.2))


def test_policies_stand_in_silmari_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("silmari.toml").write_text(
        'default_policy = "recent"\n[policy.recent]\nmin_relevance = [0.4, 0]\n'
        '[[policy.recent.tiers]]\nname = "표"\ncategories = ["csv", "excel"]\nquota = 2\n'
        "[[policy.recent.tiers]]\nmax_age_days = [30, 90]\nsince = 2020-01-01\nolder = true\n",
        "utf-8",
    )
    settings = Settings.load()
    policy = choose(settings.default_policy, settings.policy)
    assert policy.tiers[0] == Tier("표", categories=("csv", "excel"), quota=2)
    assert policy.tiers[1] == Tier(max_age_days=(30, 90), since="2020-01-01", older=True)
    Path("silmari.toml").write_text("[policy.recent]\nmin_relevance = 2\n", "utf-8")
    with pytest.raises(UsageError, match=r"The policy recent: min_relevance is 2"):
        KnowledgeBase.open(tmp_path / "kb", embedder="none")
    Path("silmari.toml").write_text("[policy]\nrecent = 3\n", "utf-8")
    with pytest.raises(UsageError, match=r"\[policy\.recent\]"):
        KnowledgeBase.open(tmp_path / "kb", embedder="none")


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="best, fresh, latest, mine"):
        choose("freshest", {"mine": {}})
    assert choose("fresh", {}) is PRESETS["fresh"] and choose(FRESH, {}) is FRESH
    assert choose("best", {"best": {"min_relevance": 0.5}}).min_relevance == (0.5,)


def test_a_list_of_ages_makes_windows_that_do_not_overlap() -> None:
    found = steps(0, FRESH.tiers[1], Filter(), TODAY, {"pdf", "csv", "text"})
    assert [(step.label, step.where.since, step.where.until, step.where.undated) for step in found] == [
        ("0–30 days", "2026-10-31", "2026-11-30", False),
        ("31–60 days", "2026-10-01", "2026-10-30", False),
        ("61–90 days", "2026-09-01", "2026-09-30", False),
        ("91–365 days", "2025-11-30", "2026-08-31", False),
        ("over 365 days", None, "2025-11-29", False),
        ("later than today", "2026-12-01", None, False),
        ("undated", None, None, True),
    ]
    assert all(step.where.categories == {"pdf", "text"} for step in found)


@pytest.mark.parametrize("today", [dt.date.min, dt.date(1, 2, 1), dt.date.max])
def test_windows_at_the_ends_of_the_calendar(today: dt.date) -> None:
    days = [
        (step.where.since or "0001-01-01", step.where.until or "9999-12-31")
        for step in steps(0, Tier(max_age_days=(0, 30, 90), older=True), Filter(), today, ())
        if not step.where.undated
    ]
    assert all(since <= until for since, until in days)
    assert len(set(days)) == len(days)
    total = sum((dt.date.fromisoformat(b) - dt.date.fromisoformat(a)).days + 1 for a, b in days)
    assert total == dt.date.max.toordinal()


def test_the_callers_filter_is_kept_to() -> None:
    where = Filter(categories=frozenset({"pdf"}), since="2026-11-01", documents=frozenset({3}))
    found = steps(0, Tier(max_age_days=(30, 60), older=True), where, TODAY, ())
    assert [(step.where.since, step.where.until) for step in found] == [
        ("2026-11-01", "2026-11-30"),
        ("2026-12-01", None),
    ]
    assert all(step.where.documents == {3} and step.where.categories == {"pdf"} for step in found)
    assert not steps(0, Tier(categories=("csv",)), where, TODAY, ())
    only = steps(0, Tier(max_age_days=(30,)), Filter(undated=True), TODAY, ())
    assert [step.where for step in only] == [Filter(undated=True)]
    asked = steps(0, Tier(), Filter(), TODAY, (), ("2026-10-01", "2026-10-31"))
    assert [(step.part, step.where.since) for step in asked] == [("dated", "2026-10-01"), ("undated", None)]
