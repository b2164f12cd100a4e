"""How well each way finds: BEIR folders in, metrics with intervals, a table and a report out."""
