"""Compare ways of fusing BM25 and cosine on BEIR folders, and where "not found" should begin.

Usage: python benchmarks/fusion.py [--work DIR] FOLDER [FOLDER ...]

Vectors come from the shared cache (SILMARI_CACHE); passages without one there are left out and counted. Scores are
computed in plain numpy by the engine's formulas and kept in DIR, so that another fusion is tried in seconds.

The first table has nDCG@10 and Recall@5, each with its distance from the better of `sparse` and `dense` on that
collection; ``-`` and ``+`` mark where the paired bootstrap's 95 % interval lies below or above 0. It is given once more
for questions of whose words only a fifth is known, as between languages. The second asks every
question thrice: of its collection, of its collection without its relevant documents, and of the collection before it
in the list (another topic; mind the language), and tells how often each threshold answers, declines and declines.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from silmari.catalog.vector_cache import VectorCache, text_hash
from silmari.catalog.words import embedding_input
from silmari.evaluation.beir import Dataset, load
from silmari.evaluation.metrics import measure, paired_difference
from silmari.language.analysis import Analyser
from silmari.language.normalise import clean
from silmari.providers.embedding import open_embedder
from silmari.reading.records import record_document
from silmari.retrieval.fused import DEPTH, combine
from silmari.retrieval.relevance import unrelated_mean
from silmari.settings import Settings
from silmari.splitting import split

K1, B = 1.2, 0.75
TOP = 5
METRICS = ("ndcg@10", "recall@5")
THRESHOLDS = (0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
Floats = NDArray[np.float64]


@dataclass
class Base:
    """A collection as a base holds it: passages, their documents, tokens and vectors."""

    data: Dataset
    documents: list[str]
    vectors: Floats
    vocabulary: dict[str, int]
    postings: sparse.csc_matrix
    presence: sparse.csc_matrix
    left_out: int

    def weights(self, query: dict[str, float]) -> tuple[list[int], Floats, float]:
        """Columns and idf-weights of the terms that occur, and the weight of all terms."""
        size, columns, weights, total = len(self.documents), [], [], 0.0
        for token, weight in query.items():
            column = self.vocabulary.get(token)
            frequency = 0 if column is None else int(np.diff(self.presence.indptr[column : column + 2])[0])
            weighted = weight * float(np.log(1 + (size - frequency + 0.5) / (frequency + 0.5)))
            total += weighted
            if column is not None:
                columns.append(column)
                weights.append(weighted)
        return columns, np.array(weights), total


@dataclass
class Asked:
    """One question of one base: the candidates and what each way knows of them."""

    documents: list[str]
    bm25: Floats
    cosine: Floats
    covers: Floats
    background: Floats
    mean: float
    deviation: float

    def only(self, keep: NDArray[np.bool_]) -> Asked:
        """Some of the candidates."""
        documents = [document for document, kept in zip(self.documents, keep, strict=True) if kept]
        parts = (self.bm25[keep], self.cosine[keep], self.covers[keep])
        return Asked(documents, *parts, self.background, self.mean, self.deviation)


def read(folder: Path, work: Path, analyser: Analyser, cache: VectorCache, embedder: str) -> Base:
    """Split, analyse and look up a collection; the tokens are kept in `work`."""
    data = load(folder)
    owners, texts = [], []
    for key, (title, text) in data.documents.items():
        for passage in split(record_document({"id": key, "title": title, "text": text})):
            owners.append(key)
            texts.append(embedding_input(passage))
    name = hashlib.sha256("\0".join([analyser.fingerprint, *texts]).encode()).hexdigest()[:16]
    kept = work / f"{name}.tokens"
    if kept.exists():
        tokens = pickle.loads(kept.read_bytes())
    else:
        tokens = analyser.tokens_many(texts)
        kept.write_bytes(pickle.dumps(tokens))
    hashes = [text_hash(clean(text).strip()) for text in texts]
    found = cache.get_many(embedder, hashes)
    there = [at for at, key in enumerate(hashes) if key in found]
    vocabulary: dict[str, int] = {}
    columns = [vocabulary.setdefault(token, len(vocabulary)) for at in there for token in tokens[at]]
    ends = np.cumsum([0, *(len(tokens[at]) for at in there)])
    counts = sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(there), len(vocabulary)))
    counts.sum_duplicates()
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    norms = np.repeat(K1 * (1 - B + B * lengths / lengths.mean()), np.diff(counts.indptr))
    presence = counts.copy()
    presence.data[:] = 1
    counts.data = counts.data * (K1 + 1) / (counts.data + norms)
    vectors = np.stack([found[hashes[at]] for at in there]).astype(np.float64)
    owners = [owners[at] for at in there]
    return Base(data, owners, vectors, vocabulary, counts.tocsc(), presence.tocsc(), len(texts) - len(there))


def ask(base: Base, query: dict[str, float], vector: Floats, deep: int = DEPTH) -> Asked:
    """What the engine would give: both lists, `deep` long, and exact cosines."""
    columns, weights, total = base.weights(query)
    bm25 = np.asarray(base.postings[:, columns] @ weights).ravel()
    covers = np.asarray(base.presence[:, columns] @ weights).ravel() / max(total, 1e-9)
    cosine = base.vectors @ vector
    by_words = [at for at in np.argsort(-bm25, kind="stable")[:deep] if bm25[at] > 0]
    by_meaning = np.argsort(-cosine, kind="stable")[:deep]
    ids = np.array(list(dict.fromkeys([*by_meaning, *by_words])))
    seen = np.where(np.isin(ids, by_words), bm25[ids], 0.0)
    background = np.random.default_rng(0).permutation(cosine)[:1000]
    documents = [base.documents[at] for at in ids]
    return Asked(documents, seen, cosine[ids], covers[ids], background, float(bm25.mean()), float(bm25.std()) or 1.0)


def known(query: dict[str, float], share: float) -> dict[str, float]:
    """A question of whose words only a share can meet any passage's, as if the passages were in another language."""
    if share == 1:
        return query
    dice = np.random.default_rng(len(query))
    return {token if dice.random() < share else f"{token} ?": weight for token, weight in query.items()}


def fused(asked: Asked, unrelated: float) -> Floats:
    """The scores of the package's own fusion."""
    ids = range(len(asked.documents))
    bm25 = {at: float(asked.bm25[at]) for at in ids if asked.bm25[at] > 0}
    trust = float(asked.covers[int(np.argmax(asked.bm25))]) if bm25 else 0.0
    scores = dict(combine(ids, bm25, dict(enumerate(asked.cosine.tolist())), unrelated, trust))
    return np.array([scores[at] for at in ids])


def ranks(values: Floats) -> Floats:
    places = np.empty(len(values))
    places[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return places


def fusions(unrelated: float) -> dict[str, Callable[[Asked], Floats]]:
    """What is compared; each gives the scores of the candidates."""

    def meaning(a: Asked) -> Floats:
        return np.asarray((a.cosine - unrelated) / (1 - unrelated))

    def share(a: Asked) -> Floats:
        return np.asarray(a.bm25 / max(float(a.bm25.max()), 1e-9))

    def standard(a: Asked, weight: float) -> Floats:
        words = (a.bm25 - a.mean) / a.deviation
        return np.asarray((a.cosine - a.background.mean()) / a.background.std() + weight * words)

    def rrf(a: Asked) -> Floats:
        return np.asarray(1 / (60 + ranks(a.cosine)) + np.where(a.bm25 > 0, 1 / (60 + ranks(a.bm25)), 0))

    return {
        "sparse": lambda a: a.bm25,
        "dense": lambda a: a.cosine,
        "RRF, 60": rrf,
        "z-scores, .2": lambda a: standard(a, 0.2),
        "z-scores, .3": lambda a: standard(a, 0.3),
        "z-scores, 1": lambda a: standard(a, 1.0),
        "relevance + .3 share": lambda a: meaning(a) + 0.3 * share(a),
        "relevance + .01 BM25": lambda a: meaning(a) + 0.01 * a.bm25,
        "relevance + .4 coverage": lambda a: meaning(a) + 0.4 * a.covers,
        "fused": lambda a: fused(a, unrelated),
    }


def ranking(asked: Asked, scores: Floats) -> list[str]:
    """Documents in the order of their best passage."""
    return list(dict.fromkeys(asked.documents[at] for at in np.argsort(-scores, kind="stable")))


def quality(name: str, questions: dict[str, Asked], base: Base, unrelated: float) -> None:
    """Print the first table for one collection."""
    there = set(base.documents)
    gains = {query: {d: g for d, g in base.data.qrels[query].items() if d in there} for query in questions}
    gains = {query: judged for query, judged in gains.items() if any(gain > 0 for gain in judged.values())}
    values = {
        way: np.array(
            [[measure(ranking(questions[q], score(questions[q])), gains[q])[m] for m in METRICS] for q in gains]
        )
        for way, score in fusions(unrelated).items()
    }
    print(f"\n{name}: {len(gains)} questions, {len(there)} documents, {base.left_out} passages left out")
    for way, got in values.items():
        cells = []
        for at, metric in enumerate(METRICS):
            best = max((values["sparse"][:, at], values["dense"][:, at]), key=lambda column: float(column.mean()))
            gap = paired_difference(got[:, at], best)
            mark = "-" if gap.high < 0 else "+" if gap.low > 0 else " "
            cells.append(f"{metric} {got[:, at].mean():.3f} {gap.mean:+.3f}{mark}")
        print(f"  {way:24s} {'   '.join(cells)}")


def backing(asked: Asked, unrelated: float) -> tuple[float, float, float]:
    """For the first passages: the best relevance, the best coverage, the best relevance + half the coverage."""
    if not asked.documents:
        return 0.0, 0.0, 0.0
    first = np.argsort(-fused(asked, unrelated), kind="stable")[:TOP]
    relevance = np.clip((asked.cosine[first] - unrelated) / (1 - unrelated), 0, 1)
    covers = asked.covers[first]
    return float(relevance.max()), float(covers.max()), float((relevance + covers / 2).max())


def thresholds(kinds: Sequence[tuple[str, list[tuple[float, float, float]]]]) -> None:
    """Print one collection's part of the second table."""
    for at, (signal, lower) in enumerate((("relevance", 0.2), ("coverage", 0.25), ("relevance + coverage / 2", 0.0))):
        cells = []
        for threshold in THRESHOLDS:
            rates = [np.mean([each[at] >= threshold - lower for each in found]) for _, found in kinds]
            shown = [
                f"{rate if kind == 'there' else 1 - rate:.2f}" for (kind, _), rate in zip(kinds, rates, strict=True)
            ]
            cells.append(f"{threshold - lower:.2f}: {'/'.join(shown)}")
        print(f"  {signal:24s} {'  '.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare fusions of BM25 and cosine on BEIR folders.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "silmari-fusion")
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    settings = Settings.load()
    cache, analyser = VectorCache(settings.cache.expanduser()), Analyser()
    embedder = open_embedder("bundled", settings)
    assert embedder is not None
    unrelated = unrelated_mean(embedder, settings.cache.expanduser())
    before: Base | None = None
    for folder in chosen.folders:
        base = read(folder, chosen.work, analyser, cache, embedder.fingerprint)
        keys = base.data.judged()
        texts = [base.data.queries[key] for key in keys]
        hashes = [text_hash("query: " + clean(text).strip()) for text in texts]
        found = cache.get_many(embedder.fingerprint, hashes)
        queries = [
            (key, analyser.query(text), found[h])
            for key, text, h in zip(keys, texts, hashes, strict=True)
            if h in found
        ]
        for kept in (1.0, 0.2):
            asked = {q: ask(base, known(tokens, kept), np.asarray(v, np.float64)) for q, tokens, v in queries}
            quality(folder.name if kept == 1 else f"{folder.name}, {kept:.0%} of the words", asked, base, unrelated)
        there, removed, elsewhere = [], [], []
        for key, tokens, v in queries:
            relevant = {document for document, gain in base.data.qrels[key].items() if gain > 0}
            if not relevant & set(base.documents):
                continue
            whole = ask(base, tokens, np.asarray(v, np.float64))
            there.append(backing(whole, unrelated))
            others = whole.only(np.array([document not in relevant for document in whole.documents]))
            removed.append(backing(others, unrelated))
            if before is not None:
                elsewhere.append(backing(ask(before, tokens, np.asarray(v, np.float64)), unrelated))
        thresholds([("there", there), ("removed", removed), *([("elsewhere", elsewhere)] if before else [])])
        before = base


if __name__ == "__main__":
    main()
