"""``silmari eval`` as it is typed: output, exit codes, and errors of one sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from silmari.cli import app
from silmari.cli.progress import ProgressBars

Run = Callable[..., tuple[int, str, str]]
FILES = {
    "corpus.jsonl": '{"_id": "a", "title": "[한강]", "text": "서울을 지난다."}\n{"_id": "b", "text": "The Thames."}\n',
    "queries.jsonl": '{"_id": "1", "text": "서울의 한강"}\n{"_id": "2", "text": "Thames?"}\n'
    '{"_id": "3", "text": "금강"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t1\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    there = tmp_path / "작은 [강]"
    for name, content in FILES.items():
        path = there / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return there


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def called(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["silmari", "eval", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.run()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return called


def test_table(run: Run, folder: Path) -> None:
    code, out, err = run(folder, "--embedder", "none")
    assert (code, err) == (0, "")
    assert "작은 [강]: 2 questions, 2 documents" in " ".join(out.split())
    assert "sparse" in out and "dense" not in out and "[bold]" not in out
    assert "nDCG@10" in out and "1.000" in out
    assert "1 questions have no relevant document and were not asked." in out


def test_json_and_report(run: Run, folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    code, out, err = run(folder, "--embedder", "none", "--json", "--html", report, "--limit", 1, "--way", "sparse")
    assert (code, err) == (0, "")
    shown = json.loads(out)
    assert (shown["dataset"], shown["questions"], list(shown["ways"])) == ("작은 [강]", 1, ["sparse"])
    assert shown["ways"]["sparse"]["intervals"]["recall@5"] == [1, 1]
    page = report.read_text("utf-8")
    assert "<svg" in page and "Only the first 1 of 2 questions were asked." in page


def test_report_has_the_misses(run: Run, folder: Path, tmp_path: Path) -> None:
    (folder / "qrels" / "test.tsv").write_text("1\tb\t1\n2\tb\t1\n", "utf-8")
    code, out, _ = run(folder, "--embedder", "none", "--html", tmp_path / "report.html")
    assert code == 0
    assert "The report is in" in out
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("<details>") == 1
    assert "서울의 한강" in page and "found instead" in page and "[한강]" in page
    assert "none of the question&#x27;s" in page


def test_a_question_that_fails_is_told_by_the_exit_code(run: Run, folder: Path) -> None:
    with (folder / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"_id": "4", "text": "?!"}\n')
    with (folder / "qrels" / "test.tsv").open("a", encoding="utf-8") as file:
        file.write("4\ta\t1\n")
    code, out, err = run(folder, "--embedder", "none")
    assert (code, err) == (1, "")
    assert "sparse failed on 1 questions." in out


@pytest.mark.parametrize(
    ("spoil", "options", "message"),
    [
        ("corpus.jsonl", (), "has no corpus.jsonl"),
        ("qrels/test.tsv", (), "has no test.tsv"),
        (None, ("--way", "magic"), "no way named magic"),
        (None, ("--way", "dense"), "The way dense needs an embedder"),
        (None, ("--engine", "warp"), "no engine named 'warp'"),
        (None, ("--html", "nowhere/report.html"), "there is no folder nowhere"),
        (None, ("--html", "."), "which is a folder"),
    ],
)
def test_errors_are_one_sentence(
    run: Run, folder: Path, spoil: str | None, options: tuple[str, ...], message: str
) -> None:
    if spoil:
        (folder / spoil).unlink()
    code, out, err = run(folder, "--embedder", "none", *options)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1 and err.startswith("silmari: ")


def test_bad_judgements_are_named_with_their_line(run: Run, folder: Path) -> None:
    (folder / "qrels" / "test.tsv").write_text("1\ta\t1\n2\tb\tgood\n", "utf-8")
    code, _, err = run(folder, "--embedder", "none")
    assert code == 2
    assert "test.tsv line 2: the score 'good' is not a number." in err


def test_stopping_says_how_to_go_on(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressBars, "show", stop)
    code, out, err = run(folder, "--embedder", "none")
    assert (code, out) == (130, "")
    assert "Run the same command again" in err
    monkeypatch.undo()


def test_nano(run: Run, shared: Path, tmp_path: Path) -> None:
    code, out, _ = run(shared / "data" / "nano", "--embedder", "none", "--json", "--html", tmp_path / "nano.html")
    assert code == 0
    assert json.loads(out)["ways"]["sparse"]["recall@5"] == 1
    assert (tmp_path / "nano.html").stat().st_size > 5_000
