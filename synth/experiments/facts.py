"""What a reader needs in order to cite numbers and make them again: date, versions, models, cases, cost."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from synth.agents.usage import total_of
from synth.counted import counted
from synth.experiments.campaign import digest_of, generator_of, unmentioned
from synth.experiments.money import Prices, in_money
from synth.experiments.trial import Result

PACKAGES = ("pdoctor-trace", "openai", "langchain", "langchain-openai", "langgraph", "z3-solver")
UNKNOWN = "not told"

Facts = Mapping[str, Any]
"""Name -> text, number, list or object."""


def facts_of(
    results: Iterable[Result],
    prices: Prices | None = None,
    options: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> Facts:
    """Of these runs; `options` is how they were made, as far as it is known."""
    made = list(results)
    cases = {result.case_id: result.case for result in made if result.case_id and result.case is not None}
    paid = [result.usage for result in made] + [result.lost for result in made]
    usage = total_of(paid)
    return {
        "date": (now or datetime.now(UTC)).isoformat(timespec="seconds"),
        "versions": versions(),
        "models": models_of(made),
        "runs": len(made),
        "excluded": sum(result.is_void for result in made),
        "cases": len(cases),
        "case_set": hash_of(map(digest_of, cases.values())),
        "seeds": sorted({case["seed"] for case in cases.values() if case.get("seed") is not None}),
        "generators": sorted(set(filter(None, map(generator_of, cases.values())))),
        "cases_with_unmentioned_actions": sum(unmentioned(case) > 0 for case in cases.values()),
        "options": dict(options or {}),
        "tokens": usage.total,
        "tokens_not_told": sum(one is None for one in paid),
        "cost": cost_of(made, prices),
        "currency": None if prices is None else prices.currency,
        "prices": None if prices is None else ("given" if prices.every else prices.date),
    }


def versions() -> dict[str, str]:
    """Of what takes part, where it is installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def models_of(results: Iterable[Result]) -> dict[str, dict[str, list[str]]]:
    """Model as it was asked for -> what its answers called it, and their fingerprints."""
    asked: dict[str, dict[str, list[str]]] = {}
    for result in results:
        told = asked.setdefault(result.model, {"answered": [], "fingerprints": []})
        if result.usage is not None:
            told["answered"] = sorted({*told["answered"], *result.usage.models})
            told["fingerprints"] = sorted({*told["fingerprints"], *result.usage.fingerprints})
    return asked


def hash_of(digests: Iterable[str]) -> str:
    """Of a set of cases, by the fingerprint of each."""
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def cost_of(results: Iterable[Result], prices: Prices | None) -> float | None:
    """None where a price, or what a run took, is not known."""
    costs = [] if prices is None else [prices.cost(one.model, one.paid.usage) for one in results]
    return None if None in costs or prices is None else sum(cost for cost in costs if cost is not None)


def in_words(facts: Facts) -> list[tuple[str, str]]:
    """The facts as lines: (name, text)."""
    cost = facts["cost"]
    paid = f"{facts['tokens']:,} tokens"
    if facts["tokens_not_told"]:
        paid += f" (not told by {counted(facts['tokens_not_told'], 'run')})"
    paid += ", price not known" if cost is None else f", {in_money(cost, facts['currency'])}"
    if facts["prices"]:
        paid += f" by prices {'that were given' if facts['prices'] == 'given' else 'of ' + facts['prices']}"
    lines = [
        ("date", facts["date"]),
        ("versions", ", ".join(f"{name} {number}" for name, number in facts["versions"].items())),
        *(_model_line(asked, told) for asked, told in facts["models"].items()),
        (
            "runs",
            f"{facts['runs']:,}, of which {facts['excluded']:,} did not test the agent and are left out",
        ),
        ("cases", f"{facts['cases']:,}, SHA-256 of what they say {facts['case_set']}"),
        ("seeds", ", ".join(map(str, facts["seeds"])) or UNKNOWN),
        ("generator", ", ".join(f"version {one}" for one in facts["generators"]) or UNKNOWN),
        (
            "unmentioned",
            f"an action that no sentence speaks of: in {facts['cases_with_unmentioned_actions']:,} cases",
        ),
        ("tokens, cost", paid),
    ]
    if facts.get("spent_in_all"):
        lines.append(("spent in all", f"{facts['spent_in_all']}, with all mutants and repeats"))
    lines += [(name, str(value)) for name, value in facts["options"].items()]
    return lines


def _model_line(asked: str, told: Mapping[str, list[str]]) -> tuple[str, str]:
    answered = ", ".join(told["answered"]) or UNKNOWN
    return (
        f"model {asked}",
        f"answered as {answered}; fingerprint {', '.join(told['fingerprints']) or UNKNOWN}",
    )
