"""The demo's documents and questions: a small invented office."""

from silmari.examples.material import office, questions

__all__ = ["office", "questions"]
