"""Which document a triplet file means: by uri, record id, path, file name or file name without its suffix."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple


class Place(NamedTuple):
    """Where a document stands.

    Attributes:
        uri: A path, ``PATH#ID`` or ``record:ID``.
        path: Of its file; None for a record that came from none.
        document_id: The catalog's number. Copies of one file share it.
    """

    uri: str
    path: str | None
    document_id: int


class Names:
    """Finds documents by whatever name a person gives them.

    A name is taken for the first of these that a document has: its uri; the id of a record; its path, also as
    seen from the working folder; the id of a record in a file; the name of its file; that name without suffix.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self._uris: dict[str, Place] = {}
        self._ids: dict[str, list[Place]] = {}
        self._names: dict[str, list[Place]] = {}
        self._stems: dict[str, list[Place]] = {}
        for place in sorted(places, key=lambda place: place.uri):
            self._uris[place.uri] = place
            if place.path is None:
                continue
            if place.uri == place.path:
                pure = PurePath(place.path)
                self._names.setdefault(pure.name, []).append(place)
                self._stems.setdefault(pure.stem, []).append(place)
            else:
                self._ids.setdefault(place.uri.removeprefix(f"{place.path}#"), []).append(place)

    def find(self, name: str) -> list[Place]:
        """The documents of this name: none, one, or several that cannot be told apart."""
        name = unicodedata.normalize("NFC", name)
        for uri in (name, f"record:{name}", os.path.abspath(os.path.expanduser(name))):
            if uri in self._uris:
                return [self._uris[uri]]
        for known in (self._ids, self._names, self._stems):
            if places := known.get(name):
                # Copies of one document are as good as one.
                return list({place.document_id: place for place in reversed(places)}.values())
        return []

    def at(self, paths: Iterable[str]) -> list[int]:
        """The numbers of the documents in files."""
        wanted = set(paths)
        return sorted({place.document_id for place in self._uris.values() if place.path in wanted})
