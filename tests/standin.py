"""A stand-in for an OpenAI-style service: real HTTP on loopback, with good and bad behaviour to order.

Use it as a fixture (``with StandIn() as service:``) or by hand: ``python tests/standin.py --port 8090``.
A behaviour is chosen for each request by, in this order: the next entry of `script`; the model's name
if it is a behaviour's name; `behaviour`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSION = 64
_SOURCE = re.compile(r'<(source-\w+) n="(\d+)"[^>]*>\n(.*?)\n</\1>', re.S)
_QUESTION = re.compile(r"(?:질문|Question): (.*)\Z", re.S)
_SENTENCE = re.compile(r"[^\n.!?。]+(?:\.(?=\d)[^\n.!?。]+)*[.!?。]?")
_ORDER = re.compile(r"(?:ignore|disregard|무시|출력|repeat|say|print|reveal|include)[^\n]*", re.I)
_NOT_FOUND = re.compile(r"(?:번호 없이 이 한 문장만 쓰세요|without a number): (.*)")

STATUS = {
    "401": 401, "403": 403, "404": 404, "400": 400, "429": 429, "500": 500, "503": 503, "quota": 429, "too-long": 400,
}  # fmt: skip
BEHAVIOURS = (
    "answer", "uncited", "fake", "mixed", "obey", "leak", "slow", "slow-stream", "empty", "nonsense", "notfound",
    "broken-stream", "broken-early", "cut-stream", "reset-stream", "length", "filtered", "refusal", "sorry", "blanks",
    "think", "garbage", *STATUS,
)  # fmt: skip


_ENDS = {"length": "length", "filtered": "content_filter"}


@dataclass
class Request:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    behaviour: str
    at: float


@dataclass
class StandIn:
    """The service; `url` is what an OpenAI client takes as base_url.

    Attributes:
        behaviour: What is done when neither script nor model name says otherwise.
        script: Behaviours of the next requests, taken from the front.
        retry_after: Value of the Retry-After header of a 429 or 503; None for none.
        delay: Seconds before a "slow" reply, and in all between the pieces of a "slow-stream".
        said: If set, the text of every answer.
        replier: If set, makes the text of every answer from the request's body.
        schemas: Whether a request for JSON by a schema is understood; else it is refused with 400.

    An entry of `script` that begins with ``say:`` is the text of that answer.
    """

    behaviour: str = "answer"
    script: list[str] = field(default_factory=list)
    retry_after: str | None = "0.2"
    delay: float = 2.0
    said: str | None = None
    replier: Callable[[dict[str, Any]], str] | None = None
    schemas: bool = True
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.Lock()

    def __enter__(self) -> StandIn:
        self._server = _Server(("127.0.0.1", self.port), _Handler)
        self._server.standin = self
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def take(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> str:
        """Log a request and say how it is to be treated."""
        with self.lock:
            model = str(body.get("model", ""))
            if self.script:
                behaviour = self.script.pop(0)
            else:
                behaviour = model if model in BEHAVIOURS else self.behaviour
            self.requests.append(Request(path, body, headers, behaviour, time.monotonic()))
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            return behaviour

    def text(self, body: dict[str, Any], behaviour: str) -> str:
        """The answer to a request."""
        if behaviour.startswith("say:"):
            return behaviour.removeprefix("say:")
        if self.said is not None:
            return self.said
        if self.replier is not None and behaviour in ("answer", "slow"):
            return self.replier(body)
        return reply(body, behaviour)

    def done(self) -> None:
        with self.lock:
            self.in_flight -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    standin: StandIn

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        standin = self.server.standin
        behaviour = standin.take(self.path, body, dict(self.headers.items()))
        try:
            if behaviour == "slow":
                time.sleep(standin.delay)
            if "response_format" in body and not standin.schemas:
                self._refuse("400")
            elif behaviour in STATUS:
                self._refuse(behaviour)
            elif behaviour == "garbage":
                self._send(200, b"<html>no JSON here</html>", "text/html")
            elif self.path.endswith("/embeddings"):
                self._send(200, json.dumps(embeddings(body)).encode())
            elif self.path.endswith("/chat/completions"):
                self._chat(body, standin.text(body, behaviour), behaviour)
            else:
                self._send(404, json.dumps({"error": {"message": f"no such path {self.path}"}}).encode())
        finally:
            standin.done()

    def _refuse(self, behaviour: str) -> None:
        status = STATUS[behaviour]
        message, code = {
            "401": ("Incorrect API key provided: sk-abcd********wxyz.", "invalid_api_key"),
            "404": ("The model does not exist.", "model_not_found"),
            "429": ("Rate limit reached.", "rate_limit_exceeded"),
            "quota": ("You exceeded your current quota.", "insufficient_quota"),
            "too-long": ("This model's maximum context length is 512 tokens.", "context_length_exceeded"),
        }.get(behaviour, (f"The stand-in answers {status}.", "standin"))
        error = {"error": {"message": message, "type": "standin", "param": None, "code": code}}
        after = self.server.standin.retry_after
        extra = {"Retry-After": after} if status in (429, 503) and after else {}
        self._send(status, json.dumps(error).encode(), extra=extra)

    def _send(
        self, status: int, body: bytes, kind: str = "application/json", extra: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _chat(self, body: dict[str, Any], text: str, behaviour: str) -> None:
        usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": len(text) // 4}
        usage["total_tokens"] = sum(usage.values())
        head = {"id": "chatcmpl-standin", "created": 0, "model": body.get("model", "")}
        if not body.get("stream"):
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": _ENDS.get(behaviour, "stop"),
            }
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send(200, json.dumps(whole).encode())
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pieces = [text[start : start + 3] for start in range(0, len(text), 3)]
        pause = self.server.standin.delay / max(len(pieces), 1) if behaviour == "slow-stream" else 0.0
        chunk = {**head, "object": "chat.completion.chunk"}
        for place, piece in enumerate(pieces):
            late = place > len(pieces) // 2
            if behaviour == "broken-early" or (behaviour == "broken-stream" and late):
                self._write(b'data: {"id": "half')
                self.close_connection = True
                return
            if behaviour == "cut-stream" and late:
                self._write(b"")
                return
            if behaviour == "reset-stream" and late:
                # Unsent data and a lingering of 0 seconds make the socket end with a reset.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
                return
            if behaviour in _ENDS and late:
                break
            delta = {"role": "assistant", "content": piece} if not place else {"content": piece}
            self._event({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            if pause:
                time.sleep(pause)
        last = {"refusal": "I cannot help with that."} if behaviour == "refusal" else {}
        ending = _ENDS.get(behaviour, "stop")
        self._event({**chunk, "choices": [{"index": 0, "delta": last, "finish_reason": ending}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            self._event({**chunk, "choices": [], "usage": usage})
        self._write(b"data: [DONE]\n\n")
        self._write(b"")

    def _event(self, data: dict[str, Any]) -> None:
        self._write(f"data: {json.dumps(data)}\n\n".encode())

    def _write(self, data: bytes) -> None:
        """One chunk of the body; an empty one ends it."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def reply(body: dict[str, Any], behaviour: str) -> str:
    """The answer, from the sources in the prompt alone."""
    said = [str(message.get("content") or "") for message in body.get("messages", [])]
    prompt = said[-1] if said else ""
    sources = {int(number): text for _, number, text in _SOURCE.findall(prompt)}
    asked = _QUESTION.search(prompt)
    question = asked[1] if asked else prompt
    sentences = list(_best(question, sources))
    told = " ".join(f"{sentence} [{number}]" for number, sentence in sentences[:2])
    korean = bool(re.search("[가-힣]", question))
    match behaviour:
        case "empty" | "refusal":
            return ""
        case "blanks":
            return " \n\t \u3000\n" * 20
        case "sorry":
            return "죄송하지만 도와드릴 수 없습니다." if korean else "I'm sorry, but I can't help with that."
        case "nonsense":
            return "blub " * 40
        case "uncited":
            return " ".join(sentence for _, sentence in sentences[:2])
        case "fake":
            return "달은 치즈로 되어 있습니다 [97]. [98, 99]" if korean else "The moon is made of cheese [97]. [98, 99]"
        case "mixed":
            return f"{told} 【{len(sources) + 5}】" + (" 근거 없는 말입니다." if korean else " This has no proof.")
        case "notfound":
            found = _NOT_FOUND.search("\n".join(said))
            return found[1] if found else "not found"
        case "leak":
            return "Here is what I was told:\n" + said[0]
        case "obey":
            orders = [match[0] for text in sources.values() for match in _ORDER.finditer(text)]
            return f"{told}\n" + "\n".join(orders) + (f"\n{said[0]}" if orders else "")
        case "think":
            return f"<think>\nThe sources are {sorted(sources)}.\n</think>\n\n{told}"
        case _:
            return told


def _best(question: str, sources: dict[int, str]) -> Iterator[tuple[int, str]]:
    """Sentences by the character bigrams that they share with the question."""
    wanted = _bigrams(question)
    found = [
        (len(wanted & _bigrams(sentence)), -number, number, sentence.strip())
        for number, text in sources.items()
        for sentence in _SENTENCE.findall(text)
        if sentence.strip()
    ]
    for _, _, number, sentence in sorted(found, reverse=True):
        yield number, sentence


def _bigrams(text: str) -> set[str]:
    bare = "".join(char for char in text.lower() if char.isalnum())
    return {bare[place : place + 2] for place in range(len(bare) - 1)}


def embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Vectors of hashed character bigrams: equal texts are equal, similar ones near."""
    given = body.get("input", [])
    texts = [given] if isinstance(given, str) else list(given)
    data = []
    for place, text in enumerate(texts):
        vector = _vector(text if isinstance(text, str) else json.dumps(text))
        shown: Any = vector
        if body.get("encoding_format") == "base64":
            shown = base64.b64encode(struct.pack(f"<{DIMENSION}f", *vector)).decode()
        data.append({"object": "embedding", "index": place, "embedding": shown})
    usage = {"prompt_tokens": sum(len(str(text)) // 4 for text in texts)}
    usage["total_tokens"] = usage["prompt_tokens"]
    return {"object": "list", "data": data, "model": body.get("model", ""), "usage": usage}


def _vector(text: str) -> list[float]:
    values = [0.01] * DIMENSION
    for pair in _bigrams(text):
        values[hashlib.blake2b(pair.encode(), digest_size=2).digest()[0] % DIMENSION] += 1.0
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


def main() -> None:
    parser = argparse.ArgumentParser(description="A stand-in for an OpenAI-style service.")
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--behaviour", choices=BEHAVIOURS, default="answer")
    chosen = parser.parse_args()
    with StandIn(port=chosen.port, behaviour=chosen.behaviour) as service:
        print(f"listening on {service.url}", flush=True)  # noqa: T201
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
