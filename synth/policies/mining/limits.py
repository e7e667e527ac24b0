"""Limits: how often within a time, and how much in all or within a time."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from random import Random
from typing import Any

from synth.observed.run import Run
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.times import MINUTE, duration_in_words
from synth.policies.kinds.total import Total, written
from synth.policies.mining.mined import FEWEST_BOUNDED, Mined, bits, is_name
from synth.policies.mining.seen import Seen, some

TIMES = tuple(n * MINUTE for n in (1, 5, 10, 15, 30, 60, 120, 360, 720, 1440))
"""The stretches that people say, in nanoseconds."""
MOST_OFTEN = 10
"""A larger number within a time is no limit worth stating."""
JUDGED_RUNS, DRAWS = 100, 40
"""Runs, and draws for each, from which the surprise is measured."""
_NO_AMOUNT = re.compile(r"(?:^|_)(?:id|no|nr|number|code|zip|year|month|day|phone|index|page|lat|lon)$", re.I)


def rates(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[Mined | None]:
    """At most so many within a time: of the times at which anything was called, those of a tool lie apart."""
    for tool in tools:
        runs = [one for one in seen if tool in one.attempts]
        starts = [one.starts(tool) for one in runs]
        known = [one for one in starts if one is not None]
        if len(known) < len(starts):
            continue
        often = max(map(len, known))
        limits = [max(_within(one, time) for one in known) for time in TIMES]
        found = dict(zip(limits, TIMES, strict=True))  # the longest time of each
        yield from [None] * (len(TIMES) - len(found))
        several = [one for one, begun in zip(runs, known, strict=True) if len(begun) > 1]
        if len(several) < FEWEST_BOUNDED:
            continue
        short = {most: time for most, time in found.items() if most < often and most <= MOST_OFTEN}
        limited = [_rate(tool, most, time, runs, known) for most, time in short.items()]
        yield from [None] * (len(found) - bool(limited))
        if limited:
            yield max(limited, key=lambda one: one.surprise)


def _within(starts: Sequence[int], time: int) -> int:
    """How many begin within less than a time of one another, at most."""
    return max(bisect_left(starts, first + time) - at for at, first in enumerate(starts))


def _rate(tool: str, most: int, time: int, runs: Sequence[Seen], starts: Sequence[Sequence[int]]) -> Mined:
    more = [(one, begun) for one, begun in zip(runs, starts, strict=True) if len(begun) > most]
    chance, surprise = Random(0), 0.0
    for one, begun in some(more, JUDGED_RUNS):
        anywhen = one.all_starts
        kept = sum(_within(sorted(chance.sample(anywhen, len(begun))), time) <= most for _ in range(DRAWS))
        surprise += bits((kept + 1) / (DRAWS + 1))
    near = min(begun[at + most] - begun[at] for _, begun in more for at in range(len(begun) - most))
    said = duration_in_words(time)
    times = f"{most} {'time' if most == 1 else 'times'}"
    bound = (
        f"The nearest {most + 1} calls began {_in_words(near)} apart: "
        f"{_in_words(near - time)} more than the rule asks for."
    )
    return Mined(
        "rate", (tool,), len(more), surprise, lambda named: Rate((named(tool),), most, time),
        f"{{0}} must happen at most {times} within {said}.", f"{{0}} at most {most} within {said}",
        lambda run, _: _crowded(run, tool, most), "with calls at one instant", bound,
    )  # fmt: skip


def _crowded(run: Run, tool: str, most: int) -> Run:
    """The first calls of the tool, one more than the rule allows, at one instant."""
    own = [k for k, call in enumerate(run.calls) if call.tool == tool][: most + 1]
    calls = list(run.calls)
    for k in own:
        calls[k] = replace(calls[k], start=calls[own[0]].start, end=calls[own[0]].end)
    return replace(run, calls=tuple(calls))


def _in_words(ns: int) -> str:
    seconds = ns // 10**9
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}"
    return f"{ns / 10**9:.3g} s"


# ---------------------------------------------------------------- sums


def totals(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[Mined | None]:
    """At most so much: amounts drawn from all runs would come to more in some run."""
    for tool in tools:
        runs = [one for one in seen if tool in one.attempts]
        if sum(len(one.attempts[tool]) > 1 for one in runs) < FEWEST_BOUNDED:
            continue
        for field in _fields(runs, tool):
            amounts = [_amounts(one, tool, field) for one in runs]
            if any(one is None for one in amounts):
                continue
            sums = [[amount for _, amount in one or ()] for one in amounts]
            best: Mined | None = _total(tool, field, None, runs, sums, [[0] * len(one) for one in sums])
            times = [[at for at, _ in one or ()] for one in amounts]
            if all(at is not None for one in times for at in one):
                for time in TIMES:
                    other = _total(tool, field, time, runs, sums, times)  # type: ignore[arg-type]
                    best = other if _is_better(other, best) else best
                    yield None
            yield best


def _is_better(one: Mined | None, other: Mined | None) -> bool:
    return one is not None and (other is None or one.surprise > other.surprise)


def _fields(runs: Sequence[Seen], tool: str) -> list[str]:
    """Arguments that may be amounts, of the first call that was seen."""
    first = runs[0].run.calls[runs[0].attempts[tool][0]].arguments
    names = first if isinstance(first, dict) else {}
    return [
        name for name, value in names.items()
        if _is_amount(value) and is_name(name) and not _NO_AMOUNT.search(name)
    ]  # fmt: skip


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**15


def _amounts(one: Seen, tool: str, field: str) -> list[tuple[int | None, float]] | None:
    """(when, how much) of each call; None where one is no amount."""
    found = []
    for i in one.attempts[tool]:
        value, start = one.argument(i, field), one.run.calls[i].start
        if not _is_amount(value):
            return None
        found.append((None if start is None else start[0], value))
    return sorted(found, key=lambda made: made[0] or 0)


def _total(
    tool: str, field: str, time: int | None, runs: Sequence[Seen], amounts: Sequence[Sequence[float]],
    times: Sequence[Sequence[int]],
) -> Mined | None:  # fmt: skip
    """None where a sum says no more than the largest of the amounts, or within a time no more than in all."""
    largest = max(max(one) for one in amounts)
    seen = max(_most(one, at, time) for one, at in zip(amounts, times, strict=True))
    most = _rounded(Fraction(repr(seen)))
    several = [(one, at) for one, at in zip(amounts, times, strict=True) if len(one) > 1]
    if seen <= largest or (time is not None and most >= max(map(sum, amounts))):
        return None
    pool, chance, surprise = [amount for one in amounts for amount in one], Random(0), 0.0
    for one, at in some([made for made in several if len(made[0]) * largest > most], JUDGED_RUNS):
        kept = sum(_most(chance.choices(pool, k=len(one)), at, time) <= most for _ in range(DRAWS))
        surprise += bits((kept + 1) / (DRAWS + 1))
    within = "" if time is None else f" within {duration_in_words(time)}"
    slack = most - Fraction(repr(seen))
    bound = f"The largest sum seen is {_number(seen)}: the limit leaves {_number(float(slack))}."
    return Mined(
        "total", (tool,), len(several), surprise,
        lambda named: Total(named(tool), (field,), most, time),
        f"the sum of args.{field} of {{0}} must be at most {written(most)}{within}.",
        f"sum of {field} of {{0}} at most {written(most)}{within}",
        lambda run, _: _enlarged(run, tool, field, float(most)), "with a larger amount", bound,
    )  # fmt: skip


def _most(amounts: Sequence[float], times: Sequence[int], time: int | None) -> float:
    """What they come to at most, in all or within less than a time."""
    sums = [0, *accumulate(amounts)]
    if time is None:
        return sums[-1]
    return max(sums[bisect_left(times, at + time)] - sums[first] for first, at in enumerate(times))


def _rounded(most: Fraction) -> Fraction:
    """A limit as people say it: two digits, the rest noughts; not below what was seen."""
    unit = Fraction(1)
    while most >= 100 * unit:
        unit *= 10
    while most and most < 10 * unit and unit > Fraction(1, 100):
        unit /= 10
    return -(-most // unit) * unit


def _number(amount: float) -> str:
    return f"{amount:.10g}"


def _enlarged(run: Run, tool: str, field: str, most: float) -> Run:
    last = max(k for k, call in enumerate(run.calls) if call.tool == tool)
    calls = list(run.calls)
    calls[last] = replace(calls[last], arguments={**calls[last].arguments, field: most + 1})
    return replace(run, calls=tuple(calls))
