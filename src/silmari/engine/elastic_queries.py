"""What is asked of Elasticsearch, as the JSON it reads: mappings, filters and queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.engine.base import Record
from silmari.engine.elastic_address import Address
from silmari.errors import KnowledgeBaseError
from silmari.model import Filter, Kind, day_number

Json = dict[str, Any]

# Of mappings and settings; an index of another one is built anew.
LAYOUT = 1
# Hits of one request.
WINDOW = 100_000
# Values of one terms query.
_TERMS = 65_536
# Longer tokens cannot be stored: 32,766 bytes, at most 3 for each of Java's characters.
_LONGEST = 10_000


def index_settings(address: Address) -> Json:
    """Settings of an index."""
    settings: Json = {
        "number_of_shards": address.shards,
        # What is being applied shows only when all of it is there.
        "refresh_interval": "-1" if address.refresh == "now" else "5s",
        "max_result_window": WINDOW,
        "similarity": {"default": {"type": "BM25", "k1": 1.2, "b": 0.75}},
    }
    if address.replicas is not None:
        settings["number_of_replicas"] = address.replicas
    if address.analysis == "nori":
        settings["analysis"] = {"analyzer": {"blanks": {"type": "nori"}}}
    else:
        # The default would cut tokens of more than 255 characters in two.
        settings["analysis"] = {
            "tokenizer": {"blanks": {"type": "whitespace", "max_token_length": 1_000_000}},
            "filter": {"storable": {"type": "length", "max": _LONGEST}},
            "analyzer": {"blanks": {"type": "custom", "tokenizer": "blanks", "filter": ["storable"]}},
        }
    return settings


MAPPINGS: Json = {
    "dynamic": "false",
    "_meta": {"layout": LAYOUT},
    "properties": {
        "tokens": {"type": "text", "analyzer": "blanks"},
        "document_id": {"type": "long"},
        "category": {"type": "keyword"},
        "day": {"type": "integer"},
    },
}


def vector_field(dim: int) -> Json:
    """The field of vectors, added when the first one comes: only then is their length known."""
    # Named, since newer servers would round vectors to 8 bits or 1, and cosines with them.
    return {
        "vector": {
            "type": "dense_vector",
            "dims": dim,
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": "hnsw"},
        }
    }


def source(record: Record) -> Json:
    """A record as it is stored; undated ones have no day, so that no range holds them."""
    stored: Json = {"tokens": record.tokens, "document_id": record.document_id, "category": record.category}
    if record.day is not None:
        stored["day"] = record.day
    # The server refuses zero vectors, which no question is near to anyway.
    if record.vector is not None and np.any(record.vector):
        stored["vector"] = record.vector.astype(np.float64).tolist()
    return stored


def limits(where: Filter) -> list[Json] | None:
    """Clauses that a hit must meet, or None if nothing can meet them."""
    clauses: list[Json] = []
    if where.categories is not None:
        clauses.append({"terms": {"category": sorted(where.categories)}})
    if where.documents is not None:
        documents = sorted(where.documents)
        parts = [documents[start : start + _TERMS] for start in range(0, len(documents), _TERMS)]
        clauses.append({"bool": {"should": [{"terms": {"document_id": part}} for part in parts]}})
    if where.since or where.until:
        bounds = {"gte": day_number(where.since), "lte": day_number(where.until)}
        clauses.append({"range": {"day": {name: day for name, day in bounds.items() if day is not None}}})
    if where.undated:
        clauses.append({"bool": {"must_not": [{"exists": {"field": "day"}}]}})
    if where.categories == frozenset() or where.documents == frozenset():
        return None
    return clauses


HAS_VECTOR: Json = {"exists": {"field": "vector"}}


def word(token: str, weight: float, address: Address) -> Json:
    """A token's part of BM25; terms are taken as they are, unlike a match, which is analysed."""
    if address.analysis == "nori":
        return {"match": {"tokens": {"query": token, "boost": weight}}}
    return {"term": {"tokens": {"value": token, "boost": weight}}}


def sparse(tokens: Mapping[str, float], clauses: Sequence[Json], address: Address) -> Json | None:
    """BM25 of weighted tokens with the filter inside, where it adds nothing to the score; None without a token."""
    words = [word(token, weight, address) for token, weight in tokens.items() if token and weight > 0]
    if not words:
        return None
    return {"bool": {"must": [{"bool": {"should": words, "minimum_should_match": 1}}], "filter": list(clauses)}}


def exact(unit: Sequence[float], clauses: Sequence[Json]) -> Json:
    """Cosines, plus 1, of everything that meets the clauses and has a vector, and of nothing else."""
    script = {"source": "cosineSimilarity(params.question, 'vector') + 1.0", "params": {"question": list(unit)}}
    return {"script_score": {"query": {"bool": {"filter": [HAS_VECTOR, *clauses]}}, "script": script}}


def ids(numbers: Sequence[int]) -> Json:
    """Exactly these."""
    return {"ids": {"values": [str(number) for number in numbers]}}


def question(vector: NDArray[np.float32], dim: int, kind: Kind) -> list[float]:
    """A question's vector at unit length.

    Raises:
        KnowledgeBaseError: Wrong length, not finite or zero.
    """
    full = np.asarray(vector, dtype=np.float64).ravel()
    if len(full) != dim:
        raise KnowledgeBaseError(
            f"The question's vector has {len(full)} numbers but the {kind} index holds {dim}: "
            "use the embedder that built the knowledge base, or rebuild it with this one."
        )
    length = float(np.linalg.norm(full))
    if not np.isfinite(length) or length == 0:
        raise KnowledgeBaseError(
            "The question's vector is zero or not finite, so nothing can be compared with it: check the embedder."
        )
    unit: list[float] = (full / length).tolist()
    return unit


def checked(record: Record, dim: int, kind: Kind) -> int:
    """The length of a record's vector, `dim` if it has none.

    Raises:
        KnowledgeBaseError: The vector is not finite or not as long as the others (`dim`, 0 if there is none).
    """
    if record.vector is None:
        return dim
    length = record.vector.size
    if not length or (dim and length != dim):
        raise KnowledgeBaseError(
            f"The vector of {kind} {record.id} has {length} numbers where the index holds {dim or 'at least 1'}: "
            "vectors of two embedders cannot be mixed, rebuild the knowledge base with one of them."
        )
    if not np.isfinite(record.vector).all():
        raise KnowledgeBaseError(
            f"The vector of {kind} {record.id} is not finite: check the embedder and embed it again."
        )
    return length
