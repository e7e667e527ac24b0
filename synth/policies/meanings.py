"""What a rule demands, in words that say which calls count: what a person compares with the words of a text.

A sentence is short because it leaves out what the language decides (`must precede` asks for a success,
`at most` counts attempts, `must be followed by` asks for an answer to each); here that is said, and tools
are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch

from synth.counted import counted
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.against import Against
from synth.policies.kinds.between import Between
from synth.policies.kinds.candidates import is_besides
from synth.policies.kinds.count import Count
from synth.policies.kinds.duration import Duration
from synth.policies.kinds.each import each_in_words, is_in_passing
from synth.policies.kinds.ends import FirstCall, LastCall
from synth.policies.kinds.failure_first import FailureFirst
from synth.policies.kinds.failures import AfterFailures
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.in_a_row import InARow
from synth.policies.kinds.kind import Paths, PolicyKind
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.overlap import NoOverlap
from synth.policies.kinds.paired import AsOften, Paired
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.response import Response
from synth.policies.kinds.times import CALENDAR_DAY, Stretch, duration_in_words
from synth.policies.kinds.times_before import TimesBefore
from synth.policies.kinds.timetable import Timetable
from synth.policies.kinds.total import Total, written
from synth.policies.kinds.turn import Alone
from synth.policies.kinds.variety import Variety
from synth.policies.kinds.weekdays import NAMES, Weekdays
from synth.policies.kinds.window import Window
from synth.policies.names import Tools


def reading_of(rule: PolicyKind) -> str:
    """What the rule demands, and of which things; empty of kinds that no sentence states."""
    said, things = demands_of(rule), each_in_words(rule)
    return f"{said} {things[0].upper()}{things[1:]}." if said and things else said


def demands_of(rule: PolicyKind) -> str:
    """A sentence for each pair of actions, whatever things they are done to where the rule names no field."""
    return " ".join(f"{said[0].upper()}{said[1:]}." for said in _demands(rule))


@singledispatch
def _demands(rule: PolicyKind) -> Iterator[str]:
    return iter(())


@_demands.register
def _(rule: Precedence) -> Iterator[str]:
    for first, then in rule.pairs:
        yield f"each call of {_of(then, first)} needs an earlier success of {_of(first)}{_alike(rule.same)}"


@_demands.register
def _(rule: FailureFirst) -> Iterator[str]:
    for first, then in rule.pairs:
        yield f"each call of {_of(then, first)} needs an earlier failure of {_of(first)}{_alike(rule.same)}"


@_demands.register
def _(rule: Response) -> Iterator[str]:
    time = "" if rule.within is None else f" within {duration_in_words(rule.within)}"
    for trigger, answer in rule.pairs:
        yield (
            f"after each {_outcome(rule.failed)} of {_of(trigger, answer)}, {_of(answer)} must "
            f"{'be tried again' if rule.tried else 'succeed'}"
            f"{time}{_alike(rule.same)}; without one it need not"
        )


@_demands.register
def _(rule: AbsenceAfter) -> Iterator[str]:
    time = "any more" if rule.within is None else f"for {duration_in_words(rule.within)}"
    for trigger, what in rule.pairs:
        barred = _of(what) if rule.but is None else f"any tool other than {_of(rule.but)}"
        yield f"{_once(trigger, rule.failed)}, {barred} must not be called {time}{_alike(rule.same)}"


@_demands.register
def _(rule: Between) -> Iterator[str]:
    ends = "whether or not that comes" if rule.until else "where that comes later"
    for opens, what, closes in rule.triples:
        called = f"{_of(what)} must not be called before {_of(closes)} has succeeded{_alike(rule.same)}"
        yield f"{_once(opens, rule.failed)}, {called}, {ends}"


def _per(rule: Count | Rate | Total | Variety) -> str:
    """Over what the rule itself says that it counts."""
    return {None: "", "run": " in one run", "session": " in one conversation"}[rule.per]


def _in_time(time: Stretch) -> str:
    if time == CALENDAR_DAY:
        return " on any one day of the calendar, in the file's time zone"
    return "" if time is None else f" within any {duration_in_words(time)}"


@_demands.register
def _(rule: Count) -> Iterator[str]:
    for tools in rule.what:
        if rule.least is not None:
            how = "exactly" if rule.least == rule.most else "at least"
            yield f"{how} {_successes(rule.least)} of {_of(tools)}{_per(rule)}; failed calls do not count"
        elif rule.ended is not None:
            many = _ends(rule.most, rule.failed) if rule.most else f"no {_outcome(rule.failed)}"
            yield f"{'at most ' if rule.most else ''}{many} of {_of(tools)}{_per(rule)}"
        elif rule.most:
            yield f"at most {counted(rule.most, 'call')} of {_of(tools)}{_per(rule)}, failed ones included"
        else:
            yield f"no call of {_of(tools)}{_per(rule)}"


@_demands.register
def _(rule: Rate) -> Iterator[str]:
    time = _in_time(rule.time)
    for tools in rule.what:
        calls = counted(rule.most, "call")
        what = f"{_of(tools)}, each tool by itself," if rule.each else _of(tools)
        if rule.ended is not None:
            calls = _ends(rule.most, rule.failed)
        included = ", failed ones included" if rule.ended is None else ""
        yield f"at most {calls} of {what}{_alike(rule.same)}{time}{_per(rule)}{included}"


@_demands.register
def _(rule: TimesBefore) -> Iterator[str]:
    for first, then in rule.pairs:
        if rule.most is None:
            different = f", with different {'.'.join(rule.different)}" if rule.different else ""
            many = f"{_successes(rule.number)} of {_of(first)}{_alike(rule.same)}{different}"
            yield f"before each call of {_of(then, first)}, {many} must have ended"
        elif rule.most == "begun":
            many = f"at most {counted(rule.number, 'call')} of {_of(first, then)}{_alike(rule.same)}"
            yield f"before the first call of {_of(then, first)}, {many} may begin, failed ones included"
        else:
            once = f"once {_of(first)} has {rule.most} {counted(rule.number + 1, 'time')}"
            yield f"{once}, {_of(then)} must not be called any more{_alike(rule.same)}"


@_demands.register
def _(rule: Paired) -> Iterator[str]:
    for first, then in rule.pairs:
        own = f"an earlier success of {_of(first)}{_alike(rule.same)} of its own"
        yield f"each call of {_of(then)} needs {own}, that serves no other one"


@_demands.register
def _(rule: AsOften) -> Iterator[str]:
    for one, other in rule.pairs:
        yield f"in the end {_of(one)} has succeeded as often as {_of(other)}{_alike(rule.same)}"


@_demands.register
def _(rule: InARow) -> Iterator[str]:
    for tools in rule.what:
        if rule.failed:
            many = f"{_ends(rule.most, True)} of {_of(tools)}{_alike(rule.same)}"
            yield f"at most {many}, with no call of it between that did not fail"
        else:
            many = f"{counted(rule.most, 'call')} of {_of(tools)}{_alike(rule.same)}"
            yield f"at most {many}, with no other call between, failed ones included"


@_demands.register
def _(rule: Variety) -> Iterator[str]:
    for tools in rule.what:
        field = f"{'.'.join(rule.different)}{_alike(rule.same)}{_per(rule)}"
        if rule.least is not None:
            yield f"the successes of {_of(tools)} have at least {rule.least} different {field}"
        else:
            calls = f"the calls of {_of(tools)}, failed ones included,"
            yield f"{calls} have at most {rule.most} different {field}"


@_demands.register
def _(rule: Duration) -> Iterator[str]:
    limit = "less than" if rule.less else "at most"
    for tools in rule.what:
        yield f"each call of {_of(tools)} ends {limit} {duration_in_words(rule.time)} after it began"


@_demands.register
def _(rule: FirstCall) -> Iterator[str]:
    yield f"the first call that is tried is one of {_of(rule.what)}"


@_demands.register
def _(rule: LastCall) -> Iterator[str]:
    asked = "" if rule.when is None else f" and in which {_of(rule.when)} has succeeded"
    yield f"the last call of a run that has ended{asked} is a success of {_of(rule.what)}"


@_demands.register
def _(rule: Against) -> Iterator[str]:
    own, other = f"the {'.'.join(rule.path)} of {_of(rule.what)}", f"the {'.'.join(rule.beside)}"
    be = "" if rule.how in ("equal", "differ from") else "be "
    latest = f"{other} of the latest success of {_of(rule.other)}{_alike(rule.same)} before it"
    yield f"{own} must {be}{rule.how} {latest}; without one nothing is asked"


@_demands.register
def _(rule: Total) -> Iterator[str]:
    time = "" if rule.time is None else f" that start{_in_time(rule.time)}"
    calls, argument = (
        f"the calls of {_of(rule.what)}{_alike(rule.same)}{time}{_per(rule)}",
        ".".join(rule.path),
    )
    most = f"{'less than' if rule.below else 'at most'} {written(rule.most)}"
    yield f"over {calls}, {argument} adds up to {most}, failed calls included"


@_demands.register
def _(rule: Adjacency) -> Iterator[str]:
    for first, then in rule.pairs:
        success = f"a success of {_of(first)}{_alike(rule.same)}"
        yield f"the call directly before each call of {_of(then, first)} is {success}"


@_demands.register
def _(rule: NextCall) -> Iterator[str]:
    for trigger, answer in rule.pairs:
        asks = f"after each {_outcome(rule.failed)} of {_of(trigger, answer)}"
        success = f"a success of {_of(answer)}{_alike(rule.same)}"
        yield f"{asks}, {success} comes before any other call begins"


@_demands.register
def _(rule: Gap) -> Iterator[str]:
    for first, then in rule.pairs:
        call = f"each call of {_of(then, first)} starts"
        if rule.least is not None:
            yield f"{call} at least {duration_in_words(rule.least)} after a success of {_of(first)} ended"
        else:
            time, success = (
                duration_in_words(rule.within or 0),
                f"a success of {_of(first)}{_alike(rule.same)}",
            )
            yield {
                "after": f"{call} at most {time} after {success} ended",
                "before": f"{call} at most {time} before {success} starts",
                "around": f"{call} at most {time} before or after {success}, or while it runs",
            }[rule.side]


@_demands.register
def _(rule: AfterFailures) -> Iterator[str]:
    row = " in a row" if rule.in_a_row else ""
    time = "" if rule.within is None else f" within {duration_in_words(rule.within)}"
    for first, then in rule.pairs:
        once = f"once {_of(first)} has failed {counted(rule.number, 'time')}{row}"
        alike = _alike(rule.same) + (", if it has such an argument" if rule.of_one else "")
        must = f"must not be called any more{alike}"
        if not rule.banned:
            must = f"must succeed after that{time}{alike}"
        yield f"{once}, {_of(then)} {must}"


@_demands.register
def _(rule: NoOverlap) -> Iterator[str]:
    for one, other in rule.pairs:
        more = "another" if one.key == other.key else "one"
        does, still = ("starts", "runs") if rule.starts else ("runs", "does")
        yield f"no call of {_of(one)} {does} while {more} of {_of(other)} {still}{_alike(rule.same)}"


@_demands.register
def _(rule: Alone) -> Iterator[str]:
    for tools in rule.what:
        yield f"each call of {_of(tools)} is all that its model message has: no other call, and no text"


@_demands.register
def _(rule: Timetable) -> Iterator[str]:
    for tools in rule.what:
        never = "none of the calls" if rule.banned else "calls"
        only = "" if rule.banned else " only"
        yield f"{never} of {_of(tools)} start {rule.hours}{only}"


@_demands.register
def _(rule: Weekdays) -> Iterator[str]:
    days = ", ".join(name for number, name in enumerate(NAMES) if number in rule.days) or "no day"
    for tools in rule.what:
        yield f"calls of {_of(tools)} start on {days} only"


@_demands.register
def _(rule: Window) -> Iterator[str]:
    for tools, since, until in rule.limits:
        limits = [f"starts no earlier than {_clock(since)}"] if since is not None else []
        limits += [f"has ended by {_clock(until)}"] if until is not None else []
        limits[-1] += ", over midnight" if until is not None and until < (since or 0) else ""
        yield f"each call of {_of(tools)} {' and '.join(limits)}"


def _of(tools: Tools, besides: Tools | None = None) -> str:
    """The tools of an action; `any tool` beside a named one means the others."""
    if tools.names == ("*",):
        said = "any other tool" if besides is not None and is_besides(tools, besides) else "any tool"
        if tools.but:
            others = besides.names if besides is not None and is_besides(tools, besides) else ()
            said = f"any tool other than {_either((*others, *tools.but))}"
    else:
        said = _either(tools.names)
    said += "" if tools.where is None else f" {tools.where.words}"
    return said if tools.agent is None else f"{said} by the agent {tools.agent}"


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)


def _once(tools: Tools, failed: bool) -> str:
    return f"once {_of(tools)} has {'failed' if failed else 'succeeded'}"


def _outcome(failed: bool) -> str:
    return "failure" if failed else "success"


def _ends(number: int, failed: bool) -> str:
    return counted(number, "failure") if failed else _successes(number)


def _successes(number: int) -> str:
    return "1 success" if number == 1 else f"{number} successes"


def _alike(same: Paths) -> str:
    """With which arguments equal."""
    if is_in_passing(same):
        return ""
    fields = [
        ".".join(first) if first == then else f"{'.'.join(first)} (then {'.'.join(then)})"
        for first, then in same
    ]
    return f" with the same {' and '.join(fields)}" if fields else ""


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
