"""Models by name, behind one gate."""
