"""Chat models by name: OpenAI and whatever speaks its language, or any that LangChain knows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from silmari.errors import MissingExtraError, UsageError
from silmari.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# Models that think first take no temperature.
_NO_TEMPERATURE = ("o1", "o3", "o4", "gpt-5", "gpt-6")


_MAX_IDENTITY = 200


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A chat model, ready to be called through a `silmari.providers.gate.Gate`.

    Attributes:
        name: As it is shown, ``provider:model``.
        identity: What its replies are cached under: the name and the service's address; at most 200
            characters.
        client: LangChain's model.
        priced: Whether the provider's own prices apply (not for a compatible service elsewhere).
        close: Releases its connections, on the loop on which it was called.
        schemas: Whether it can be asked for JSON by a schema, as OpenAI's protocol has it.
    """

    name: str
    identity: str
    client: BaseChatModel
    priced: bool = True
    close: Callable[[], Awaitable[None]] | None = None
    schemas: bool = False


def open_chat(name: str | BaseChatModel, settings: Settings) -> ChatModel:
    """Open a chat model.

    Args:
        name: ``openai:MODEL`` (also for compatible services, with `base_url`), any other
            ``provider:model`` that LangChain's ``init_chat_model`` knows, or a LangChain model.
        settings: Address, key and deadlines.

    Raises:
        UsageError: The name has no provider, the provider is unknown or there is no key.
        MissingExtraError: A package is missing; the message says which.
    """
    if not isinstance(name, str):
        return _given(name)
    provider, _, model = name.strip().partition(":")
    if not provider or not model:
        raise UsageError(
            f"The chat model {name!r} has no provider or no model: write provider:model, such as openai:gpt-4o-mini."
        )
    return _openai(model, settings) if provider == "openai" else _langchain(provider, model, settings)


def _given(client: BaseChatModel) -> ChatModel:
    """A model object of the user's own: used as it is."""
    model = getattr(client, "model_name", None) or getattr(client, "model", None) or type(client).__name__
    address = getattr(client, "openai_api_base", None) or getattr(client, "base_url", None) or ""
    # Named as where the name is given, so that its price is found.
    name = f"{client._llm_type.removesuffix('-chat')}:{model}"
    # OpenAI's own and its descendants take further fields of a request.
    schemas = hasattr(client, "extra_body") and hasattr(client, "openai_api_base")
    return ChatModel(name, _identity(name, str(address)), client, priced=not address, schemas=schemas)


def _openai(model: str, settings: Settings) -> ChatModel:
    try:
        import openai
        from langchain_openai import ChatOpenAI
    except ImportError as error:
        raise MissingExtraError(
            f"The chat model openai:{model} needs the package langchain-openai: pip install 'silmari[openai]'."
        ) from error
    base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or None
    key = settings.api_key.get_secret_value() if settings.api_key else os.environ.get("OPENAI_API_KEY", "")
    if not key and not base_url:
        raise UsageError(
            f"The chat model openai:{model} needs a key: set SILMARI_API_KEY or OPENAI_API_KEY, "
            "or base_url for a service that needs none."
        )
    # LangChain shares one HTTP client among all models of a process, which breaks once the loop that
    # first used it is closed; this one is the model's own.
    http = openai.DefaultAsyncHttpxClient(timeout=settings.timeout)
    options: dict[str, Any] = {} if model.startswith(_NO_TEMPERATURE) else {"temperature": 0}
    if base_url:
        # Compatible services speak chat completions; newer interfaces are OpenAI's alone.
        options |= {"base_url": base_url, "use_responses_api": False}
    client = ChatOpenAI(
        model=model,
        api_key=SecretStr(key or "none"),  # Services without keys still want a header.
        timeout=settings.timeout,
        max_retries=0,  # The gate retries.
        http_async_client=http,
        **options,
    )
    name = f"openai:{model}"
    return ChatModel(name, _identity(name, base_url or ""), client, not base_url, http.aclose, schemas=True)


def _langchain(provider: str, model: str, settings: Settings) -> ChatModel:
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise MissingExtraError(
            f"The chat model {provider}:{model} needs LangChain and the provider's package: "
            f"pip install langchain langchain-{provider.replace('_', '-')}."
        ) from error
    options: dict[str, Any] = {}
    if settings.base_url:
        options["base_url"] = settings.base_url
    if settings.api_key:
        options["api_key"] = settings.api_key.get_secret_value()
    try:
        client = init_chat_model(model, model_provider=provider, **options)
    except ImportError as error:
        raise MissingExtraError(
            f"The chat model {provider}:{model} needs the provider's package: {' '.join(str(error).split())}"
        ) from error
    except ValueError as error:
        raise UsageError(
            f"The chat model {provider}:{model} cannot be opened: {' '.join(str(error).split())}"
        ) from error
    name = f"{provider}:{model}"
    return ChatModel(name, _identity(name, settings.base_url or ""), client, not settings.base_url)


def _identity(name: str, address: str) -> str:
    """Name and address, the end of a very long one replaced by its hash."""
    whole = f"{name}@{address}"
    if len(whole) <= _MAX_IDENTITY:
        return whole
    return whole[: _MAX_IDENTITY - 33] + "#" + hashlib.sha256(whole.encode()).hexdigest()[:32]
