"""Files in, documents out: the door is `read`; `discover` finds the files."""

from __future__ import annotations

from silmari.reading.discover import Found, discover
from silmari.reading.document import read, uri_of
from silmari.reading.limits import Limits

__all__ = ["Found", "Limits", "discover", "read", "uri_of"]
