"""What a guard by these rules would do to a run that obeys it: traps, and rules that never refuse alone.

A trap is a run of allowed calls after which a rule waits for a call that is refused from then on. A rule is
shadowed where others refuse whatever it refuses, or what comes before. Both are looked for among short runs,
with the guard's own evaluator; rules on time, arguments, results and messages are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from synth.observed.run import ToolCall
from synth.policies.model import Policy, PolicySet
from synth.policies.online import Prefix

KINDS = ("precedence", "response", "absence_after", "between", "count", "adjacency")
MOST_TOOLS = 6
"""Tools of rules that hang together; where there are more the rule is left out."""
WORDS = 800
"""Runs that are tried for one rule."""
LONGEST = 8
"""Calls of such a run."""
AHEAD = 4
"""Calls that may come after a run before it is called a trap."""
SECOND, BEGIN = 10**9, 10**18

Word = tuple[str, ...]


def traps(policies: PolicySet) -> Iterator[tuple[Policy, Word]]:
    """(a rule, the shortest run of allowed calls after which it can be kept no more)."""
    for rule, whole, tools in _near(policies):
        course = _Course(whole, tools)
        for word in _words(tools):
            if course.owes(word, rule) and not course.may_be_kept(word, rule):
                yield rule, word
                break


def shadowed(policies: PolicySet) -> Iterator[tuple[Policy, tuple[str, ...], Word]]:
    """(a rule, those that refuse before it does, a shortest run of which it would refuse the last call)."""
    for rule, whole, tools in _near(policies):
        alone = _Course(replace(whole, policies=(rule,)), tools)
        rest = _Course(
            replace(whole, policies=tuple(one for one in whole.policies if one is not rule)), tools
        )
        first: Word = ()
        for word in filter(None, _words(tools)):
            if rule.id in alone.refusing(word):
                first = first or word
                if not rest.refusing(word):
                    break
        else:
            if first:
                yield rule, tuple(sorted(rest.refusing(first))), first


def tried_rules(policies: PolicySet) -> Iterator[Policy]:
    """The rules that are looked at."""
    return (rule for rule, _, _ in _near(policies))


def _near(policies: PolicySet) -> Iterator[tuple[Policy, PolicySet, list[str]]]:
    """Each rule on order, all that hang together with it, and their tools, if those are few."""
    rules = [policy for policy in policies.policies if _is_of_order(policy)]
    for rule in rules:
        near, tools, before = {rule.id}, {*rule.named_tools}, -1
        while before != len(near):
            before = len(near)
            near |= {
                one.id for one in rules if any(tool in said for said in one.rule.tools for tool in tools)
            }
            tools |= {tool for one in rules if one.id in near for tool in one.named_tools}
        if 0 < len(tools) <= MOST_TOOLS:
            kept = tuple(one for one in rules if one.id in near)
            yield rule, replace(policies, policies=kept), sorted(tools)


def _is_of_order(policy: Policy) -> bool:
    rule, reads = policy.rule, policy.rule.traits.reads
    plain = reads is not None and not reads.arguments and not reads.results
    whole = all(tools.is_whole for tools in rule.tools)
    return rule.kind in KINDS and plain and whole and getattr(rule, "within", None) is None


def _words(tools: Sequence[str]) -> Iterator[Word]:
    """Short runs, the shortest first."""
    tried = 0
    for length in range(LONGEST + 1):
        tried += len(tools) ** length
        if tried > WORDS or (length and not tools):
            return
        yield from product(tools, repeat=length)


class _Course:
    """Runs in which every call was allowed, told and went well."""

    def __init__(self, policies: PolicySet, tools: Sequence[str]) -> None:
        self.policies, self.tools = policies, tools
        self._owed: dict[Word, set[str] | None] = {}

    def after(self, word: Word) -> Prefix | None:
        """None where a call of it is refused."""
        course = Prefix(self.policies)
        for place, tool in enumerate(word):
            at = BEGIN + place * SECOND
            _, begun = course.propose(ToolCall(None, tool, {}), at)
            if begun is None:
                return None
            course.ended(begun, {}, None, at + 1)
        return course

    def owes(self, word: Word, rule: Policy) -> bool:
        """Is the rule broken if the run ends there? False where the run cannot be."""
        owed = self._owing(word)
        return owed is not None and rule.id in owed

    def refusing(self, word: Word) -> set[str]:
        """The rules that refuse the first call of the run that is refused."""
        course = Prefix(self.policies)
        for place, tool in enumerate(word):
            at = BEGIN + place * SECOND
            decision, begun = course.propose(ToolCall(None, tool, {}), at)
            if begun is None:
                return {breach.policy.id for breach in decision.breaches}
            course.ended(begun, {}, None, at + 1)
        return set()

    def may_be_kept(self, word: Word, rule: Policy) -> bool:
        """Does some continuation of few calls keep the rule?"""
        for length in range(1, AHEAD + 1):
            for more in product(self.tools, repeat=length):
                owed = self._owing((*word, *more))
                if owed is not None and rule.id not in owed:
                    return True
        return False

    def _owing(self, word: Word) -> set[str] | None:
        if word and self._owing(word[:-1]) is None:
            return None
        if word not in self._owed:
            course = self.after(word)
            owed = None if course is None else course.owed(BEGIN + len(word) * SECOND)
            self._owed[word] = None if owed is None else {policy.id for policy, _ in owed}
        return self._owed[word]
