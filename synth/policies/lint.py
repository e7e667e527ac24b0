"""Are the policies of a file consistent, and can each of them ever matter?

A set of policies is contradictory if it leaves no way to do something that it speaks of. Circles of
order are found directly (a shortest one is the conflict). For the rest Z3 looks for a plan with up to
two calls of every tool: one plan that does everything proves the whole file consistent at once; where
there is none, every action is asked for alone, and a minimized core names the policies in its way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from synth.contracts import Contract, Pattern, is_wild
from synth.explain import listed
from synth.order import shortest_cycle
from synth.policies.contract import ContractRule
from synth.policies.guard import Guard
from synth.policies.kinds import Rule
from synth.policies.model import Policy, PolicySet, Tools
from synth.policies.monitors import Behaviour
from synth.policies.order_kinds import (
    MINUTE,
    AbsenceAfter,
    Adjacency,
    Count,
    Gap,
    NoOverlap,
    Precedence,
    Response,
    Window,
    is_besides,
)
from synth.policies.provenance import Provenance
from synth.policies.turn import Alone
from synth.solver import PlanRule, Slots, plan_conflict

Code = Literal["contradiction", "unknown_tool", "never_applies", "duplicate", "unproved"]
COPIES = 2
"""Calls of each tool in the plans that Z3 looks for."""
TIMEOUT_MS = 5_000

Slot = tuple[str, int]
"""A tool and the number of its call."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a policy file."""

    code: Code
    policies: tuple[str, ...]
    """Ids of the policies it is about; for a contradiction a minimal set."""
    explanation: str
    line: int | None = None
    """Of the first policy."""

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "policies": list(self.policies),
            "explanation": self.explanation,
            "line": self.line,
        }


def lint(
    policies: PolicySet, *, tools: Sequence[str] | None = None, timeout_ms: int = TIMEOUT_MS
) -> tuple[Problem, ...]:
    """Problems of a policy file; none means that it is proved consistent.

    `tools` are the names of the tools that exist, where they are known.
    """
    circle = order_circle(policies.policies)
    conflicts = [circle] if circle else list(conflicts_by_z3(policies, timeout_ms))
    return (
        *conflicts,
        *unknown_tools(policies, tools),
        *never_applies(policies.policies),
        *duplicates(policies.policies),
    )


def _problem(code: Code, about: Sequence[Policy], said: str) -> Problem:
    return Problem(code, tuple(policy.id for policy in about), said, about[0].line if about else None)


# ---------------------------------------------------------------- contradictions


def order_circle(policies: Sequence[Policy]) -> Problem | None:
    """A shortest circle of precedence: every action in it needs another one first."""
    nodes: dict[tuple[str, ...], int] = {}
    edges: list[tuple[int, int]] = []
    owners: list[tuple[Policy, Tools, Tools]] = []
    for policy in policies:
        if isinstance(policy.rule, Precedence | Adjacency):
            for first, then in policy.rule.pairs:
                edges.append(tuple(nodes.setdefault(t.names, len(nodes)) for t in (first, then)))  # type: ignore[arg-type]
                owners.append((policy, first, then))
    cycle = shortest_cycle(len(nodes), edges)
    if cycle is None:
        return None
    about = list(dict.fromkeys(owners[i][0].id for i in cycle))
    steps = listed(f"{owners[i][1].phrase} before {owners[i][2].phrase} [{owners[i][0].id}]" for i in cycle)
    named = [policy for policy in policies if policy.id in about]
    return _problem("contradiction", named, f"These cannot be kept together: {steps}.")


def conflicts_by_z3(policies: PolicySet, timeout_ms: int) -> Iterator[Problem]:
    """Actions that no plan can do, each with the policies in its way; each conflict once."""
    tools = mentioned_tools(policies.policies)
    slots = [(tool, copy) for tool in tools for copy in range(COPIES)]
    stated = [(policy, list(plan_rules(policy.rule, slots))) for policy in policies.policies]
    stated = [(policy, rules) for policy, rules in stated if rules]
    if not stated:
        return
    groups = [rules for _, rules in stated]
    distinct = any(isinstance(policy.rule, Adjacency) for policy, _ in stated)
    forbidden = {tool for tool in tools if _is_forbidden(tool, policies.policies)}

    def ask(wanted: PlanRule) -> list[int] | None:
        return plan_conflict(groups, slots, wanted, distinct=distinct, timeout_ms=timeout_ms)

    allowed = [tool for tool in tools if tool not in forbidden]
    if ask(lambda w: w.all(w.made((tool, 0)) for tool in allowed)) == []:
        return
    seen: set[tuple[int, ...]] = set()
    for tool in (None, *allowed):
        core = ask(_wish(tool))
        if core is None:
            yield _problem(
                "unproved", [p for p, _ in stated], "Z3 gave up before it proved the file consistent."
            )
            return
        if core and tuple(core) not in seen:
            seen.add(tuple(core))
            about = [stated[i][0] for i in core]
            what = (
                "No run can keep" if tool is None else f"{tool} can never be called without breaking one of"
            )
            yield _problem("contradiction", about, f"{what} {listed(f'{p.id} ({p.text})' for p in about)}.")
        if core and tool is None:
            return


def _wish(tool: str | None) -> PlanRule:
    return lambda w: w.all([] if tool is None else [w.made((tool, 0))])


def _is_forbidden(tool: str, policies: Sequence[Policy]) -> bool:
    return any(
        isinstance(policy.rule, Count) and policy.rule.most == 0 and any(tool in t for t in policy.rule.what)
        for policy in policies
    )


def mentioned_tools(policies: Sequence[Policy]) -> list[str]:
    """Tools that order and time policies name; a pattern stands for one tool of its own."""
    names: dict[str, None] = {}
    for policy in policies:
        for action in actions_of(policy.rule):
            if _PLAN_RULES.get(type(policy.rule)) is not None:
                names.update(dict.fromkeys(action.names))
    return list(names)


def actions_of(rule: Rule) -> list[Tools]:
    """Every action a rule names."""
    if isinstance(rule, Precedence | Response | AbsenceAfter | Adjacency | Gap | NoOverlap):
        return [tools for pair in rule.pairs for tools in pair]
    if isinstance(rule, Window):
        return [tools for tools, _, _ in rule.limits]
    if isinstance(rule, Provenance):
        return [*rule.what, *rule.sources]
    return list(rule.what) if isinstance(rule, Count | Guard | Alone) else []


def plan_rules(rule: Rule, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    """The formulas of a rule over a plan; none for kinds that speak of more than order and time."""
    build = _PLAN_RULES.get(type(rule))
    if build is not None:
        yield from build(rule, slots)


def _of(tools: Tools, slots: Sequence[Slot]) -> list[Slot]:
    return [slot for slot in slots if slot[0] in tools]


def _besides(tools: Tools, other: Tools, slots: Sequence[Slot]) -> list[Slot]:
    """The slots of `tools`; of `any tool` beside a named action, those of the others."""
    own = _of(tools, slots)
    return [slot for slot in own if slot[0] not in other] if is_besides(tools, other) else own


def _needs_one(j: Slot, options: Sequence[Slot], related: Callable[[Slots, Slot], Any]) -> PlanRule:
    """If `j` is made, so is one of `options`, and it is `related` to `j`."""
    return lambda w: w.any([w.no(w.made(j)), *(w.all((w.made(i), related(w, i))) for i in options if i != j)])


def _precedence(rule: Precedence, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    for first, then in rule.pairs:
        for j in _besides(then, first, slots):
            yield _needs_one(j, _of(first, slots), lambda w, i, j=j: w.before(i, j))  # type: ignore[misc]


def _response(rule: Response, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    most = None if rule.within is None else rule.within / MINUTE
    for trigger, answer in rule.pairs:
        for i in _besides(trigger, answer, slots):
            yield _needs_one(i, _of(answer, slots), lambda w, j, i=i: w.gap(i, j, 0, most))  # type: ignore[misc]


def _absence(rule: AbsenceAfter, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    for trigger, what in rule.pairs:
        for i in _of(trigger, slots):
            for j in _of(what, slots):
                if i != j:
                    yield _never_both(i, j, lambda w, i=i, j=j: w.no(w.before(i, j)))  # type: ignore[misc]


def _overlap(rule: NoOverlap, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    for a, b in rule.pairs:
        for i in _of(a, slots):
            for j in _of(b, slots):
                if i < j:
                    yield _never_both(i, j, lambda w, i=i, j=j: w.any((w.before(i, j), w.before(j, i))))  # type: ignore[misc]


def _never_both(i: Slot, j: Slot, unless: PlanRule) -> PlanRule:
    return lambda w: w.any((w.no(w.made(i)), w.no(w.made(j)), unless(w)))


def _count(rule: Count, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    for tools in rule.what:
        own = _of(tools, slots)
        if rule.least is not None and rule.most is not None and rule.least > rule.most:
            yield lambda w: w.any([])
        if rule.least:
            some = own[:1] if rule.least == 1 and len(tools.names) == 1 else own
            yield lambda w, some=some: w.any(w.made(i) for i in some)  # type: ignore[misc]
        if rule.least and rule.least >= COPIES and len(tools.names) == 1:
            yield lambda w, own=own: w.all(w.made(i) for i in own)  # type: ignore[misc]
        if rule.most == 0:
            yield lambda w, own=own: w.all(w.no(w.made(i)) for i in own)  # type: ignore[misc]
        if rule.most == 1:
            for i in own:
                for j in own:
                    if i < j:
                        yield _never_both(i, j, lambda w: w.any([]))


def _adjacency(rule: Adjacency, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    for first, then in rule.pairs:
        for j in _besides(then, first, slots):
            yield _needs_one(
                j,
                _of(first, slots),
                lambda w, i, j=j: w.all(  # type: ignore[misc]
                    [
                        w.before(i, j),
                        *(
                            w.any((w.no(w.made(k)), w.before(k, i), w.before(j, k)))
                            for k in slots
                            if k not in (i, j)
                        ),
                    ]
                ),
            )


def _window(rule: Window, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    for tools, since, until in rule.limits:
        if since is not None and until is not None and until < since:
            continue  # a window over midnight leaves room on every day
        for i in _of(tools, slots):
            yield lambda w, i=i, s=since, u=until: w.any((w.no(w.made(i)), w.in_day(i, s, u)))  # type: ignore[misc]


def _gap(rule: Gap, slots: Sequence[Slot]) -> Iterator[PlanRule]:
    least = (rule.least or 0) / MINUTE
    most = None if rule.within is None else rule.within / MINUTE
    for first, then in rule.pairs:
        for j in _besides(then, first, slots):
            yield _needs_one(j, _of(first, slots), lambda w, i, j=j: w.gap(i, j, least, most))  # type: ignore[misc]
            if rule.least is not None:
                for i in _of(first, slots):
                    yield _never_both(
                        i, j, lambda w, i=i, j=j: w.any((w.before(j, i), w.gap(i, j, least, None)))  # type: ignore[misc]
                    )  # fmt: skip


_PLAN_RULES: dict[type, Callable[[Any, Sequence[Slot]], Iterator[PlanRule]]] = {
    Precedence: _precedence,
    Response: _response,
    AbsenceAfter: _absence,
    NoOverlap: _overlap,
    Count: _count,
    Adjacency: _adjacency,
    Window: _window,
    Gap: _gap,
}


# ---------------------------------------------------------------- tools and rules that lead nowhere

_LOOKED_UP = re.compile(r"""\b(?:last|last_call|earlier)\(\s*(\[[^\]]*\]|'[^']*'|"[^"]*")""")
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


def unknown_tools(policies: PolicySet, tools: Sequence[str] | None) -> Iterator[Problem]:
    """Tools that do not exist; without a list, those of conditions that no action of the file has."""
    declared = {name for phrase, t in policies.actions.items() if phrase != "any tool" for name in t.names}
    for policy in policies.policies:
        loose = list(dict.fromkeys(_loose_tools(policy.rule)))
        if tools is not None:
            named = [*loose, *(name for action in actions_of(policy.rule) for name in action.names)]
            missing = [name for name in dict.fromkeys(named) if not _exists(name, tools)]
        else:
            missing = [name for name in loose if declared and not _exists(name, [*declared])]
        if missing:
            said = f"There is no tool called {listed(missing)}; a policy that waits for it never applies."
            yield _problem("unknown_tool", [policy], said)


def _exists(name: str, tools: Sequence[str]) -> bool:
    return any(tool in Tools("", (name,)) for tool in tools)


def _loose_tools(rule: Rule) -> Iterator[str]:
    """Tools named outside `actions`: in conditions and in `calls`."""
    if isinstance(rule, Guard | Provenance):
        yield from (name for action in rule.what if action.phrase in action.names for name in action.names)
    if isinstance(rule, Guard):
        parts = [rule.check, *([rule.when] if rule.when else []), *(part for _, part in rule.let)]
        for part in parts:
            for argument in _LOOKED_UP.findall(part.text):
                yield from (a or b for a, b in _QUOTED.findall(argument) if (a or b) != "*")


def never_applies(policies: Sequence[Policy]) -> Iterator[Problem]:
    """Rules that no run can bring to bear."""
    for policy in policies:
        rule = policy.rule
        blockers = [other for other in policies if other is not policy and _forbids(other.rule, rule)]
        if blockers:
            said = f"{policy.id} waits for what {blockers[0].id} forbids: {blockers[0].text}"
            yield _problem("never_applies", [policy, blockers[0]], said)
        if isinstance(rule, ContractRule) and isinstance(rule.initial, tuple | None):
            yield from _dead_tools(policy, rule)
        if isinstance(rule, Guard) and rule.when is not None and rule.when.text.strip() == "false":
            yield _problem("never_applies", [policy], "Its `when` is always false.")


def _forbids(other: Rule, rule: Rule) -> bool:
    """Is every action that would bring `rule` to bear forbidden by `other`?"""
    if not isinstance(other, Count) or other.most != 0 or isinstance(rule, Count):
        return False
    if isinstance(rule, Precedence | Adjacency | Gap):
        subjects = [then for _, then in rule.pairs]
    elif isinstance(rule, Response | AbsenceAfter):
        subjects = [trigger for trigger, _ in rule.pairs]
    else:
        subjects = list(rule.what) if isinstance(rule, Guard | Provenance | Alone) else []
    return bool(subjects) and all(
        any(name in tools for tools in other.what) for subject in subjects for name in subject.names
    )


def _dead_tools(policy: Policy, rule: ContractRule) -> Iterator[Problem]:
    """Tools whose needs nothing can provide, however the calls are ordered (deletions left aside)."""
    initial = [Pattern.of(text) for text in rule.initial or ()]
    dead = unreachable(rule.contract, initial)
    if dead:
        missing = listed(f"{tool} (needs {' '.join(need.words)})" for tool, need in dead.items())
        yield _problem("never_applies", [policy], f"These tools can never be called in order: {missing}.")


def unreachable(contract: Contract, initial: Sequence[Pattern]) -> dict[str, Pattern]:
    """Tool -> a need that no sequence of allowed calls provides; parameters may take any value."""
    available = list(initial)
    waiting = dict(contract.tools)
    grew = True
    while grew:
        grew = False
        for name, tool in list(waiting.items()):
            if all(_provided(need, available) for need in tool.requires):
                available += [fact for effect in tool.effects for fact in effect.provides]
                del waiting[name]
                grew = True
    return {
        name: next(need for need in tool.requires if not _provided(need, available))
        for name, tool in waiting.items()
    }


def _provided(need: Pattern, available: Sequence[Pattern]) -> bool:
    return need.negated or any(_may_equal(need, fact) for fact in available)


def _may_equal(a: Pattern, b: Pattern) -> bool:
    return len(a.words) == len(b.words) and all(
        x == y or _is_open(x) or _is_open(y) for x, y in zip(a.words, b.words, strict=True)
    )


def _is_open(word: str) -> bool:
    return is_wild(word) or "{" in word or word.startswith("?")


def duplicates(policies: Sequence[Policy]) -> Iterator[Problem]:
    """Policies that demand the same of the same runs."""
    seen: dict[Any, Policy] = {}
    for policy in policies:
        if isinstance(policy.rule, Behaviour | ContractRule | Guard):
            continue
        key = (repr(policy.rule), repr(policy.applies))
        if key in seen:
            yield _problem("duplicate", [policy, seen[key]], f"{policy.id} says the same as {seen[key].id}.")
        seen.setdefault(key, policy)
