"""Policies proposed from good runs: rules of order, time, number and amount that all of them keep.

A proposal is a hypothesis for a person to review, so what is shown must be worth reading:

- Our own checker must find the rule kept, beyond doubt, in every run, and applicable in `min_support`.
- A rule that chance explains is left out. `surprise` is how unlikely it would be, in bits, that the runs
  keep the rule if their calls had come in random order (for counts: if tools were repeated as often as
  they are on average), and if the tools that it needs were there only as often as they are over all runs.
  It must exceed what the best of all candidates that were tried reaches by luck.
- A rule that follows from others that are shown is left out: whatever breaks it breaks one of those.
- A limit is never learned from fewer than `FEWEST_BOUNDED` runs, nothing from fewer than `FEWEST`.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from itertools import permutations
from typing import Any, Literal

from synth.counted import counted
from synth.errors import BadInput
from synth.observed.run import Run
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.plans import COPIES
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.response import Response
from synth.policies.lint import lint
from synth.policies.load import policies_from_text
from synth.policies.mining import mined
from synth.policies.mining.mined import ANY, FEWEST, Mined, Named
from synth.policies.mining.seen import Seen
from synth.policies.mining.worth import DIRECT, counter_check, kept_by_all, saying_more
from synth.policies.names import Tools
from synth.policies.written import phrases_of, printable, scalar

Kind = Literal[
    "precedence", "response", "absence_after", "response_to_failure", "absence_after_failure", "at_most",
    "at_least", "exactly",
]  # fmt: skip
"""Of the rules that are looked for here; `mining` has more."""

_ANY_TOOL = Tools("any tool", (ANY,))
MIN_SUPPORT = FEWEST
TOP = 20
LUCK_BITS = 3.0
"""Beyond the logarithm of the number of candidates: one chance rule in eight drafts is expected at most."""
MAX_TOOLS = 60
"""The tools called in most runs; rules are looked for among these."""
MOST_COUNTED = 3
"""A larger observed maximum is no rule worth stating."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """One proposed rule."""

    id: str
    kind: str
    sentence: str
    tools: tuple[str, ...]
    """(first, then), (trigger, answer), (trigger, what), or the one tool that is counted; `*` = any tool."""
    support: int
    """Runs in which the rule applied, and was kept."""
    surprise: float
    """Bits; see the module."""
    counter: tuple[int, int]
    """(changed copies of runs that break the rule, such copies)."""
    copies: str
    """How the copies were changed."""
    bound: str
    """Of a limit: what was seen at most, and what it leaves beyond that."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "rule": self.sentence,
            "tools": list(self.tools),
            "support": self.support,
            "surprise_bits": round(self.surprise, 1),
            "counter_check": {"broken": self.counter[0], "tried": self.counter[1]},
            "bound": self.bound or None,
        }


@dataclass(frozen=True, slots=True)
class Draft:
    """A policy file to be reviewed."""

    runs: int
    rules: tuple[Drafted, ...]
    """The most surprising first."""
    candidates: int
    """How many rules were tried."""
    text: str
    """The file; it loads, lints clean, and every run passes."""

    def to_json(self) -> dict[str, Any]:
        said = [rule.to_json() for rule in self.rules]
        return {"runs": self.runs, "candidates": self.candidates, "rules": said, "file": self.text}


def draft(
    runs: Sequence[Run],
    *,
    min_support: int = MIN_SUPPORT,
    min_surprise: float | None = None,
    top: int = TOP,
    origin: str = "the given runs",
    every_tool: bool = False,
) -> Draft:
    """Rules that all `runs` keep, at most `top`, each applicable in `min_support` of them; `origin` in words.

    Hours and days are those of UTC.

    The file names the tools of its rules, or `every_tool` that was called, for whoever goes on writing it.

    `min_surprise` (bits) replaces the bound that keeps chance out. BadInput where there is no call to
    learn from, or `min_support` is less than `FEWEST`.
    """
    if min_support < FEWEST:
        raise BadInput(f"a rule is learned from {FEWEST} runs or more, not from {min_support}")
    seen = [Seen(run) for run in runs]
    tools = [
        tool for tool, _ in Counter(tool for one in seen for tool in one.attempts).most_common(MAX_TOOLS)
    ]
    if not tools:
        raise BadInput(f"the {len(runs)} runs have no tool call: there is nothing to learn from")
    phrases = phrases_of(tools)
    found = list(_candidates(seen, sorted(tools)))
    more = list(mined(seen, sorted(tools)))
    tried = len(found) + len(more)
    luck = math.log2(max(tried, 2)) + LUCK_BITS if min_surprise is None else min_surprise
    likely = [c for c in found if c.support >= min_support and c.surprise >= luck and c.holds]
    kept = [c for c in likely if kept_by_all(c.rule(phrases), c.tools, seen, min_support)]
    plain = [_mined(c) for c in _without_implied(sorted(kept, key=lambda c: (-c.surprise, c.kind, c.tools)))]
    strong = [c for c in more if c is not None and c.support >= min_support and c.surprise >= luck]
    shown = saying_more(plain, sorted(strong, key=_by_strength), phrases, seen, min_support)
    shown = sorted(shown, key=_by_strength)[:top]
    rules = _consistent([(_drafted(one, phrases, seen), one.stated(phrases)) for one in shown], phrases, runs)
    named = sorted(phrases) if every_tool else []
    return Draft(len(runs), tuple(rules), tried, _file(rules, phrases, runs, origin, named))


# ---------------------------------------------------------------- order, answers, counts


@dataclass(slots=True)
class _Candidate:
    """A rule that may be worth showing."""

    kind: Kind
    tools: tuple[str, ...]
    support: int = 0
    surprise: float = 0.0
    holds: bool = True
    """As far as order alone tells; the checker decides."""
    limit: int = 0

    def rule(self, phrases: Mapping[str, str]) -> PolicyKind:
        return self.stated(lambda tool: Tools(phrases[tool], (tool,)))

    def stated(self, named: Named) -> PolicyKind:
        said = [_ANY_TOOL if tool == ANY else named(tool) for tool in self.tools]
        return _SHAPES[self.kind].rule(said[0], said[-1], self.limit)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a kind of proposal is stated; for counts `first` and `then` are the same tool."""

    rule: Callable[[Tools, Tools, int], PolicyKind]
    sentence: str
    id: str
    distorted: str = "in another order"
    """What the copies of the counter-check are like."""


def _counting(how: str, rule: Callable[[Tools, Tools, int], PolicyKind], distorted: str) -> _Shape:
    return _Shape(rule, f"{{first}} must happen {how} {{times}}.", f"{{first}} {how} {{limit}}", distorted)


_MORE = "with one call more"
_SHAPES: Mapping[Kind, _Shape] = {
    "precedence": _Shape(
        lambda a, b, _: Precedence(((a, b),)), "{first} must happen before {then}.", "{first} before {then}"
    ),
    "response": _Shape(
        lambda a, b, _: Response(((a, b),)), "{first} must be followed by {then}.", "{first} then {then}"
    ),
    "absence_after": _Shape(
        lambda a, b, _: AbsenceAfter(((a, b),)),
        "{then} must never happen after {first}.",
        "{first} ends {then}",
    ),
    "response_to_failure": _Shape(
        lambda a, b, _: Response(((a, b),), failed=True),
        "If {first} fails, {then} must follow.",
        "failed {first} then {then}",
    ),
    "absence_after_failure": _Shape(
        lambda a, b, _: AbsenceAfter(((a, b),), failed=True),
        "If {first} fails, {then} must never happen afterwards.",
        "failed {first} ends {then}",
    ),
    "at_most": _counting("at most", lambda a, _, n: Count((a,), most=n), _MORE),
    "at_least": _counting("at least", lambda a, _, n: Count((a,), least=n), "without the call"),
    "exactly": _counting("exactly", lambda a, _, n: Count((a,), least=n, most=n), _MORE),
}


def _mined(candidate: _Candidate) -> Mined:
    """The candidate as those of `mining` are."""
    shape, named = _SHAPES[candidate.kind], [f"{{{k}}}" for k in range(len(candidate.tools))]
    first, then = ("any tool" if tool == ANY else slot for tool, slot in
                   ((candidate.tools[0], named[0]), (candidate.tools[-1], named[-1])))  # fmt: skip
    times = counted(candidate.limit, "time")
    return Mined(
        candidate.kind, candidate.tools, candidate.support, candidate.surprise, candidate.stated,
        shape.sentence.format(first=first, then=then, times=times),
        shape.id.format(first=first, then=then, limit=candidate.limit),
        partial(_distorted, candidate), shape.distorted,
        tells=partial(_speaks_of, candidate),
    )  # fmt: skip


def _by_strength(one: Mined) -> tuple[float, str, tuple[str, ...]]:
    return -one.surprise, one.kind, one.tools


def _candidates(seen: Sequence[Seen], tools: Sequence[str]) -> Iterator[_Candidate]:
    presence = {tool: _share(sum(tool in one.attempts for one in seen), len(seen)) for tool in tools}
    for first, then in permutations(tools, 2):
        yield _precedence(seen, first, then, presence[first])
        yield _response(seen, first, then, presence[then])
        yield _absence(seen, first, then)
        if sum(first in one.failures for one in seen) >= MIN_SUPPORT:
            yield _response(seen, first, then, presence[then], failed=True)
            yield _absence(seen, first, then, failed=True)
    for tool in tools:
        yield _precedence(seen, tool, ANY, presence[tool])
        yield _response(seen, ANY, tool, presence[tool])
        yield _absence(seen, tool, ANY)
    yield from _counts(seen, tools, presence)


def _share(count: int, runs: int) -> float:
    """How often something is there, kept away from 0 and 1: it may be different in the next run."""
    return (count + 1) / (runs + 2)


def _precedence(seen: Sequence[Seen], first: str, then: str, presence: float) -> _Candidate:
    """Every attempt at `then` after a success of `first`: of both, a `first` was the first call."""
    found = _Candidate("precedence", (first, then))
    for one in seen:
        later = one.others(first) if then == ANY else one.attempts.get(then, [])
        if not later:
            continue
        earlier = one.successes.get(first, [])
        if not earlier or min(map(one.rank, earlier)) > min(map(one.rank, later)):
            found.holds = False
            return found
        found.support += 1
        found.surprise -= math.log2(len(earlier) / (len(earlier) + len(later))) + math.log2(presence)
    return found


def _response(
    seen: Sequence[Seen], trigger: str, answer: str, presence: float, failed: bool = False
) -> _Candidate:
    """Every success of `trigger` before a success of `answer`: of both, an `answer` was the last call."""
    found = _Candidate("response_to_failure" if failed else "response", (trigger, answer))
    for one in seen:
        ended = one.failures if failed else one.successes
        if trigger == ANY:
            triggers = [i for name, calls in ended.items() if name != answer for i in calls]
        else:
            triggers = ended.get(trigger, [])
        if not triggers:
            continue
        answers = one.successes.get(answer, [])
        if not answers or max(map(one.rank, answers)) < max(map(one.rank, triggers)):
            found.holds = False
            return found
        found.support += 1
        found.surprise -= math.log2(len(answers) / (len(answers) + len(triggers))) + math.log2(presence)
    return found


def _absence(seen: Sequence[Seen], trigger: str, what: str, failed: bool = False) -> _Candidate:
    """No attempt at `what` after a success of `trigger`; only runs that have both tell anything."""
    found = _Candidate("absence_after_failure" if failed else "absence_after", (trigger, what))
    for one in seen:
        triggers = (one.failures if failed else one.successes).get(trigger, [])
        if not triggers:
            continue
        others = one.others(trigger) if what == ANY else one.attempts.get(what, [])
        watched = [*others, *one.attempts[trigger]] if what == ANY else others
        first = min(map(one.rank, triggers))
        if any(one.rank(i) > first for i in watched):
            found.holds = False
            return found
        if others:
            found.support += 1
            found.surprise += math.log2(math.comb(len(others) + len(triggers), len(triggers)))
    return found


def _counts(
    seen: Sequence[Seen], tools: Sequence[str], presence: Mapping[str, float]
) -> Iterator[_Candidate]:
    """How often tools are called in a run: at most so often, or in every run."""
    usual = sum(presence.values()) / len(presence)
    for tool in tools:
        counts = [len(one.attempts[tool]) for one in seen if tool in one.attempts]
        done = [len(one.successes.get(tool, ())) for one in seen]
        most, least = max(counts), min(done)
        above = _share_above(seen, most)
        upper = -len(counts) * math.log2(1 - above)
        lower = -len(seen) * math.log2(usual)
        if least == most and most <= COPIES:
            yield _Candidate("exactly", (tool,), len(seen), lower + upper, limit=most)
        yield _Candidate("at_most", (tool,), len(counts), upper, most <= MOST_COUNTED, limit=most)
        yield _Candidate("at_least", (tool,), len(seen), lower, least > 0, limit=1)


def _share_above(seen: Sequence[Seen], limit: int) -> float:
    """Of the tools called in a run, the share that is called more often than `limit`."""
    counts = [len(calls) for one in seen for calls in one.attempts.values()]
    return sum(count > limit for count in counts) / len(counts) if counts else 0.0


# ---------------------------------------------------------------- which are worth reading


def _without_implied(ranked: Sequence[_Candidate]) -> list[_Candidate]:
    """Those that do not follow from the others, the stronger kept."""
    kept = list(ranked)
    for candidate in reversed(ranked):
        rest = [other for other in kept if other is not candidate]
        if _implied(candidate, rest):
            kept = rest
    return kept


def _implied(candidate: _Candidate, others: Sequence[_Candidate]) -> bool:
    known = {(other.kind, other.tools) for other in others}
    exact = {other.tools[0] for other in others if other.kind == "exactly"}
    once = {o.tools[0] for o in others if o.kind in ("at_most", "exactly") and o.limit == 1}
    if candidate.kind in ("at_most", "at_least"):
        return candidate.tools[0] in exact
    if candidate.kind in ("exactly", "response_to_failure", "absence_after_failure"):
        return False
    first, then = candidate.tools
    if candidate.kind == "precedence":
        wide = then != ANY and ("precedence", (first, ANY)) in known
        return wide or _chained("precedence", first, then, known)
    if candidate.kind == "response":
        wide = first != ANY and ("response", (ANY, then)) in known
        return wide or _chained("response", first, then, known)
    # Never `then` after `first`: nothing may come, or `then` comes once and `first` needs it before.
    wide = then != ANY and ("absence_after", (first, ANY)) in known
    needed = ("precedence", (then, first)) in known or ("precedence", (then, ANY)) in known
    return wide or (then in once and needed)


def _chained(kind: str, first: str, then: str, known: set[tuple[Kind, tuple[str, ...]]]) -> bool:
    """Does a chain of rules of one kind lead from `first` to `then`?"""
    reached, edge = {first}, [first]
    while edge:
        tool = edge.pop()
        for other_kind, tools in known:
            if other_kind == kind and tools[0] == tool and tools[1] not in reached:
                reached.add(tools[1])
                edge.append(tools[1])
    return then in reached


# ---------------------------------------------------------------- the counter-check


def _drafted(one: Mined, phrases: Mapping[str, str], seen: Sequence[Seen]) -> Drafted:
    rule = one.stated(phrases)
    return Drafted(
        one.named(phrases), one.kind, one.said(phrases), one.tools, one.support, one.surprise,
        counter_check(one, rule, seen), one.copies, one.bound,
    )  # fmt: skip


def _speaks_of(candidate: _Candidate, one: Seen) -> bool:
    """Could the run have broken the rule with its own calls? Not where what is forbidden was never called."""
    if candidate.kind not in ("absence_after", "absence_after_failure"):
        return True
    trigger, what = candidate.tools
    return bool(one.others(trigger)) if what == ANY else what in one.attempts


def _distorted(candidate: _Candidate, run: Run, chance: random.Random) -> Run:
    calls = [replace(call, start=None, end=None, finished=True) for call in run.calls]
    if candidate.kind in ("at_most", "at_least", "exactly"):
        own = [call for call in calls if call.tool == candidate.tools[0]]
        if candidate.kind == "at_least":
            calls = [call for call in calls if call.tool != candidate.tools[0]]
        else:
            calls += own[:1] * (candidate.limit + 1 - len(own))
    chance.shuffle(calls)
    return replace(run, calls=tuple(calls))


# ---------------------------------------------------------------- the file


def _file(
    rules: Sequence[Drafted], phrases: Mapping[str, str], runs: Sequence[Run], origin: str,
    named: Sequence[str] = (),
) -> str:  # fmt: skip
    used = {*named, *(tool for tool in phrases if any(tool in rule.tools for rule in rules))}
    lines = [
        f"# Drafted from {counted(len(runs), 'run')} ({printable(origin)}); all of them keep every rule.",
        "# Review before use: good runs keep rules by habit too. Delete what is not meant, reword the texts.",
        *_applies(runs),
    ]
    if used:
        lines += ["actions:", *(f"  {scalar(phrases[tool])}: {scalar(tool)}" for tool in sorted(used))]
    lines += ["", "policies:" if rules else "policies: []"]
    for number, rule in enumerate(rules):
        lines += [""] if number else []
        lines += [f"  # {line}" for line in _evidence(rule, len(runs))]
        lines += [f"  - id: {scalar(rule.id)}", f"    rule: {scalar(rule.sentence)}"]
    return "\n".join(lines) + "\n"


def _evidence(rule: Drafted, runs: int) -> Iterator[str]:
    rest = runs - rule.support
    others = f"; {counted(rest, 'other run')} did not need it" if rest else ""
    yield f"Kept in {counted(rule.support, 'run')}{others}. Surprise: {rule.surprise:.0f} bits."
    broken, tried = rule.counter
    yield f"Counter-check: {broken} of {tried} copies {rule.copies} break it."
    if rule.bound:
        yield rule.bound


def _applies(runs: Sequence[Run]) -> Iterator[str]:
    """The selector that these runs share, so that the rules do not reach other agents."""
    for name in ("service", "agent"):
        values = {run.agent if name == "agent" else run.extra.get(name) for run in runs}
        (value,) = values if len(values) == 1 else (None,)
        if isinstance(value, str) and value.strip() == value and not set(value) & set("*?["):
            yield f"applies: {{{name}: {json.dumps(value, ensure_ascii=False)}}}"
            return


def _consistent(
    rules: Sequence[tuple[Drafted, PolicyKind]], phrases: Mapping[str, str], runs: Sequence[Run]
) -> list[Drafted]:
    """The rules whose file, read again, says what is meant, has no contradiction and is kept by every run.

    Nothing should be lost here; a proposal that its own checker rejects must not be shown, though.
    """
    from synth.policies import judge_policies

    kept = list(rules)
    while kept:
        policies = policies_from_text(_file([rule for rule, _ in kept], phrases, runs, ""))
        flawed = {
            name for problem in lint(policies) if problem.code != "unproved" for name in problem.policies
        }
        for policy, (rule, meant) in zip(policies.policies, kept, strict=True):
            if not _is_same(policy.rule, meant):
                flawed.add(rule.id)
        for run in runs:
            results = judge_policies(policies, run, rules=DIRECT)
            flawed |= {r.policy for r in results if r.verdict not in ("ok", "not_applicable")}
        if not flawed:
            break
        last = max(i for i, (rule, _) in enumerate(kept) if rule.id in flawed)
        del kept[last]
    return [rule for rule, _ in kept]


def _is_same(one: Any, other: Any) -> bool:
    """Are they the same rule, whatever its actions are called?"""
    if isinstance(one, Tools) and isinstance(other, Tools):
        return one.key == other.key
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if is_dataclass(one) and type(one) is type(other):
        return all(
            _is_same(getattr(one, field.name), getattr(other, field.name))
            for field in fields(one)
            if field.compare
        )
    return bool(one == other)
