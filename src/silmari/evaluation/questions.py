"""The vectors of a collection's questions: made once and kept in the shared cache, and how long one takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from silmari.catalog.vector_cache import VectorCache, text_hash
from silmari.language.normalise import clean

if TYPE_CHECKING:
    from silmari.providers.embedding import Embedder

TIMED = 20


def remember_questions(
    embedder: Embedder, cache: VectorCache, texts: Sequence[str], on_progress: Callable[[int, int], None]
) -> None:
    """Give the embedder the vectors of all questions, from the cache or, where it lacks them, made in batches.

    They are rounded as the cache keeps them, so that the first run finds exactly what later ones find.

    Raises:
        ProviderError: The embedder failed; what was made before is kept.
    """
    if not texts:
        return
    # The prefix keeps a question apart from a passage of the same text, whatever the model's own prefixes are.
    keys = {text: text_hash(f"query: {clean(text).strip()}") for text in texts}
    vectors = dict(cache.get_many(embedder.fingerprint, keys.values()))
    missing = [text for text, key in keys.items() if key not in vectors]
    for start in range(0, len(missing), embedder.batch_size):
        part = missing[start : start + embedder.batch_size]
        made = dict(zip((keys[text] for text in part), embedder.queries(part).astype(np.float16), strict=True))
        cache.put_many(embedder.fingerprint, made)
        vectors.update(made)
        on_progress(start + len(part), len(missing))
    embedder.remember(list(keys), np.stack([vectors[key] for key in keys.values()]))


def embedding_ms(embedder: Embedder, texts: Sequence[str]) -> float:
    """Median time in milliseconds to embed a question alone, from at most 20 of `texts`, none of them from a cache.

    Raises:
        ProviderError: The embedder failed.
    """
    step = max(1, len(texts) // TIMED)
    sample = texts[::step][:TIMED]
    embedder.queries(sample[:1])  # the model is loaded by now, but its first text still takes longer
    times = []
    for text in sample:
        start = time.perf_counter()
        embedder.queries([text])
        times.append((time.perf_counter() - start) * 1000)
    return float(np.median(times))
