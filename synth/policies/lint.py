"""Are the policies of a file consistent, and can each of them ever matter?

A set of policies is contradictory if it leaves no way to do something that it speaks of. Circles of
order are found directly (a shortest one is the conflict). For the rest Z3 looks for a plan with up to
two calls of every tool: one plan that does everything proves the whole file consistent at once; where
there is none, every action is asked for alone, and a minimized core names the policies in its way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from synth.formal.constraints import listed
from synth.formal.order import shortest_cycle
from synth.formal.solver import PlanRule, plan_conflict
from synth.policies.chance import ByChance
from synth.policies.compared import compares_nothing
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.plans import slots_for
from synth.policies.kinds.precedence import Precedence
from synth.policies.model import Policy, PolicySet
from synth.policies.names import Tools
from synth.policies.plugins import flaws, planned
from synth.policies.seen_names import SeenNames, doubts
from synth.policies.traps import AHEAD, shadowed, traps, tried_rules

Code = Literal[
    "contradiction", "unknown_tool", "never_seen", "never_applies", "duplicate", "unproved", "by_chance",
    "trap", "shadowed", "not_analysed", "any_of_them",
]  # fmt: skip
TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a policy file."""

    code: Code
    policies: tuple[str, ...]
    """Ids of the policies it is about; for a contradiction a minimal set."""
    explanation: str
    line: int | None = None
    """Of the first policy."""

    @property
    def is_warning(self) -> bool:
        """May the file be right all the same? An agent may rightly never be given a tool."""
        return self.code in ("never_seen", "by_chance", "shadowed", "not_analysed", "any_of_them")

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "policies": list(self.policies),
            "explanation": self.explanation,
            "line": self.line,
        }


def lint_guard(policies: PolicySet) -> Iterator[Problem]:
    """What a guard by these rules would do to a run that obeys it, found among short runs."""
    for rule, word in traps(policies):
        said = (
            f"after {', '.join(word)} a guard lets no call through that keeps it "
            f"({rule.text.rstrip('.')}); {AHEAD} more calls were tried"
        )
        yield Problem("trap", (rule.id,), said, rule.line)
    for rule, others, word in shadowed(policies):
        said = f"a guard refuses nothing by it that {listed(others)} would not refuse; "
        said += f"it would refuse {word[-1]}"
        before = f" after {', '.join(word[:-1])}" if word[1:] else " as the first call"
        yield Problem("shadowed", (rule.id, *others), said + before, rule.line)


def lint(
    policies: PolicySet,
    *,
    tools: Sequence[str] | None = None,
    names: SeenNames | None = None,
    chance: ByChance | None = None,
    timeout_ms: int = TIMEOUT_MS,
) -> tuple[Problem, ...]:
    """Problems of a policy file; none means that it is proved consistent.

    `tools` are the names of all tools that exist, `names` those that some runs show, where they are known.
    `chance` has looked at such runs for values that provenance may find anywhere.
    """
    return (
        *contradictions(policies.policies, timeout_ms),
        *(unknown_tools(policies, tools) if names is None or tools is not None else ()),
        *(unseen_tools(policies, names) if names is not None else ()),
        *never_applies(policies.policies),
        *duplicates(policies.policies),
        *any_of_them(policies.policies),
        *(by_chance(policies, chance) if chance is not None else ()),
    )


def _problem(code: Code, about: Sequence[Policy], said: str) -> Problem:
    return Problem(code, tuple(policy.id for policy in about), said, about[0].line if about else None)


def any_of_them(policies: Sequence[Policy]) -> Iterator[Problem]:
    """Sentences that speak of one thing and are about any, as they compare no arguments."""
    for policy in policies:
        if said := compares_nothing(policy.sentence, policy.rule):
            yield _problem("any_of_them", [policy], said)


# ---------------------------------------------------------------- contradictions


def contradictions(policies: Sequence[Policy], timeout_ms: int = TIMEOUT_MS) -> list[Problem]:
    """Sets of policies that cannot be kept together; none can do without one of its policies.

    Where no run at all keeps a set, some run keeps the rest of it. Where they leave no way to do something,
    the rest leaves a way to do everything.
    """
    circle = order_circle(policies)
    found = [circle] if circle else list(conflicts_by_z3(policies, timeout_ms))
    fewest: dict[tuple[str, ...], Problem] = {}
    for problem in found:
        smallest = _irreducible(problem, policies, timeout_ms)
        fewest.setdefault(smallest.policies, smallest)
    return list(fewest.values())


def _irreducible(problem: Problem, policies: Sequence[Policy], timeout_ms: int) -> Problem:
    """The contradiction, or one among only some of its policies, whatever action that is about."""
    if problem.code != "contradiction" or len(problem.policies) == 1:
        return problem
    named = [policy for policy in policies if policy.id in problem.policies]
    for other in _others(named, timeout_ms):
        if other.code == "contradiction" and len(other.policies) < len(named):
            return _irreducible(other, named, timeout_ms)
    return problem


def _others(named: Sequence[Policy], timeout_ms: int) -> Iterator[Problem]:
    """Contradictions among policies that contradict, some of only a part of them where there is such a part.

    Where they state an order alone, only circles contradict, and Z3 is slow to see long ones.
    """
    for left_out in named:
        circle = order_circle([policy for policy in named if policy is not left_out])
        if circle is not None:
            yield circle
    if not all(isinstance(policy.rule, Precedence) and not _any_tool(policy) for policy in named):
        yield from conflicts_by_z3(named, timeout_ms)


def _any_tool(policy: Policy) -> bool:
    return any("*" in name for name in _names(policy.rule))


def order_circle(policies: Sequence[Policy]) -> Problem | None:
    """A shortest circle of precedence: every action in it needs another one first."""
    nodes: dict[object, int] = {}
    edges: list[tuple[int, int]] = []
    owners: list[tuple[Policy, Tools, Tools]] = []
    for policy in policies:
        for first, then in policy.rule.traits.needs:
            edges.append(tuple(nodes.setdefault(t.key, len(nodes)) for t in (first, then)))  # type: ignore[arg-type]
            owners.append((policy, first, then))
    cycle = shortest_cycle(len(nodes), edges)
    if cycle is None:
        return None
    about = list(dict.fromkeys(owners[i][0].id for i in cycle))
    steps = listed(f"{owners[i][1].phrase} before {owners[i][2].phrase} [{owners[i][0].id}]" for i in cycle)
    named = [policy for policy in policies if policy.id in about]
    return _problem("contradiction", named, f"These cannot be kept together: {steps}.")


def conflicts_by_z3(policies: Sequence[Policy], timeout_ms: int) -> Iterator[Problem]:
    """Actions that no plan can do, each with the policies in its way; each conflict once.

    Rules about the calls of one agent, or with certain arguments, are left out: plans do not say whose their
    calls are, and what they are given.
    """
    policies = [policy for policy in policies if all(tools.is_whole for tools in policy.rule.tools)]
    tools = mentioned_tools(policies)
    slots = slots_for(tools)
    stated = [(policy, planned(policy.rule, slots)) for policy in policies]
    stated = [(policy, rules) for policy, rules in stated if rules]
    if not stated:
        return
    groups = [rules for _, rules in stated]
    distinct = any(policy.rule.traits.apart for policy, _ in stated)
    never = [action for policy in policies for action in policy.rule.traits.forbids]

    def ask(wanted: PlanRule) -> list[int] | None:
        return plan_conflict(groups, slots, wanted, distinct=distinct, timeout_ms=timeout_ms)

    allowed = [tool for tool in tools if not any(tool in action for action in never)]
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


def mentioned_tools(policies: Sequence[Policy]) -> list[str]:
    """Tools of the rules that say something about plans; a pattern stands for one tool of its own."""
    rules = (policy.rule for policy in policies)
    return list(dict.fromkeys(name for rule in rules if _is_planned(rule) for name in _names(rule)))


def _names(rule: PolicyKind) -> list[str]:
    return [name for action in rule.tools for name in action.names]


def _is_planned(rule: PolicyKind) -> bool:
    return bool(planned(rule, slots_for(_names(rule))))


def not_analysed(policies: Sequence[Policy]) -> Iterator[Problem]:
    """The rules that were not asked about contradictions, one each: nothing speaks for or against them."""
    for policy in policies:
        if any(tools.agent is not None for tools in policy.rule.tools):
            why = "it is about the calls of one agent"
        elif any(tools.where is not None for tools in policy.rule.tools):
            why = "it is about calls with certain arguments"
        elif not _is_planned(policy.rule):
            why = "it says more than the order of calls, or nothing about it"
        else:
            continue
        kind = policy.rule.kind.replace("_", " ")
        said = f"{policy.id} ({kind}) was not analysed for contradictions: {why}."
        yield _problem("not_analysed", [policy], said)


def not_guarded(policies: PolicySet) -> Iterator[Problem]:
    """The rules that `lint_guard` left out, one each."""
    tried = {rule.id for rule in tried_rules(policies)}
    for policy in policies.policies:
        if policy.id not in tried:
            kind = policy.rule.kind.replace("_", " ")
            said = f"{policy.id} ({kind}) was not analysed for --guard: short runs do not tell what it does."
            yield _problem("not_analysed", [policy], said)


# ---------------------------------------------------------------- tools and rules that lead nowhere


def unknown_tools(policies: PolicySet, tools: Sequence[str] | None) -> Iterator[Problem]:
    """Tools that do not exist; without a list, those of conditions that no action of the file has."""
    declared = {name for phrase, t in policies.actions.items() if phrase != "any tool" for name in t.names}
    for policy in policies.policies:
        loose = list(dict.fromkeys(policy.rule.traits.loose))
        if tools is not None:
            named = [*loose, *_names(policy.rule), *policy.rule.traits.named]
            missing = [name for name in dict.fromkeys(named) if not _exists(name, tools)]
        else:
            missing = [name for name in loose if declared and not _exists(name, [*declared])]
        if missing:
            said = f"There is no tool called {listed(missing)}; a policy that waits for it never applies."
            yield _problem("unknown_tool", [policy], said)


def unseen_tools(policies: PolicySet, names: SeenNames) -> Iterator[Problem]:
    """Tools that no run shows: misspelt where a tool of nearly that name was seen."""
    found = doubts(policies, names)
    for policy in policies.policies:
        for doubt in found.get(policy.id, ()):
            yield _problem("unknown_tool" if doubt.misspelt else "never_seen", [policy], str(doubt))


def by_chance(policies: PolicySet, chance: ByChance) -> Iterator[Problem]:
    """Provenance without `in:` of values that are short or numbers."""
    for policy in policies.policies:
        if (advice := chance.advice(policy)) is not None:
            yield _problem("by_chance", [policy], advice)


def _exists(name: str, tools: Sequence[str]) -> bool:
    return any(tool in Tools("", (name,)) for tool in tools)


def never_applies(policies: Sequence[Policy]) -> Iterator[Problem]:
    """Rules that no run can bring to bear."""
    forbidding = [policy for policy in policies if policy.rule.traits.forbids]
    for policy in policies:
        blockers = [p for p in forbidding if p is not policy and _forbids(p.rule, policy.rule)]
        if blockers:
            said = f"{policy.id} waits for what {blockers[0].id} forbids: {blockers[0].text}"
            yield _problem("never_applies", [policy, blockers[0]], said)
        for flaw in flaws(policy.rule):
            yield _problem("never_applies", [policy], flaw)


def _forbids(other: PolicyKind, rule: PolicyKind) -> bool:
    """Is every action that would bring `rule` to bear forbidden by `other`?"""
    forbidden, subjects = other.traits.forbids, rule.traits.subjects
    return bool(subjects) and all(
        any(
            name in tools and tools.agent in (None, subject.agent) and tools.where in (None, subject.where)
            for tools in forbidden
        )
        for subject in subjects
        for name in subject.names
    )


def duplicates(policies: Sequence[Policy]) -> Iterator[Problem]:
    """Policies that demand the same of the same runs."""
    seen: dict[Any, Policy] = {}
    for policy in policies:
        key = _demand(policy)
        if key in seen:
            yield _problem("duplicate", [policy, seen[key]], f"{policy.id} says the same as {seen[key].id}.")
        seen.setdefault(key, policy)


def _demand(policy: Policy) -> Any:
    """What it demands of which runs, to compare; its own id where a rule cannot be compared."""
    try:
        hash(policy.rule)
    except TypeError:
        return policy.id
    return policy.rule, repr(policy.applies)
