"""The engine follows relations and entities as it follows passages."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from silmari.knowledge_base import KnowledgeBase
from silmari.model import Filter, Kind
from word_embeddings import WordEmbeddings

RECORDS = [
    {"id": "a", "text": "조선소이다.", "triplets": [["한빛중공업", "설립자", "오인환"]]},
    {"id": "b", "text": "A city.", "triplets": [["Euler", "born in", "Basel"], ["오인환", "출생지", "새여울"]]},
]


def nearest(base: KnowledgeBase, embedder: WordEmbeddings, kind: Kind, text: str) -> int:
    vector = np.asarray(embedder.embed_documents([text])[0], np.float32)
    return base._mirror.engine.dense(kind, vector, 1, Filter())[0][0]


def held(base: KnowledgeBase, kind: Kind) -> set[int]:
    vector = np.ones(len(next(iter(base.catalog.vectors([1]).values()))), np.float32)
    return {item for item, _ in base._mirror.engine.dense(kind, vector, 99, Filter())}


def test_relations_and_entities_are_found_and_go(base: KnowledgeBase, embedder: WordEmbeddings) -> None:
    base.add_records(RECORDS)
    counts = base.catalog.counts()
    assert base._mirror.engine.counts() == {"texts": 2, "vectors": 2 + 3 + 5}
    relation = base.catalog.relations([nearest(base, embedder, "relation", "Euler born in Basel")])
    assert [one.text for one in relation.values()] == ["Euler born in Basel"]
    entity = base.catalog.entities([nearest(base, embedder, "entity", "오인환")])
    assert [one.name for one in entity.values()] == ["오인환"]
    base.remove(["record:b"])
    assert held(base, "relation") == {1}
    assert {one.name for one in base.catalog.entities(held(base, "entity")).values()} == {"한빛중공업", "오인환"}
    base.reindex()
    assert (held(base, "relation"), len(held(base, "entity"))) == ({1}, 2)
    base.add_records(RECORDS)
    assert base.catalog.counts() == counts
    assert len(held(base, "relation")) == 3


def test_passages_that_state_more_are_still_found(base: KnowledgeBase, tmp_path: Path) -> None:
    base.add_records([{"id": "a", "text": "한빛중공업 조선소"}])
    before = base.search("조선소", way="sparse")
    base.catalog.want_relations("triplets")
    ((number, _, _),) = base.catalog.pending_extractions(9)
    from silmari.model import Triplet

    base.catalog.store_extractions({number: [Triplet("한빛중공업", "is", "조선소")]})
    after = base.search("조선소", way="sparse")
    assert [(hit.passage.id, round(hit.score, 4)) for hit in after] == [
        (hit.passage.id, round(hit.score, 4)) for hit in before
    ]
