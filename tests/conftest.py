"""Shared by all tests: a base in a temporary folder, and the user's own embedder that needs no weights."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import postgres_server
from silmari.knowledge_base import KnowledgeBase
from word_embeddings import WordEmbeddings

settings.register_profile("silmari", deadline=None, max_examples=int(os.environ.get("SILMARI_EXAMPLES", "40")))
settings.load_profile("silmari")

SHARED = Path(os.environ.get("SILMARI_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's own cache, settings or base."""
    monkeypatch.setenv("SILMARI_CACHE", str(tmp_path_factory.mktemp("cache")))
    for name in (
        "SILMARI_KB",
        "SILMARI_EMBEDDER",
        "SILMARI_LLM",
        "SILMARI_CATALOG",
        "SILMARI_ENGINE",
        "SILMARI_CATALOG",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def embedder() -> WordEmbeddings:
    return WordEmbeddings()


@pytest.fixture
def base(tmp_path: Path, embedder: WordEmbeddings) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path / "kb", embedder=embedder) as opened:
        yield opened


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of a catalog that is not there yet, in PostgreSQL."""
    url = postgres_server.new_schema()
    yield url
    postgres_server.drop(url)


@pytest.fixture
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the evaluation data (../shared) are not here")
    return SHARED
