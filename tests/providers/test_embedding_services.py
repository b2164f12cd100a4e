"""Embedding services over real HTTP: batches, limits, retries, and what they may send wrong."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from silmari.errors import MissingExtraError, ProviderError, UsageError
from silmari.providers.embedding import Embedder, open_embedder
from silmari.providers.prefixes import known_prefixes
from silmari.settings import Settings

pytest.importorskip("langchain_openai", reason="needs the extra openai")

DIMENSION = 16
Answer = tuple[int, Any, dict[str, str]]


def vector(text: str) -> list[float]:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    return [float(number) for number in np.random.default_rng(seed).standard_normal(DIMENSION)]


def good(texts: list[str]) -> Answer:
    return 200, {"data": [{"index": i, "embedding": vector(text)} for i, text in enumerate(texts)]}, {}


def refused(status: int, message: str, **headers: str) -> Answer:
    return status, {"error": {"message": message, "code": None}}, headers


@dataclass
class Service:
    """Answers ``POST /v1/embeddings`` as `answer` says; `script` holds answers for the first requests."""

    answer: Callable[[list[str]], Answer] = good
    script: list[Answer] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""

    def take(self, texts: list[str], key: str) -> Answer:
        self.at.append(time.monotonic())
        self.asked.append(texts)
        self.keys.append(key)
        return self.script.pop(0) if self.script else self.answer(texts)


@pytest.fixture
def service() -> Iterator[Service]:
    served = Service()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            with lock:
                status, content, headers = served.take(texts, self.headers.get("Authorization", ""))
            if self.path != "/v1/embeddings":
                status, content = 404, {"error": {"message": f"no such path {self.path}"}}
            if status == 200:
                content = {"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}, **content}
            sent = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(sent)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


def opened(service: Service, name: str = "openai:some-model", **given: Any) -> Embedder:
    settings = Settings(base_url=service.url, **{"timeout": 5.0, "total_timeout": 20.0, **given})
    embedder = open_embedder(name, settings)
    assert embedder is not None
    return embedder


def unit(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    row = np.asarray(vector(text))
    return np.asarray(row / np.linalg.norm(row), np.float32)


def test_rows_are_unit_and_in_order(service: Service) -> None:
    embedder = opened(service)
    texts = [f"passage {number} 단락" for number in range(300)]
    rows = embedder.passages(texts)
    np.testing.assert_allclose(rows, [unit(text) for text in texts], atol=1e-5)
    assert sorted(text for batch in service.asked for text in batch) == sorted(texts)
    assert len(service.asked) == 5  # batches of 64
    assert embedder.dimension == DIMENSION


def test_query_is_kept(service: Service) -> None:
    embedder = opened(service)
    first = embedder.query("출장비 정산")
    assert embedder.query("  출장비 정산 ") is first
    assert len(service.asked) == 1
    np.testing.assert_allclose(embedder.queries(["출장비 정산", "다른 질문"])[0], first, atol=1e-6)


def test_retry_after_is_honoured(service: Service) -> None:
    service.script = [refused(429, "slow down", Retry_After="1")]
    opened(service).passages(["one"])
    assert len(service.at) == 2
    assert 1.0 <= service.at[1] - service.at[0] < 3


def test_server_error_is_tried_again(service: Service) -> None:
    service.script = [refused(500, "oops"), refused(503, "busy", Retry_After="0")]
    rows = opened(service).passages(["one"])
    assert len(service.asked) == 3
    np.testing.assert_allclose(rows[0], unit("one"), atol=1e-5)


def test_a_wait_beyond_the_deadline_is_not_waited_for(service: Service) -> None:
    service.answer = lambda texts: refused(429, "come back tomorrow", Retry_After="3600")
    start = time.monotonic()
    with pytest.raises(ProviderError, match=r"HTTP 429.*3600 seconds") as caught:
        opened(service).passages(["one"])
    assert caught.value.retryable
    assert time.monotonic() - start < 3


@pytest.mark.parametrize(("status", "words"), [(401, "api_key"), (404, "base_url")])
def test_permanent_faults_are_not_repeated(service: Service, status: int, words: str) -> None:
    service.answer = lambda texts: refused(status, "no")
    with pytest.raises(ProviderError, match=words) as caught:
        opened(service).passages(["one"])
    assert not caught.value.retryable
    assert len(service.asked) == 1


def test_batch_limit_is_learned(service: Service) -> None:
    def limited(texts: list[str]) -> Answer:
        return good(texts) if len(texts) <= 10 else refused(422, "batch size 64 > maximum allowed batch size 10")

    service.answer = limited
    embedder = opened(service, concurrency=1)
    texts = [f"text {number}" for number in range(130)]
    rows = embedder.passages(texts)
    np.testing.assert_allclose(rows, [unit(text) for text in texts], atol=1e-5)
    service.asked.clear()
    embedder.passages([f"later {number}" for number in range(64)])
    assert {len(batch) for batch in service.asked} == {8}  # nothing is refused any more


def test_text_that_is_too_long_is_cut(service: Service) -> None:
    def limited(texts: list[str]) -> Answer:
        if any(len(text) > 1000 for text in texts):
            return refused(400, "This model's maximum context length is 512 tokens")
        return good(texts)

    service.answer = limited
    embedder = opened(service, concurrency=1)
    rows = embedder.passages(["short", "가" * 3000, *(f"text {number}" for number in range(20))])
    np.testing.assert_allclose(rows[1], unit("가" * 750), atol=1e-5)
    service.asked.clear()
    embedder.passages([f"later {number}" for number in range(64)])
    assert [len(batch) for batch in service.asked] == [64]  # one long text teaches nothing of batches


def test_refused_text_without_remedy_fails(service: Service) -> None:
    service.answer = lambda texts: refused(400, "unsupported input")
    with pytest.raises(ProviderError, match="unsupported input"):
        opened(service).passages(["one", "two", "three"])


def test_wrong_dimension(service: Service) -> None:
    embedder = opened(service)
    embedder.passages(["one"])
    service.answer = lambda texts: (200, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}, {})
    with pytest.raises(ProviderError, match=r"vectors of 2 numbers where 16"):
        embedder.passages(["two"])


def test_wrong_count(service: Service) -> None:
    service.answer = lambda texts: good(texts[:-1])
    with pytest.raises(ProviderError, match="1 vectors for 2 texts"):
        opened(service).passages(["one", "two"])


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0])
def test_unusable_vector_names_the_text(service: Service, bad: float) -> None:
    def answer(texts: list[str]) -> Answer:
        rows = [[bad] * DIMENSION if text == "두 번째 글" else vector(text) for text in texts]
        return 200, {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}, {}

    service.answer = answer
    with pytest.raises(ProviderError, match="두 번째 글"):
        opened(service).passages(["첫째 글", "두 번째 글"])


def test_ragged_rows(service: Service) -> None:
    rows = [vector("one"), [0.5]]
    service.answer = lambda texts: (200, {"data": [{"index": i, "embedding": rows[i]} for i in range(2)]}, {})
    with pytest.raises(ProviderError, match="different lengths"):
        opened(service).passages(["one", "two"])


def test_no_connection(service: Service) -> None:
    settings = Settings(base_url="http://127.0.0.1:9/v1", timeout=2.0, total_timeout=0.5)
    embedder = open_embedder("openai:some-model", settings)
    assert embedder is not None
    with pytest.raises(ProviderError, match="no connection") as caught:
        embedder.query("one")
    assert caught.value.retryable


def test_empty_and_odd_texts_reach_the_service_clean(service: Service) -> None:
    opened(service).passages(["", "\0\ud800", "가" * 100_000, "ﷺ"])
    sent = {text for batch in service.asked for text in batch}
    assert all(0 < len(text) <= 8000 and "\0" not in text for text in sent)
    assert len(sent) == 3  # both blank ones are the same text


def test_key_and_prefixes(service: Service) -> None:
    embedder = opened(service, "openai:intfloat/multilingual-e5-large", api_key="secret")
    embedder.passages(["one"])
    embedder.query("two")
    assert service.asked == [["passage: one"], ["query: two"]]
    assert service.keys == ["Bearer secret"] * 2
    assert "secret" not in embedder.fingerprint


def test_prefixes_are_part_of_the_fingerprint(service: Service) -> None:
    settings = Settings(base_url=service.url)
    plain = open_embedder("openai:some-model", settings)
    prefixed = open_embedder("openai:some-model", settings, prefixes=("Q: ", "P: "))
    assert plain is not None
    assert prefixed is not None
    assert plain.fingerprint == "openai:some-model"
    assert prefixed.fingerprint != plain.fingerprint
    prefixed.query("two")
    assert service.asked == [["Q: two"]]


def test_ollama_speaks_the_same_protocol(service: Service) -> None:
    embedder = opened(service, "ollama:bge-m3")
    np.testing.assert_allclose(embedder.query("질문"), unit("질문"), atol=1e-5)
    assert embedder.fingerprint == "ollama:bge-m3"


def test_own_object(embedder: Any) -> None:
    own = open_embedder(embedder, Settings())
    assert own is not None
    assert own.fingerprint.endswith(f"word_embeddings.WordEmbeddings:{embedder.model}")
    rows = own.passages(["하나", "둘", "하나"])
    assert embedder.texts == ["하나", "둘"]
    np.testing.assert_array_equal(rows[0], rows[2])
    assert own.query("하나") @ rows[0] == pytest.approx(1, abs=1e-6)


def test_error_in_own_object_is_told_as_it_is() -> None:
    class Broken(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise KeyError("bug")

        def embed_query(self, text: str) -> list[float]:
            raise KeyError("bug")

    embedder = open_embedder(Broken(), Settings())
    assert embedder is not None
    with pytest.raises(KeyError, match="bug"):
        embedder.passages(["one"])


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("nothing", UsageError, "PROVIDER:MODEL"),
        ("openai:", UsageError, "PROVIDER:MODEL"),
        ("bundled:fast", UsageError, "bundled:plain"),
        ("openai:text-embedding-3-small", UsageError, "OPENAI_API_KEY"),
    ],
)
def test_names_that_cannot_be(name: str, kind: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(kind, match=words):
        open_embedder(name, Settings())


@pytest.mark.parametrize(
    ("name", "package", "command"),
    [
        ("fastembed:BAAI/bge-small-en", "fastembed", "pip install fastembed"),
        ("sentence-transformers:x", "sentence_transformers", "pip install sentence-transformers"),
        ("huggingface:x", "sentence_transformers", "pip install sentence-transformers"),
        ("cohere:embed-v4", "langchain", "pip install langchain langchain-cohere"),
    ],
)
def test_missing_packages(name: str, package: str, command: str, hidden: Callable[[str], None]) -> None:
    hidden(package)
    with pytest.raises(MissingExtraError, match=command):
        open_embedder(name, Settings())


def test_none_is_no_embedder() -> None:
    assert open_embedder("none", Settings()) is None


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("nlpai-lab/KoE5", "query: ", "passage: "),
        ("dragonkue/multilingual-e5-small-ko", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", "Instruct: ", ""),
        ("BAAI/bge-m3", "", ""),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence", ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("dragonkue/snowflake-arctic-embed-l-v2.0-ko", "query: ", ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("Snowflake/snowflake-arctic-embed-m", "Represent this sentence", ""),
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("text-embedding-3-small", "", ""),
        ("some-re5olver", "", ""),
    ],
)
def test_known_prefixes(model: str, query: str, passage: str) -> None:
    found = known_prefixes(model)
    assert found[0].startswith(query) if query else not found[0]
    assert found[1] == passage
