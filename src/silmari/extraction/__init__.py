"""Relations of passages: given by the user, or read by a language model."""
