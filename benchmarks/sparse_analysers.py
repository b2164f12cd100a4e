"""Compare analysers for BM25 on BEIR folders, in one run.

Usage: python benchmarks/sparse_analysers.py FOLDER [FOLDER ...]

Each cell is nDCG@10 / recall@5. The text that is indexed is title, line break, text. BM25 is the engine's formula
(k1 1.2, b 0.75) in plain scipy, without the engine's rounding of lengths. Morphemes are cached in the temporary folder.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import math
import pickle
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from silmari.language import analysis, latin
from silmari.language.korean import HANGUL, Korean, Word
from silmari.language.normalise import normalise

K1, B = 1.2, 0.75
RAW_WORD = re.compile(r"\w+")
Kinds = dict[str, list[str]]


class Bm25:
    """BM25 over documents that are given as lists of tokens; a question's terms have weights."""

    def __init__(self, documents: Iterable[list[str]]) -> None:
        vocabulary: dict[str, int] = {}
        columns: list[int] = []
        counts: list[int] = []
        ends = [0]
        for tokens in documents:
            counted = Counter(vocabulary.setdefault(token, len(vocabulary)) for token in tokens)
            columns.extend(counted.keys())
            counts.extend(counted.values())
            ends.append(len(columns))
        self.size = len(ends) - 1
        rows = sparse.csr_matrix(
            (np.array(counts, dtype=np.float64), columns, ends), shape=(self.size, len(vocabulary))
        )
        lengths = np.asarray(rows.sum(axis=1)).ravel()
        postings = rows.tocsc()
        frequencies = np.diff(postings.indptr)
        self.vocabulary = vocabulary
        self.idf = np.log(1 + (self.size - frequencies + 0.5) / (frequencies + 0.5))
        norms = K1 * (1 - B + B * lengths / lengths.mean())
        self.documents, self.ends = postings.indices, postings.indptr
        self.values = postings.data / (postings.data + norms[postings.indices])

    def top(self, question: Mapping[str, float], k: int) -> list[int]:
        """The k best documents that share a term with the question."""
        scores: NDArray[np.float64] = np.zeros(self.size)
        for token, weight in question.items():
            term = self.vocabulary.get(token)
            if term is not None and weight:
                part = slice(self.ends[term], self.ends[term + 1])
                scores[self.documents[part]] += weight * self.idf[term] * self.values[part]
        return [int(place) for place in np.argsort(-scores, kind="stable")[:k] if scores[place] > 0]


@dataclass
class Folder:
    """One BEIR folder with its texts analysed once, by kind of token."""

    name: str
    ids: list[str]
    titles: list[str]
    texts: list[str]
    questions: dict[str, str]
    relevant: dict[str, dict[str, float]]
    words: list[list[Word]] = field(default_factory=list)
    question_words: dict[str, list[Word]] = field(default_factory=dict)

    @property
    def korean(self) -> bool:
        """Whether most of its texts hold Hangul."""
        return sum(bool(HANGUL.search(text)) for text in self.texts[:200]) > 100


def read(path: Path) -> Folder:
    packed = path / "corpus.jsonl.gz"
    opened = (
        gzip.open(packed, "rt", encoding="utf-8") if packed.exists() else (path / "corpus.jsonl").open(encoding="utf-8")
    )
    with opened as lines:
        documents = [json.loads(line) for line in lines]
    with (path / "queries.jsonl").open(encoding="utf-8") as lines:
        asked = {entry["_id"]: normalise(entry["text"]) for entry in map(json.loads, lines)}
    relevant: dict[str, dict[str, float]] = defaultdict(dict)
    with (path / "qrels" / "test.tsv").open(encoding="utf-8") as table:
        for question, document, grade in list(csv.reader(table, delimiter="\t"))[1:]:
            if float(grade) > 0:
                relevant[question][document] = float(grade)
    titles = [normalise(entry.get("title") or "") for entry in documents]
    texts = [title + "\n" + normalise(entry["text"]) for title, entry in zip(titles, documents, strict=True)]
    questions = {key: text for key, text in asked.items() if key in relevant}
    folder = Folder(path.name, [entry["_id"] for entry in documents], titles, texts, questions, relevant)
    folder.words = cached(folder.texts)
    folder.question_words = dict(zip(questions, cached(list(questions.values())), strict=True))
    return folder


def cached(texts: list[str]) -> list[list[Word]]:
    """Korean words of the texts, from the cache if the same texts were analysed before."""
    digest = hashlib.sha256(analysis.Analyser().fingerprint.encode())
    digest.update(Path(analysis.__file__).with_name("korean.py").read_bytes())
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    store = Path(tempfile.gettempdir()) / "silmari-benchmarks" / f"{digest.hexdigest()[:24]}.pickle"
    if store.exists():
        return pickle.loads(store.read_bytes())
    words = list(Korean().words_many(texts))
    store.parent.mkdir(exist_ok=True)
    store.write_bytes(pickle.dumps(words))
    return words


def measure(
    folder: Folder, documents: Iterable[list[str]], ask: Callable[[str, list[Word]], Mapping[str, float]]
) -> str:
    index = Bm25(documents)
    gains, recalls = [], []
    for key, text in folder.questions.items():
        relevant = folder.relevant[key]
        found = [folder.ids[place] for place in index.top(ask(text, folder.question_words[key]), 10)]
        gain = sum(relevant.get(name, 0) / math.log2(rank + 2) for rank, name in enumerate(found))
        best = sum(
            grade / math.log2(rank + 2) for rank, grade in enumerate(sorted(relevant.values(), reverse=True)[:10])
        )
        gains.append(gain / best)
        recalls.append(len(relevant.keys() & set(found[:5])) / len(relevant))
    return f"{np.mean(gains):.3f} / {np.mean(recalls):.3f}"


def pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def kinds(text: str, words: list[Word]) -> Kinds:
    """All that the variants choose from."""
    return {
        "latin": [token for piece in latin.pieces(text) for token in piece],
        "stem": [stem for word in words for stem in word.stems],
        "compound": [whole for word in words for whole in word.compounds],
        "bigram": [analysis.BIGRAM + pair for word in words for pair in word.bigrams],
        "any bigram": [analysis.BIGRAM + pair for run in HANGUL.findall(text) for pair in pairs(run)],
        "spelled": HANGUL.findall(text),
    }


def chosen(
    weights: Mapping[str, float],
) -> tuple[Callable[[str, list[Word]], list[str]], Callable[[str, list[Word]], dict[str, float]]]:
    """An analysis that indexes the kinds named in `weights` and weighs a question's tokens by them."""

    def index(text: str, words: list[Word]) -> list[str]:
        found = kinds(text, words)
        return [token for kind in weights for token in found[kind]]

    def ask(text: str, words: list[Word]) -> dict[str, float]:
        found = kinds(text, words)
        question: dict[str, float] = defaultdict(float)
        for kind, weight in weights.items():
            for token in found[kind]:
                question[token] += weight
        return question

    return index, ask


def raw_words(text: str, words: list[Word]) -> list[str]:
    return RAW_WORD.findall(text)


def raw_words_without_stops(text: str, words: list[Word]) -> list[str]:
    return [word for word in RAW_WORD.findall(text) if word not in latin.STOP_WORDS]


LATIN = {"latin": 1.0}
KIWI = {**LATIN, "stem": 1.0}
VARIANTS: dict[str, tuple[Callable[[str, list[Word]], list[str]], Callable[[str, list[Word]], Mapping[str, float]]]] = {
    "words": (raw_words, lambda text, words: Counter(raw_words(text, words))),
    "words, stop words out": (
        raw_words_without_stops,
        lambda text, words: Counter(raw_words_without_stops(text, words)),
    ),
    "stems (English)": chosen(LATIN),
    "bigrams of all Hangul": chosen({**LATIN, "any bigram": 1}),
    "bigrams of Kiwi's nouns": chosen({**LATIN, "bigram": 1}),
    "Kiwi stems": chosen(KIWI),
    "Kiwi stems + compounds": chosen({**KIWI, "compound": 0.5}),
    "Kiwi stems + all bigrams 1": chosen({**KIWI, "any bigram": 1}),
    "Kiwi stems + all bigrams .5": chosen({**KIWI, "any bigram": 0.5}),
    "Kiwi stems + noun bigrams 1": chosen({**KIWI, "bigram": 1}),
    "Kiwi stems + noun bigrams .5": chosen({**KIWI, "bigram": 0.5}),
    "Kiwi stems + noun bigrams .2": chosen({**KIWI, "bigram": 0.2}),
    "… + compounds .5 + noun bigrams .5": chosen({**KIWI, "compound": 0.5, "bigram": 0.5}),
    "… + words as spelled .3": chosen({**KIWI, "compound": 0.5, "bigram": 0.5, "spelled": 0.3}),
    "**silmari** (… + question words out)": (analysis.indexed, analysis.asked),
}
ENGLISH = {"words", "words, stop words out", "stems (English)", "**silmari** (… + question words out)"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    folders = [read(path) for path in parser.parse_args().folders]
    for korean in (True, False):
        columns = [folder for folder in folders if folder.korean is korean]
        if not columns:
            continue
        print("| nDCG@10 / R@5 | " + " | ".join(folder.name for folder in columns) + " |")
        print("|---|" + "---|" * len(columns))
        for name, (index, ask) in VARIANTS.items():
            if (korean and name in {"stems (English)", "words, stop words out"}) or (
                not korean and name not in ENGLISH
            ):
                continue
            cells = [measure(folder, map(index, folder.texts, folder.words), ask) for folder in columns]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        # Titles count twice: only where a set has titles does this say anything.
        cells = []
        for folder in columns:
            headed = cached(folder.titles)
            doubled = (
                analysis.indexed(text, words) + analysis.indexed(title, heading)
                for text, words, title, heading in zip(folder.texts, folder.words, folder.titles, headed, strict=True)
            )
            cells.append(measure(folder, doubled, analysis.asked))
        print("| silmari, titles twice | " + " | ".join(cells) + " |\n", flush=True)


if __name__ == "__main__":
    main()
