"""Policies on a real base: the order of tiers, floors that can be seen, dates of all kinds, times in questions."""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from silmari.cli.app import app
from silmari.errors import UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Hit, Passage, Source
from silmari.retrieval.filling import nearer
from silmari.retrieval.policy import Policy, Tier
from silmari.retrieval.presets import FRESH
from silmari.retrieval.trace import Trace
from word_embeddings import WordEmbeddings

TODAY = dt.date(2026, 11, 30)
QUESTION = "연차 휴가는 며칠인가요?"
# Days before today; each of them once in every window of `fresh`.
AGES = {"새글": 3, "한달반": 45, "두달반": 75, "반년": 200, "옛글": 5000, "앞날": -40}
NO_FLOOR = replace(FRESH, min_relevance=(0.0,), min_share=(0.0,))


def record(name: str, text: str, date: str | None, category: str = "pdf") -> dict[str, Any]:
    return {"id": name, "text": text, "date": date, "category": category}


def dated(age: int) -> str:
    return (TODAY - dt.timedelta(days=age)).isoformat()


@pytest.fixture
def base(tmp_path: Path, embedder: WordEmbeddings) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, now=TODAY) as opened:
        records = [
            record(name, f"연차 휴가는 {age + 100}일 전 규정으로 {name}에 적혀 있다.", dated(age))
            for name, age in AGES.items()
        ]
        records.append(record("없음", "연차 휴가는 날짜 없는 글에도 있다.", None))
        records.append(record("표", "연차 휴가 | 15 | 며칠", "1999-05-01", "excel"))
        records.append(record("원년", "연차 휴가는 원년부터 있었다.", "0001-01-01"))
        records += [record(f"딴글{n}", f"구내 식당 차림표 {n}", dated(n), "text") for n in range(40)]
        assert opened.add_records(records).counts == {"added": len(records)}
        yield opened


def names(hits: list[Hit]) -> list[str]:
    return [hit.source.uri.removeprefix("record:") for hit in hits]


def test_fresh_takes_tables_then_windows_then_undated(base: KnowledgeBase) -> None:
    only = replace(NO_FLOOR, tiers=tuple(replace(tier, way="sparse") for tier in NO_FLOOR.tiers))
    trace = Trace()
    hits = base.search(QUESTION, policy=only, k=9, trace=trace)
    assert names(hits) == ["표", "새글", "한달반", "두달반", "반년", "옛글", "원년", "앞날", "없음"] or names(hits) == [
        "표", "새글", "한달반", "두달반", "반년", "원년", "옛글", "앞날", "없음",
    ]  # fmt: skip
    assert [hit.rank for hit in hits] == list(range(1, 10))
    assert [hit.evidence["tier"]["part"] for hit in hits[:3]] == ["", "0–30 days", "31–60 days"]
    assert hits[-1].evidence["tier"] == {"policy": "fresh", "tier": "newest", "part": "undated", "floor": 0.0}
    said = " ".join(trace.notes)
    assert "later than today (2026-11-30)" in said and "before the year 1000" in said
    (stage,) = [stage for stage in trace.stages if stage["stage"] == "policy"]
    assert [row["taken"] for row in stage["tiers"]] == [1, 1, 1, 1, 1, 2, 1, 1]
    json.dumps(trace.as_json())


def test_nothing_comes_twice_and_what_is_found_is_stable(base: KnowledgeBase) -> None:
    first = base.search(QUESTION, policy=NO_FLOOR, k=30)
    assert len(first) == 30 and len({hit.passage.id for hit in first}) == 30
    for _ in range(3):
        assert names(base.search(QUESTION, policy=NO_FLOOR, k=30)) == names(first)
    assert names(base.search(QUESTION, policy=NO_FLOOR, k=4)) == names(first)[:4]


def test_floors_are_seen_and_the_next_round_is_lower(base: KnowledgeBase) -> None:
    best = base.search(QUESTION, k=1)[0].relevance
    policy = Policy("hoch", tiers=(Tier("표", categories=("excel",)), Tier("alles")), min_relevance=(1.0, best / 2))
    trace = Trace()
    hits = base.search(QUESTION, policy=policy, k=3, trace=trace)
    rows = next(stage for stage in trace.stages if stage["stage"] == "policy")["tiers"]
    assert [(row["round"], row["tier"], row["floor"]) for row in rows[:2]] == [(1, "표", 1.0), (1, "alles", 1.0)]
    assert rows[1]["below"] > 0 and rows[1]["best_below"] == pytest.approx(best, abs=0.01) and rows[1]["taken"] == 0
    assert all(hit.relevance >= best / 2 for hit in hits) and rows[-1]["round"] == 2
    assert base.search(QUESTION, policy=Policy("zu hoch", min_relevance=(1.0,))) == []


def test_a_share_of_the_best_keeps_what_is_far_below_it_back(base: KnowledgeBase) -> None:
    hits = base.search(QUESTION, policy=Policy("nah", min_share=(0.9,)), k=30)
    best = max(hit.relevance for hit in base.search(QUESTION, k=10))
    assert hits and all(hit.relevance >= 0.9 * best for hit in hits)


def test_quota_way_and_categories(base: KnowledgeBase) -> None:
    policy = Policy(
        "mine",
        tiers=(
            Tier("new", max_age_days=(30,), quota=2, undated=False),
            Tier("table", categories=("excel",), way="dense"),
            Tier("rest", way="sparse", except_categories=("text",)),
        ),
    )
    trace = Trace()
    hits = base.search(QUESTION, policy=policy, k=6, trace=trace)
    assert [hit.evidence["tier"]["tier"] for hit in hits] == ["new", "new", "table", "rest", "rest", "rest"]
    assert hits[2].way == "dense" and hits[3].way == "sparse"
    assert "1 passages without a date were left out by the tier new." in trace.notes


def test_an_unknown_category_is_a_note(base: KnowledgeBase) -> None:
    trace = Trace()
    policy = Policy("mine", tiers=(Tier("k", categories=("계약서",)), Tier("rest")))
    assert base.search(QUESTION, policy=policy, trace=trace)
    assert any("계약서" in note and "excel, pdf, text" in note for note in trace.notes)


def test_near_identical_ones_of_two_tiers_come_once(base: KnowledgeBase) -> None:
    base.add_records(
        [
            record("겹1", "출장비는 영수증과 함께 신청한다.", dated(1)),
            record("겹2", "출장비는 영수증과 함께 신청한다.", dated(50)),
        ]
    )
    found = names(base.search("출장비 신청", policy=NO_FLOOR, k=60))
    assert "겹1" in found and "겹2" not in found
    assert "겹2" in names(base.search("출장비 신청", policy=NO_FLOOR, k=60, duplicates=True))


def test_a_crowd_of_near_identical_ones_leaves_no_places_empty(base: KnowledgeBase) -> None:
    crowd = [record(f"같{n}", "출장비는 영수증과 함께 신청한다.", dated(n)) for n in range(100, 180)]
    base.add_records([*crowd, record("다름", "출장비 신청 기한은 30일이다.", dated(120))])
    hits = base.search("출장비는 영수증과 함께 신청", policy=Policy("x", tiers=(Tier(categories=("pdf",)),)), k=4)
    assert len(hits) == 4 and "다름" in names(hits)
    assert sum(name.startswith("같") for name in names(hits)) == 1


@pytest.mark.parametrize("way", ["sparse", "dense", "cascade", "graph", "fused"])
def test_every_way_keeps_to_undated(base: KnowledgeBase, way: Any) -> None:
    assert names(base.search(QUESTION, way=way, k=30, filters={"undated": True})) == ["없음"]


def test_latest_puts_the_newest_of_the_near_best_first(base: KnowledgeBase) -> None:
    policy = Policy("latest", tiers=(Tier("newest", order="date", min_share=(0.5,)), Tier("others")))
    order = [name for name in names(base.search(QUESTION, policy=policy, k=9)) if name in AGES]
    assert order == ["새글", "한달반", "두달반", "반년", "옛글", "앞날"]
    assert base.search(QUESTION, policy="latest", k=3)


def test_explicit_filters_hold_in_every_tier(base: KnowledgeBase) -> None:
    hits = base.search(QUESTION, policy=NO_FLOOR, k=30, filters={"since": "2026-09-01", "until": "2026-11-01"})
    assert hits and all("2026-09-01" <= str(hit.source.date) <= "2026-11-01" for hit in hits)
    assert names(base.search(QUESTION, filters={"undated": True})) == ["없음"]
    trace = Trace()
    base.search("지난달 " + QUESTION, filters={"since": "2020-01-01"}, trace=trace)
    assert not [stage for stage in trace.stages if stage["stage"] == "time"]
    assert any("1 passages have no date" in note for note in trace.notes)


def test_one_question_is_embedded_once(base: KnowledgeBase, embedder: WordEmbeddings, monkeypatch: Any) -> None:
    base.search(QUESTION)  # measures the embedder
    asked: list[str] = []
    own = embedder.embed_query
    monkeypatch.setattr(embedder, "embed_query", lambda text: (asked.append(text), own(text))[1])
    base.search("연차 휴가 규정은 어디에 있나요?", policy=NO_FLOOR, k=30)
    assert len(asked) == 1
    only = replace(NO_FLOOR, tiers=(replace(NO_FLOOR.tiers[0], way="sparse"), NO_FLOOR.tiers[1]))
    base.search("연차 휴가 규정은 또 어디에 있나요?", policy=only, k=30)
    assert len(asked) == 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("silmari-tier")]


def test_file_times_count_only_when_switched_on(tmp_path: Path, embedder: WordEmbeddings) -> None:
    path = tmp_path / "글.txt"
    path.write_text("연차 휴가는 15일이다.", "utf-8")
    stamp = dt.datetime(2026, 11, 20).timestamp()
    os.utime(path, (stamp, stamp))
    for switched, part in ((False, "undated"), (True, "0–30 days"), (False, "undated")):
        with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, now=TODAY, file_time_dates=switched) as base:
            base.add(path)
            (hit,) = base.search(QUESTION, policy=NO_FLOOR)
            assert hit.evidence["tier"]["part"] == part


def test_rows_have_dates_of_their_own(tmp_path: Path, embedder: WordEmbeddings) -> None:
    path = tmp_path / "휴가.csv"
    rows = [f"2026-11-{day:02d},연차 휴가 신청 {day}" for day in range(1, 29)]
    rows += [f"2019-03-{day:02d},연차 휴가 신청 {day}" for day in range(1, 29)]
    path.write_text("날짜,내용\n" + "\n".join(rows), "utf-8")
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder, now=TODAY) as base:
        base.add(path)
        hits = base.search("연차 휴가 신청", policy=Policy("new", tiers=(Tier(max_age_days=(30,)),)), k=50)
        assert hits and all(str(hit.passage.date or hit.source.date) >= "2026-10-31" for hit in hits)


def test_a_time_in_the_question_bounds_or_falls_through(base: KnowledgeBase) -> None:
    base.add_records([
        record("10월", "연구소 회의에서 예산 증액을 의결했다.", "2026-10-10"),
        record("8월", "연구소 회의에서 예산 증액을 의결했다.", "2026-08-10"),
        record("무", "연구소 회의 규정에 예산이 있다.", None),
    ])  # fmt: skip
    question = "지난달 연구소 회의에서 예산 증액을 의결했나?"
    trace = Trace()
    hits = base.search(question, k=30, duplicates=True, trace=trace)
    assert names(hits)[0] == "10월" and "8월" not in names(hits) and "무" in names(hits)
    assert hits[0].evidence["time"] == "지난달 → 2026-10-01 … 2026-10-31"
    assert any("지난달 → 2026-10-01 … 2026-10-31: only" in note for note in trace.notes)
    assert "8월" in names(base.search(question, k=30, duplicates=True, time=False))
    assert names(base.search(question, k=30, duplicates=True, now="2026-09-15"))[0] == "8월"
    # No month has it, and it is found all the same.
    trace = Trace()
    (hit,) = base.search("어제 연구소 회의에서 예산 증액을 의결했나?", k=1, duplicates=True, trace=trace)
    assert names([hit])[0] in ("10월", "8월") and any("all times were searched" in note for note in trace.notes)
    # What may be a matter of content only comes first.
    trace = Trace()
    hits = base.search("2026년 8월 연구소 회의에서 예산 증액을 의결했나?", k=30, duplicates=True, trace=trace)
    assert names(hits)[0] == "8월" and "10월" in names(hits) and any("come first" in note for note in trace.notes)


def test_an_impossible_date_is_a_note(base: KnowledgeBase) -> None:
    trace = Trace()
    assert base.search("2024-02-30 연차 휴가", trace=trace)
    assert trace.notes == ["2024-02-30 is no date of the calendar, so it was not used as a time."]
    with pytest.raises(UsageError, match="no date"):
        base.search(QUESTION, now="2024-02-30")


def test_a_time_never_costs_an_answer(base: KnowledgeBase) -> None:
    base.add_records([
        record("답", "The Seoul office has telephone number 02-555-0199.", "2020-01-01", "text"),
        record("새", "The Seoul office has a new telephone system in place.", "2026-10-02", "text"),
    ])  # fmt: skip
    answer = base.ask("What was the telephone number of the Seoul office last month?", k=5)
    assert answer.found and "02-555-0199" in answer.text


def test_answers_say_the_tier(base: KnowledgeBase) -> None:
    answer = base.ask("연차 휴가는 어느 규정에 적혀 있나?", policy=NO_FLOOR, k=4)
    assert answer.found and all(cited.tier and cited.tier["policy"] == "fresh" for cited in answer.sources)
    assert answer.as_json()["sources"][0]["tier"]["tier"] and "fresh: " in answer.source_list()


def test_the_command_line_shows_tiers(tmp_path: Path) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        base.add_records([record("표", QUESTION, None, "csv"), record("글", f"{QUESTION} 15일이다.", "2026-11-20")])
    given = ["--kb", str(tmp_path / "kb"), "--embedder", "none", "--policy", "fresh", "--no-time"]
    for command in (["search", QUESTION, *given, "--explain"], ["ask", QUESTION, *given]):
        shown = CliRunner().invoke(app, command, env={"SILMARI_NOW": "2026-11-30"})
        assert shown.exit_code == 0 and "fresh: " in shown.output
    shown = CliRunner().invoke(app, ["search", QUESTION, *given, "--json"], env={"SILMARI_NOW": "2026-11-30"})
    first, second = json.loads(shown.output)["hits"]
    assert first["evidence"]["tier"]["tier"] == "tables" and second["evidence"]["tier"]["part"] == "0–30 days"


HITS = st.lists(
    st.tuples(st.floats(0, 10).map(lambda score: round(score, 2)), st.none() | st.integers(0, 5000)),
    min_size=1,
    max_size=20,
)


def hit(score: float) -> Hit:
    passage, source = Passage("", "", "", {}), Source("", "", "", None, None, {})
    return Hit(1, "fused", passage, source, score, None, 0.0)


@given(HITS, st.floats(0, 1), st.integers(1, 1000))
def test_recency_only_reorders_near_ties(values: list[tuple[float, int | None]], cap: float, half_life: int) -> None:
    values = sorted(values, key=lambda value: -value[0])
    hits = [hit(score) for score, _ in values]
    ages = {id(one): age for one, (_, age) in zip(hits, values, strict=True)}
    moved = nearer(hits, lambda one: ages[id(one)], cap, half_life)
    mean = sum(one.score for one in hits) / len(hits)
    spread = (sum((one.score - mean) ** 2 for one in hits) / len(hits)) ** 0.5
    assert sorted(map(id, moved)) == sorted(map(id, hits))
    place = {id(one): at for at, one in enumerate(moved)}
    for at, better in enumerate(hits):
        for worse in hits[at + 1 :]:
            overtaken = place[id(worse)] < place[id(better)]
            if better.score - worse.score > cap * spread + 1e-9:
                assert not overtaken
            if ages[id(better)] is None and ages[id(worse)] is None:
                assert not overtaken
