"""Builders for tests of verdicts: `case("a<b", "b<c")`, `run("b a c")`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth.cases.case import Action, Case
from synth.formal.constraints import Before, Constraint, EndsBy, StartsFrom
from synth.formal.model import Verdict
from synth.observed.run import Run, ToolCall


def names_in(constraints: Sequence[Constraint]) -> list[str]:
    return sorted({name for constraint in constraints for name in constraint.actions})


def constraint(text: str, sentence: int | None = None) -> Constraint:
    """`a<b`: before; `a<=600`: ends by; `a>=540`: starts from (minutes)."""
    for sign, kind in (("<=", EndsBy), (">=", StartsFrom)):
        if sign in text:
            name, time = text.split(sign)
            return kind(name, int(time), sentence)
    first, then = text.split("<")
    return Before(first, then, sentence)


def case(
    *rules: str,
    extra: str = "",
    durations: Mapping[str, int] | None = None,
    horizon: tuple[int, int] | None = None,
) -> Case:
    """Action `a` has the phrase `A` and the tool `do_a`; sentence i states rule i."""
    constraints = tuple(constraint(rule, i) for i, rule in enumerate(rules))
    ids = sorted({*names_in(constraints), *extra.split(), *(durations or {})})
    if durations is not None and horizon is None:
        horizon = (540, 1080)
    return Case(
        id="case",
        seed=0,
        mode="order" if horizon is None else "timed",
        query="",
        paragraph="",
        topic="",
        actions=tuple(Action(name, name.upper(), f"do_{name}") for name in ids),
        constraints=constraints,
        durations=durations,
        horizon=horizon,
    )


def call(name: str, start: float | None = None, end: float | None = None, **fields: Any) -> ToolCall:
    """A call of `do_<name>`, seconds; a trailing `!` means that it failed, `*` that it never finished."""
    failed, hung = name.endswith("!"), name.endswith("*")
    if failed:
        fields.setdefault("error", "boom")
    if hung:
        fields.setdefault("finished", False)
    return ToolCall(
        id=None,
        tool=f"do_{name.rstrip('!*')}",
        arguments=fields.pop("arguments", {}),
        start=None if start is None else (ns(start), ns(start)),
        end=None if end is None else (ns(end), ns(end)),
        **fields,
    )


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def run(calls: str | Sequence[ToolCall] = "", **fields: Any) -> Run:
    """`run("b a!")`: b, then a, which fails; tools of single letters are offered."""
    made = tuple(call(name) for name in calls.split()) if isinstance(calls, str) else tuple(calls)
    return Run(id="run", calls=made, **fields)


def task(name: str, start: Any, took: int | None = None, **fields: Any) -> ToolCall:
    """A timed call; `start` is `HH:MM` (or anything wrong), `took` the reported minutes."""
    said = None if took is None else f"Success: {name} took {took} minutes."
    arguments = {} if start is None else {"start_time": start}
    return call(name, arguments=arguments, result=said, **fields)


def summary(verdict: Verdict) -> tuple[str, str | None, list[tuple[str, str, tuple[int, ...]]]]:
    """What a test compares: outcome, primary type, and (type, code, calls) of every finding."""
    return (
        verdict.outcome,
        verdict.error_type,
        [(finding.type, finding.code, finding.calls) for finding in verdict.findings],
    )
