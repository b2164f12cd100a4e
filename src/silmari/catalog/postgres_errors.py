"""What the errors of PostgreSQL mean, in plain words."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors

from silmari.catalog.postgres_address import Address
from silmari.errors import BusyError, KnowledgeBaseError

_KEPT = "everything that was reported done is kept"
_UNREACHABLE = re.compile(
    "refused|could not translate|failed to resolve|not known|timeout expired|timed out|No such file|unreachable|"
    "is the server",
    re.IGNORECASE,
)


def explain(error: BaseException, address: Address, busy_seconds: float) -> KnowledgeBaseError | None:
    """The error in plain words, or None for one that is our own fault.

    Args:
        error: Of psycopg.
        address: Of the catalog.
        busy_seconds: How long another writer was waited for.
    """
    if not isinstance(error, psycopg.Error):
        return None
    if error.sqlstate is None:
        # A parameter that psycopg itself reads, such as connect_timeout=soon, is a ProgrammingError.
        connecting = isinstance(error, psycopg.OperationalError) or str(error).startswith("bad value for")
        return _unconnected(error, address) if connecting else None
    return _by_state(error, address, busy_seconds)


def lost(address: Address, words: str) -> KnowledgeBaseError:
    """What to say when a connection broke off."""
    return KnowledgeBaseError(
        f"The connection to the catalog {address.shown} was lost ({words}); {_KEPT}. "
        "Run this again when the server is back."
    )


def said(error: BaseException) -> str:
    """The first line of what the server or libpq says, without the mark of its severity."""
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    # "connection failed: connection to server at …, port 5432 failed: FATAL:  password authentication failed"
    line = re.sub(
        r"^(?:connection failed: )?connection to server .*?, port \d+ failed: |^connection failed: ", "", line
    )
    return re.sub(r"^[^\s:]*:\s\s+", "", line).rstrip(".")


def _by_state(error: psycopg.Error, address: Address, busy_seconds: float) -> KnowledgeBaseError | None:
    words = said(error)
    match error:
        case errors.LockNotAvailable():
            return BusyError(
                f"Another process has been writing to the catalog {address.shown} for more than {busy_seconds:g} "
                "seconds; wait until it is done and run this again."
            )
        case errors.InsufficientPrivilege():
            return KnowledgeBaseError(
                f"The user of the catalog {address.shown} may not do this ({words}); ask whoever owns the database for "
                f"the right to use and write its schema {address.schema}."
            )
        case errors.DiskFull():
            return KnowledgeBaseError(
                f"The disk of the server with the catalog {address.shown} is full; {_KEPT}. "
                "Free some space there and run this again."
            )
        case errors.QueryCanceled():
            return KnowledgeBaseError(
                f"The server of the catalog {address.shown} ended a statement ({words}); {_KEPT}. Let its "
                "statement_timeout be longer for this user, and run this again."
            )
        case errors.ReadOnlySqlTransaction():
            return KnowledgeBaseError(
                f"The server of the catalog {address.shown} can only be read ({words}); to write, name the primary "
                "server."
            )
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.InvalidSchemaName():
            return KnowledgeBaseError(
                f"The catalog {address.shown} is damaged ({words}); restore the schema {address.schema} from a copy, "
                "or drop it and add the documents again."
            )
        case errors.TooManyConnections():
            return KnowledgeBaseError(
                f"The server of the catalog {address.shown} takes no more connections ({words}); close some programs "
                "that use it, or raise its max_connections."
            )
        case errors.CannotConnectNow():
            return KnowledgeBaseError(
                f"The server of the catalog {address.shown} is not ready ({words}); run this again in a moment."
            )
    # Connection exceptions, operator intervention, timeouts of sessions.
    if str(error.sqlstate).startswith(("08", "57P")) or error.sqlstate in ("25P03", "25P04"):
        return lost(address, words)
    # Conflicts with others (40), resources (53), limits (54), the system (58), damaged data (XX).
    if str(error.sqlstate).startswith(("40", "53", "54", "58", "XX")):
        return KnowledgeBaseError(
            f"The server of the catalog {address.shown} could not do its work ({words}); {_KEPT}. "
            "See to the server and run this again."
        )
    return None


def _unconnected(error: psycopg.Error, address: Address) -> KnowledgeBaseError:
    """An error without a state comes from libpq: there was no connection, or it broke off."""
    words, connection = said(error), error.pgconn
    if re.search(r'database ".*" does not exist', words):
        where = "".join(
            f" -{flag} {address.parameters[name]}"
            for flag, name in (("h", "host"), ("p", "port"), ("U", "user"))
            if name in address.parameters
        )
        return KnowledgeBaseError(
            f"There is no database {address.database} for the catalog {address.shown}; make it with: "
            f"createdb{where} {address.database}"
        )
    if connection is not None and connection.needs_password:
        return KnowledgeBaseError(
            f"The server of the catalog {address.shown} asks for a password; set it in PGPASSWORD or in the file "
            "~/.pgpass."
        )
    if re.search(r"authentication|role \".*\" does not exist|pg_hba", words):
        return KnowledgeBaseError(
            f"The server of the catalog {address.shown} does not let this user in ({words}); check the user's name "
            "and the password in PGPASSWORD, ~/.pgpass or the URL."
        )
    if re.search("starting up|shutting down|not yet accepting|recovery", words):
        return KnowledgeBaseError(
            f"The server of the catalog {address.shown} is not ready ({words}); run this again in a moment."
        )
    if re.search("too many|remaining connection slots", words):
        return KnowledgeBaseError(
            f"The server of the catalog {address.shown} takes no more connections ({words}); close some programs that "
            "use it, or raise its max_connections."
        )
    if _UNREACHABLE.search(words):
        return KnowledgeBaseError(
            f"The server of the catalog {address.shown} cannot be reached ({words}); start it, or check host and port "
            "in SILMARI_CATALOG."
        )
    # So psycopg begins where there never was a connection.
    if (
        str(error).startswith(("connection failed", "connection is bad", "bad value for"))
        and "closed the connection" not in words
    ):
        return KnowledgeBaseError(
            f"The server of the catalog {address.shown} cannot be connected to in this way ({words}); check the "
            "parameters of the URL in SILMARI_CATALOG."
        )
    return lost(address, words)
