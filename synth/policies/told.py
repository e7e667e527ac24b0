"""A violated policy in lines of text: what is wrong, the words that were broken, what would have worked.

It is told from the JSON of its result, which is what collectors answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Result = Mapping[str, Any]

LONGEST = 300
"""Characters of a rule that are quoted."""
MOST_STEPS = 12
"""Longer plans are cut to what was changed and the calls beside it."""


def told(result: Result) -> Iterator[str]:
    """The lines about one violated policy, the first without what the others add."""
    yield f"[{result['policy']}] {result['explanation']}"
    if rule := broken_rule(result):
        yield f"rule: {rule}"
    if result.get("repair"):
        yield f"would have worked: {plan_in_words(result)}"


def violated(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if result["verdict"] == "violated"]


def broken_rule(result: Result) -> str:
    """The words that were broken, or the rule, with its file; empty where that is not known."""
    text, sentence, span = (result.get(name) for name in ("text", "sentence", "span"))
    words = sentence[slice(*span)] if sentence and span else sentence
    said = [text] if text and text != sentence else []
    said += [f"“{_short(words)}”"] if words else []
    file, version = result.get("file"), result.get("version")
    where = file if version is None else f"{file}, version {version}"
    return " ".join([*said, *([f"({where})"] if said and where else [])])


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a repair."""

    tool: str
    call: int | None
    """Position in the run; None = it was not made."""
    how: str
    """`new`, `moved` or empty."""
    arguments: Mapping[str, Any]
    """Those that the rule asks of a new call."""


def steps_of(repair: Mapping[str, Any]) -> list[Step]:
    """The calls of a repair, in the order in which they would have begun."""
    added = iter(repair["added"])
    found = []
    for tool, call in zip(repair["order"], repair["calls"], strict=True):
        if call is None:
            found.append(Step(tool, None, "new", next(added)["arguments"]))
        else:
            found.append(Step(tool, call, "moved" if call in repair["moved"] else "", {}))
    return found


def plan_in_words(result: Result) -> str:
    """`verify (call 1, moved), refund (call 0) without call 2; it also keeps A2`."""
    repair = result["repair"]
    steps = steps_of(repair)
    shown = ", ".join(_said(step) for step in _near_changes(steps)) or "the same"
    without = f" without {_listed(repair['dropped'])}" if repair["dropped"] else ""
    others = [policy for policy in repair["proved"] if policy != result["policy"]]
    also = f"; it also keeps {', '.join(others[:5])}{', ...' * (len(others) > 5)}" if others else ""
    return f"{shown}{without}{also}"


def _near_changes(steps: Sequence[Step]) -> Iterator[Step | None]:
    """All of a short plan; of a long one, what was changed and its neighbours, None for what is left out."""
    if len(steps) <= MOST_STEPS:
        yield from steps
        return
    near = {k for at, step in enumerate(steps) if step.how for k in (at - 1, at, at + 1)}
    left_out = False
    for at, step in enumerate(steps):
        if at in near:
            yield step
        elif not left_out:
            yield None
        left_out = at not in near


def _said(step: Step | None) -> str:
    if step is None:
        return "..."
    if step.call is None:
        given = ", ".join(f"{name}={value!r}" for name, value in step.arguments.items())
        return f"{step.tool} (new{', with ' if given else ''}{given})"
    return f"{step.tool} (call {step.call}{', moved' if step.how else ''})"


def _listed(calls: Sequence[int]) -> str:
    return f"call{'s' * (len(calls) > 1)} {', '.join(map(str, calls))}"
