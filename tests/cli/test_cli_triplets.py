"""``silmari add --triplets``, ``build --relations``, and what ``status``, ``list`` and ``show`` say of relations."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from silmari.cli import app

Run = Callable[..., tuple[int, str, str]]
CSV = "주어,서술어,목적어,문서\n한강,지난다,서울,강.txt\n한강,흘러드는 곳,서해,강.txt\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SILMARI_EMBEDDER", "none")
    (tmp_path / "강.txt").write_text("한강은 서울을 지나 서해로 흐른다.", "utf-8")
    (tmp_path / "facts.csv").write_text(CSV, "cp949")

    def called(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["silmari", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.run()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), " ".join(out.split()), err

    return called


def test_documents_and_their_triplets(run: Run) -> None:
    code, out, _ = run("add", "강.txt", "--triplets", "facts.csv")
    assert code == 0 and "added: facts.csv: 2 triplets for 1 documents." in out and "2 added." in out
    assert "Relations 2 between 3 entities" in run("status")[1]
    assert "given" in run("list")[1]
    shown = run("show", "강.txt")[1]
    assert "한강 – 지난다 – 서울" in shown
    passage = json.loads(run("show", "강.txt", "--json")[1])["passages"][0]
    assert [relation["object"] for relation in passage["relations"]] == ["서울", "서해"]
    state = json.loads(run("status", "--json")[1])
    assert (state["relations"], state["entities"], state["failed_extractions"]) == (2, 3, [])


def test_triplets_before_and_after_their_documents(run: Run) -> None:
    code, out, _ = run("add", "--triplets", "facts.csv")
    assert (
        code == 2 and "failed: facts.csv: 1 of the 1 ids in it match no document of the base, such as '강.txt'" in out
    )
    assert run("add", "강.txt")[0] == 0
    code, out, _ = run("add", "--triplets", "facts.csv", "--json")
    assert code == 0 and json.loads(out)["counts"] == {"added": 1}


def test_a_part_that_failed(run: Run) -> None:
    Path("facts.csv").write_text(CSV + "한강,지난다,강.txt\n금강,지난다,공주,금강.txt\n", "utf-8")
    code, out, _ = run("add", "강.txt", "--triplets", "facts.csv")
    assert code == 1 and "1 triplet without three parts" in out and "line 4" in out and "'금강.txt'" in out
    assert "Relations 2 between 3 entities" in run("status")[1]


def test_where_relations_come_from(run: Run) -> None:
    run("add", "강.txt", "--triplets", "facts.csv", "--relations", "sentences")
    assert "Relations 0 between 0 entities" in run("status")[1]
    assert run("build", "--relations", "given")[0] == 0
    assert "Relations 2 between 3 entities" in run("status")[1]
    code, out, _ = run("build", "--relations", "triplets")
    assert code == 0 and "1 passages wait for a chat model" in out
    assert "relations: 1 (silmari build" in run("status")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add"], "name files, folders or globs, or --triplets FILE"),
        (["add", "강.txt", "--relations", "all"], "relations is 'all'; it takes sentences, given, triplets."),
        (["add", "--triplets", "nowhere.csv"], "nowhere.csv: there is no such file of triplets"),
    ],
)
def test_what_cannot_be(run: Run, arguments: list[str], said: str) -> None:
    code, _, err = run(*arguments)
    assert code != 0 and said in " ".join(err.split()) and "Traceback" not in err
