"""Silmari inside LlamaIndex: the real packages, query engines, fusion and tools."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest
from adapter_base import BRIDGE, LEAVE, RECORDS, stocked, uris
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.response_synthesizers.no_text import NoText
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from silmari.adapters.llamaindex import SilmariQueryEngine, SilmariRetriever, search_tool
from silmari.errors import UsageError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import WAYS, Filter, Way

__all__ = ["stocked"]


def about(found: list[NodeWithScore]) -> list[dict[str, Any]]:
    return [one.node.metadata for one in found]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("question", [LEAVE, "When are helmets worn?", BRIDGE])
def test_every_way_gives_what_the_base_gives(stocked: KnowledgeBase, way: Way, question: str) -> None:
    hits = stocked.search(question, way=way, k=3)
    found = SilmariRetriever(stocked, way=way, k=3).retrieve(question)
    assert len(found) == len(hits) > 0
    for one, hit in zip(found, hits, strict=True):
        known = one.node.metadata
        assert isinstance(one.node, TextNode) and one.node.text == hit.passage.content
        assert one.score == hit.relevance and known["score"] == hit.score
        assert (known["rank"], known["way"], known["similarity"]) == (hit.rank, way, hit.similarity)
        assert json.loads(json.dumps(known)) == known
        source = one.node.relationships[NodeRelationship.SOURCE]
        assert isinstance(source, RelatedNodeInfo) and source.node_id == hit.source.uri == one.node.ref_doc_id
        assert source.metadata["title"] == hit.source.title
        assert TextNode.from_json(one.node.to_json()).to_dict() == one.node.to_dict()


async def _both(retriever: SilmariRetriever) -> list[list[NodeWithScore]]:
    return list(await asyncio.gather(retriever.aretrieve(LEAVE), retriever.aretrieve("helmets")))


def test_asynchronous_in_a_running_loop(stocked: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    retriever = SilmariRetriever(stocked, k=2)
    expected = [retriever.retrieve(LEAVE), retriever.retrieve("helmets")]
    with monkeypatch.context() as patched:
        # The asynchronous path must not be the other one in a thread.
        patched.setattr(KnowledgeBase, "search", None)
        assert asyncio.run(_both(retriever)) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"since": "2024-01-01", "until": "2024-12-31"}, {"leave"}),
        ({"category": "규정"}, {"leave", "old-leave"}),
        ({"documents": ["record:safety"]}, {"safety"}),
        ({"undated": True}, {"undated", "bridge", "person"}),
        (Filter(categories=frozenset({"csv"})), {"지점목록.csv"}),
        ({"since": "2099-01-01"}, set()),
    ],
)
def test_every_filter(stocked: KnowledgeBase, filters: Any, expected: set[str]) -> None:
    found = SilmariRetriever(stocked, way="dense", k=20, filters=filters, duplicates=True).retrieve(LEAVE)
    assert set(uris(about(found))) == expected


def test_decomposed_hangul_finds_the_same(stocked: KnowledgeBase) -> None:
    retriever = SilmariRetriever(stocked, k=3)
    assert retriever.retrieve(unicodedata.normalize("NFD", LEAVE)) == retriever.retrieve(LEAVE)


def test_wrong_options_are_named(stocked: KnowledgeBase) -> None:
    with pytest.raises(UsageError, match="no way named magic"):
        SilmariRetriever(stocked, way="magic").retrieve(LEAVE)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="words"):
        asyncio.run(SilmariRetriever(stocked).aretrieve("?!"))
    with pytest.raises(TypeError, match="colour"):
        SilmariRetriever(stocked, colour="red").retrieve(LEAVE)  # type: ignore[call-arg]


def test_in_a_query_engine_without_text(stocked: KnowledgeBase) -> None:
    synthesizer = NoText(llm=MockLLM())  # else it looks for OpenAI's
    engine = RetrieverQueryEngine(SilmariRetriever(stocked, k=2, filters={"category": "규정"}), synthesizer)
    for response in (engine.query(LEAVE), asyncio.run(engine.aquery(LEAVE))):
        assert uris(about(response.source_nodes)) == ["leave", "old-leave"]


def test_what_a_model_reads_of_a_node(stocked: KnowledgeBase) -> None:
    """The mock model answers with its prompt."""
    synthesizer = get_response_synthesizer(llm=MockLLM(), response_mode=ResponseMode.COMPACT)
    engine = RetrieverQueryEngine(SilmariRetriever(stocked, k=1, filters={"category": "규정"}), synthesizer)
    prompt = str(engine.query(LEAVE))
    assert "title: 취업규칙" in prompt and "date: 2024-03-01" in prompt and "15일을 준다" in prompt
    assert "relevance" not in prompt and "evidence" not in prompt and "uri" not in prompt
    (one,) = SilmariRetriever(stocked, k=1).retrieve("강릉지점의 전화번호는?")
    assert "rows: " in one.node.get_content(MetadataMode.LLM)


def test_cut_offs_and_fusion_work_on_relevance(stocked: KnowledgeBase) -> None:
    found = SilmariRetriever(stocked, way="sparse", k=6).retrieve("helmets in the workshop")
    assert all(one.score is not None and 0 <= one.score <= 1 for one in found)
    kept = SimilarityPostprocessor(similarity_cutoff=0.5).postprocess_nodes(found)
    assert 0 < len(kept) < len(found) and uris(about(kept))[0] == "safety"
    ways = [SilmariRetriever(stocked, way="sparse", k=3), SilmariRetriever(stocked, way="dense", k=3)]
    fused = QueryFusionRetriever(ways, llm=MockLLM(), num_queries=1, similarity_top_k=3, use_async=False)
    merged = fused.retrieve("helmets in the workshop")
    assert uris(about(merged))[0] == "safety"
    assert len({one.node.node_id for one in merged}) == len(merged) == 3  # found by both is there once


def test_answers_with_their_sources(stocked: KnowledgeBase) -> None:
    engine = SilmariQueryEngine(stocked, filters={"since": "2000-01-01"})
    for response in (engine.query(LEAVE), asyncio.run(engine.aquery(LEAVE))):
        assert "15일을 준다. [1]" in str(response)
        assert response.metadata == {"found": True}
        (cited,) = response.source_nodes
        assert cited.node.metadata["n"] == 1 and "15일을 준다" in cited.node.get_content()
        assert cited.node.ref_doc_id == cited.node.metadata["uri"]
    unknown = engine.query("Who won the chess final in Reykjavik?")
    assert unknown.metadata == {"found": False} and unknown.source_nodes == []


def test_as_tools_of_llamaindex(stocked: KnowledgeBase) -> None:
    asks = QueryEngineTool.from_defaults(SilmariQueryEngine(stocked), name="ask", description="사내 문서에 묻는다.")
    assert "15일을 준다. [1]" in asks(LEAVE).content
    assert "15일을 준다. [1]" in asyncio.run(asks.acall(LEAVE)).content
    finds = RetrieverTool.from_defaults(SilmariRetriever(stocked, k=1), description="finds")
    assert "15일을 준다" in finds(LEAVE).content


def test_a_search_tool_numbers_its_sources(stocked: KnowledgeBase) -> None:
    tool = search_tool(stocked, k=2, way="sparse", filters={"category": "규정"})
    output = tool(question=LEAVE, since="1900-01-01")
    assert not output.is_error
    assert 'n="1" title="취업규칙" date="2024-03-01"' in output.content
    text, found = output.raw_output
    assert text == output.content and uris(about(found)) == ["leave", "old-leave"]
    later = asyncio.run(tool.acall(question=LEAVE, since="1900-01-01"))
    assert (later.content, later.raw_output) == (output.content, output.raw_output)
    schema = tool.metadata.to_openai_tool()["function"]
    assert set(schema["parameters"]["properties"]) == {"question", "k", "since", "until", "category"}


# LlamaIndex's workflows look at every attribute of an agent, also at those that pydantic would like to be rid of.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
def test_in_the_hands_of_an_agent(stocked: KnowledgeBase) -> None:
    """A mock model that calls the tool once, wrongly, then rightly, then says what it was told."""
    wishes = [{"question": LEAVE, "since": "작년"}, {"question": LEAVE, "since": "2024-01-01"}]

    def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        told = [message.content or "" for message in messages if message.role == MessageRole.TOOL]
        if len(told) == len(wishes):
            return ChatMessage(role="assistant", content="\n".join(told))
        block = ToolCallBlock(tool_call_id=str(len(told)), tool_name="search_documents", tool_kwargs=wishes[len(told)])
        return ChatMessage(role="assistant", blocks=[block])

    async def run() -> str:
        model = MockFunctionCallingLLM(response_generator=reply)
        agent = FunctionAgent(tools=[search_tool(stocked, k=1)], llm=model, streaming=False)
        return str(await agent.run("연차휴가는 며칠인지 찾아 줘."))

    said = asyncio.run(run())
    assert "The arguments are wrong (since: " in said and "15일을 준다" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"question": "…"}, "words"),
        ({"question": LEAVE, "category": ["소설"]}, "no category named 소설"),
        ({"question": LEAVE, "k": 0}, "k: Input should be greater than or equal to 1"),
        ({"question": LEAVE, "since": "작년"}, "since: "),
        ({}, "question: Field required"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(stocked: KnowledgeBase, given: dict[str, Any], said: str) -> None:
    tool = search_tool(stocked)
    for output in (tool(**given), asyncio.run(tool.acall(**given))):
        assert said in output.content and "\n" not in output.content
        assert output.raw_output[1] == []


def test_ids_of_two_bases_differ(stocked: KnowledgeBase, base: KnowledgeBase) -> None:
    base.add_records(RECORDS)
    one, other = (SilmariRetriever(each, k=3).retrieve(LEAVE) for each in (stocked, base))
    assert not {found.node.node_id for found in one} & {found.node.node_id for found in other}


def test_without_the_package_one_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['llama_index'] = None\n"
        "import silmari\n"
        "assert not [name for name in sys.modules if name.startswith(('silmari.adapters', 'langchain'))]\n"
        "try:\n"
        "    import silmari.adapters.llamaindex\n"
        "except silmari.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'silmari[llamaindex]'" in done.stdout and len(done.stdout.splitlines()) == 1
