"""How well words and vectors tell a sentence that its cited passage supports from one that it does not.

Usage: python -m benchmarks.support [--questions N] FOLDER [FOLDER ...]     (BEIR folders; every second one is held out)

From each question's relevant passages, by program: a sentence as it is, with every fourth word dropped, with other
particles or in another order, and the gold answer joined to the question's words. Each of them cites its passage (true)
and, in a second copy, the nearest passage of the same search that is not relevant (false). Further false ones cite the
right passage with one name, or one figure, exchanged for another of the collection. Passages' vectors come from the
shared cache (SILMARI_CACHE); passages without one are left out.

The floor is the highest that marks at most 3 % of the true claims of the first, third, … folder; the last tables have
the others.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from silmari.answering.backing import FLOOR, FOREIGN_FLOOR, NEAR, WORDS_FLOOR, shared, support
from silmari.answering.figures import figures, known_in, strange
from silmari.answering.units import split as units
from silmari.answering.wording import language_of
from silmari.catalog.vector_cache import VectorCache, text_hash
from silmari.catalog.words import embedding_input
from silmari.evaluation.beir import Dataset, load
from silmari.language.analysis import Analyser
from silmari.language.normalise import clean
from silmari.model import Passage
from silmari.providers.embedding import Embedder, open_embedder
from silmari.reading.records import record_document
from silmari.retrieval.relevance import relevance, unrelated_mean
from silmari.settings import Settings
from silmari.splitting import split

MARKED = 0.03
WEIGHTS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
_PARTICLES = re.compile(r"(?<=[가-힣]{2})(은|는|이|가|을|를)(?=\s)")
_SWAPPED = {"은": "이", "는": "가", "이": "은", "가": "는", "을": "도", "를": "도"}
_ASKING = re.compile(
    r"\b(?:what|who|whom|whose|which|when|where|how|why|did|does|do|is|are|was|were)\b"
    r"|누구\S*|무엇\S*|언제\S*|어디\S*|어떤|어느|몇|얼마\S*|왜|어떻게|인가요?|입니까|\?",
    re.I,
)
_NAME_EN = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*")
_NAME_KO = re.compile(r"(?<![가-힣])[가-힣]{2,5}(?=(?:은|는|이|가|의|에서|에|을|를|와|과|으로|로)(?![가-힣]))")


@dataclass
class Claim:
    """A sentence that cites a passage.

    Attributes:
        kind: How it was made.
        true: Whether the passage supports it.
        words: The share of its words that the passage has.
        near: Its relevance by cosine.
        strange: Whether a figure of it is not in the passage.
    """

    kind: str
    true: bool
    text: str
    places: tuple[int, ...]
    words: float = 0.0
    near: float = 0.0
    strange: bool = False


@dataclass
class Collection:
    """Passages with vectors."""

    name: str
    data: Dataset
    passages: list[Passage] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    vectors: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0)))


def read(folder: Path, cache: VectorCache, fingerprint: str) -> Collection:
    data = load(folder)
    found = Collection(folder.name, data)
    texts, rows = [], []
    for key, (title, text) in data.documents.items():
        passages = split(record_document({"id": key, "title": title, "text": text}))
        texts += [(key, title, passage) for passage in passages]
    hashes = [text_hash(clean(embedding_input(passage)).strip()) for _, _, passage in texts]
    known = cache.get_many(fingerprint, hashes)
    for (key, title, passage), kept in zip(texts, hashes, strict=True):
        if kept in known:
            found.owners.append(key)
            found.titles.append(title)
            found.passages.append(passage)
            rows.append(known[kept])
    found.vectors = np.stack(rows).astype(np.float32)
    return found


def claims(base: Collection, embedder: Embedder, count: int) -> Iterator[Claim]:
    """Claims of a collection, true and false, without what is measured of them."""
    dice = random.Random(base.name)
    places: dict[str, list[int]] = {}
    for place, owner in enumerate(base.owners):
        places.setdefault(owner, []).append(place)
    asked = [key for key in base.data.queries if base.data.qrels.get(key)]
    for key in dice.sample(asked, min(count, len(asked))):
        question = base.data.queries[key]
        relevant = {owner for owner, grade in base.data.qrels[key].items() if grade > 0}
        gold = [place for owner in relevant for place in places.get(owner, ())]
        if not gold:
            continue
        answers = _answers(base.data.metadata.get(key, {}))
        holding = [place for place in gold if any(answer in base.passages[place].content for answer in answers)]
        place = dice.choice(holding or gold)
        sentences = [unit.text for unit in units(base.passages[place]) if 30 <= len(unit.text) <= 400]
        if not sentences:
            continue
        telling = [text for text in sentences if any(answer in text for answer in answers)]
        sentence = dice.choice(telling or sentences)
        near = base.vectors @ embedder.query(question)
        others = [at for at in np.argsort(-near) if base.owners[at] not in relevant][:5]
        made = [("as it is", sentence), ("words dropped", dropped(sentence)), ("reworded", reworded(sentence))]
        cited = {kind: (place,) for kind, _ in made}
        if holding and answers:
            short = min(answers, key=len)
            if len(short) < 80:
                made.append(("question + answer", f"{_ASKING.sub('', question).strip()} {short}"))
                # Of several hops no passage alone says it all.
                cited["question + answer"] = tuple(gold[:5])
        for kind, text in made:
            # Of the five nearest passages of the search, those that are nearest to the claim.
            told = embedder.query(text)
            hard = sorted(others, key=lambda at: -float(base.vectors[at] @ told))
            yield Claim(kind, True, text, cited[kind])
            yield Claim(f"{kind}, neighbour cited", False, text, tuple(map(int, hard[: len(cited[kind])])))
        for kind, changed in (("name exchanged", _renamed), ("figure exchanged", _refigured)):
            other = changed(sentence, base, dice)
            if other is not None:
                yield Claim(kind, False, other, (place,))


def dropped(sentence: str) -> str:
    """Every fourth word left out."""
    return " ".join(word for at, word in enumerate(sentence.split(), 1) if at % 4)


def reworded(sentence: str) -> str:
    """Other particles and a politer end in Korean; the halves the other way round in English."""
    if language_of(sentence) == "ko":
        text = _PARTICLES.sub(lambda match: _SWAPPED[match[0]], sentence)
        return re.sub(r"이다\.?$", "입니다.", re.sub(r"했다\.?$", "하였습니다.", text))
    words = sentence.rstrip(".").split()
    half = len(words) // 2
    return " ".join([*words[half:], "and", *words[:half]])


def _answers(metadata: Any) -> list[str]:
    given = metadata.get("answers") or [metadata.get("answer")]
    return [answer for answer in given if answer and len(answer) > 1]


def _renamed(sentence: str, base: Collection, dice: random.Random) -> str | None:
    pattern = _NAME_KO if language_of(sentence) == "ko" else _NAME_EN
    names = pattern.findall(sentence)
    for _ in range(20):
        others = pattern.findall(dice.choice(base.passages).content)
        if names and others:
            name, other = dice.choice(names), dice.choice(others)
            if other not in sentence and name != other:
                return sentence.replace(name, other)
    return None


def _refigured(sentence: str, base: Collection, dice: random.Random) -> str | None:
    numbers = re.findall(r"(?<![\d.,-])\d{2,}(?:,\d{3})*(?![\d-])", sentence)
    if not numbers:
        return None
    number = dice.choice(numbers)
    value = int(number.replace(",", "")) + dice.choice((-7, -3, 2, 5, 11))
    return sentence.replace(number, f"{value:,}" if "," in number else str(abs(value)))


def measured(base: Collection, embedder: Embedder, analyser: Analyser, unrelated: float, count: int) -> list[Claim]:
    """The claims of a collection with what can be seen of them."""
    found = list(claims(base, embedder, count))
    vectors = dict(zip([one.text for one in found], embedder.queries([one.text for one in found]), strict=True))
    for claim in found:
        seen = [
            text
            for place in claim.places
            for text in (base.passages[place].content, base.passages[place].context, base.titles[place])
        ]
        claim.words = shared(claim.text, seen, analyser.tokens)
        near = max(float(vectors[claim.text] @ base.vectors[place]) for place in claim.places)
        claim.near = relevance(near, unrelated)
        claim.strange = bool(figures(claim.text)) and bool(strange(claim.text, known_in(seen)))
    return found


def auc(good: Sequence[float], bad: Sequence[float]) -> float:
    """How often a true claim is above a false one."""
    ranks = np.searchsorted(np.sort(bad), good, "left") + np.searchsorted(np.sort(bad), good, "right")
    return float(ranks.sum()) / (2 * len(good) * len(bad))


def scorers() -> list[tuple[str, Callable[[Claim], float]]]:
    """What is compared."""

    def both(weight: float) -> Callable[[Claim], float]:
        return lambda claim: claim.words + weight * claim.near

    ours = [("words", both(0.0)), ("cosine", lambda claim: claim.near)]
    return [*ours, *((f"words + {weight:g} cosine", both(weight)) for weight in WEIGHTS)]


def report(sets: list[tuple[str, list[Claim]]]) -> None:
    """All tables."""
    chosen = [claim for _, found in sets[::2] for claim in found]
    held = [claim for _, found in sets[1::2] for claim in found]
    print("| set | claims |" + "".join(f" {label} |" for label, _ in scorers()))
    print("|---|---|" + "---|" * len(scorers()))
    for name, found in [*sets, ("chosen on", chosen), ("held out", held)]:
        good, bad = _sides(found)
        scores = [auc([score(c) for c in good], [score(c) for c in bad]) for _, score in scorers()]
        print(f"| {name} | {len(good)} + {len(bad)} |" + "".join(f" {score:.3f} |" for score in scores))
    for label, score in scorers():
        good, bad = _sides(chosen)
        floor = float(np.quantile([score(c) for c in good], MARKED))
        good, bad = _sides(held)
        low = [np.mean([score(c) < floor for c in side]) for side in (good, bad)]
        print(
            f"\n{label}: floor {floor:.3f}; held out: {low[0]:.3f} of the true and {low[1]:.3f} of the false are marked"
        )
    print(f"\nThe package's rule (floor {FLOOR} with {NEAR} cosine, {WORDS_FLOOR} without), figures included\n")
    print("| kind | claims | marked, chosen on | marked, held out | held out, without vectors | by figures alone |")
    print("|---|---|---|---|---|---|")
    for kind in dict.fromkeys(claim.kind for claim in [*chosen, *held]):
        ours = [[c for c in side if c.kind == kind] for side in (chosen, held)]
        rates = [_rate(side, True) for side in ours] + [_rate(ours[1], False)]
        rates.append(float(np.mean([c.strange for c in ours[1]])) if ours[1] else 0.0)
        print(f"| {kind} | {len(ours[0])} + {len(ours[1])} |" + "".join(f" {rate:.3f} |" for rate in rates))


def _rate(found: list[Claim], vectors: bool) -> float:
    """The share that the package marks."""

    def marked(claim: Claim) -> bool:
        judged = support(claim.words, lambda: claim.near if vectors else None)
        return claim.strange or (judged is not None and not judged.enough)

    return float(np.mean([marked(claim) for claim in found])) if found else 0.0


def _sides(found: list[Claim]) -> tuple[list[Claim], list[Claim]]:
    """True ones, and those that cite a neighbour; what has one word exchanged is told apart by no floor."""
    return [c for c in found if c.true], [c for c in found if "neighbour" in c.kind]


def languages(embedder: Embedder, unrelated: float) -> None:
    """Korean sentences that say what an English passage says: with it, and with the nearest other passage."""
    lines = Path(__file__).with_name("support_languages.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    cosines = embedder.queries([row["claim"] for row in rows]) @ embedder.passages([row["passage"] for row in rows]).T
    good = [relevance(float(cosine), unrelated) for cosine in np.diag(cosines)]
    np.fill_diagonal(cosines, -1)
    bad = [relevance(float(cosine), unrelated) for cosine in cosines.max(axis=1)]
    low = [np.mean([value < FOREIGN_FLOOR for value in side]) for side in (good, bad)]
    figured = np.mean([bool(strange(row["claim"], known_in([row["passage"]]))) for row in rows])
    print(
        f"\nKorean over English, {len(rows)} pairs: AUC of the cosine {auc(good, bad):.3f}; under {FOREIGN_FLOOR} lie"
    )
    print(f"{low[0]:.3f} of the true and {low[1]:.3f} of the false; figures mark {figured:.3f} of the true")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=60, help="of each set")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="where the measured claims are pickled")
    chosen = parser.parse_args()
    settings = Settings.load()
    embedder, analyser = open_embedder("bundled", settings), Analyser()
    unrelated = unrelated_mean(embedder, settings.cache.expanduser())
    sets = []
    with VectorCache(settings.cache.expanduser()) as cache:
        for folder in chosen.folders:
            base = read(folder, cache, embedder.fingerprint)
            sets.append((folder.name, measured(base, embedder, analyser, unrelated, chosen.questions)))
    if chosen.keep:
        chosen.keep.write_bytes(pickle.dumps(sets))
    report(sets)
    languages(embedder, unrelated)


if __name__ == "__main__":
    main()
