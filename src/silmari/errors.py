"""What can go wrong, grouped by who can act on it.

Every message is one plain sentence that names the file or field, says what is wrong and what to do.
The command line prints it without a traceback.
"""

from __future__ import annotations


class SilmariError(Exception):
    """Base of all errors that Silmari raises on purpose."""


class UsageError(SilmariError):
    """The caller asked for something that cannot be: a wrong option, a missing path."""


class UnreadableError(SilmariError):
    """A file cannot be read as what it is; the work on other files goes on.

    The message is the reason alone, without the path, which the caller adds.
    """


class SkippedError(UnreadableError):
    """A file holds nothing that can be read without being faulty: needs OCR, unknown type."""


class KnowledgeBaseError(SilmariError):
    """The knowledge base itself cannot be opened or written: newer schema, other embedder, full disk."""


class MissingBaseError(KnowledgeBaseError):
    """There is no knowledge base there, and none shall be made."""


class BusyError(KnowledgeBaseError):
    """Another process is writing to the knowledge base, and waiting for it took too long."""


class MissingExtraError(SilmariError):
    """An optional package is not installed; the message has the install command."""


class ProviderError(SilmariError):
    """A model's service failed.

    Attributes:
        retryable: Whether the same call may succeed later.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class BudgetError(ProviderError):
    """A model was not called, since the call could cost more than `max_cost` allows."""
