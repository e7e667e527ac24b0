"""Where the actions of a case come from: activities of topics, or the user's own tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from synth.cases.case import Action
from synth.cases.topics import Topic, activity, shipped_topics, topics_called
from synth.errors import BadInput
from synth.formal.order import Closure, Edge
from synth.language.lexer import Vocabulary

OWN_TOOLS = "own tools"
"""What the topic of a case over the user's tools is called."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates for the actions of one case."""

    name: str
    role: str
    phrases: tuple[str, ...]
    natural: Closure
    """Over positions in `phrases`: the order that common sense demands."""
    tools: tuple[Action, ...] | None = None
    """The user's own; None for activities of topics."""

    def actions(self, chosen: Sequence[int]) -> tuple[Action, ...]:
        """Actions a1, a2, ... for the chosen positions."""
        if self.tools is None:
            return tuple(activity(number, self.phrases[at]) for number, at in enumerate(chosen, 1))
        own = enumerate((self.tools[at] for at in chosen), 1)
        return tuple(Action(f"a{number}", tool.phrase, tool.tool, tool.description) for number, tool in own)

    def natural_order(self, chosen: Sequence[int]) -> tuple[Edge, ...]:
        """The pairs of the chosen positions (as positions in `chosen`) with a natural order."""
        after = self.natural.after
        return tuple(
            (a, b)
            for a, first in enumerate(chosen)
            if after[first]
            for b, then in enumerate(chosen)
            if after[first] >> then & 1
        )


def pools_for(size: int, topic: str | None, tools: Sequence[Action] | None) -> list[Pool]:
    """The pools that cases of `size` actions are drawn from, with equal chance.

    Raises BadInput where there are too few tools or activities, or where tools cannot be named.
    """
    if tools is not None:
        return [pool_of_tools(tools, size)]
    if topic is not None:
        named = topics_called(topic)
        pools = [
            pool_of_topic(member, size, None if member in shipped_topics() else named) for member in named
        ]
    else:
        pools = [pool_of_topic(member, size) for member in shipped_topics()]
    enough = [pool for pool in pools if len(pool.phrases) >= size]
    return enough or [_large_enough(max(pools, key=lambda pool: len(pool.phrases)), size)]


def _large_enough(pool: Pool, size: int) -> Pool:
    if len(pool.phrases) < size:
        raise BadInput(
            f"{pool.name} have only {len(pool.phrases)} activities, but {size} actions were asked for; "
            "ask for fewer",
            field="actions",
        )
    return pool


def pool_of_tools(tools: Sequence[Action], size: int) -> Pool:
    """The user's own tools."""
    if len(tools) < size:
        raise BadInput(
            f"{len(tools)} tools were given, but {size} actions asked for; give more tools or ask for "
            "fewer actions",
            field="tools",
        )
    Vocabulary(tools)
    return Pool(OWN_TOOLS, "a colleague", tuple(t.phrase for t in tools), Closure(len(tools)), tuple(tools))


@cache
def pool_of_topic(topic: Topic, size: int, among: tuple[Topic, ...] | None = None) -> Pool:
    """A topic, and as many others of its industry as the size needs (if there are so many).

    The others come from `among`, by default from the shipped topics.
    """
    phrases: list[str] = []
    edges: list[Edge] = []
    jobs: list[str] = []
    for member in (topic, *_neighbours(topic, among or shipped_topics())):
        if len(phrases) >= size:
            break
        position = _append_new(phrases, member)
        edges += [(position[a], position[b]) for a, b in member.natural_order if {a, b} <= position.keys()]
        jobs.append(member.job)
    return Pool(", ".join(jobs), topic.role, tuple(phrases), Closure(len(phrases), edges))


def _neighbours(topic: Topic, among: Sequence[Topic]) -> list[Topic]:
    """The other topics of the same industry."""
    return [other for other in among if other.industry == topic.industry and other.job != topic.job]


def _append_new(phrases: list[str], topic: Topic) -> dict[int, int]:
    """Add the activities that are not there yet: position in the topic -> position in `phrases`."""
    position: dict[int, int] = {}
    for at, phrase in enumerate(topic.activities):
        if phrase not in phrases:
            position[at] = len(phrases)
            phrases.append(phrase)
    return position
