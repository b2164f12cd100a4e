"""The demo's documents and questions: a small invented office."""
