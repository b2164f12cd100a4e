"""Packages of the user's choice.

fastembed and sentence-transformers load their models from a hub, so modules with their interfaces, found on the
path like the real ones, stand in for them: what is tested is what we ask of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from silmari.errors import ProviderError
from silmari.providers.embedding import open_embedder
from silmari.settings import Settings

FASTEMBED = """
import numpy
asked = []
class TextEmbedding:
    def __init__(self, model_name, threads=None):
        if "e5" not in model_name:
            raise ValueError(f"Model {model_name} is not supported in TextEmbedding.")
        asked.append(("open", model_name, threads))
    def query_embed(self, query):
        for text in query:
            asked.append(("query", text))
            yield numpy.array([1.0, len(text)])
    def passage_embed(self, texts):
        for text in texts:
            asked.append(("passage", text))
            yield numpy.array([2.0, len(text)])
"""
SENTENCE_TRANSFORMERS = """
import numpy
asked = []
class SentenceTransformer:
    def __init__(self, name):
        if "missing" in name:
            raise OSError(f"{name} is not a local folder and is not a valid model identifier.")
        self.prompts = {"query": "own query: ", "document": ""} if "own" in name else {"query": "", "document": ""}
    def encode(self, inputs, prompt=None, batch_size=32, show_progress_bar=None):
        asked.append((prompt, list(inputs)))
        return numpy.array([[1.0, len(text)] for text in inputs])
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, content in (("fastembed", FASTEMBED), ("sentence_transformers", SENTENCE_TRANSFORMERS)):
        (tmp_path / f"{name}.py").write_text(content, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("fastembed", "sentence_transformers"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("packages")
def test_fastembed() -> None:
    embedder = open_embedder("fastembed:intfloat/multilingual-e5-large", Settings(embedder_threads=1))
    assert embedder is not None
    rows = embedder.passages(["하나", "둘"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    embedder.query("질문")
    assert sys.modules["fastembed"].asked == [
        ("open", "intfloat/multilingual-e5-large", 1),
        ("passage", "passage: 하나"),
        ("passage", "passage: 둘"),
        ("query", "query: 질문"),
    ]
    assert embedder.fingerprint.startswith("fastembed:intfloat/multilingual-e5-large+prefixes-")


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("name", ["fastembed:unknown", "sentence-transformers:missing"])
def test_model_that_cannot_be_loaded(name: str) -> None:
    embedder = open_embedder(name, Settings())
    assert embedder is not None
    with pytest.raises(ProviderError, match=r"cannot be loaded.*check the name and the network"):
        embedder.query("질문")


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("model", "given", "prompts"),
    [
        ("intfloat/e5-base", None, ["query: ", "passage: "]),
        ("own-prompts-e5", None, ["own query: ", ""]),
        ("own-prompts-e5", ("Q ", "P "), ["Q ", "P "]),
        ("BAAI/bge-m3", None, ["", ""]),
    ],
)
def test_prompts_of_sentence_transformers(model: str, given: tuple[str, str] | None, prompts: list[str]) -> None:
    embedder = open_embedder(f"huggingface:{model}", Settings(), prefixes=given)
    assert embedder is not None
    assert embedder.fingerprint.startswith(f"sentence-transformers:{model}")
    embedder.query("질문")
    embedder.passages(["글"])
    assert sys.modules["sentence_transformers"].asked == [(prompts[0], ["질문"]), (prompts[1], ["글"])]
