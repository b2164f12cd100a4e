"""Embedders behind LangChain's ``Embeddings``: services such as OpenAI's and Ollama's, and the user's own objects."""

from __future__ import annotations

import importlib.util
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import tenacity
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from silmari.errors import MissingExtraError, ProviderError, UsageError
from silmari.providers.embedding import Embedder
from silmari.providers.faults import Fault, ServiceError, fault_of, told
from silmari.providers.prefixes import fingerprint, known_prefixes
from silmari.settings import Settings

Rows = list[list[float]]
T = TypeVar("T")

_BATCH = 64
_BATCH_CHARS = 150_000  # OpenAI takes 300,000 tokens a request, and Korean has up to two tokens a character
_CALLS = 8
_ATTEMPTS = 8
_TOO_MUCH = frozenset({400, 413, 422})  # what services answer to a batch or a text that is too long
_LENGTH_WORDS = ("token", "length", "too long", "too large")
_LEAST_CHARS = 200
_OLLAMA = "http://127.0.0.1:11434"
_backoff = tenacity.wait_random_exponential(multiplier=0.5, max=20)


class ServiceModel:
    """Sends batches, several at once, tries again, and learns how much the service takes at a time.

    Args:
        make: Gives the ``Embeddings``; called once, at the first text, since SDKs are slow to import.
        name: For messages.
        prefixes: Put before a question and before a passage.
        calls: Batches in flight at once.
        total_timeout: Seconds after which a call is not tried again.
    """

    def __init__(
        self,
        make: Callable[[], Embeddings],
        name: str,
        prefixes: tuple[str, str],
        *,
        calls: int,
        total_timeout: float,
    ) -> None:
        self._make = make
        self._name = name
        self._prefixes = prefixes
        self._calls = calls
        self._total_timeout = total_timeout
        self._lock = threading.Lock()
        self._made: Embeddings | None = None
        self._limit = _BATCH
        self._shortened = 0

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        """One row a text, in the order of `texts`.

        Raises:
            ProviderError: The service failed for good, or what it sent is no table of numbers.
        """
        embeddings = self._embeddings()
        prefix = self._prefixes[0 if query else 1]
        prefixed = [prefix + text for text in texts]
        if query:  # one by one: services may embed a question in another way than a passage
            rows = self._at_once(lambda text: self._one(lambda text: [embeddings.embed_query(text)], text), prefixed)
        else:
            batches = list(self._batches(prefixed))
            rows = self._at_once(lambda batch: self._several(embeddings.embed_documents, batch), batches)
        try:
            return np.asarray([row for answer in rows for row in answer], np.float32)
        except (TypeError, ValueError) as error:
            raise ProviderError(
                f"The embedder {self._name} sent vectors of different lengths, or with something else than numbers; "
                "check that the model is one for embeddings."
            ) from error

    def _embeddings(self) -> Embeddings:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def _batches(self, texts: list[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        chars = 0
        for text in texts:
            if batch and (len(batch) >= self._limit or chars + len(text) > _BATCH_CHARS):
                yield batch
                batch, chars = [], 0
            batch.append(text)
            chars += len(text)
        if batch:
            yield batch

    def _at_once(self, call: Callable[[T], Rows], inputs: list[T]) -> list[Rows]:
        if self._calls == 1 or len(inputs) == 1:
            return [call(each) for each in inputs]
        pool = ThreadPoolExecutor(min(self._calls, len(inputs)), thread_name_prefix="silmari-embed")
        try:
            return list(pool.map(call, inputs))
        finally:
            pool.shutdown(cancel_futures=True)

    def _several(self, embed: Callable[[list[str]], Rows], batch: list[str]) -> Rows:
        """The batch, in halves where the service takes no more; what it takes is remembered."""
        if len(batch) == 1:
            return self._one(lambda text: embed([text]), batch[0])
        if len(batch) <= self._limit:
            try:
                return self._called(lambda: embed(batch), len(batch))
            except _TooMuchError:
                pass
        half = (len(batch) + 1) // 2
        shortened = self._shortened
        rows = [row for part in (batch[:half], batch[half:]) for row in self._several(embed, part)]
        if shortened == self._shortened:  # else it was one text that was too long, not the batch
            self._limit = min(self._limit, half)
        return rows

    def _one(self, embed: Callable[[str], Rows], text: str) -> Rows:
        """One text, cut in half for as long as the service says that it is too long."""
        while True:
            try:
                return self._called(lambda text=text: embed(text), 1)  # type: ignore[misc]
            except _TooMuchError as error:
                if len(text) < 2 * _LEAST_CHARS or not error.about_length:
                    raise
                text = text[: len(text) // 2]
                self._shortened += 1

    def _called(self, call: Callable[[], Rows], count: int) -> Rows:
        """Call until it works, the fault is permanent, or the time is over.

        Raises:
            ProviderError: The fault; a `_TooMuchError` when less at a time may be taken.
        """

        def once() -> Rows:
            try:
                return call()
            except Exception as error:
                fault = fault_of(error)
                if fault is None:
                    raise
                if fault.status in _TOO_MUCH:
                    raise _TooMuchError(told(self._name, fault), fault) from error
                raise told(self._name, fault) from error

        rows = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retryable),
            wait=_wait,
            stop=tenacity.stop_before_delay(self._total_timeout) | tenacity.stop_after_attempt(_ATTEMPTS),
            reraise=True,
        )(once)
        if len(rows) != count:
            raise ProviderError(
                f"The embedder {self._name} sent {len(rows)} vectors for {count} texts; "
                "check that the model is one for embeddings."
            )
        return rows


class _TooMuchError(ProviderError):
    """The service refused what it was given; half of it may do."""

    def __init__(self, told: ServiceError, fault: Fault) -> None:
        super().__init__(str(told))
        self.about_length = any(word in fault.message.lower() for word in _LENGTH_WORDS)


def _wait(state: tenacity.RetryCallState) -> float:
    """What the service asks for, else a growing random time."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ServiceError) else None
    return _backoff(state) if asked is None else asked + 0.05


def from_name(provider: str, model: str, settings: Settings, prefixes: tuple[str, str] | None) -> Embedder:
    """The embedder ``provider:model`` of a service.

    Raises:
        UsageError: A key is missing.
        MissingExtraError: The provider's package is not installed.
    """
    make: Callable[[], Embeddings]
    if provider in ("openai", "ollama"):
        if importlib.util.find_spec("langchain_openai") is None:
            raise MissingExtraError(
                f"The embedder {provider}:{model} needs a package: run pip install 'silmari[openai]'."
            )
        arguments = _openai(model, settings) if provider == "openai" else _ollama(model, settings)

        def make() -> Embeddings:
            from langchain_openai import OpenAIEmbeddings
            from openai import DefaultHttpxClient

            # Retries and lengths are ours; without the length check texts go as text, not as OpenAI's token
            # numbers, which other services do not know.
            http = DefaultHttpxClient(timeout=settings.timeout)
            made: Embeddings = OpenAIEmbeddings(
                max_retries=0,
                timeout=settings.timeout,
                check_embedding_ctx_length=False,
                chunk_size=2048,
                http_client=http,
                **arguments,
            )
            weakref.finalize(made, http.close)  # else its connections stay open until they are collected
            return made
    else:
        if importlib.util.find_spec("langchain") is None:
            raise MissingExtraError(
                f"The embedder {provider}:{model} needs packages: run pip install langchain langchain-{provider}."
            )
        opened = _by_langchain(provider, model)  # at once: a wrong name should not wait for the first text

        def make() -> Embeddings:
            return opened

    return _embedder(make, f"{provider}:{model}", model, settings, prefixes, calls=min(_CALLS, settings.concurrency))


def from_object(embeddings: Embeddings, settings: Settings, prefixes: tuple[str, str] | None) -> Embedder:
    """The user's own ``Embeddings``; called one batch at a time, since not all can do more."""
    kind = type(embeddings)
    model = ""
    for attribute in ("model", "model_name", "model_id", "repo_id", "deployment"):
        value = getattr(embeddings, attribute, None)
        if isinstance(value, str) and value:
            model = value
            break
    name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}" + (f":{model}" if model else "")
    if prefixes is None and _has_own_prefixes(embeddings):
        prefixes = ("", "")
    return _embedder(lambda: embeddings, name, model, settings, prefixes, calls=1)


def _embedder(
    make: Callable[[], Embeddings],
    name: str,
    model: str,
    settings: Settings,
    prefixes: tuple[str, str] | None,
    *,
    calls: int,
) -> Embedder:
    used = known_prefixes(model) if prefixes is None else prefixes
    service = ServiceModel(make, name, used, calls=calls, total_timeout=settings.total_timeout)
    return Embedder(service, fingerprint(name, used), batch_size=_BATCH * calls)


def _has_own_prefixes(embeddings: Embeddings) -> bool:
    """Whether the object itself puts something in front, as its attributes tell."""
    for attribute in ("query_instruction", "embed_instruction"):
        if getattr(embeddings, attribute, None):
            return True
    for attribute in ("encode_kwargs", "query_encode_kwargs"):
        given = getattr(embeddings, attribute, None)
        if isinstance(given, dict) and {"prompt", "prompt_name"} & given.keys():
            return True
    return False


def _openai(model: str, settings: Settings) -> dict[str, Any]:
    key = settings.api_key.get_secret_value() if settings.api_key else os.environ.get("OPENAI_API_KEY")
    own = settings.base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    if not key and not own:
        raise UsageError(
            f"The embedder openai:{model} has no key: set api_key (SILMARI_API_KEY) or OPENAI_API_KEY, "
            "or base_url (SILMARI_BASE_URL) for a compatible service without one."
        )
    return {"model": model, "base_url": own, "api_key": key or "none"}


def _ollama(model: str, settings: Settings) -> dict[str, Any]:
    """Ollama speaks OpenAI's protocol under /v1, so that no package of its own is needed."""
    # base_url is shared with the chat model: it is Ollama's unless that is another provider's.
    ours = settings.llm is None or settings.llm.startswith("ollama:")
    address = (settings.base_url if ours else None) or os.environ.get("OLLAMA_HOST") or _OLLAMA
    address = address if "://" in address else f"http://{address}"
    address = address.rstrip("/").removesuffix("/v1") + "/v1"
    return {"model": model, "base_url": address, "api_key": "ollama"}


def _by_langchain(provider: str, model: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    try:
        made: Embeddings = init_embeddings(model, provider=provider)
    except ImportError as error:
        raise MissingExtraError(
            f"The embedder {provider}:{model} needs a package: run pip install langchain-{provider}."
        ) from error
    except ValueError as error:
        said = " ".join(str(error).split())[:300].rstrip(".")
        raise UsageError(f"The embedder {provider}:{model} cannot be opened, LangChain says: {said}.") from error
    return made
