"""Silmari in LlamaIndex: a retriever, a query engine, and a tool for agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any, Unpack

from silmari.adapters.asking import SEARCHES, Asked, Inquiry, id_of, metadata
from silmari.answering.answer import Answer, Cited
from silmari.errors import MissingExtraError, SilmariError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Hit, Source
from silmari.searching import SearchOptions

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.response.schema import Response
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
    from llama_index.core.tools import FunctionTool
except ImportError as error:
    raise MissingExtraError(
        "The adapter for LlamaIndex needs the package llama-index-core: pip install 'silmari[llamaindex]'."
    ) from error

# What a model reads beside the text; the rest of the metadata is for programs.
SHOWN = ("title", "date", "page", "sheet", "rows", "under")


class PassageNode(TextNode):
    """A passage; the same however it was found, so that LlamaIndex's fusion of several ways sees it once."""

    @property
    def hash(self) -> str:
        """What LlamaIndex takes for the content: without how the passage was found."""
        return sha256(f"{self.node_id}\n{self.text}".encode("utf-8", "surrogatepass")).hexdigest()


class SilmariRetriever(BaseRetriever):
    """Searches a knowledge base; a node is one hit, best first.

    A node's score is the hit's *relevance*, 0 to 1, which can be compared between ways and embedders, so that cut-offs
    and fusions of LlamaIndex work; the way's own score is in its metadata. The order is that of the ways and
    policies and need not be that of the scores.

    Args:
        base: Stays open as long as its owner keeps it open.
        options: As in `KnowledgeBase.search`, see `silmari.searching.SearchOptions`.

    Raises:
        SilmariError: From ``retrieve`` and ``aretrieve``: the question has no words, or an option is wrong.
    """

    def __init__(
        self,
        base: KnowledgeBase,
        *,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self.base = base
        self.options = options
        self._base_id = id_of(base)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes(self.base.search(query_bundle.query_str, **self.options), self._base_id)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes(await self.base.asearch(query_bundle.query_str, **self.options), self._base_id)


class SilmariQueryEngine(BaseQueryEngine):
    """Answers from a knowledge base, as `KnowledgeBase.ask` does: checked citations, quoted without a model.

    The response's source nodes are the quotes that the answer cites, in the order of their numbers; its metadata
    says whether the documents answer the question (``found``). Fit for ``QueryEngineTool``.

    Args:
        base: Stays open as long as its owner keeps it open.
        options: As in `KnowledgeBase.ask`.
    """

    def __init__(
        self,
        base: KnowledgeBase,
        *,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__(callback_manager)
        self.base = base
        self.options = options
        self._base_id = id_of(base)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Response:
        return self._response(self.base.ask(query_bundle.query_str, **self.options))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return self._response(await self.base.aask(query_bundle.query_str, **self.options))

    def _response(self, answer: Answer) -> Response:
        cited = [NodeWithScore(node=_quote(self._base_id, one)) for one in answer.sources]
        return Response(answer.text, cited, {"found": answer.found})


def nodes(hits: Sequence[Hit], base_id: str) -> list[NodeWithScore]:
    """Hits as LlamaIndex's nodes.

    Args:
        hits: Of one search.
        base_id: What their ids begin with, since other bases count their passages from 1, too.

    Returns:
        Nodes with the passages' content, metadata as in `silmari.adapters.asking.metadata` (of which models read only
        `SHOWN`), and the document as source.
    """
    return [
        NodeWithScore(
            node=_node(f"{base_id}:{hit.passage.id}", hit.passage.content, metadata(hit), hit.source),
            score=hit.relevance,
        )
        for hit in hits
    ]


def search_tool(
    base: KnowledgeBase,
    *,
    name: str = "search_documents",
    description: str = SEARCHES,
    **options: Unpack[SearchOptions],
) -> FunctionTool:
    """A tool with which an agent searches a knowledge base.

    The model gets numbered passages; the tool's ``raw_output`` is that text and the nodes. What is wrong with the
    agent's arguments is told to it in a sentence.

    Args:
        name: As the model calls it.
        description: Tells the model when to use it.
        options: Of every search. The agent may say how many passages it wants, and may narrow your filters by date
            and category; it cannot widen them.
    """
    inquiry, base_id = Inquiry(base, options), id_of(base)

    def search(**given: Any) -> tuple[str, list[NodeWithScore]]:
        try:
            text, hits = inquiry.search(given)
        except SilmariError as error:
            return str(error), []
        return text, nodes(hits, base_id)

    async def asearch(**given: Any) -> tuple[str, list[NodeWithScore]]:
        try:
            text, hits = await inquiry.asearch(given)
        except SilmariError as error:
            return str(error), []
        return text, nodes(hits, base_id)

    return FunctionTool.from_defaults(
        search, name=name, description=description, fn_schema=Asked, async_fn=asearch, callback=itemgetter(0)
    )


def _node(id: str, text: str, about: Mapping[str, Any], source: Source) -> TextNode:
    hidden = [name for name in about if name not in SHOWN]
    document = {"title": source.title, "category": source.category, "date": source.date}
    return PassageNode(
        id_=id,
        text=text,
        extra_info=dict(about),  # what LlamaIndex calls metadata elsewhere
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source.uri, metadata=document)},
    )


def _passage(base_id: str, hit: Hit) -> TextNode:
    return _node(f"{base_id}:{hit.passage.id}", hit.passage.content, metadata(hit), hit.source)


def _quote(base_id: str, cited: Cited) -> TextNode:
    about = {**cited.source.locator, **cited.as_json(), "passage_id": cited.passage_id}
    return _node(f"{base_id}:{cited.passage_id}:{cited.n}", about.pop("quote"), about, cited.source)
