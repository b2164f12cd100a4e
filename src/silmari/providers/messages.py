"""What is said to a chat model and what it says, whatever its client makes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from silmari.errors import ProviderError
from silmari.providers.chat import ChatModel
from silmari.providers.tokens import estimate_tokens

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

T = TypeVar("T")

# Of a useless reply, what it is shown again: a runaway one would fill the model's window.
_MOST_REPEATED = 8_000
# Tokens around each message.
_FRAME_TOKENS = 6


async def readable(name: str, call: Awaitable[T]) -> T:
    """The client's result; what it could not make sense of is the service's fault, not a bug."""
    try:
        return await call
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        words = " ".join(str(error).split())[:300]
        raise ProviderError(f"The model {name} sent a reply that cannot be read; check base_url: {words}") from error


def tokens_in(messages: Sequence[BaseMessage]) -> int:
    """About how many tokens messages have."""
    return sum(estimate_tokens(text_of(message)) + _FRAME_TOKENS for message in messages)


def held_to(schema: Mapping[str, Any], model: ChatModel) -> dict[str, Any]:
    """Options of a call whose reply has to fit a schema.

    As a further field of the request: LangChain's own option turns a reply that was cut off into an
    exception, though what came of it may be of use.
    """
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema), "strict": True}}
    own = getattr(model.client, "extra_body", None) or {}
    return {"extra_body": {**own, "response_format": form}}


def repair(reply: str, error: ValueError) -> list[BaseMessage]:
    """What is said after a useless reply."""
    from langchain_core.messages import AIMessage, HumanMessage

    wrong = str(error).rstrip(". ")
    return [
        AIMessage(reply[:_MOST_REPEATED] or "(nothing)"),
        HumanMessage(f"This reply cannot be used: {wrong}. Give the whole reply again, corrected, and nothing else."),
    ]


def added(one: Any, other: Any) -> Any:
    """Token counts of two chunks together; services send them once or in parts."""
    if not one or not other:
        return one or other
    return {name: int(one.get(name, 0)) + int(other.get(name, 0)) for name in ("input_tokens", "output_tokens")}


def reply_key(messages: Sequence[BaseMessage]) -> str:
    """What a reply is cached under, beside the model: the hash of all that was said."""
    said = json.dumps([[message.type, message.content] for message in messages], ensure_ascii=False, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def text_of(message: Any) -> str:
    """The text of a message or chunk, whether its content is a string or a list of blocks."""
    content = message.content
    if isinstance(content, str):
        return content
    blocks = (block if isinstance(block, str) else block.get("text") or "" for block in content)
    return "".join(block for block in blocks if isinstance(block, str))
