from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from silmari.errors import BudgetError, ProviderError
from silmari.providers.chat import ChatModel, open_chat
from silmari.providers.gate import Gate
from silmari.providers.messages import reply_key
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
    service.script, service.retry_after = ["quota"], "0.2"
    with pytest.raises(ProviderError) as caught:
        on_loop(Gate().ask(model, ASKED, str))
    assert "0 seconds" not in str(caught.value)


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


def priced(**options: Any) -> Gate:
    """A gate that knows the stand-in's price: a dollar for a thousand tokens."""
    return Gate(prices={"openai:gpt-4o-mini": (1000.0, 1000.0)}, **options)


def test_a_call_that_would_cost_too_much_is_not_made(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    gate = priced(max_cost=0.1)
    with pytest.raises(BudgetError, match="max_cost"):
        on_loop(gate.ask(model, ASKED, str))
    with pytest.raises(BudgetError, match="max_cost"):
        on_loop(streamed(gate, model))
    assert not service.requests
    # The next one may be too much although this one is not.
    gate = priced(max_cost=0.6)
    assert on_loop(gate.ask(model, ASKED, str)) == ANSWER
    assert 0 < gate.usage.spent < 0.6
    with pytest.raises(BudgetError):
        on_loop(gate.ask(model, ASKED, str))
    assert len(service.requests) == 1


def test_calls_under_way_count_against_the_limit(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    service.behaviour, service.delay = "slow", 0.3
    gate = priced(max_cost=1.3)

    async def three() -> list[Any]:
        calls = (gate.ask(model, [HumanMessage(f"Question: {n}")], str) for n in range(3))
        return await asyncio.gather(*calls, return_exceptions=True)

    told = on_loop(three())
    assert sum(isinstance(one, BudgetError) for one in told) == 1
    assert len(service.requests) == 2


def test_without_a_price_nothing_is_held_back_but_it_is_said(
    service: StandIn, model: ChatModel, on_loop: OnLoop
) -> None:
    gate = Gate(max_cost=0.0)
    assert "openai:gpt-4o-mini" in gate.unwatched(model)
    assert on_loop(gate.ask(model, ASKED, str)) == ANSWER
    assert gate.usage.cost is None
    assert not Gate().unwatched(model) and not priced(max_cost=1.0).unwatched(model)


def test_a_part_counts_apart_and_in_the_whole(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    gate = priced()
    one, other = gate.part(), gate.part(max_cost=0.1)
    assert on_loop(one.ask(model, ASKED, str)) == ANSWER
    with pytest.raises(BudgetError):
        on_loop(other.ask(model, ASKED, str))
    assert (one.usage.calls, other.usage.calls, gate.usage.calls) == (1, 0, 1)
    assert gate.usage == one.usage


def test_a_useless_reply_is_shown_to_the_model_again(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    def numbered(text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise ValueError("it is no number") from None

    replies = Replies()
    gate = Gate(replies=replies)
    service.script = ["say:seven", "say:7"]
    assert on_loop(gate.ask(model, ASKED, numbered)) == 7
    _, bad, wrong = service.requests[1].body["messages"]
    assert (bad["role"], bad["content"]) == ("assistant", "seven")
    assert wrong["role"] == "user" and "it is no number" in wrong["content"]
    # Kept for the first question, though a second one brought it.
    assert on_loop(gate.ask(model, ASKED, numbered)) == 7
    assert len(service.requests) == 2
    service.script = ["say:eight", "say:nine"]
    with pytest.raises(ProviderError, match="it is no number") as caught:
        on_loop(gate.ask(model, [HumanMessage("other")], numbered))
    assert isinstance(caught.value.__cause__, ValueError)


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_a_schema_is_sent_where_it_is_understood(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    gate = Gate()
    assert on_loop(gate.ask(model, ASKED, str, schema=SCHEMA)) == ANSWER
    form = service.requests[0].body["response_format"]
    assert form["type"] == "json_schema" and form["json_schema"]["schema"] == SCHEMA


def test_a_service_without_schemas_is_asked_plainly_from_then_on(
    service: StandIn, model: ChatModel, on_loop: OnLoop
) -> None:
    service.schemas = False
    gate = Gate()
    for _ in range(2):
        assert on_loop(gate.part().ask(model, ASKED, str, schema=SCHEMA)) == ANSWER
    assert ["response_format" in request.body for request in service.requests] == [True, False, False]


def test_a_request_that_is_bad_anyway_says_nothing_about_schemas(
    service: StandIn, model: ChatModel, on_loop: OnLoop
) -> None:
    service.script = ["400", "400"]
    gate = Gate()
    with pytest.raises(ProviderError, match="HTTP 400"):
        on_loop(gate.ask(model, ASKED, str, schema=SCHEMA))
    assert on_loop(gate.ask(model, ASKED, str, schema=SCHEMA)) == ANSWER
    assert "response_format" in service.requests[-1].body


def test_a_stream_that_is_left_has_been_paid_for(service: StandIn, model: ChatModel, on_loop: OnLoop) -> None:
    service.behaviour, service.delay = "slow-stream", 0.5
    gate = priced()

    async def first() -> str:
        stream = gate.stream(model, ASKED)
        piece = await anext(stream)
        await stream.aclose()
        return piece

    assert ANSWER.startswith(on_loop(first()))
    assert gate.usage.spent > 0 and gate.usage.output_tokens > 0
