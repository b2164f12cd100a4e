"""From a question to hits: the ways, their fusion, and what a hit is worth."""
