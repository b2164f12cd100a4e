"""``python -m silmari``."""

from silmari.cli.app import main

main()
