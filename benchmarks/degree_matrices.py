"""Expansion by powers of adjacency matrices, as the first source does it: the other side of the graph benchmark.

A dense array of entities × relations is filled, made sparse, and multiplied into maps from relation to relation and
from entity to relation at a distance; a question then reads rows of those. Written anew after the description.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import csr_matrix


class DegreeMatrices:
    """All relations at up to `degree` steps of each relation and entity.

    Args:
        ends: Subject and object of each relation, as rows of entities.
        entities: How many entities there are.
        degree: Steps.
    """

    def __init__(self, ends: Sequence[tuple[int, int]], entities: int, degree: int) -> None:
        dense = np.zeros((entities, len(ends)))
        for relation, pair in enumerate(ends):
            dense[list(pair), relation] = 1
        incidence = csr_matrix(dense)
        self.dense_bytes = dense.nbytes
        del dense
        by_entity, by_relation = incidence @ incidence.T, incidence.T @ incidence
        entities_far, relations_far = by_entity, by_relation
        for _ in range(degree - 1):
            entities_far, relations_far = entities_far @ by_entity, relations_far @ by_relation
        self.from_relation = relations_far.tocsr()
        self.from_entity = (entities_far @ incidence).tocsr()

    @property
    def sparse_bytes(self) -> int:
        """What the products hold."""
        return sum(
            one.data.nbytes + one.indices.nbytes + one.indptr.nbytes for one in (self.from_relation, self.from_entity)
        )

    def expand(self, relations: Iterable[int], entities: Iterable[int]) -> set[int]:
        """The relations around some relations and entities."""
        found: set[int] = set()
        for relation in relations:
            found.update(self.from_relation[[relation]].nonzero()[1].tolist())
        for entity in entities:
            found.update(self.from_entity[[entity]].nonzero()[1].tolist())
        return found
