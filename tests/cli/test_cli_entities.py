"""``silmari entities``: list, merge, split, forget; and what it says of wrong names."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from silmari import KnowledgeBase, UsageError
from silmari.cli import app

Run = Callable[..., tuple[int, str, str]]
RECORDS = [
    ("기업", "(주)한빛중공업은 오인환 회장이 세웠다.", [["(주)한빛중공업", "설립자", "오인환 회장"]]),
    (
        "연혁",
        "한빛중공업은 청라포에 있다. 오인환이 세웠다.",
        [["한빛중공업", "본사", "청라포시"], ["오인환", "직책", "회장"]],
    ),
    ("소식", "한빛이 배를 만들었다.", [["한빛", "제품", "쌍고래"], ["한빛", "제품", "50%_선"]]),
    (
        "학교",
        "박도윤 교수와 박도윤 대리",
        [["박도윤 교수", "직장", "대학"], ["박도윤 대리", "직장", "한빛"], ["박도윤", "취미", "바둑"]],
    ),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SILMARI_EMBEDDER", "none")
    with KnowledgeBase.open() as base:
        base.add_records({"id": name, "text": text, "triplets": triplets} for name, text, triplets in RECORDS)

    def called(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["silmari", "entities", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.run()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), " ".join(out.split()), err

    return called


def aliases(run: Run, name: str) -> dict[str, tuple[float, str]]:
    found = json.loads(run(name, "--json")[1])["entities"][0]
    return {alias["name"]: (alias["score"], alias["reason"]) for alias in found["aliases"]}


def test_names_are_listed_with_spellings_counts_and_aliases(run: Run) -> None:
    code, out, _ = run("한빛중공업")
    assert code == 0
    assert "(주)한빛중공업 (2 relations in 2 passages) also spelled 한빛중공업 (1)" in out
    assert "한빛 (trade left out)" in out
    assert "1 names." in out
    found = json.loads(run("박도윤", "--json")[1])
    assert found["total"] == 3 and found["entities"][0]["name"] == "박도윤"
    assert aliases(run, "박도윤").keys() == {"박도윤 교수", "박도윤 대리"}
    assert aliases(run, "박도윤 교수").keys() == {"박도윤"}


def test_pages_and_patterns(run: Run) -> None:
    code, out, _ = run("--limit", 2)
    assert code == 0 and "1 to 2 of" in out and "--offset 2 goes on" in out
    everything = json.loads(run("--json")[1])
    paged = [json.loads(run("--json", "--limit", 4, "--offset", at)[1])["entities"] for at in range(0, 16, 4)]
    assert [one for page in paged for one in page] == everything["entities"]
    assert everything["entities"][0]["name"] == "한빛"
    assert {one["name"] for one in json.loads(run("박도윤*", "--json")[1])["entities"]} == {
        "박도윤",
        "박도윤 교수",
        "박도윤 대리",
    }
    assert [one["name"] for one in json.loads(run("오인?", "--json")[1])["entities"]] == ["오인환"]
    assert [one["name"] for one in json.loads(run("50%_", "--json")[1])["entities"]] == ["50%_선"]
    assert run("없는 이름") == (0, "0 names.", "")


def test_a_verdict_overrides_and_can_be_taken_back(run: Run) -> None:
    assert aliases(run, "오인환")["오인환 회장"][0] < 1
    code, out, _ = run("--split", "오인환", "오인환 회장은")
    assert code == 0 and "오인환 and 오인환 회장은 are kept apart" in out
    assert "오인환 회장" not in aliases(run, "오인환")
    assert "not 오인환 회장" in run("오인환")[1]
    assert run("--merge", "쌍고래", "한빛")[0] == 0
    assert aliases(run, "쌍고래") == {"한빛": (1.0, "said to be the same")}
    code, out, _ = run("--forget", "한빛", "쌍고래")
    assert code == 0 and "forgotten" in out
    assert (
        run("--forget", "오인환 회장", "오인환", "--json")[1]
        == '{ "names": [ "오인환 회장", "오인환" ], "verdict": null }'
    )
    assert aliases(run, "쌍고래") == {}
    assert aliases(run, "오인환")["오인환 회장"][0] < 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--merge", "오인헌", "한빛"), "the base has no name '오인헌'; it has '오인환'"),
        (("--merge", "한빛", "한빛중공업 주식회사 회장"), "the base has no name '한빛중공업 주식회사 회장'"),
        (("--merge", "Dr. Nobody", "한빛"), "silmari entities lists those that it has"),
        (("--split", "도윤", "한빛"), "has no name '도윤', but 3 that hold it; name one of them: '박도윤 교수', "),
        (("--merge", "(주)한빛중공업", "한빛중공업"), "are spellings of one name already"),
        (("--forget", "한빛", "오인환"), "nothing was decided of '한빛' and '오인환'"),
        (("한빛", "--merge", "한빛", "오인환"), "give a pattern to list, or one of"),
        (("--merge", "한빛", "오인환", "--split", "한빛", "오인환"), "give a pattern to list, or one of"),
        (("--merge", "", "한빛"), "the base has no name ''"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, arguments: tuple[str, ...], said: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2 and said in err and err.count("\n") == 1


def test_verdicts_outlive_their_entities_and_the_base_follows(run: Run) -> None:
    with KnowledgeBase.open() as base:
        base.merge_entities("한빛", "쌍고래")
        assert base.entities("쌍고래").entities[0].aliases[0].score == 1
        base.remove("record:소식")
        assert base.entities("쌍고래").total == 0
        name, text, triplets = RECORDS[2]
        base.add_records([{"id": name, "text": text, "triplets": triplets}])
        assert base.entities("쌍고래").entities[0].aliases[0].name == "한빛"
        base.remove("record:소식")
        base.forget_alias("한빛", "쌍고래")
        with pytest.raises(UsageError, match="nothing was decided"):
            base.forget_alias("한빛", "쌍고래")
        with pytest.raises(UsageError, match="limit is 0"):
            base.entities(limit=0)
        assert asyncio.run(base.aentities("박도윤")) == base.entities("박도윤")


def test_a_base_without_relations_has_no_names(tmp_path: Path) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder="none") as base:
        assert base.entities().total == 0
