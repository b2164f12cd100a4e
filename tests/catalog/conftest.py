from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from catalog_samples import FINGERPRINTS

from silmari.catalog.catalog import Catalog


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog.open(tmp_path / "kb", FINGERPRINTS) as opened:
        yield opened
