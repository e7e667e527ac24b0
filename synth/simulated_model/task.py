"""What the simulated model understands of a request: tools, phrases, stated orders, the working day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

from synth.errors import BadInput
from synth.formal.constraints import ANY_TIME, Before, Constraint, Outline, outline_of
from synth.formal.order import Closure, topological_order
from synth.language.parse import parse
from synth.language.query import horizon_of, names_of_tools, paragraph_of
from synth.simulated_model.dialogue import Dialogue, Way

_ROLE = re.compile(r"You are assisting (.+?)\.")


@dataclass(frozen=True, slots=True)
class Task:
    """A planning problem over tool names, as read from the request."""

    text: str
    """Everything the user said."""
    paragraph: str
    """The sentences that state the constraints."""
    tools: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    """Over tool names."""
    horizon: tuple[int, int] | None = None
    """Timed mode: (day begin, day end), minutes after midnight."""
    phrases: Mapping[str, str] = field(default_factory=dict)
    """What the sentences call each tool: phrase -> tool."""
    way: Way = "calls"
    """How its calls will be asked for."""
    parallel: bool = False
    """Are calls between which no order is stated asked for in one message? Untimed tasks only."""

    @property
    def topic(self) -> str:
        """Whom the request says we assist."""
        role = _ROLE.search(self.text)
        return role[1] if role else ""

    @property
    def outline(self) -> Outline:
        """What the constraints say about order and the clock."""
        return outline_of(self.tools, self.constraints, self.horizon or ANY_TIME)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The stated orders, each once: (first, then)."""
        return tuple((self.tools[first], self.tools[then]) for first, then in self.outline.edges)

    @property
    def order(self) -> Closure:
        """The stated orders over positions in `tools`."""
        at = {tool: position for position, tool in enumerate(self.tools)}
        return Closure(len(self.tools), [(at[first], at[then]) for first, then in self.pairs])

    @property
    def shape(self) -> tuple[tuple[int, int], ...]:
        """How many tasks come before and after each task: the same for every equivalent wording."""
        order = self.order
        degrees = zip(order.before, order.after, strict=True)
        return tuple(sorted((before.bit_count(), after.bit_count()) for before, after in degrees))

    def without(self, tool: str) -> Task:
        """The same problem with one task forgotten; what it stood between stays in order."""
        order, names = self.order, self.tools
        kept: list[Constraint] = [c for c in self.constraints if tool not in c.actions]
        kept += [Before(names[a], names[b]) for a, b in order.edges() if tool not in (names[a], names[b])]
        return replace(self, tools=tuple(t for t in self.tools if t != tool), constraints=tuple(kept))


def understand(dialogue: Dialogue) -> Task:
    """Read the request; raises BadInput (or ParseError) when it states no task we can read."""
    paragraph = paragraph_of(dialogue.text)
    if paragraph is None:
        raise BadInput("the request states no rules between activities")
    names = names_of_tools({"name": tool.name, "description": tool.description} for tool in dialogue.tools)
    read = parse(paragraph, names)
    tools = tuple(tool.name for tool in dialogue.tools)
    phrases = {name["phrase"]: name["tool"] for name in names}
    horizon = horizon_of(dialogue.text)
    return Task(dialogue.text, paragraph, tools, read.constraints, horizon, phrases, dialogue.way)


def some_order(task: Task, rng: Random) -> tuple[str, ...]:
    """One of the orders that keep every stated order."""
    rank = list(range(len(task.tools)))
    rng.shuffle(rank)
    return tuple(task.tools[position] for position in topological_order(task.order, rank))


def layers(task: Task) -> list[list[str]]:
    """Tasks by the number of steps that must come before them; those of one layer are independent."""
    order = task.order
    depth: dict[int, int] = {}
    for position in topological_order(order):
        before = [other for other in depth if order.before[position] >> other & 1]
        depth[position] = max((depth[other] + 1 for other in before), default=0)
    made: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for position, layer in sorted(depth.items()):
        made[layer].append(task.tools[position])
    return made
