"""From a folder to a report, over real bases: what is built, what is kept, what is counted and what is timed."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from silmari.errors import UsageError
from silmari.evaluation.folder import evaluate_folder
from silmari.evaluation.html import make_html
from silmari.evaluation.metrics import METRICS
from silmari.knowledge_base import KnowledgeBase
from silmari.language.normalise import clean
from silmari.model import WAYS
from silmari.providers.embedding import open_embedder
from silmari.settings import Settings
from word_embeddings import WordEmbeddings

RIVERS = {
    "d1": ("한강", "서울을 지나 서해로 흐르는 강이다."),
    "d2": ("낙동강", "부산에서 바다로 들어간다."),
    "d3": ("Thames", "It flows through London and Oxford."),
    "d4": ("", "금강은 공주와 부여를 지난다."),
}
QUESTIONS = {"q1": "서울을 지나는 강은?", "q2": "What flows through London?", "q3": "화성에는 강이 있나?"}
ANSWERS = {"q1": {"d1": 1}, "q2": {"d3": 1}}


def write(
    folder: Path,
    documents: Mapping[str, tuple[str, str]] = RIVERS,
    questions: Mapping[str, str] = QUESTIONS,
    answers: Mapping[str, Mapping[str, int]] = ANSWERS,
) -> Path:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    corpus = [{"_id": key, "title": title, "text": text} for key, (title, text) in documents.items()]
    asked = [{"_id": key, "text": text} for key, text in questions.items()]
    for name, records in (("corpus", corpus), ("queries", asked)):
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    judged = "".join(f"{query}\t{key}\t{gain}\n" for query, gains in answers.items() for key, gain in gains.items())
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", "utf-8")
    return folder


def bases() -> list[Path]:
    return sorted((Settings.load().cache / "eval").glob("*"))


def test_every_way_finds_the_answers_in_both_languages(tmp_path: Path, embedder: WordEmbeddings) -> None:
    report = evaluate_folder(write(tmp_path / "강"), embedder=embedder)
    assert list(report.ways) == list(WAYS)
    assert report.queries == ("q1", "q2")
    assert "1 questions have no relevant document and were not asked." in report.notes
    for way, summary in report.ways.items():
        assert summary.metrics["recall@1"] == 1, way
        assert summary.failed == 0
    shown = report.as_json()
    assert (shown["dataset"], shown["questions"]) == ("강", 2)
    for one in shown["ways"].values():
        assert {*METRICS, "p50_ms", "p95_ms", "intervals"} <= set(one)
        assert one["p50_ms"] > 0
    assert shown["built_with"]["engine"] == "local"


def test_titles_belong_to_the_text(tmp_path: Path, embedder: WordEmbeddings) -> None:
    folder = write(tmp_path, questions={"q": "낙동강"}, answers={"q": {"d2": 1}})
    report = evaluate_folder(folder, embedder=embedder)
    assert [one.metrics["recall@1"] for one in report.ways.values()] == [1.0] * len(WAYS)


def test_a_split_document_counts_once_and_ten_documents_are_filled(tmp_path: Path, embedder: WordEmbeddings) -> None:
    long = "\n\n".join(f"등대지기 일지 {day}일째. " + f"등대에서 본 배 {day}척을 적는다. " * 30 for day in range(40))
    others = {
        f"s{number}": ("", f"등대 {number}호는 항구에서 {number}미터 떨어져 있고 지키는 사람이 없다.")
        for number in range(12)
    }
    documents = {"long": ("등대지기 일지", long), **others}
    folder = write(tmp_path, documents, {"q": "등대지기가 일지에 적은 배"}, {"q": {"long": 1, "s3": 1}})
    report = evaluate_folder(folder, embedder=embedder)
    for way, (outcome,) in report.outcomes.items():
        found = [key for key, _ in outcome.documents]
        assert len(found) == len(set(found)) == 10, way
        assert found[0] == "long"


def test_equal_and_nearly_equal_documents_are_all_found(tmp_path: Path, embedder: WordEmbeddings) -> None:
    text = "초록 지붕 집에는 늙은 고양이 세 마리가 마당과 부엌을 오가며 산다"
    documents = {"a": ("", text), "same": ("", text), "near": ("", f"{text}."), **RIVERS}
    folder = write(tmp_path, documents, {"q": "초록 지붕 집의 고양이"}, {"q": {"a": 1, "same": 1, "near": 1}})
    report = evaluate_folder(folder, embedder=embedder)
    for way, (outcome,) in report.outcomes.items():
        assert {key for key, _ in outcome.documents[:3]} == {"a", "same", "near"}, way
    with KnowledgeBase.open(bases()[0], embedder=embedder) as base:
        assert len(base.search("초록 지붕 집의 고양이", way="sparse")) == 1
        assert len(base.search("초록 지붕 집의 고양이", way="sparse", duplicates=True)) == 2


class Counting(WordEmbeddings):
    """Also counts questions, and may take its time with them."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.questions: list[str] = []
        self.seconds = seconds

    def embed_query(self, text: str) -> list[float]:
        self.questions.append(text)
        time.sleep(self.seconds)
        return super().embed_query(text)


def many(count: int) -> tuple[dict[str, tuple[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    numbers = range(count)
    documents = {f"d{n}": (f"건물 {n}호", f"건물 {n}호는 {1900 + n}년에 지었고 높이는 {n * 7}미터다.") for n in numbers}
    questions = {f"q{n}": f"건물 {n}호의 높이는 얼마인가?" for n in numbers}
    return documents, questions, {f"q{n}": {f"d{n}": 1} for n in numbers}


def without_times(report: object) -> object:
    shown = json.loads(json.dumps(report.as_json()))  # type: ignore[attr-defined]
    for way in shown["ways"].values():
        for name in ("p50_ms", "p95_ms", "embed_ms"):
            way.pop(name)
            way["intervals"].pop(name, None)
    return shown["ways"]


def test_a_second_run_only_searches_and_finds_the_same(tmp_path: Path) -> None:
    first, second, other = Counting(), Counting(), Counting()
    folder = write(tmp_path / "one", *many(60))
    report = evaluate_folder(folder, embedder=first)
    assert len(set(first.questions) & set(many(60)[1].values())) == 60
    again = evaluate_folder(folder, embedder=second)
    assert second.texts == []
    assert len(second.questions) <= 21  # those whose time is measured
    assert without_times(again) == without_times(report)
    # Another folder of the same documents has the same base, whatever is asked of it.
    copy = write(tmp_path / "two", many(60)[0], {"q": "건물 3호"}, {"q": {"d3": 1}})
    evaluate_folder(copy, embedder=other)
    assert other.texts == [] and len(bases()) == 1


def test_other_contents_and_other_settings_have_other_bases(tmp_path: Path, embedder: WordEmbeddings) -> None:
    folder = write(tmp_path / "one")
    evaluate_folder(folder, embedder=embedder)
    evaluate_folder(folder, embedder="none")
    evaluate_folder(folder, embedder=embedder, passage_words=50)
    write(tmp_path / "one", {**RIVERS, "d4": ("", "금강은 공주를 지난다.")})
    evaluate_folder(folder, embedder=embedder)
    assert len(bases()) == 4


@pytest.mark.parametrize(("stage", "after"), [("read", 1), ("vectors", 100)])
def test_an_interrupted_build_goes_on_where_it_stopped(tmp_path: Path, stage: str, after: int) -> None:
    documents, questions, answers = many(700)
    folder = write(tmp_path, documents, dict(list(questions.items())[:5]), answers)
    embedder = Counting()

    def interrupt(now: str, done: int, total: int, current: str) -> None:
        if now == stage and done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_folder(folder, embedder=embedder, on_progress=interrupt)
    with KnowledgeBase.open(bases()[0], embedder=embedder) as base:
        stored = len(base.documents())
    assert 500 <= stored <= 700
    made = len(embedder.texts)
    seen: list[tuple[str, int, int]] = []
    report = evaluate_folder(
        folder, embedder=embedder, on_progress=lambda *step: seen.append((step[0], step[1], step[2]))
    )
    assert report.ways["sparse"].metrics["recall@1"] == 1
    read = [total for now, _, total in seen if now == "read"]
    assert max(read, default=0) == 700 - stored
    vectors = [total for now, _, total in seen if now == "vectors"]
    assert max(vectors) == 700 - (made if stage == "vectors" else 0)
    counts = Counter(text for text in embedder.texts if text.startswith("건물"))
    assert len(counts) == 700 and set(counts.values()) == {1}


def test_progress_of_all_stages_ends_at_its_total(tmp_path: Path, embedder: WordEmbeddings) -> None:
    last: dict[str, tuple[int, int]] = {}
    evaluate_folder(
        write(tmp_path),
        embedder=embedder,
        on_progress=lambda stage, done, total, current: last.update({stage: (done, total)}),
    )
    assert list(last) == ["read", "vectors", "questions", "search"]
    assert last == {"read": (4, 4), "vectors": (4, 4), "questions": (2, 2), "search": (2 * len(WAYS), 2 * len(WAYS))}


def test_limit_and_ways(tmp_path: Path, embedder: WordEmbeddings) -> None:
    report = evaluate_folder(write(tmp_path, *many(12)), embedder=embedder, limit=5, ways=["fused", "sparse", "fused"])
    assert report.queries == ("q0", "q1", "q2", "q3", "q4")
    assert list(report.ways) == ["fused", "sparse"]
    assert report.ways["fused"].versus_first == {} != report.ways["sparse"].versus_first


def test_the_time_holds_that_of_a_fresh_question_although_its_vector_is_kept(tmp_path: Path) -> None:
    folder = write(tmp_path, *many(6))
    evaluate_folder(folder, embedder=Counting())
    slow = Counting(seconds=0.04)
    report = evaluate_folder(folder, embedder=slow)
    for summary in report.ways.values():
        assert summary.embed_ms >= 40
        assert summary.times["p50_ms"] > summary.embed_ms
    assert any("for the question's vector" in note for note in report.notes)
    assert evaluate_folder(folder, embedder="none").ways["sparse"].embed_ms == 0


def test_without_an_embedder_only_sparse_is_measured(tmp_path: Path) -> None:
    folder = write(tmp_path)
    report = evaluate_folder(folder, embedder="none")
    assert list(report.ways) == ["sparse"]
    assert "Without an embedder only the way sparse can be measured." in report.notes
    assert report.ways["sparse"].metrics["recall@1"] == 1
    with pytest.raises(UsageError, match="The way cascade needs an embedder"):
        evaluate_folder(folder, embedder="none", ways=["sparse", "cascade"])


def test_what_cannot_be_asked_or_taken_in_is_told(tmp_path: Path, embedder: WordEmbeddings) -> None:
    documents = {**RIVERS, "blank": ("", " "), "dots": ("", "...")}
    questions = {**QUESTIONS, "q4": "???"}
    folder = write(tmp_path, documents, questions, {**ANSWERS, "q4": {"d1": 1}, "q3": {"blank": 1}})
    report = evaluate_folder(folder, embedder=embedder, explain=True)
    assert any(note.startswith("1 documents were not taken in") and "record:blank" in note for note in report.notes)
    assert [summary.failed for summary in report.ways.values()] == [1] * len(WAYS)
    assert "sparse failed on 1 questions." in report.notes
    page = make_html(report)
    assert "The question has no words" in page
    assert "it was not taken in" in page


def test_misses_are_explained(tmp_path: Path, embedder: WordEmbeddings) -> None:
    documents, questions, answers = many(30)
    documents["goal"] = ("탑", "가장 높은 탑은 설봉산에 있다.")
    folder = write(tmp_path, documents, {**questions, "odd": "건물 3호"}, {**answers, "odd": {"goal": 1, "lost": 1}})
    plain, told = (evaluate_folder(folder, embedder=embedder, explain=explain) for explain in (False, True))
    assert without_times(plain) == without_times(told)
    trace = told.outcomes["sparse"][-1].trace
    goal, lost = trace["notes"][-2:]
    assert goal.startswith("“탑”: BM25 beyond rank ") and "cosine " in goal
    assert "none of the question's" in goal
    assert lost.startswith("lost: ") and lost.endswith("the corpus does not have it")
    assert goal.split(";")[-1] in make_html(told) or "none of the question&#x27;s" in make_html(told)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ways": ["spars"]}, "no way named spars; the ways are sparse, dense"),
        ({"limit": 0}, "limit is 0"),
        ({"split": "dev"}, r"no dev\.tsv"),
        ({"engine": "nowhere"}, "no engine named 'nowhere'"),
        ({"embedders": "x"}, "no setting named embedders"),
        ({"embedder": "oops"}, "embedder 'oops' cannot be read"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_embedded(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    embedder = WordEmbeddings()
    with pytest.raises(UsageError, match=message):
        evaluate_folder(write(tmp_path), **{"embedder": embedder, **options})  # type: ignore[arg-type]
    assert embedder.texts == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [(["강", "\u1100\u1161\u11bc"], "cannot be told apart"), (["x", "x "], "cannot be told apart"), ([" "], "blank")],
)
def test_ids_that_would_be_one_record_are_refused(
    tmp_path: Path, keys: Sequence[str], message: str, embedder: WordEmbeddings
) -> None:
    documents = {**RIVERS, **{key: ("", f"text {number}") for number, key in enumerate(keys)}}
    with pytest.raises(UsageError, match=message):
        evaluate_folder(write(tmp_path, documents), embedder=embedder)


def test_an_embedder_remembers_questions_that_were_made_before() -> None:
    counting = Counting()
    embedder = open_embedder(counting, Settings.load())
    assert embedder is not None
    texts = ["서울의 강은?", "  서울의 강은? ", "Which river?"]
    made = embedder.queries(texts).astype(np.float16)
    asked = len(counting.questions)
    embedder.remember(texts, made)
    for text, vector in zip(texts, made, strict=True):
        kept = embedder.query(text)
        assert kept.dtype == np.float32
        assert float(np.linalg.norm(kept)) == pytest.approx(1, abs=1e-5)
        assert float(kept @ vector) == pytest.approx(1, abs=1e-3)
    assert len(counting.questions) == asked
    assert embedder.query(clean("새 물음")).shape == (512,)
    assert len(counting.questions) == asked + 1
    with pytest.raises(ValueError, match="read-only"):
        embedder.query("Which river?")[0] = 1


def test_nano_is_solved_without_an_embedder(shared: Path) -> None:
    report = evaluate_folder(shared / "data" / "nano", embedder="none")
    assert report.ways["sparse"].metrics["recall@5"] == 1
