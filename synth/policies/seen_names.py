"""Do the policies speak of tools that exist? What the runs of a project show of the names of tools.

A tool of a policy is *unknown* where no call had its name and every run that states its tools lacks it. A
name that is near to one that was seen, and that the policies do not use, is a slip of the pen: what the
policy says about runs would not be about the tool that was meant. It is none where the two differ in a whole
word (`import_data`, `export_data`) or the file says that the name is meant (`known_tools`). Any other name is
taken as it stands, so that an agent that always forgets a tool is convicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from synth.observed.run import Run
from synth.policies.model import Policy, PolicySet
from synth.policies.near import is_another, near


@dataclass(frozen=True, slots=True)
class SeenNames:
    """The tools that the runs of a project show."""

    called: frozenset[str] = frozenset()
    offered: frozenset[str] = frozenset()
    """By the runs that state their tools."""
    states_tools: bool = False
    """Does any run state its tools? Otherwise a tool without a call may be there, and never be used."""

    def __contains__(self, tool: str) -> bool:
        return tool in self.called or tool in self.offered

    def has_all_of(self, run: Run) -> bool:
        """Are all tools that a run called or offers known as such?"""
        return self.called.issuperset([call.tool for call in run.calls]) and (
            run.tools is None or self.offered.issuperset(run.tools)
        )

    def near(self, tool: str, used: Iterable[str] = ()) -> str | None:
        """The seen tool that was meant, if it is none of those that are `used` beside it."""
        return near(tool, (self.called | self.offered).difference(used))


def names_of_runs(runs: Iterable[Run], wanted: Iterable[str] | None = None) -> SeenNames:
    """The names in these runs; reading ends early where every one of the `wanted` was seen."""
    called: set[str] = set()
    offered: set[str] = set()
    states_tools = False
    missing = None if wanted is None else set(wanted)
    for run in runs:
        own = {call.tool for call in run.calls}
        called |= own
        offered.update(run.tools or ())
        states_tools |= run.tools is not None
        if missing is not None:
            missing -= own.union(run.tools or ())
            if not missing:
                break
    return SeenNames(frozenset(called), frozenset(offered), states_tools)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A tool of a policy that no run shows."""

    tool: str
    meant: str | None
    """A tool that was seen and has nearly this name."""
    unknown: bool
    """False where no run states its tools."""

    @property
    def misspelt(self) -> bool:
        """Is it so sure to be the wrong name that the policy says nothing about any run?"""
        return self.unknown and self.meant is not None and not is_another(self.tool, self.meant)

    def to_json(self) -> dict[str, Any]:
        return {
            "code": "unknown_tool" if self.misspelt else "never_seen",
            "tool": self.tool,
            "meant": self.meant,
            "explanation": str(self),
        }

    def __str__(self) -> str:
        hint = "" if self.meant is None else f"; did you mean {self.meant!r}?"
        if self.misspelt:
            return f"The policy speaks of the tool {self.tool!r}, which was never seen{hint}"
        why = "" if self.unknown else " (no run states its tools)"
        return f"The tool {self.tool!r} was never seen{why}{hint or '.'}"


def tools_in(policy: Policy) -> tuple[str, ...]:
    """The names of tools that a policy says in full; a pattern is no name."""
    return policy.named_tools


def all_tools_in(policies: PolicySet) -> frozenset[str]:
    return frozenset(name for _, tools in policies.named_tools for name in tools)


def doubts(policies: PolicySet, names: SeenNames) -> Mapping[str, tuple[Doubt, ...]]:
    """Policy id -> its tools that were never seen, for the policies that have some."""
    return _doubts(policies.named_tools, names, policies.known_tools)


def doubtful(policies: PolicySet, names: SeenNames | None) -> list[tuple[Doubt, tuple[str, ...]]]:
    """Every tool that was never seen, once, with the ids of the policies that speak of it."""
    told: dict[Doubt, list[str]] = {}
    for policy, unseen in (doubts(policies, names) if names is not None else {}).items():
        for doubt in unseen:
            told.setdefault(doubt, []).append(policy)
    return [(doubt, tuple(about)) for doubt, about in told.items()]


@lru_cache(maxsize=32)
def _doubts(
    spoken: tuple[tuple[str, tuple[str, ...]], ...], names: SeenNames, known: tuple[str, ...]
) -> Mapping[str, tuple[Doubt, ...]]:
    used = {tool for _, tools in spoken for tool in tools}
    unseen = {
        tool: Doubt(tool, names.near(tool, used), names.states_tools)
        for tool in used.difference(known)
        if tool not in names
    }
    return {
        policy: tuple(unseen[tool] for tool in tools if tool in unseen)
        for policy, tools in spoken
        if not unseen.keys().isdisjoint(tools)
    }
