"""What retrieval models want to read before a question and before a passage, as their model cards say.

Without them quality falls without an error: multilingual-e5 loses most of it.
"""

from __future__ import annotations

import hashlib
import re

_INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_SENTENCE = "Represent this sentence for searching relevant passages: "

# The first pattern that is found in the model's name, in lower case, counts.
_FAMILIES: tuple[tuple[str, str, str], ...] = (
    (r"e5-mistral|e5.*-instruct|gte-qwen|qwen3-embedding|sfr-embedding|linq-embed", _INSTRUCTION, ""),
    (r"(^|[^a-z])(ko)?e5([^a-z]|$)", "query: ", "passage: "),
    (r"arctic-embed2|arctic-embed.*v2|arctic-ko", "query: ", ""),
    (r"arctic-embed|bge-.*-en|mxbai-embed", _SENTENCE, ""),
    (r"bge-.*-zh", "为这个句子生成表示以用于检索相关文章：", ""),
    (r"nomic-embed-text|modernbert-embed", "search_query: ", "search_document: "),
    (r"embeddinggemma|embedding-gemma", "task: search result | query: ", "title: none | text: "),
)


def known_prefixes(model: str) -> tuple[str, str]:
    """The prefixes of a model's family for a question and a passage; both empty for a model that is not known."""
    name = model.lower()
    for pattern, query, passage in _FAMILIES:
        if re.search(pattern, name):
            return query, passage
    return "", ""


def fingerprint(name: str, prefixes: tuple[str, str]) -> str:
    """`name`, with a mark of the prefixes where there are any: other prefixes make other vectors."""
    if not any(prefixes):
        return name
    mark = hashlib.blake2b("\0".join(prefixes).encode(), digest_size=4).hexdigest()
    return f"{name}+prefixes-{mark}"
