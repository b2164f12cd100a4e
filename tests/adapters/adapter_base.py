"""A small Korean and English base for the adapters' tests: records with and without dates, relations, a table."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from silmari.knowledge_base import KnowledgeBase
from word_embeddings import WordEmbeddings

RECORDS: list[dict[str, Any]] = [
    {
        "id": "leave",
        "title": "취업규칙",
        "text": "연차휴가는 입사 1년이 지나면 15일을 준다.",
        "date": "2024-03-01",
        "category": "규정",
    },
    {
        "id": "old-leave",
        "title": "옛 취업규칙",
        "text": "연차휴가는 입사 1년이 지나면 10일을 준다고 하였다.",
        "date": "1991-05-01",
        "category": "규정",
    },
    {
        "id": "safety",
        "title": "Safety notice",
        "text": "Helmets are worn in the workshop at all times.",
        "date": "2025-06-30",
    },
    {"id": "undated", "text": "The workshop opens at eight and closes at six."},
    {
        "id": "bridge",
        "title": "다리",
        "text": "달맞이다리는 서문경이 설계하였다.",
        "triplets": [["달맞이다리", "설계자", "서문경"]],
    },
    {"id": "person", "text": "그는 나루골 사람이다.", "triplets": [["서문경", "출생지", "나루골"]]},
]
TABLE = "지점,전화번호,개설일\n부산지점,051-555-0101,2020-02-03\n강릉지점,033-555-0202,2021-04-05\n"
LEAVE = "연차휴가는 며칠인가요?"
BRIDGE = "달맞이다리를 설계한 사람은 어디에서 태어났나요?"


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A base that no test changes; without a chat model."""
    folder = tmp_path_factory.mktemp("adapters")
    table = folder / unicodedata.normalize("NFD", "지점목록.csv")
    table.write_text(TABLE, "utf-8")
    with KnowledgeBase.open(folder / "kb", embedder=WordEmbeddings(), cache=folder / "cache") as base:
        base.add_records(RECORDS)
        base.add(table)
        yield base


def uris(metadata: list[dict[str, Any]]) -> list[str]:
    """The last part of each uri."""
    return [Path(one["uri"]).name.removeprefix("record:") for one in metadata]
