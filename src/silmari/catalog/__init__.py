"""The system of record: what was read, its vectors and its change log."""
