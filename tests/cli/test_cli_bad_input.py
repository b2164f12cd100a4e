"""What is wrong is told in one sentence that names it, with exit code 2 and no traceback; in Python as well."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from silmari.answering.answer import Answer
from silmari.cli import app
from silmari.errors import UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.retrieval.policy import Policy, Tier
from silmari.settings import Settings

Run = Callable[..., tuple[int, str, str]]
RECORDS = [
    {"id": "future", "text": "연차휴가는 내일부터 20일이다.", "date": "2199-01-01"},
    {"id": "first", "text": "연차휴가는 옛날에 3일이었다.", "date": "0001-01-01"},
    {"id": "now", "text": "연차휴가는 올해 15일이다.", "date": "2026-11-01"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SILMARI_EMBEDDER", "none")
    monkeypatch.setenv("SILMARI_NOW", "2026-11-30")
    with KnowledgeBase.open(tmp_path / "kb") as base:
        base.add_records(RECORDS)
    return tmp_path / "kb"


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["silmari", *arguments, "--kb", str(folder)])
        with pytest.raises(SystemExit) as ended:
            app.run()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, " ".join(err.split())

    return called


COMMANDS = [("search", "연차휴가"), ("ask", "연차휴가"), ("chat",)]
TIERS = [
    ("max_age_days = [60, 30]", "max_age_days is [60, 30]"),
    ("max_age_days = -1", "max_age_days is -1"),
    ("max_age_days = [-5, 30]", "max_age_days is [-5, 30]"),
    ("min_relevance = 1.5", "min_relevance is 1.5"),
    ("min_relevance = [-0.1]", "min_relevance is [-0.1]"),
    ('since = "2024-02-30"', "since is '2024-02-30'"),
    ('until = "2023-13-01"', "until is '2023-13-01'"),
]


@pytest.mark.parametrize(
    "command", [("search", "연차휴가"), ("ask", "연차휴가"), ("chat",)], ids=lambda one: str(one[0])
)
@pytest.mark.parametrize(("tier", "named"), TIERS)
def test_a_policy_that_cannot_be(run: Run, command: tuple[str, ...], tier: str, named: str) -> None:
    Path("silmari.toml").write_text(f"[[policy.mine.tiers]]\n{tier}\n", "utf-8")
    code, out, err = run(*command, "--policy", "mine")
    assert (code, out) == (2, "")
    assert err.startswith("silmari: The policy mine, tier 1: ") and named in err and err.count("silmari:") == 1


def test_a_policy_asks_for_a_category_that_no_document_has(run: Run) -> None:
    Path("silmari.toml").write_text('[[policy.mine.tiers]]\ncategories = ["memo"]\n', "utf-8")
    code, out, err = run("ask", "연차휴가는 며칠인가요?", "--policy", "mine")
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert "찾지 못했습니다" in said and "No document has the category memo" in said and "are record" in said


WRONG = [
    (("--since", "2024-02-30"), "The filter since is '2024-02-30', which is no date"),
    (("--until-date", "2023-02-29"), "The filter until is '2023-02-29', which is no date"),
    (("--since", "어제"), "The filter since is '어제'"),
    (("--since", "2025-01-01", "--until-date", "2024-01-01"), "since (2025-01-01) is after until (2024-01-01)"),
    (("--category", "memo"), "There is no category named memo"),
    (("--policy", "newest"), "There is no policy named newest"),
    (("--way", "naive"), "There is no way named naive"),
    (("--document", "없는 글.pdf"), "no document in the base has this path"),
]


@pytest.mark.parametrize(
    "command", [("search", "연차휴가"), ("ask", "연차휴가"), ("chat",)], ids=lambda one: str(one[0])
)
@pytest.mark.parametrize(("options", "named"), WRONG, ids=lambda one: str(one))
def test_an_option_that_cannot_be(run: Run, command: tuple[str, ...], options: tuple[str, ...], named: str) -> None:
    code, out, err = run(*command, *options)
    assert (code, out) == (2, "")
    assert err.startswith("silmari: ") and named in err


VARIABLES = [
    ("MIN_RELEVANCE", "1.5", "The setting min_relevance is '1.5'"),
    ("MIN_RELEVANCE", "-0.1", "The setting min_relevance is '-0.1'"),
    ("MIN_RELEVANCE", "many", "The setting min_relevance is 'many'"),
    ("NOW", "2024-02-30", "The setting now is '2024-02-30'"),
    ("PROMPT_TOKENS", "10", "The setting prompt_tokens is '10'"),
    ("FALLBACK", '{"fr": "non"}', "The setting fallback.fr is 'fr'"),
    ("FALLBACK", '{"ko": " "}', "The setting fallback.ko is ' ': it is empty"),
    ("FALLBACK", "없음", "The value of SILMARI_FALLBACK is no valid JSON"),
]


@pytest.mark.parametrize(("name", "value", "named"), VARIABLES)
def test_a_setting_that_cannot_be(run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str) -> None:
    monkeypatch.setenv(f"SILMARI_{name}", value)
    code, out, err = run("ask", "연차휴가")
    assert (code, out) == (2, "")
    assert err.startswith(f"silmari: {named}")


def test_a_table_of_fallbacks_is_checked_in_the_file_too(run: Run) -> None:
    Path("silmari.toml").write_text('fallback = "없음"\n', "utf-8")
    code, _, err = run("ask", "연차휴가")
    assert code == 2 and "The setting fallback is '없음'" in err


@pytest.mark.parametrize(
    "question",
    [
        "2024-02-30에 연차휴가는 며칠이었나요?",
        "2024년 2월 30일의 연차휴가는?",
        "How many days of 연차휴가 on February 30, 2024?",
    ],
)
def test_a_day_that_never_was_is_told_and_taken_as_words(run: Run, question: str) -> None:
    code, out, err = run("search", question)
    assert (code, err) == (0, "")
    assert "is no date of the calendar, so it was not used as a time" in " ".join(out.split())


@pytest.mark.parametrize("policy", ["fresh", "latest"])
def test_days_to_come_and_the_year_1_are_told(run: Run, policy: str) -> None:
    code, out, err = run("search", "연차휴가", "--policy", policy)
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert "a date later than today (2026-11-30), which does not count as new" in said
    assert "dated before the year 1000: the date may be wrong" in said
    assert said.index("올해 15일") < said.index("내일부터 20일")


def test_records_with_a_day_that_never_was_are_told(folder: Path) -> None:
    with KnowledgeBase.open(folder) as base:
        report = base.add_records([{"id": "x", "text": "연차", "date": "2024-02-30"}])
    assert any("2024-02-30" in str(one) and "date" in str(one) for one in report.files)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"filters": {"since": "2024-02-30"}}, "since is '2024-02-30'"),
        ({"filters": {"until": "0000-01-01"}}, "until is '0000-01-01'"),
        ({"filters": {"age": 3}}, "no filter named age"),
        ({"now": "2024-02-30"}, "now is '2024-02-30'"),
        ({"policy": "newest"}, "no policy named newest"),
        ({"now": 5}, "now is 5"),
        ({"k": 0}, "k is 0"),
        ({"k": "three"}, "k is 'three'"),
    ],
)
def test_python_tells_the_same(folder: Path, options: dict[str, Any], named: str) -> None:
    with KnowledgeBase.open(folder) as base:
        for call in (base.search, base.ask):
            with pytest.raises(UsageError) as told:
                call("연차휴가", **options)
            assert named in str(told.value) and "\n" not in str(told.value) and str(told.value).endswith(".")
        with pytest.raises(UsageError, match=named.split("'")[0]):
            list(base.stream("연차휴가", **options))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: Tier(max_age_days=-1), "max_age_days"),  # type: ignore[arg-type]
        (lambda: Tier(max_age_days=(60, 30)), "rise"),
        (lambda: Tier(min_relevance=(1.01,)), "min_relevance"),
        (lambda: Tier(since="2024-02-30"), "since"),
        (lambda: Policy(min_relevance=(-0.1,)), "min_relevance"),
        (lambda: Settings.load(min_relevance=2), "min_relevance"),
        (lambda: Settings.load(fallback={"ja": "x"}), r"fallback\.ja"),
    ],
)
def test_objects_tell_the_same(wrong: Callable[[], object], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        wrong()


def test_today_may_be_the_first_or_the_last_day_there_is(folder: Path) -> None:
    with KnowledgeBase.open(folder) as base:
        for today in (dt.date.min, dt.date.max):
            answer = base.ask("지난달 이후 연차휴가는 며칠인가요?", policy="fresh", now=today)
            assert isinstance(answer, Answer)
