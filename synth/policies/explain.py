"""What a policy says, in plain words, with a shortest run that keeps it and a shortest that breaks it.

The runs are not written down beforehand: small runs over the tools of the rule are made, the shortest first,
and our own checker judges each of them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import chain, islice, permutations, product
from typing import Any

from synth.judge.rules import Rules
from synth.observed.run import Run, ToolCall
from synth.policies.compared import compares_nothing
from synth.policies.evidence import Evidence
from synth.policies.kinds.each import each_in_words
from synth.policies.kinds.times import CALENDAR_DAY, NANOSECONDS, duration_in_words, local_time, zone_of
from synth.policies.model import Policy, PolicySet
from synth.policies.names import PolicyVerdict, Tools
from synth.policies.plugins import judged

MOST_TRIED = 6_000
"""Runs that are looked at for one policy."""
COLUMNS = 80
_MONDAY = 1_704_067_200 * NANOSECONDS
_HOUR = 3600 * NANOSECONDS
_TO_MIDNIGHT = 13 * _HOUR
"""From noon to the next day."""

_MEANINGS: Mapping[str, tuple[str, str]] = {
    "precedence": ("a call of what comes later was tried", "it began before the other one had succeeded"),
    "response": ("what asks for an answer has happened", "no answer that succeeds begins after it, in time"),
    "absence_after": ("what forbids has happened", "what is forbidden begins after its end"),
    "between": (
        "what opens the stretch has happened",
        "what is forbidden begins after that, before a success of what closes it",
    ),
    "count": ("the action was tried; for a least number, always", "there are too many calls, or too few"),
    "rate": ("the action was tried", "too many calls count together"),
    "total": ("the action was tried", "what the calls come to together is more than the limit"),
    "adjacency": (
        "the second action was tried",
        "the last call to begin before it is no success of the first, or has not ended",
    ),
    "next_call": (
        "what asks for an answer has happened",
        "another call than its answer begins after its end, or none does",
    ),
    "gap": ("the first action of the sentence was tried", "it does not begin at that distance"),
    "overlap": ("both were tried", "one begins before the other has ended"),
    "turn": ("the action was tried", "another call or a text stands in the same model message"),
    "times_before": (
        "the later action was tried; where so many forbid it, they have happened",
        "it begins before there were enough calls of the other one, or after too many",
    ),
    "failure_first": ("what needs the failure was tried", "it began before the other one had failed"),
    "after_failures": (
        "the first action has failed so many times",
        "no success of the other one begins after that, in time; or it is tried, where it is forbidden",
    ),
    "paired": (
        "the limited action was tried",
        "more calls of it have begun than the other one had successes before",
    ),
    "as_often": ("one of the two was tried", "in the end one has succeeded more often than the other"),
    "in_a_row": ("the action was tried", "too many calls, or failures, of it come with no other between"),
    "duration": ("the action was tried", "it ends longer after its begin"),
    "first_call": ("any call was made", "another call begins before the first of it"),
    "last_call": (
        "any call was made; with a condition, that has happened",
        "of a run that has ended, the last call to begin is no success of it",
    ),
    "variety": (
        "the action was tried; for a least number, always",
        "there are too many different values, or too few",
    ),
    "against": (
        "the first action was tried",
        "its value is not as that of the latest success of the other before it; without one nothing is asked",
    ),
    "weekdays": ("the action was tried", "it begins on another day"),
    "timetable": (
        "the action was tried",
        "it begins at another time, or in hours in which it is forbidden",
    ),
    "window": ("the action was tried", "it begins before, or ends after, that time of the day"),
    "guard": ("the call was tried and `when` holds", "the condition is false"),
    "provenance": ("the call was tried", "no earlier result has the value"),
    "contract": ("any call was made, or there is a goal", "a tool is called without the facts it requires"),
    "behaviour": ("any event was seen", "the run leaves the specification"),
    "lasting": ("any call was made", "a call begins longer after the first one"),
    "spent": ("any call was made", "a call begins once the replies before it have used more"),
}


@dataclass(frozen=True, slots=True)
class Explained:
    """One policy in plain words."""

    id: str
    text: str
    applies: str
    breaks: str
    kept: str | None
    """A shortest run that keeps it, in words; None where none was found."""
    broken: str | None
    why: str
    """What the checker says of the broken run."""

    def to_json(self) -> dict[str, Any]:
        return {
            "policy": self.id,
            "text": self.text,
            "applies": self.applies,
            "breaks": self.breaks,
            "kept": self.kept,
            "broken": self.broken,
            "explanation": self.why,
        }

    def lines(self) -> Iterator[str]:
        """For a terminal of 80 columns."""
        yield from textwrap.wrap(f"{self.id}: {self.text}", COLUMNS, subsequent_indent="  ")
        why = f" ({self.why})" if self.broken and self.why else ""
        for name, said in (
            ("applies", f"where {self.applies}"),
            ("broken", f"where {self.breaks}"),
            ("kept by", self.kept or "no short run was found"),
            ("broken by", f"{self.broken}{why}" if self.broken else "no short run was found"),
        ):
            head = f"  {name + ':':<11}"
            yield from textwrap.wrap(said, COLUMNS, initial_indent=head, subsequent_indent=" " * len(head))


def explained(policies: PolicySet) -> Iterator[Explained]:
    """Each policy of a file, in its order."""
    for policy in policies.policies:
        applies, breaks = _MEANINGS.get(policy.rule.kind, ("its kind says so", "its kind says so"))
        if said := compares_nothing(policy.sentence, policy.rule):
            breaks += f"; {said}"
        if things := each_in_words(policy.rule):
            breaks += f"; {things}"
        applies += _asked_of(policy.rule.tools)
        kept = example(policy, policies, "ok")
        broken = example(policy, policies, "violated")
        zone = zone_of(policies.timezone) if _is_by_day(policy.rule) else None
        yield Explained(
            policy.id,
            policy.text,
            applies,
            breaks,
            None if kept is None else in_words(kept[0], zone),
            None if broken is None else in_words(broken[0], zone),
            "" if broken is None else broken[1],
        )


def _asked_of(actions: Sequence[Tools]) -> str:
    """What is to be said of actions that ask for certain arguments."""
    asked = {tools.where.words: tools.where for tools in actions if tools.where is not None}
    said = "".join(f"; {tools.names[0]} is meant {tools.where.words}" for tools in _first_of_each(actions))
    if units := list(dict.fromkeys(unit for where in asked.values() for unit in where.units)):
        said += f"; {' and '.join(units)} is not compared"
    return f"{said}; a call of which it is not known decides nothing" if asked else ""


def _first_of_each(actions: Sequence[Tools]) -> Iterator[Any]:
    yield from {tools.key: tools for tools in actions if tools.where is not None}.values()


def example(policy: Policy, policies: PolicySet, verdict: PolicyVerdict) -> tuple[Run, str] | None:
    """A shortest run with this verdict, and what the checker says of it; None where none was found."""
    for run in islice(_runs(policy, policies.timezone), MOST_TRIED):
        found = judged(policy.rule, Evidence(run, policies.timezone, policies.aliases), Rules(z3="off"))
        if found.verdict == verdict:
            return run, found.explanation
    return None


def in_words(run: Run, zone: tzinfo | None = None) -> str:
    """`pay(id=1), 2 minutes later refund(id=1) (fails)`; the time from one begin to the next.

    With a zone, what is on the next day there says so.
    """
    if not run.calls:
        return "a run without a call"
    shown: list[str] = []
    for before, call in zip((None, *run.calls), run.calls, strict=False):
        given = ", ".join(f"{name}={value}" for name, value in _flat(call.arguments or {}))
        said = f"{call.tool}({given})" if given else call.tool
        said += "" if call.error is None else " (fails)"
        if before is not None and before.start and before.end and call.start:
            said = f"{_between(before, call, zone)}{said}"
        shown.append(said)
    return ", ".join(shown)


def _is_by_day(rule: Any) -> bool:
    return getattr(rule, "time", None) == CALENDAR_DAY


def _between(before: ToolCall, call: ToolCall, zone: tzinfo | None) -> str:
    if before.start is None or before.end is None or call.start is None:
        return ""
    if call.start[0] < before.end[0]:
        return "while it runs "
    if zone is not None:
        days = {local_time(one[0], zone).date() for one in (before.start, call.start)}
        return "on the next day " if len(days) > 1 else ""
    apart = call.start[0] - before.start[0]
    return "" if apart <= NANOSECONDS else f"{duration_in_words(apart)} later "


def _flat(arguments: Mapping[str, Any], lead: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in arguments.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}", value


# ---------------------------------------------------------------- small runs


@dataclass(frozen=True, slots=True)
class _Choice:
    """One call of a small run."""

    tool: str
    arguments: Mapping[str, Any]
    failed: bool
    after: int
    """ns from the begin of the call before."""
    lasts: int = NANOSECONDS // 2
    beside: bool = False
    """Is it in the message of the call before, while that runs?"""


_MOST_CALLS = 100
"""In a run that shows that a count is broken."""


def _runs(policy: Policy, timezone: str) -> Iterator[Run]:
    """The shortest first; of one length those with fewer oddities first."""
    starts = _starts(policy, timezone)
    for calls in chain(_few(policy), _many(policy)):
        for start in starts:
            yield _made(calls, start)


def _starts(policy: Policy, timezone: str) -> tuple[int, ...]:
    """Monday at 09:30; for rules about the day or the clock also other days and hours."""
    base = _MONDAY + 9 * _HOUR + _HOUR // 2
    if _is_by_day(policy.rule):
        noon = local_time(_MONDAY, zone_of(timezone)).replace(hour=12)
        return (round(noon.timestamp()) * NANOSECONDS,)
    if policy.rule.kind == "weekdays":
        return tuple(base + day * 24 * _HOUR for day in range(7))
    if policy.rule.kind == "timetable":
        hours = (0, *range(-9, 15))
        return tuple(base + day * 24 * _HOUR + hour * _HOUR for day in range(7) for hour in hours)
    if policy.rule.kind == "window":
        return tuple(base + hour * _HOUR for hour in (0, *range(-9, 15)))
    return (base,)


def _few(policy: Policy) -> Iterator[tuple[_Choice, ...]]:
    """Up to three calls, each of any of the tools, that succeeds or fails, sooner or later."""
    options = list(_choices(policy))
    for length in range(4):
        found = product(options, repeat=length)
        yield from islice(sorted(islice(found, 3000), key=_oddity), 1500)


def _many(policy: Policy) -> Iterator[tuple[_Choice, ...]]:
    """The same call again and again, for counts; each of the tools once, for lists that are needed."""
    most = getattr(policy.rule, "most", None)
    for length in range(1, max(13, min(most, _MOST_CALLS) if isinstance(most, int) else 0) + 2):
        for one in _choices(policy):
            if not one.failed or policy.rule.kind in ("count", "rate", "in_a_row"):
                yield (one,) * length
    number = getattr(policy.rule, "number", None)
    for length in range(1, min(number, _MOST_CALLS) + 2 if isinstance(number, int) else 0):
        for one, last in product(_choices(policy), repeat=2):
            yield (*(one,) * length, last)
    each = {one.tool: one for one in _choices(policy) if not one.failed and one.after <= NANOSECONDS}
    if len(each) > 3:
        yield from ((*order[1:], order[0]) for order in permutations(each.values()))


def _oddity(calls: tuple[_Choice, ...]) -> tuple[int, int]:
    """How much there is to explain about a run."""
    odd = sum(one.failed + one.beside for one in calls)
    return odd, sum(one.after for one in calls[1:])


def _choices(policy: Policy) -> Iterator[_Choice]:
    rule = policy.rule
    given = list(_given(rule))
    times = [
        at for name in ("within", "least", "time") if isinstance(at := getattr(rule, name, None), int) and at
    ]
    apart = [edge for at in times for edge in (at // 2, at + NANOSECONDS)]
    if _is_by_day(rule):
        apart = [_TO_MIDNIGHT]
    later = dict.fromkeys((NANOSECONDS, *apart))
    for after, (tool, arguments) in product(later, given):
        yield _Choice(tool, arguments, False, after)
    if getattr(rule, "failed", False):
        yield from (_Choice(tool, arguments, True, NANOSECONDS) for tool, arguments in given)
    if rule.kind == "duration":
        long = max(times) + NANOSECONDS
        yield from (_Choice(tool, arguments, False, NANOSECONDS, long) for tool, arguments in given)
    if rule.kind in ("first_call", "last_call", "in_a_row") or getattr(rule, "but", None) is not None:
        yield _Choice("another_tool", {}, False, NANOSECONDS)
    if rule.kind in ("overlap", "turn"):
        beside = [*_bare(given), ("another_tool", {})]
        yield from (_Choice(tool, arguments, False, 0, beside=True) for tool, arguments in beside)


def _given(rule: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(tool, arguments) of calls of each action."""
    made: list[tuple[str, dict[str, Any]]] = []
    for tools, arguments in product(rule.tools, _arguments(rule)):
        given = arguments if tools.where is None else tools.where.met(arguments)
        if given is not None and (_name(tools), given) not in made:
            made.append((_name(tools), given))
    yield from made


def _bare(given: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first of each tool."""
    first: dict[str, tuple[str, dict[str, Any]]] = {}
    for tool, arguments in given:
        first.setdefault(tool, (tool, arguments))
    yield from first.values()


def _name(tools: Tools) -> str:
    return tools.names[0].replace("*", "any") if tools.names[0] != "*" else "some_tool"


def _arguments(rule: Any) -> list[dict[str, Any]]:
    """One value for what must be the same, and another; half of a sum's limit, and more."""
    same, path = getattr(rule, "same", ()), getattr(rule, "path", ())
    different = getattr(rule, "different", ())
    sizes: list[Any] = [None]
    if rule.kind == "against":
        sizes = [1, 2]
    if rule.kind == "total":
        most = rule.most
        sizes = [int(most / 2) if most >= 2 else 0, int(most) + 1]
    values = (1, 2) if same else (None,)
    other: tuple[Any, ...] = (1, 2, 3) if different else (None,)
    found = []
    for size, value, one in product(sizes, values, other):
        arguments: dict[str, Any] = {}
        for _, own in same:
            _put(arguments, own, value)
        if different:
            _put(arguments, different, one)
        if path and size is not None:
            _put(arguments, path, size)
            _put(arguments, getattr(rule, "beside", path), size)
        found.append(arguments)
    return found


def _put(into: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        into = into.setdefault(key, {})
    into[str(path[-1])] = value


def _made(calls: tuple[_Choice, ...], start: int) -> Run:
    made: list[ToolCall] = []
    at, step = start, 0
    for k, one in enumerate(calls):
        at += one.after if k else 0
        step += not one.beside
        lasts = 2 * NANOSECONDS if k + 1 < len(calls) and calls[k + 1].beside else one.lasts
        made.append(
            ToolCall(
                None,
                one.tool,
                dict(one.arguments),
                error="failed" if one.failed else None,
                start=(at, at),
                end=(at + lasts, at + lasts),
                step=step,
                with_text=False,
            )
        )
    return Run("example", tuple(made))
