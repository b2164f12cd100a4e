from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel

from silmari.errors import MissingExtraError, UsageError
from silmari.providers.chat import open_chat
from silmari.settings import Settings
from standin import StandIn


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def test_openai_without_a_key_says_what_to_set() -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_chat("openai:gpt-4o-mini", Settings())


def test_a_service_of_ones_own_needs_no_key(service: StandIn, on_loop: Callable[[Any], Any]) -> None:
    model = open_chat("openai:local-model", Settings(base_url=service.url))
    assert model.name == "openai:local-model"
    assert model.identity == f"openai:local-model@{service.url}"
    on_loop(model.client.ainvoke("Hello?"))
    assert service.requests[0].body["model"] == "local-model"
    assert service.requests[0].body["temperature"] == 0
    assert model.close
    on_loop(model.close())


def test_key_and_address_from_the_environment(
    service: StandIn, monkeypatch: pytest.MonkeyPatch, on_loop: Callable[[Any], Any]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", service.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k-1")
    model = open_chat("openai:o3-mini", Settings())
    on_loop(model.client.ainvoke("Hello?"))
    headers = {name.lower(): value for name, value in service.requests[0].headers.items()}
    assert headers["authorization"] == "Bearer k-1"
    assert "temperature" not in service.requests[0].body
    assert "k-1" not in repr(model)
    assert model.close
    on_loop(model.close())


@pytest.mark.parametrize("name", ["gpt-4o", "openai:", ":x", ""])
def test_a_name_without_provider_or_model(name: str) -> None:
    with pytest.raises(UsageError, match="provider:model"):
        open_chat(name, Settings())


@pytest.mark.skipif(importlib.util.find_spec("langchain") is not None, reason="langchain is installed here")
def test_another_provider_without_langchain_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match="pip install langchain langchain-anthropic"):
        open_chat("anthropic:claude", Settings())


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'silmari\[openai\]'"):
        open_chat("openai:gpt-4o", Settings(api_key="x"))  # type: ignore[arg-type]


def test_a_model_object_is_used_as_it_is() -> None:
    client = FakeListChatModel(responses=["hello"])
    model = open_chat(client, Settings())
    assert model.client is client
    assert model.close is None
    assert ":" in model.name


def test_a_long_address_keeps_the_identity_short() -> None:
    one = open_chat("openai:m", Settings(base_url="http://localhost/" + "a" * 400))
    other = open_chat("openai:m", Settings(base_url="http://localhost/" + "a" * 401))
    assert len(one.identity) <= 200
    assert one.identity != other.identity
