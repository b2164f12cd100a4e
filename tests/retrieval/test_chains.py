"""Chains of relations: what they say, where they go, and that they end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from silmari.retrieval.chains import LENGTH, Alike, Chain, Pool, find_chains

# Each topic is a direction; a relation's vector is the sum of what it speaks of.
TOPICS = "누가 회사 고향 축제 who founder home river other".split()
ME: Alike = {}


def says(*topics: str) -> NDArray[np.float32]:
    vector = np.array([float(topic in topics) for topic in TOPICS], np.float32)
    return vector / np.linalg.norm(vector)


def pool(*relations: tuple[int, int, int, NDArray[np.float32]]) -> Pool:
    """Relations as (id, subject, object, vector)."""
    return Pool(
        np.array([one[0] for one in relations], np.int64),
        np.array([one[1:3] for one in relations], np.int64).reshape(-1, 2),
        np.array([one[3] for one in relations], np.float32).reshape(len(relations), -1 if relations else len(TOPICS)),
    )


def test_three_relations_that_share_nothing_with_each_other_but_their_entities() -> None:
    company, founder, home, feast = 1, 2, 3, 4
    held = pool(
        (10, company, founder, says("회사", "누가")),
        (11, founder, home, says("고향", "other")),
        (12, home, feast, says("축제", "other")),
        (13, 8, 9, says("축제", "누가")),
    )
    found = find_chains(says("회사", "고향", "축제"), held, [10], ME)
    assert found[12].relations == (10, 11, 12) and found[12].joints == ((founder, founder), (home, home))
    assert found[12].says > found[10].close[0] == pytest.approx(1 / np.sqrt(6))
    assert 13 not in found  # close to the question, but joined with nothing


def test_what_is_repeated_adds_nothing() -> None:
    held = pool((1, 1, 2, says("who", "founder")), (2, 1, 3, says("who", "founder")), (3, 1, 4, says("who", "river")))
    found = find_chains(says("who", "founder", "river"), held, [1], ME)
    alone = found[1].close[0]
    both = find_chains(says("who", "founder", "river"), Pool(held.ids[:2], held.ends[:2], held.vectors[:2]), [1], ME)
    assert both[2].says == pytest.approx(alone)
    assert found[3].says > alone


def test_names_of_one_entity_join_as_surely_as_they_are_one() -> None:
    held = pool((1, 1, 2, says("who", "founder")), (2, 3, 4, says("home", "river")))
    question = says("founder", "river")
    assert 2 not in find_chains(question, held, [1], ME)

    def joined(surely: float) -> Chain:
        alike = {1: [(1, 1.0)], 2: [(2, 1.0), (3, surely)], 3: [(3, 1.0), (2, surely)], 4: [(4, 1.0)]}
        return find_chains(question, held, [1], alike)[2]

    assert joined(0.9).joints == ((2, 3),)
    assert joined(1.0).says > joined(0.5).says > joined(0.1).says


def test_a_path_leads_to_a_passage_by_the_relation_that_it_states() -> None:
    chain = Chain((5, 6, 7), ((1, 1), (2, 3)), 0.9, (0.5, 0.7, 0.6))
    assert chain.upto([7, 9]) == chain
    assert chain.upto([6, 7]) == Chain((5, 6), ((1, 1),), 0.9, (0.5, 0.7))
    assert chain.upto([5, 7]) == Chain((7,), (), 0.9, (0.6,))


def test_nothing_to_begin_with() -> None:
    held = pool((1, 1, 2, says("who")))
    assert find_chains(says("who"), held, [], ME) == {}
    assert find_chains(says("who"), held, [99], ME) == {}
    assert find_chains(says("who"), pool(), [1], ME) == {}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Pool, NDArray[np.float32], list[int]]:
    count = draw(st.integers(1, 12))
    ends = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=count, max_size=count))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vectors = random.normal(size=(count + 1, 6)) + draw(st.sampled_from([0.0, 2.0]))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    held = pool(*((at + 1, *pair, vectors[at]) for at, pair in enumerate(ends)))
    return held, vectors[-1], draw(st.lists(st.integers(1, count), max_size=4))


@settings(deadline=None)
@given(graphs())
def test_a_chain_is_a_path_and_says_no_more_than_its_relations_do(
    case: tuple[Pool, NDArray[np.float32], list[int]],
) -> None:
    held, question, starts = case
    ends = dict(zip(held.ids.tolist(), held.ends.tolist(), strict=True))
    for relation, chain in find_chains(question, held, starts, ME).items():
        assert relation in chain.relations and chain.relations[0] in starts
        assert len(set(chain.relations)) == len(chain.relations) <= LENGTH
        for (left, right), (one, other) in zip(chain.joints, pairwise(chain.relations), strict=True):
            assert left == right and left in ends[one] and right in ends[other]
        rows = [held.ids.tolist().index(one) for one in chain.relations]
        span = held.vectors[rows].astype(np.float64)
        whole = np.linalg.norm(np.linalg.lstsq(span.T, question.astype(np.float64))[0] @ span)
        # Only what speaks for the question counts, and repetitions do not: never more than the projection.
        assert max(0.0, chain.close[0]) - 1e-5 <= chain.says <= whole + 1e-3


@settings(deadline=None)
@given(graphs(), st.integers(0, 1000))
def test_the_order_of_the_pool_does_not_matter(case: tuple[Pool, NDArray[np.float32], list[int]], seed: int) -> None:
    held, question, starts = case
    order = np.random.default_rng(seed).permutation(len(held.ids))
    other = Pool(held.ids[order], held.ends[order], held.vectors[order])
    one = {item: chain.says for item, chain in find_chains(question, held, starts, ME).items()}
    two = {item: chain.says for item, chain in find_chains(question, other, starts, ME).items()}
    assert one == pytest.approx(two, abs=1e-5)
