from __future__ import annotations

import json
from pathlib import Path

import pytest

from model_fixtures import service
from silmari.knowledge_base import KnowledgeBase
from silmari.providers.usage import Usage, price_of
from standin import StandIn

__all__ = ["service"]

QUESTION = "연차휴가는 며칠인가요?"


def opened(folder: Path, service: StandIn, **options: object) -> KnowledgeBase:
    base = KnowledgeBase.open(folder, llm="openai:any", base_url=service.url, api_key="key", embedder="none", **options)
    base.add_records([{"id": "rules", "text": "연차휴가는 해마다 15일이다."}])
    return base


def test_prices() -> None:
    assert price_of("openai:gpt-4o-mini-2024-07-18", {}) == (0.15, 0.60)
    assert price_of("openai:gpt-4o-mini", {"openai:gpt-4o-mini": (1.0, 2.0)}) == (1.0, 2.0)
    assert price_of("openai:gpt-4o-mini", {}, listed=False) is None
    assert price_of("openai:unheard-of", {}) is None


def test_usages_add_up() -> None:
    one, other = Usage(calls=2, spent=0.5), Usage(calls=1, unpriced=1, spent=0.25)
    assert one.plus(other) == Usage(calls=3, unpriced=1, spent=0.75)
    assert one.plus(other).minus(other) == one
    assert (one.cost, other.cost) == (0.5, None)
    assert Usage.of({**one.as_counts(), "of_another_version": 3}) == one


def test_what_was_used_is_summed_up_over_runs(tmp_path: Path, service: StandIn) -> None:
    prices = {"openai:any": (1.0, 1.0)}
    for number in range(2):
        with opened(tmp_path / "kb", service, prices=prices) as base:
            answer = base.ask(f"{QUESTION} {number}")
            assert answer.trace["usage"]["calls"] == 1
            assert answer.trace["usage"]["cost"] > 0
            used = base.status().usage["openai:any"]
            assert used.calls == number + 1
    with opened(tmp_path / "kb", service) as base:
        assert base.status().usage["openai:any"].calls == 2
        assert json.dumps(base.status().as_json()["usage"])


def test_an_answer_that_would_cost_too_much_is_quoted(tmp_path: Path, service: StandIn) -> None:
    with opened(tmp_path / "kb", service, prices={"openai:any": (1000.0, 1000.0)}, max_cost=0.01) as base:
        answer = base.ask(QUESTION)
    assert answer.found and "15일" in answer.text
    assert not service.requests
    assert any("max_cost" in note for note in answer.trace["notes"])


def test_a_limit_without_a_price_is_said(tmp_path: Path, service: StandIn) -> None:
    with opened(tmp_path / "kb", service, max_cost=0.01) as base:
        answer = base.ask(QUESTION)
    assert len(service.requests) == 1
    assert any("price of openai:any is unknown" in note for note in answer.trace["notes"])


def test_the_limit_can_be_no_debt(tmp_path: Path, service: StandIn) -> None:
    from silmari.errors import UsageError

    with pytest.raises(UsageError, match="max_cost"):
        opened(tmp_path / "kb", service, max_cost=-1)
