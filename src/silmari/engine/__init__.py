"""Search engines behind one protocol, derived from the catalog."""
