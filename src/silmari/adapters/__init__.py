"""Doors for other frameworks: `langchain` and `llamaindex`. Nothing here is imported with ``import silmari``."""
