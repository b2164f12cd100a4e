"""Language: one form of writing, names, sentences, and the tokens that BM25 counts, in Korean and English."""
