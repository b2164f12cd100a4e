"""A model by script: it knows who knows whom, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

KNOWS = re.compile(r"(Ada\d+) knows (Bob\d+)|(가람\d+)[은는] (나루\d+)[을를] 안다")


def text_of(number: int) -> str:
    """A passage that states one fact, in English or Korean."""
    return (
        f"가람{number}은 나루{number}를 안다."
        if number % 2
        else f"Everybody is sure that Ada{number} knows Bob{number}."
    )


def reply(body: dict[str, Any]) -> str:
    """What a good model says."""
    return said(*pairs(body))


def pairs(body: dict[str, Any]) -> list[tuple[str, str, str]]:
    passage = next(message for message in reversed(body["messages"]) if "<passage-" in str(message["content"]))
    found = KNOWS.findall(passage["content"])
    return [(one or three, "knows" if one else "안다", two or four) for one, two, three, four in found]


def said(*triplets: tuple[str, str, str]) -> str:
    keys = ("subject", "predicate", "object")
    return json.dumps({"triplets": [dict(zip(keys, each, strict=True)) for each in triplets]}, ensure_ascii=False)
