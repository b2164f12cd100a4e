from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from catalog_samples import FINGERPRINTS

from silmari.catalog.catalog import Catalog


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Where a catalog is to be made: one after the other on every database."""
    return "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture
def catalog(tmp_path: Path, url: str) -> Iterator[Catalog]:
    with Catalog.open(tmp_path / "kb", FINGERPRINTS, url=url) as opened:
        yield opened
