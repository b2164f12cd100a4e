"""From hits to an answer with its proof: quoted (no model) or written (with one)."""
