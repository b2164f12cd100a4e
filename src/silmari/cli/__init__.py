"""The command line: thin twins of `silmari.KnowledgeBase`, one module a command."""
