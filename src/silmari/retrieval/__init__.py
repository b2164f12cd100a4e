"""Ways of retrieval: each turns a question into scored passage numbers."""
