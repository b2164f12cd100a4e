"""A process that goes on with the history of `engine_writer` on any engine: ``python url_writer.py URL FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from engine_writer import STEP, batch

from silmari.engine import open_engine


def main(url: str, folder: Path) -> None:
    engine = open_engine(url, folder)
    engine.lead(True)
    mark = engine.watermark()
    if mark is None:
        engine.reset("base", "epoch")
    for n in range((mark.seq if mark else 0) // STEP + 1, 10_000):
        engine.apply(batch(n))
        sys.stdout.write(f"{n}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
