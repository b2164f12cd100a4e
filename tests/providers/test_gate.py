from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from silmari.errors import ProviderError
from silmari.providers.chat import ChatModel, open_chat
from silmari.providers.gate import Gate, reply_key
from silmari.settings import Settings
from standin import StandIn

ASKED = [HumanMessage('<source-aa n="1">\n수달은 강에 산다.\n</source-aa>\n\n질문: 수달은 어디에 사나?')]
ANSWER = "수달은 강에 산다. [1]"
OnLoop = Callable[[Any], Any]


class Replies:
    """A cache of replies like the catalog's."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Any] = {}

    def reply(self, model: str, key: str) -> Any | None:
        return self.kept.get((model, key))

    def put_reply(self, model: str, key: str, reply: Any) -> None:
        self.kept[model, key] = reply


@pytest.fixture
def model(service: StandIn, on_loop: OnLoop) -> Iterator[ChatModel]:
    opened = open_chat("openai:gpt-4o-mini", Settings(base_url=service.url))
    yield opened
    assert opened.close
    on_loop(opened.close())


@contextmanager
def within(least: float, most: float) -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert least <= time.monotonic() - begun <= most


async def streamed(gate: Gate, model: ChatModel) -> list[str]:
    return [piece async for piece in gate.stream(model, ASKED)]


def test_a_reply_is_validated_counted_and_cached(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    gate = Gate(replies=Replies(), prices={"openai:gpt-4o-mini": (1.0, 2.0)})
    assert on_loop(gate.ask(model, ASKED, str)) == ANSWER
    assert gate.usage.calls == 1
    assert gate.usage.input_tokens > 0
    assert gate.usage.cost == pytest.approx((gate.usage.input_tokens + 2 * gate.usage.output_tokens) / 1e6)
    assert on_loop(gate.ask(model, ASKED, str)) == ANSWER
    assert on_loop(streamed(gate, model)) == [ANSWER]
    assert gate.usage.calls == len(service.requests) == 1
    assert gate.usage.cached == 2
    assert service.requests[0].body["messages"] == [{"role": "user", "content": ASKED[0].content}]


def test_a_useless_reply_is_never_cached(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    replies = Replies()
    gate = Gate(replies=replies)
    service.script = ["nonsense", "nonsense"]

    def grounded(text: str) -> str:
        if "[1]" not in text:
            raise ValueError("it cites nothing")
        return text

    with pytest.raises(ProviderError, match="it cites nothing"):
        on_loop(gate.ask(model, ASKED, grounded))
    assert not replies.kept
    assert on_loop(gate.ask(model, ASKED, grounded)) == ANSWER
    # Kept under other rules, useless under these: asked again.
    replies.kept = dict.fromkeys(replies.kept, "old")
    assert on_loop(gate.ask(model, ASKED, grounded)) == ANSWER
    assert len(service.requests) == 4


def test_prices(model: ChatModel) -> None:
    gate = Gate()
    gate.count("openai:gpt-4o-mini-2024-07-18", {"input_tokens": 1_000_000, "output_tokens": 0})
    assert gate.usage.cost == pytest.approx(0.15)
    gate.count("openai:gpt-4o-mini", {"input_tokens": 1, "output_tokens": 1}, listed=False)
    assert gate.usage.cost is None
    gate.count("openai:gpt-4o-mini", None)
    assert (gate.usage.uncounted, gate.usage.cost) == (1, None)
    # The stand-in is a compatible service elsewhere: OpenAI's prices are not its.
    assert not model.priced


@pytest.mark.parametrize("fault", ["429", "500", "503", "broken-early"])
def test_transient_faults_are_repeated(service: StandIn, model: ChatModel, on_loop: OnLoop, fault: str) -> None:
    gate = Gate()
    service.script = [fault]
    assert "".join(on_loop(streamed(gate, model))) == ANSWER
    assert (gate.usage.calls, gate.usage.retries) == (2, 1)
    if fault != "broken-early":
        service.script = [fault]
        assert on_loop(gate.ask(model, ASKED, str)) == ANSWER


def test_retry_after_is_honoured(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    service.script, service.retry_after = ["429"], "1"
    with within(1.0, 6.0):
        assert on_loop(Gate().ask(model, ASKED, str)) == ANSWER
    service.script, service.retry_after = ["429"], "3600"
    with within(0.0, 2.0), pytest.raises(ProviderError, match="3600 seconds") as caught:
        on_loop(Gate().ask(model, ASKED, str))
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("401", "Incorrect API key"),
        ("404", "model does not exist"),
        ("400", "answers 400"),
        ("403", "answers 403"),
        ("quota", "exceeded your current quota"),
    ],
)
def test_permanent_faults_are_told_at_once(
    service: StandIn, model: ChatModel, on_loop: OnLoop, fault: str, said: str
) -> None:
    service.behaviour = fault
    with pytest.raises(ProviderError, match=said) as caught:
        on_loop(Gate().ask(model, ASKED, str))
    assert not caught.value.retryable
    assert len(service.requests) == 1
    assert str(caught.value).startswith("The model openai:gpt-4o-mini failed (HTTP 4")
    assert "sk-abcd" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_service_that_stays_ill_is_given_up_at_the_deadline(
    service: StandIn, model: ChatModel, on_loop: OnLoop
) -> None:
    service.behaviour, service.retry_after = "500", None
    with within(0.0, 4.0), pytest.raises(ProviderError, match="HTTP 500") as caught:
        on_loop(Gate(total_timeout=1.5).ask(model, ASKED, str))
    assert caught.value.retryable
    assert len(service.requests) > 1


def test_a_slow_call_is_cut_off(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    service.behaviour, service.delay = "slow", 3.0
    with within(0.3, 2.5), pytest.raises(ProviderError, match="no reply within"):
        on_loop(Gate(timeout=0.3, total_timeout=0.8).ask(model, ASKED, str))


def test_nobody_there(on_loop: OnLoop) -> None:
    with StandIn() as gone:
        pass
    model = open_chat("openai:x", Settings(base_url=gone.url))
    with pytest.raises(ProviderError, match="no connection") as caught:
        on_loop(Gate(total_timeout=1.0).ask(model, ASKED, str))
    assert caught.value.retryable
    assert model.close
    on_loop(model.close())


def test_no_json(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    service.behaviour = "garbage"
    with pytest.raises(ProviderError, match="cannot be read"):
        on_loop(Gate(total_timeout=2.0).ask(model, ASKED, str))


@pytest.mark.parametrize("fault", ["broken-stream", "cut-stream"])
def test_nothing_is_asked_again_once_a_stream_has_begun(
    service: StandIn, model: ChatModel, on_loop: OnLoop, fault: str
) -> None:
    service.behaviour = fault
    pieces: list[str] = []

    async def consume() -> None:
        async for piece in Gate().stream(model, ASKED):
            pieces.append(piece)  # noqa: PERF401 - what came before the fault is looked at

    with pytest.raises(ProviderError, match="broke off"):
        on_loop(consume())
    assert pieces
    assert ANSWER.startswith("".join(pieces))
    assert len(service.requests) == 1


def test_a_stream_comes_in_pieces_and_may_be_left(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    service.behaviour, service.delay = "slow-stream", 1.5
    gate = Gate(concurrency=1)

    async def first() -> str:
        stream = gate.stream(model, ASKED)
        piece = await anext(stream)
        await stream.aclose()
        return piece

    with within(0.0, 1.2):
        assert ANSWER.startswith(on_loop(first()))
    # The only slot is free again.
    service.behaviour = "answer"
    assert on_loop(gate.ask(model, ASKED, str)) == ANSWER


def test_no_more_calls_than_allowed_at_once(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    service.behaviour, service.delay = "slow", 0.1
    gate = Gate(concurrency=3)

    async def many() -> list[str]:
        calls = (gate.ask(model, [HumanMessage(f"Question: {number}")], str) for number in range(12))
        return await asyncio.gather(*calls)

    assert len(on_loop(many())) == 12
    assert service.most_in_flight == 3


def test_a_bug_is_no_fault_of_the_service(on_loop: OnLoop) -> None:
    async def wrong() -> str:
        raise KeyError("x")

    with pytest.raises(KeyError):
        on_loop(Gate().call("openai:x", wrong))


def test_the_gate_works_on_several_loops() -> None:
    gate = Gate(concurrency=1)

    async def busy() -> list[int]:
        async def once() -> int:
            await asyncio.sleep(0.01)
            return 1

        return await asyncio.gather(*(gate.call("m", once) for _ in range(3)))

    assert asyncio.run(busy()) == asyncio.run(busy()) == [1, 1, 1]


def test_keys_of_replies() -> None:
    assert reply_key(ASKED) == reply_key(list(ASKED))
    assert reply_key(ASKED) != reply_key([HumanMessage("other")])
    assert len(reply_key([HumanMessage("\ud800")])) == 64
