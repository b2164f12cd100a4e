"""Policies by name: those that come with Silmari, and those of ``silmari.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from silmari.errors import UsageError
from silmari.retrieval.policy import Policy, Tier

TABLES = ("csv", "excel")
BEST = Policy("best", tiers=(Tier("all"),))
# From 0.4 on a hit nearly always belongs to the question; below 0.2 hardly ever: docs/policies.md has the measurement.
FRESH = Policy(
    "fresh",
    tiers=(
        Tier("tables", categories=TABLES),
        Tier("newest", except_categories=TABLES, max_age_days=(30, 60, 90, 365), older=True),
    ),
    min_relevance=(0.4, 0.2),
    min_share=(0.8, 0.0),
)
LATEST = Policy("latest", tiers=(Tier("newest", order="date", min_share=(0.9,)), Tier("others")), min_relevance=(0.2,))
PRESETS = {preset.name: preset for preset in (BEST, FRESH, LATEST)}


def choose(policy: str | Policy, tables: Mapping[str, Any]) -> Policy:
    """A policy by name: the user's own before the presets of the same name.

    Args:
        policy: A name, or a policy, which is given back.
        tables: The user's, by name, as `policy_from` takes them.

    Raises:
        UsageError: There is none of this name, or the user's is faulty.
    """
    if isinstance(policy, Policy):
        return policy
    if policy in tables:
        return policy_from(policy, tables[policy])
    if policy in PRESETS:
        return PRESETS[policy]
    known = ", ".join([*PRESETS, *(name for name in tables if name not in PRESETS)])
    raise UsageError(
        f"There is no policy named {policy}; the policies are {known}. Write your own as [policy.{policy}]"
        " in silmari.toml."
    )


def policy_from(name: str, table: Mapping[str, Any]) -> Policy:
    """A policy as ``silmari.toml`` has it under ``[policy.NAME]``.

    Raises:
        UsageError: Naming the policy, the field and what is wrong with it.
    """
    where = f"The policy {name}"
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} is {table!r}; it must be a table [policy.{name}] with tiers.")
    values = dict(table)
    _known(where, Policy, values)
    tiers = values.get("tiers", [{}])
    if not isinstance(tiers, list | tuple):
        raise UsageError(f"{where}: tiers is {tiers!r}; write each as [[policy.{name}.tiers]].")
    made: list[Tier] = []
    for number, tier in enumerate(tiers, start=1):
        at = f"{where}, tier {number}"
        if isinstance(tier, Tier):
            made.append(tier)
            continue
        if not isinstance(tier, Mapping):
            raise UsageError(f"{at} is {tier!r}; write it as [[policy.{name}.tiers]].")
        _known(at, Tier, tier)
        try:
            made.append(Tier(**tier))
        except UsageError as error:
            raise UsageError(f"{at}: {_reason(error)}") from None
    values["tiers"] = tuple(made)
    try:
        return Policy(**{**values, "name": name})
    except UsageError as error:
        raise UsageError(f"{where}: {_reason(error)}") from None


def _known(where: str, kind: type[Tier | Policy], table: Mapping[str, Any]) -> None:
    allowed = [one.name for one in fields(kind)]
    for name in table:
        if name not in allowed:
            raise UsageError(f"{where} has no field named {name}; its fields are {', '.join(allowed)}.")


def _reason(error: UsageError) -> str:
    """The sentence without its "A tier:" in front."""
    return str(error).partition(": ")[2] or str(error)
