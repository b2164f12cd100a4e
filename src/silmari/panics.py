"""Panics of libraries that are written in Rust: no `Exception`, and of a type that cannot be imported."""

from __future__ import annotations


def is_panic(error: BaseException) -> bool:
    """Whether an error is a Rust library's panic; what it was working on is then lost, and nothing else."""
    return type(error).__name__ == "PanicException"
