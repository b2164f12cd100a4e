"""Silmari in LangChain: a retriever, and tools for agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Unpack, cast

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool, ToolException
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation

from silmari.adapters.asking import ANSWERS, SEARCHES, Asked, Inquiry, id_of, metadata, sentence
from silmari.errors import SilmariError
from silmari.knowledge_base import KnowledgeBase
from silmari.model import Hit, Way
from silmari.retrieval.filters import Now
from silmari.retrieval.policy import Policy
from silmari.retrieval.steer import Reranking
from silmari.searching import Filters, SearchOptions


class SilmariRetriever(BaseRetriever):
    """Searches a knowledge base; a `Document` is one hit, best first.

    Each field but `base` is an option of `KnowledgeBase.search` (see `silmari.searching.SearchOptions`), and can also
    be given to ``invoke`` and its kin for one call; what is None is as the base's settings say. The base stays
    open as long as its owner keeps it open.

    Raises:
        SilmariError: From ``invoke`` and its kin: the question has no words, or an option is wrong.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    base: KnowledgeBase = Field(exclude=True, repr=False)
    way: Way | None = None
    k: int | None = None
    filters: Annotated[Filters | None, SkipValidation] = None
    policy: Annotated[str | Policy | None, SkipValidation] = None
    time: bool | None = None
    now: Annotated[Now, SkipValidation] = None
    entities: Sequence[str] | None = None
    rerank: Reranking | None = None
    expansion: Mapping[str, Any] | None = None
    duplicates: bool = False
    _base_id: str = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Read what every document's id begins with."""
        super().model_post_init(context)
        self._base_id = id_of(self.base)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return documents(self.base.search(query, **self._options(options)), self._base_id)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return documents(await self.base.asearch(query, **self._options(options)), self._base_id)

    def _options(self, given: Mapping[str, Any]) -> SearchOptions:
        own = {name: getattr(self, name) for name in SearchOptions.__optional_keys__}
        return cast(SearchOptions, {**own, **given})


def documents(hits: Sequence[Hit], base_id: str) -> list[Document]:
    """Hits as LangChain's documents.

    Args:
        hits: Of one search.
        base_id: What their ids begin with, since other bases count their passages from 1, too.

    Returns:
        The passages' content; metadata as in `silmari.adapters.asking.metadata`, and ``source``, as LangChain's loaders
        name the path.
    """
    return [
        Document(
            page_content=hit.passage.content,
            metadata={"source": hit.source.uri, **metadata(hit)},
            id=f"{base_id}:{hit.passage.id}",
        )
        for hit in hits
    ]


def search_tool(
    base: KnowledgeBase,
    *,
    name: str = "search_documents",
    description: str = SEARCHES,
    **options: Unpack[SearchOptions],
) -> StructuredTool:
    """A tool with which an agent searches a knowledge base.

    The model gets numbered passages, the artifact of the tool's message is the list of `Document`. What is wrong with
    the agent's arguments is told to it in a sentence.

    Args:
        name: As the model calls it.
        description: Tells the model when to use it.
        options: Of every search, see `silmari.searching.SearchOptions`. The agent may say how many passages it
            wants, and may narrow your filters by date and category; it cannot widen them.
    """
    inquiry, base_id = Inquiry(base, options), id_of(base)

    def search(**given: Any) -> tuple[str, list[Document]]:
        with _told():
            text, hits = inquiry.search(given)
        return text, documents(hits, base_id)

    async def asearch(**given: Any) -> tuple[str, list[Document]]:
        with _told():
            text, hits = await inquiry.asearch(given)
        return text, documents(hits, base_id)

    return _tool(search, asearch, name, description)


def ask_tool(
    base: KnowledgeBase,
    *,
    name: str = "ask_documents",
    description: str = ANSWERS,
    **options: Unpack[SearchOptions],
) -> StructuredTool:
    """A tool with which an agent asks a knowledge base; see `search_tool`.

    The model gets the answer with its sources, the artifact is ``Answer.as_json()``.
    """
    inquiry = Inquiry(base, options)

    def ask(**given: Any) -> tuple[str, dict[str, Any]]:
        with _told():
            answer = inquiry.ask(given)
        return str(answer), answer.as_json()

    async def aask(**given: Any) -> tuple[str, dict[str, Any]]:
        with _told():
            answer = await inquiry.aask(given)
        return str(answer), answer.as_json()

    return _tool(ask, aask, name, description)


def _tool(call: Callable[..., Any], acall: Callable[..., Any], name: str, description: str) -> StructuredTool:
    return StructuredTool.from_function(
        call,
        acall,
        name=name,
        description=description,
        args_schema=Asked,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=cast(Callable[[Any], str], sentence),
    )


@contextmanager
def _told() -> Iterator[None]:
    """Sentences for a person become sentences for the agent."""
    try:
        yield
    except SilmariError as error:
        raise ToolException(str(error)) from error
