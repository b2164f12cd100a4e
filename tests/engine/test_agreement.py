"""The demo's office on every engine: the same questions find the same, with and without filters."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_moving import ENGINES, server

from silmari.examples.material import office, questions
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Hit
from word_embeddings import WordEmbeddings

QUESTIONS = [json.loads(line)["question"] for line in questions().read_text("utf-8").splitlines() if line.strip()]
FILTERS: list[dict[str, Any]] = [
    {},
    {"category": ["excel", "csv"]},
    {"since": "2024-01-01"},
    {"since": "1980-01-01", "until": "2000-12-31", "category": "pdf"},
    {"documents": ["*.txt", "*.md"]},
    {"since": "2031-01-01"},
]
K = 8


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("office") / "kb"
    with KnowledgeBase.open(folder, embedder=WordEmbeddings(), cache=folder.parent / "cache") as base:
        base.add(office())
    return folder


def asked(base: KnowledgeBase, way: str, deep: int, questions: list[str]) -> list[list[Hit]]:
    return [
        base.search(question, way=way, k=deep, filters=filters, duplicates=True, time=False)  # type: ignore[arg-type]
        for question in questions
        for filters in FILTERS
    ]


def assert_like(found: list[Hit], expected: list[Hit], apart: Callable[[float], float]) -> None:
    """The same top K, but for hits whose scores are nearer than `apart`; `expected` goes deeper than K."""
    scores = {hit.passage.id: hit.score for hit in expected}
    assert len(found) == min(K, len(expected))
    for hit, there in zip(found, expected, strict=False):
        assert hit.passage.id in scores, hit
        assert abs(hit.score - scores[hit.passage.id]) <= apart(there.score)
        assert abs(scores[hit.passage.id] - there.score) <= apart(there.score)


@pytest.mark.parametrize("url_of", ENGINES)
def test_engines_agree(built: Path, tmp_path: Path, url_of: Callable[[Path], str]) -> None:
    # A strong read takes a Milvus server 200 ms.
    some = QUESTIONS[::3] if url_of is server else QUESTIONS
    with KnowledgeBase.open(built, embedder=WordEmbeddings(), engine="local") as local:
        expected = {way: asked(local, way, 4 * K, some) for way in ("dense", "cascade", "sparse")}
    assert any(len(hits) >= K for hits in expected["cascade"])
    assert any(not hits for hits in expected["cascade"])
    with KnowledgeBase.open(built, embedder=WordEmbeddings(), engine=url_of(tmp_path)) as other:
        assert not other.status().lag
        for way, apart in (
            ("dense", lambda score: 1e-3),
            ("cascade", lambda score: 1e-3),
            # Engines round lengths differently.
            ("sparse", lambda score: 0.05 * score),
        ):
            for found, there in zip(asked(other, way, K, some), expected[way], strict=True):
                assert_like(found, there, apart)
