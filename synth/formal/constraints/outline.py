"""What constraints say about order and the clock, folded into one outline; and what a constraint kind is.

Planning, repair, contradictions, new wordings and the decider of synthesis all ask the same of a set of
constraints: who comes before whom, who starts when at the earliest and ends when at the latest, and which
constraint says so. Each kind answers for itself (`narrow`), so none of them knows the kinds.

An outline is sound: whatever keeps a constraint keeps what it told the outline. For a kind that is `exact`
the reverse holds as well. A kind that demands more, or something else, says `exact = False`: then the outline
rules out plans but proves none, and Z3 is asked with the formulas (`Outline.more`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from synth.errors import BadInput
from synth.formal.constraints.fields import Reader
from synth.formal.constraints.times import Times, Truth
from synth.formal.order import Closure, Edge, shortest_cycle


class Ran(Protocol):
    """One action of a run: what it is called, and when it ran (minutes after midnight)."""

    @property
    def task(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Kind(Protocol):
    """A sort of constraint: a frozen dataclass that is whole in one file.

    Its `sentence` and `span` say which words of the paragraph state it, where that is known; both are None
    by default.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    kind: ClassVar[str]
    """Its name in JSON."""
    fields: ClassVar[Mapping[str, Reader]]
    """How each field is read from JSON; `sentence` and `span`, which every kind has, are not among them."""
    exact: ClassVar[bool]
    """Whether `narrow` tells the outline all that the constraint demands."""
    code: ClassVar[str]
    """Of the finding about a timed run that breaks it."""

    @property
    def sentence(self) -> int | None: ...
    @property
    def span(self) -> tuple[int, int] | None: ...
    @property
    def actions(self) -> tuple[str, ...]:
        """The actions it speaks of."""

    def formula(self, t: Times, /) -> Truth:
        """When it holds: judged directly, over bounds, and by Z3."""

    def narrow(self, outline: Outline, /) -> bool | None:
        """Tell the outline what it says about order and clock limits: nothing that it does not demand.

        Was any of that news? None where it goes against the order.
        """

    def words(self, name: Callable[[str], str], /) -> str:
        """What it demands; `name` gives the phrase of an action."""

    def happened(self, ran: Mapping[str, Ran], /) -> str:
        """How a timed run broke it; each of its actions is in `ran`."""


ANY_TIME = (-1, 1 << 40)
"""Before midnight and after every clock time: where nothing is limited but by constraints."""


class Outline:
    """An order, earliest starts and latest ends over actions, and who says so; actions go by position."""

    __slots__ = (
        "actions", "circular", "earliest", "edges", "latest", "more", "order", "position", "since", "until",
    )  # fmt: skip

    def __init__(self, actions: Sequence[str], day: tuple[int, int] = ANY_TIME) -> None:
        """Nothing said yet; `day` (minutes after midnight) limits every action."""
        size = len(actions)
        self.actions = actions
        self.position = {action: index for index, action in enumerate(actions)}
        self.order = Closure(size)
        """What is said and what follows from it; never what would close a circle."""
        self.earliest, self.latest = [day[0]] * size, [day[1]] * size
        self.edges: dict[Edge, Kind] = {}
        """What is said, circles included, and the first constraint that says it."""
        self.since: dict[int, Kind] = {}
        """The constraint that set an earliest start later than the day's begin."""
        self.until: dict[int, Kind] = {}
        self.more: list[Kind] = []
        """Constraints that are not exact."""
        self.circular = False

    @property
    def limited(self) -> bool:
        """Does any constraint limit a clock time?"""
        return bool(self.since or self.until)

    @property
    def exact(self) -> bool:
        """Does keeping the outline keep every constraint?"""
        return not self.more

    def must_be_exact(self) -> None:
        """BadInput where a constraint is more than order and clock limits, for uses that know no more."""
        for constraint in self.more:
            raise BadInput(
                f"a {constraint.kind!r} constraint ({constraint.words(str)}) is more than an order and clock "
                "limits, which is all that sentences and our planner know; leave it out",
                field="constraints",
            )

    def copy(self) -> Outline:
        """An independent copy."""
        twin = Outline.__new__(Outline)
        twin.actions, twin.position, twin.circular = self.actions, self.position, self.circular
        twin.order, twin.earliest, twin.latest = self.order.copy(), self.earliest[:], self.latest[:]
        # Synthesis copies for every candidate, and mostly there is none of these.
        twin.edges = self.edges.copy() if self.edges else {}
        twin.since = self.since.copy() if self.since else {}
        twin.until = self.until.copy() if self.until else {}
        twin.more = self.more[:] if self.more else []
        return twin

    def before(self, first: str, then: str, why: Kind) -> bool | None:
        """`first` ends before `then` starts. Whether that is news; None if it closes a circle."""
        position, order = self.position, self.order
        a, b = position[first], position[then]
        self.edges.setdefault((a, b), why)
        if order.after[a] >> b & 1:
            return False
        if order.add(a, b):
            return True
        self.circular = True
        return None

    def starts_from(self, action: str, time: int, why: Kind) -> bool:
        """`action` starts at `time` or later. News is only the first such limit of an action."""
        at = self.position[action]
        news = at not in self.since
        if time > self.earliest[at]:
            self.earliest[at], self.since[at] = time, why
        return news

    def ends_by(self, action: str, time: int, why: Kind) -> bool:
        """`action` ends by `time`. News is only the first such limit of an action."""
        at = self.position[action]
        news = at not in self.until
        if time < self.latest[at]:
            self.latest[at], self.until[at] = time, why
        return news

    def circle(self) -> list[tuple[str, str, Kind]]:
        """A shortest circle of the order as it runs: (first, then, who says so); empty without one."""
        if not self.circular:
            return []
        edges = list(self.edges)
        circle = shortest_cycle(len(self.actions), edges) or ()
        return [(self.actions[a], self.actions[b], self.edges[a, b]) for a, b in (edges[at] for at in circle)]


def outline_of(
    actions: Sequence[str], constraints: Iterable[Kind], day: tuple[int, int] = ANY_TIME
) -> Outline:
    """What the constraints say together."""
    outline = Outline(actions, day)
    for constraint in constraints:
        constraint.narrow(outline)
        if not constraint.exact:
            outline.more.append(constraint)
    return outline
