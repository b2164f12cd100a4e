"""The URL of a catalog in PostgreSQL: what libpq takes, and a schema of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from silmari.errors import UsageError

SCHEMA = "silmari"
_NAME = re.compile(r"[^\W\d]\w*")
_LONGEST = 63


@dataclass(frozen=True, slots=True)
class Address:
    """Where the catalog is.

    Attributes:
        parameters: For libpq; what is left out it takes from its own variables and files.
        schema: That the tables are in.
        shown: The URL as it may be printed, without a password.
    """

    parameters: Mapping[str, str] = field(repr=False)
    schema: str
    shown: str

    @property
    def database(self) -> str:
        """Its name, as far as the URL has it."""
        return self.parameters.get("dbname", "")

    @property
    def server(self) -> str:
        """Host and port, as far as the URL has them."""
        host, port = self.parameters.get("host", ""), self.parameters.get("port", "")
        return f"{host}:{port}" if port and "," not in host else host


def parse(url: str) -> Address:
    """Take a URL apart.

    Args:
        url: ``postgresql://user@host:port/database?schema=NAME``; all parameters of libpq may stand beside the schema.

    Raises:
        UsageError: It is none; the message holds nothing of it, since a password may stand in it.
    """
    try:
        place, _, options = url.partition("?")
        if place.count("@") > ("@" in place.partition("://")[2].partition("/")[0]):
            raise ValueError("a password that was not escaped: a part of it would be taken for a host or a database")
        query = parse_qsl(options, keep_blank_values=True)
        rest = urlencode([pair for pair in query if pair[0] != "schema"], quote_via=quote)
        found = conninfo_to_dict(f"{place}?{rest}")
    except (ValueError, ProgrammingError):
        # Without the cause: its text may hold a part of the password.
        raise UsageError(
            "The setting catalog is no URL that PostgreSQL takes; write postgresql://user@host:port/database, with "
            "%40 for @ and %2F for / in names and passwords."
        ) from None
    parameters = {name: str(value) for name, value in found.items() if value is not None}
    if not all(port.isdecimal() or not port for port in parameters.get("port", "").split(",")):
        raise UsageError("The port in the setting catalog is no number; write postgresql://user@host:5432/database.")
    schema = dict(query).get("schema", SCHEMA)
    if not _NAME.fullmatch(schema) or len(schema.encode()) > _LONGEST or schema.lower().startswith("pg_"):
        raise UsageError(
            f"The schema {schema!r} in the setting catalog is no name for one; take letters, digits and underscores, "
            f"not pg_ at the start, at most {_LONGEST} bytes."
        )
    return Address(parameters, schema, _shown(parameters, schema))


def _shown(parameters: Mapping[str, str], schema: str) -> str:
    user = f"{quote(parameters['user'])}@" if "user" in parameters else ""
    hosts, ports = (parameters.get(name, "").split(",") for name in ("host", "port"))
    ports = ports * len(hosts) if len(ports) == 1 else ports
    host = ",".join(
        quote(one, safe="[]:" if ":" in one else "") + (f":{port}" if port else "")
        for one, port in zip(hosts, ports, strict=False)
    )
    database = quote(parameters.get("dbname", ""))
    return f"postgresql://{user}{host}/{database}" + (f"?schema={schema}" if schema != SCHEMA else "")
