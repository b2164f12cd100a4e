"""BM25 by Milvus itself, over tokens that were analysed elsewhere (server 2.5 and newer, Lite 3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from silmari.engine.base import Record
from silmari.engine.milvus_items import MOST, Collection, add_filter_fields, expressions, filter_values, ranked
from silmari.engine.milvus_link import Link
from silmari.model import Filter

# The longest text that a field takes; the server counts bytes, Lite characters.
_BYTES = 65_535
_PLAIN = re.compile(r"\w+")
# A token's weight in a question is how often it stands there: quarters, and no more than this many.
_STEPS = 4
_TIMES = 64


@lru_cache(maxsize=100_000)
def plain(token: str) -> str:
    """A token that Lite's analyser, which takes words and makes them small, leaves as it is."""
    if _PLAIN.fullmatch(token) and token == token.lower() and not token.startswith("0x"):
        return token
    return f"0x{blake2b(token.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


class ServerText(Collection):
    """The passages' texts in a collection of their own.

    Scores are Milvus's: a server's statistics are those of the whole collection; Lite works them out for each
    of its segments alone, so that scores of several batches are not quite comparable.

    Args:
        link: The connection.
        prefix: What the names of the collections begin with.
    """

    def __init__(self, link: Link, prefix: str) -> None:
        super().__init__(link, f"{prefix}_texts")
        self.made = False

    def look(self) -> None:
        """See whether the collection is there, and load it."""
        self.made = self.exists()
        if self.made:
            self.load()

    def make(self) -> None:
        """Begin with an empty collection."""
        from pymilvus import DataType, Function, FunctionType, MilvusClient

        self.drop()
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        add_filter_fields(schema)
        schema.add_field(
            "tokens",
            DataType.VARCHAR,
            max_length=_BYTES,
            enable_analyzer=True,
            enable_match=True,
            analyzer_params={"tokenizer": "standard" if self.link.address.lite else "whitespace"},
        )
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            Function(
                name="bm25",
                function_type=FunctionType.BM25,
                input_field_names=["tokens"],
                output_field_names=["sparse"],
            )
        )
        index = MilvusClient.prepare_index_params()
        params: dict[str, Any] = {"bm25_k1": 1.2, "bm25_b": 0.75}
        if self.link.address.lite:
            # pymilvus spreads them out, where Lite looks for them one level down (and would take k1 1.5).
            params = {"params": params}
        index.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=params)
        self.create(schema, index)
        self.made = True

    def put(self, records: Mapping[int, Record | None]) -> None:
        """Write these passages; None removes one."""
        rows = [
            {**filter_values(record), "tokens": self._text(record.tokens.split())}
            for record in records.values()
            if record is not None
        ]
        longest = max((len(row["tokens"]) for row in rows), default=0)
        self.write(rows, [id for id, record in records.items() if record is None], 4 * longest + 200)

    def search(self, tokens: Mapping[str, float], k: int, where: Filter) -> list[tuple[int, float]]:
        """The best k passages (at most `MOST`) as (id, score), best first; see `Engine.sparse`."""
        wanted = {token: weight for token, weight in tokens.items() if token.strip() and weight > 0}
        if not wanted or k < 1 or not self.made:
            return []
        times, unit = _repetitions(wanted)
        question = self._text([token for token, count in times.items() for _ in range(count)])
        found: dict[int, float] = {}
        for expression in expressions(where):
            (hits,) = self.link.call(
                "search",
                self.name,
                data=[question],
                anns_field="sparse",
                filter=expression,
                limit=min(k, MOST),
                search_params={"metric_type": "BM25"},
                consistency_level=self.consistency,
            )
            # Lite gives what is best the lowest, negative number.
            found.update({int(hit["id"]): abs(float(hit["distance"])) * unit for hit in hits})
        return ranked({id: score for id, score in found.items() if score > 0}, k)

    def frequencies(self, tokens: Sequence[str]) -> dict[str, int]:
        """In how many passages each token occurs."""
        return {token: self._frequency(token) for token in tokens}

    def _frequency(self, token: str) -> int:
        if not self.made or not token.strip():
            return 0
        text = self._text([token]).replace("\\", "\\\\").replace("'", "\\'")
        return self.count(f"text_match(tokens, '{text}')", self.consistency)

    def _text(self, tokens: Iterable[str]) -> str:
        """Tokens as one text, as many as fit into the field."""
        lite = self.link.address.lite
        kept: list[str] = []
        room = _BYTES
        for token in tokens:
            shown: Any = plain(token) if lite else token
            room -= len(shown.encode("utf-8", "replace")) + 1
            if room < 0:
                break
            kept.append(shown)
        return " ".join(kept)


def _repetitions(weights: Mapping[str, float]) -> tuple[dict[str, int], float]:
    """How often each token stands for its weight, and the weight of standing there once."""
    least = max(min(weights.values()), max(weights.values()) / _TIMES)
    steps = 1 if all((weight / least).is_integer() for weight in weights.values()) else _STEPS
    return {token: max(1, round(weight / least * steps)) for token, weight in weights.items()}, least / steps
