"""Files of triplets go to the documents that they name, whichever way those came in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from silmari.errors import UnreadableError
from silmari.ingest import FileResult

if TYPE_CHECKING:
    from silmari.catalog.catalog import Catalog
    from silmari.extraction.naming import Names
    from silmari.model import RelationMode, Triplet

# Triplets that go into the catalog in one transaction: enough that one document's are mostly together.
TOGETHER = 50_000
_EXAMPLES = 3


@dataclass(slots=True)
class _Names:
    """Names that a file has for documents: how many, and those that name none or several."""

    all: set[str] = field(default_factory=set)
    unknown: dict[str, None] = field(default_factory=dict)
    several: dict[str, list[str]] = field(default_factory=dict)
    lost: int = 0

    def sentences(self) -> list[str]:
        """One sentence for what matches nothing, and one for what matches several documents."""
        told = []
        if self.unknown:
            names = ", ".join(repr(name) for name in list(self.unknown)[:_EXAMPLES])
            told.append(
                f"{len(self.unknown):,} of the {len(self.all):,} ids in it match no document of the base, such as "
                f"{names}; add these documents and then this file again (silmari list shows the names of those there)."
            )
        if self.several:
            name, uris = next(iter(self.several.items()))
            told.append(
                f"{len(self.several):,} of the {len(self.all):,} ids in it match several documents, such as {name!r}: "
                f"{', '.join(uris[:_EXAMPLES])}; name them by path or uri and add this file again."
            )
        if self.lost:
            told.append(f"{self.lost:,} triplets wait for that and were not taken in.")
        return told


def attach(catalog: Catalog, path: Path, names: Names, relations: RelationMode | None) -> list[FileResult]:
    """Give the triplets of a file to the documents that it names; they stay with these when they are updated.

    Args:
        catalog: Of the base.
        path: JSON Lines or CSV, see `silmari.reading.triplet_file`.
        names: Of the documents that are there.
        relations: Where the relations of these documents shall come from; None: from the triplets, unless
            somebody has said otherwise before.

    Returns:
        What was taken in, if anything was; and what was not, as a failure.
    """
    from silmari.reading import uri_of
    from silmari.reading.triplet_file import FORM, read_triplets
    from silmari.reading.triplets import LeftOut

    uri, left_out, named = uri_of(path), LeftOut(), _Names()
    attached: dict[str, int] = {}
    waiting: dict[str, list[Triplet]] = {}
    taken = held = 0
    problems: list[str] = []

    def store() -> None:
        catalog.attach_many(waiting)
        if relations is not None:
            catalog.want_relations(relations, {attached[uri] for uri in waiting})
        waiting.clear()

    try:
        for document, triplets in read_triplets(path, left_out):
            named.all.add(document)
            places = names.find(document)
            if len(places) != 1:
                named.lost += len(triplets)
                if places:
                    named.several[document] = [place.uri for place in places]
                else:
                    named.unknown[document] = None
                continue
            (place,) = places
            attached[place.uri] = place.document_id
            waiting.setdefault(place.uri, []).extend(triplets)
            taken += len(triplets)
            held += len(triplets)
            if held >= TOGETHER:
                store()
                held = 0
    except UnreadableError as error:
        problems.append(str(error))
    finally:
        store()
    if not named.all and not problems and not left_out.counts:
        problems.append(f"holds no triplets: {FORM}")
    problems += [*named.sentences(), *left_out.sentences()]
    results = [FileResult(uri, "failed", " ".join(problems))] if problems else []
    if attached:
        results.insert(0, FileResult(uri, "added", f"{taken:,} triplets for {len(attached):,} documents."))
    return results
