"""Quoted answers to questions of several hops: every hop with the sentence that states it."""

from __future__ import annotations

from pathlib import Path

import pytest

from silmari.knowledge_base import KnowledgeBase
from word_embeddings import WordEmbeddings

FORGE = [
    {
        "id": "forge",
        "text": "Business was slow at first. Rill Forge was founded by Orin Tavel in 1931.",
        "triplets": [["Rill Forge", "founded by", "Orin Tavel"]],
    },
    {
        "id": "tavel",
        "text": "O. Tavel was born in Sennhaven, the son of a ferryman.",
        "triplets": [["O. Tavel", "born in", "Sennhaven"]],
    },
    {
        "id": "town",
        "text": "Sennhaven is known for its lantern fair. It lies on the coast.",
        "triplets": [["Sennhaven", "known for", "lantern fair"]],
    },
]
공장 = [
    {
        "id": "공장",
        "text": "여울철공소는 1931년 오만석이 세웠다.",
        "triplets": [["여울철공소", "세운 사람", "오만석"]],
    },
    {
        "id": "사람",
        "text": "오만석 회장의 고향은 새여울이다. 그는 술을 하지 않았다.",
        "triplets": [["오만석 회장", "고향", "새여울"]],
    },
    {"id": "마을", "text": "새여울은 등불 축제로 유명하다.", "triplets": [["새여울", "유명한 것", "등불 축제"]]},
]
OTHERS = [{"id": f"n{at}", "text": f"잡음 {at} noise", "triplets": []} for at in range(12)]


@pytest.fixture
def filled(tmp_path: Path) -> KnowledgeBase:
    base = KnowledgeBase.open(tmp_path / "kb", embedder=WordEmbeddings())
    base.add_records([*FORGE, *공장, *OTHERS])
    return base


@pytest.mark.parametrize(
    ("question", "sentences"),
    [
        (
            "What is the place where the man that Rill Forge was founded by was born known for?",
            [
                "Rill Forge was founded by Orin Tavel in 1931. [1]",
                "O. Tavel was born in Sennhaven, the son of a ferryman. [2]",
                "Sennhaven is known for its lantern fair. [3]",
            ],
        ),
        (
            "여울철공소를 세운 사람의 고향은 무엇으로 유명한가?",
            [
                "여울철공소는 1931년 오만석이 세웠다. [1]",
                "오만석 회장의 고향은 새여울이다. [2]",
                "새여울은 등불 축제로 유명하다. [3]",
            ],
        ),
    ],
)
@pytest.mark.parametrize("way", ["graph", "fused"])
def test_every_hop_is_quoted_in_order(filled: KnowledgeBase, question: str, sentences: list[str], way: str) -> None:
    with filled as base:
        answer = base.ask(question, way=way, k=3)  # type: ignore[arg-type]
        assert answer.text.splitlines() == sentences
        assert len(answer.sources) == 3
        assert len(answer.trace["answer"]["chain"]) == 3


def test_a_question_that_one_sentence_answers_gets_no_chain(filled: KnowledgeBase) -> None:
    with filled as base:
        for question in ("Who was Rill Forge founded by?", "여울철공소는 누가 세웠나?"):
            answer = base.ask(question, way="graph", k=3)
            assert len(answer.sources) == 1 and answer.trace["answer"]["chain"] == []


def test_without_relations_nothing_is_chained(tmp_path: Path) -> None:
    with KnowledgeBase.open(tmp_path / "kb", embedder=WordEmbeddings(), relations="sentences") as base:
        base.add_records([*FORGE, *OTHERS])
        answer = base.ask("What is the place where the man that Rill Forge was founded by was born known for?", k=3)
        assert answer.trace["answer"].get("chain", []) == []
