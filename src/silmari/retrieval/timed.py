"""What the times in a question do to a search.

A time may say which documents are meant (지난달 회의록) or be a matter of their content (2002년 월드컵), and what is
told of a year is often dated later. So a time bounds a search only where it is firm (`silmari.language.times.Time`)
and the best passage of all lies within it, or nearly so. Otherwise the passages of that time that fit about as well
as the best of all come first, and all others follow; where none fits, the search is the same as without the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from silmari.language.times import Times, phrases
from silmari.model import Hit
from silmari.retrieval.distinct import Distinct
from silmari.retrieval.filling import Run
from silmari.retrieval.trace import Trace

# Of the best relevance of all: on our collections the passages that answer reach this in 95 of 100 questions.
SHARE = 0.85
# What is bounded leaves the others out: then the best of all must be as good as reached.
FIRM_SHARE = 0.95


def search_timed(run: Run, times: Times, dated: int, least: float, trace: Trace) -> tuple[list[Hit], bool]:
    """Search with regard to the times that the question names.

    Args:
        run: The search without them.
        times: What the question says.
        dated: How many passages of the base have a date.
        least: The least relevance that a passage of that time must have to count.
        trace: What happened is added.

    Returns:
        The hits, and whether passages of other times were left out.
    """
    for problem in times.problems:
        trace.note(problem)
    hits = run.hits(trace)
    if not times.found:
        return hits, False
    told = phrases(times.found)
    with trace.stage("time") as entry:
        entry["asked"] = told
        if not dated:
            entry["used"] = "no: no passage has a date"
            return hits, False
        best = max((hit.relevance for hit in hits), default=0.0)
        floor = max(least, SHARE * best)
        inside = run.hits(trace, times.bounds)
        fitting = [_marked(hit, told) for hit in inside if _of_that_time(hit) and hit.relevance >= floor]
        entry.update(floor=round(floor, 3), fitting=len(fitting))
        if not fitting:
            near = max((hit.relevance for hit in inside if _of_that_time(hit)), default=None)
            entry["used"] = "no: nothing of that time fits the question"
            if times.firm:
                how = "there is none" if near is None else f"the best has relevance {near:.2f}, needed is {floor:.2f}"
                trace.note(f"{told}: no passage of that time fits ({how}), so all times were searched.")
            return hits, False
        if times.firm and max(hit.relevance for hit in fitting) >= FIRM_SHARE * best:
            entry["used"] = "only passages of that time, then undated ones"
            trace.note(f"{told}: only passages of that time were searched, then undated ones.")
            return [_marked(hit, told) if _of_that_time(hit) else hit for hit in inside], True
        entry["used"] = "passages of that time first"
        trace.note(f"{told}: {len(fitting)} passages of that time that fit come first.")
        return _first(run, fitting, hits), False


def _of_that_time(hit: Hit) -> bool:
    return str(hit.evidence["tier"]["part"]) != "undated"


def _marked(hit: Hit, told: str) -> Hit:
    return replace(hit, evidence={**hit.evidence, "time": told})


def _first(run: Run, fitting: Sequence[Hit], hits: Sequence[Hit]) -> list[Hit]:
    """Those that fit, at most in half of the places that there are, then all as they were, up to k, each once.

    A wide span of time may fit everything: what is best without it must not fall out.
    """
    fitting = fitting[: (run.k + 1) // 2]
    both = list({hit.passage.id: hit for hit in [*hits, *fitting]}.values())
    ids = {hit.passage.id for hit in fitting}
    ordered = [*fitting, *(hit for hit in both if hit.passage.id not in ids)]
    if not run.duplicates:
        tokens = run.searcher.shelf.tokens([hit.passage.id for hit in ordered])
        seen = Distinct()
        ordered = [hit for hit in ordered if seen.add(tokens.get(hit.passage.id, str(hit.passage.id)))]
    return [replace(hit, rank=rank) for rank, hit in enumerate(ordered[: run.k], start=1)]
