"""The bench of planners: each has one known way of going wrong, seeded and recorded.

A profile decides from the request's text alone. `trips` says for which tasks it goes wrong, `plan` how;
where a task leaves nothing to go wrong with (no order to swap, no durations to ignore) no fault is planted
and the plan is right. Add one: a function and a line in `PROFILES`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from synth.formal.constraints import Before
from synth.formal.order import Closure
from synth.language.words import CONJUNCTIONS, PREPOSITIONS
from synth.observed.instants import START_TIME
from synth.simulated_model import reader
from synth.simulated_model.dialogue import digest
from synth.simulated_model.planning import (
    Fault,
    Move,
    Plan,
    after,
    changed,
    forever,
    in_order,
    layered,
    perfect,
    replaced,
    start_at,
)
from synth.simulated_model.task import Task, layers, some_order

Cause = Literal["probability", "terminal", "topic", "structure", "constraint", "difficulty"]
"""What dissection must name for failures of this profile: the causes of the paper's Algorithm 2, and size
and luck where chance explains the failure."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One planner."""

    name: str
    about: str
    plan: Callable[[Task, Random], Plan]
    """(task, randomness that is the same whenever the same text is asked with the same seed)."""
    cause: Cause | None = None
    """None: the fault has no single cause."""
    luck: bool = False
    """True: another conversation about the same text draws again."""


def right(task: Task, rng: Random) -> Plan:
    return Plan(perfect(task, rng))


def in_parallel(task: Task, rng: Random) -> Plan:
    """All calls that are ready, in one message; timed tasks exclude each other, so they stay serial."""
    if task.horizon is not None:
        return right(task, rng)
    return Plan(layered([[Move(tool) for tool in layer] for layer in layers(task)]))


def swaps(task: Task, rng: Random) -> Plan:
    """Two tasks of one stated order change places; without an order, a clock time is not waited for."""
    pairs = task.pairs
    if not pairs:
        return hurries(task, rng)
    first, then = rng.choice(pairs)
    order = list(some_order(task, rng))
    here, there = order.index(first), order.index(then)
    order[here], order[there] = then, first
    fault = Fault("order_error", f"calls {then} before {first}", first=first, then=then)
    return Plan(in_order(task, order), fault)


def hurries(task: Task, rng: Random) -> Plan:
    """A task that must wait for a clock time is done first thing in the morning."""
    if task.horizon is None:
        return right(task, rng)
    waiting = [task.tools[position] for position in task.outline.since]
    if not waiting:
        return right(task, rng)
    early = rng.choice(waiting)
    order = [early, *(tool for tool in some_order(task, rng) if tool != early)]
    fault = Fault("order_error", f"starts {early} before the time it must wait for", then=early)
    return Plan(in_order(task, order), fault)


def forgets(task: Task, rng: Random) -> Plan:
    """One task is never done."""
    lost = rng.choice(task.tools)
    fault = Fault("action_lost", f"never calls {lost}", then=lost)
    return Plan(perfect(task.without(lost), rng), fault)


def invents(task: Task, rng: Random) -> Plan:
    """A tool that nobody offered is called first."""
    invented = f"{rng.choice(('verify', 'prepare', 'confirm'))}_{rng.choice(task.tools)}"
    fault = Fault("act_error", f"calls {invented}, which is not a tool", then=invented)
    return Plan(after(Move(invented), perfect(task, rng)), fault)


def malformed(task: Task, rng: Random) -> Plan:
    """The arguments of one task are not JSON, and it is not tried again."""
    broken = rng.choice(task.tools)
    fault = Fault("act_error", f"calls {broken} with arguments that are not JSON", then=broken)
    return Plan(changed(perfect(task, rng), replaced(broken, f'{{"{START_TIME}": ')), fault)


def ignores_durations(task: Task, rng: Random) -> Plan:
    """Each task starts one minute after the one before, whatever its result said."""
    if task.horizon is None or len(task.tools) < 2:
        return right(task, rng)
    begin = task.horizon[0]
    fault = Fault("parameter_error", "starts every task a minute after the one before")
    order = some_order(task, rng)
    hurried = changed(in_order(task, order), lambda at, move: Move(move.tool, start_at(begin + at)))
    return Plan(hurried, fault)


def wrong_times(task: Task, rng: Random) -> Plan:
    """One task starts an hour before the day begins."""
    if task.horizon is None:
        return right(task, rng)
    tool = rng.choice(task.tools)
    early = start_at(max(0, task.horizon[0] - 60))
    fault = Fault("parameter_error", f"starts {tool} before the day begins", then=tool)
    return Plan(changed(perfect(task, rng), lambda _, m: Move(tool, early) if m.tool == tool else m), fault)


def loops(task: Task, rng: Random) -> Plan:
    """The first task is done again and again."""
    tool = some_order(task, rng)[0]
    move = Move(tool) if task.horizon is None else Move(tool, start_at(task.horizon[0]))
    return Plan(
        forever(move, 2 if task.parallel else 1), Fault("timeout", f"calls {tool} for ever", then=tool)
    )


def slow(task: Task, rng: Random) -> Plan:
    """Every answer takes longer than any run may (until the server stops): no fault of the plan."""
    return Plan(perfect(task, rng), None, delay=math.inf)


# ---------------------------------------------------------------- planners that one way of asking trips


def slips(task: Task, rng: Random) -> Plan:
    """From one task on it says in prose what it does, where actions are to be written in a set form."""
    if task.way != "text" or len(task.tools) < 2:
        return right(task, rng)
    at = rng.randrange(1, len(task.tools))
    fault = Fault("act_error", "writes neither an action nor an answer, and again when it is asked again")
    return Plan(perfect(task, rng), fault, slips_at=at)


def loses_arguments(task: Task, rng: Random) -> Plan:
    """The arguments of one task get lost where they are streamed in pieces."""
    if task.way != "streamed" or task.horizon is None:
        return right(task, rng)
    tool = rng.choice(task.tools)
    fault = Fault("parameter_error", f"the arguments of {tool} are lost on their way", then=tool)
    return Plan(changed(perfect(task, rng), replaced(tool, "")), fault)


def misreads(task: Task, rng: Random) -> Plan:
    """The order is that of a small reader of its own, for which a clause speaks of the name next to it."""
    if task.horizon is not None:
        return right(task, rng)
    at = {tool: position for position, tool in enumerate(task.tools)}
    understood = Closure(len(task.tools))
    for who, before, what in reader.read(task.paragraph, task.phrases):
        for one, other in itertools.product(who, what):
            understood.add(*(at[one], at[other]) if before else (at[other], at[one]))
    names = task.tools
    own = [Before(names[first], names[then]) for first, then in understood.edges()]
    order = some_order(replace(task, constraints=tuple(own)), rng)
    broken = [(a, b) for a, b in task.pairs if order.index(a) > order.index(b)]
    if not broken:
        return Plan(in_order(task, order))
    first, then = broken[0]
    fault = Fault("order_error", f"has not read that {first} comes before {then}", first=first, then=then)
    return Plan(in_order(task, order), fault)


# ---------------------------------------------------------------- planners that trip on something


def when(trips: Callable[[Task, Random], bool], wrong: Callable[[Task, Random], Plan]) -> Callable[..., Plan]:
    """Goes wrong where the task trips it, and is right elsewhere."""

    def plan(task: Task, rng: Random) -> Plan:
        return wrong(task, rng) if trips(task, rng) else right(task, rng)

    return plan


TRIP_WORDS = ("carried out", "prior to")
"""Words that `words` misreads."""
FRONTED = tuple(
    f"{link.text} "
    for table in (PREPOSITIONS, CONJUNCTIONS)
    for links in table.values()
    for link in links
    if link.front
)
LIMIT = 5.0
"""Number of actions at which `difficulty` is right half of the time."""
FLAKY_SHARE = 0.25
"""Share of conversations that `flaky` gets wrong."""


def has_trip_word(task: Task, rng: Random) -> bool:
    text = task.paragraph.lower()
    return any(word in text for word in TRIP_WORDS)


def has_odd_topic(task: Task, rng: Random) -> bool:
    """About half of all jobs."""
    return int(digest("topic", task.topic), 16) % 2 == 0


def is_nested(task: Task, rng: Random) -> bool:
    """The first sentence has a relative clause."""
    return ", which" in task.paragraph.partition(". ")[0]


def is_fronted(task: Task, rng: Random) -> bool:
    """The first sentence begins with what comes later in its meaning: `Before B, A must happen.`"""
    return task.paragraph.lower().startswith(FRONTED)


def is_odd_shape(task: Task, rng: Random) -> bool:
    """About half of all constraint sets, the same for every equivalent wording."""
    return int(digest("shape", task.shape), 16) % 2 == 0


def is_too_hard(task: Task, rng: Random) -> bool:
    return rng.random() > 1 / (1 + math.exp(len(task.tools) - LIMIT))


def is_unlucky(task: Task, rng: Random) -> bool:
    return rng.random() < FLAKY_SHARE


def is_any_of_it(task: Task, rng: Random) -> bool:
    """The longer the plan, the more it trips over; a little luck besides."""
    size = len(task.tools)
    trips = (
        (2, rng.random() < 0.05),
        (3, TRIP_WORDS[1] in task.paragraph.lower()),
        (4, int(digest("topic", task.topic), 16) % 4 == 0),
        (5, is_fronted(task, rng)),
        (6, is_odd_shape(task, rng)),
        (6, is_too_hard(task, rng)),
    )
    return any(trips_here for least, trips_here in trips if size >= least)


def some_fault(task: Task, rng: Random) -> Plan:
    """A mix of order errors and lost actions."""
    return rng.choice((swaps, swaps, forgets))(task, rng)


PROFILES: tuple[Profile, ...] = (
    Profile("perfect", "keeps every sentence", right),
    Profile("parallel", "keeps every sentence; independent calls in one message", in_parallel),
    Profile("swaps", "does two tasks of a stated order the wrong way round", swaps),
    Profile("forgets", "never does one of the tasks", forgets),
    Profile("invents", "calls a tool that does not exist", invents),
    Profile("malformed", "sends arguments that are not JSON", malformed),
    Profile("ignores-durations", "timed: starts tasks before earlier ones have ended", ignores_durations),
    Profile("wrong-times", "timed: starts a task before the day begins", wrong_times),
    Profile("loops", "repeats one call until it is stopped", loops),
    Profile("slow", "answers later than the time limit: an `error`, no fault of its planning", slow),
    Profile("slips", "asked in words (ReAct): writes neither an action nor an answer, twice", slips),
    Profile("loses-arguments", "timed, streamed: the arguments of one call are lost", loses_arguments),
    Profile(
        "misreads",
        "reads with a small reader of its own, for which a clause after a list speaks of its last name",
        misreads,
    ),
    Profile(
        "difficulty",
        "fails more often the more actions there are",
        when(is_too_hard, some_fault),
        cause="difficulty",
    ),
    Profile(
        "mixed",
        "fails for every reason below, for more of them the longer the plan",
        when(is_any_of_it, some_fault),
        luck=True,
    ),
    Profile("flaky", "fails at random", when(is_unlucky, swaps), cause="probability", luck=True),
    Profile("words", "misreads particular words", when(has_trip_word, swaps), cause="terminal"),
    Profile("topics", "fails on particular topics", when(has_odd_topic, swaps), cause="topic"),
    Profile(
        "structures",
        "fails where the text starts with a fronted clause",
        when(is_fronted, swaps),
        cause="structure",
    ),
    Profile(
        "relatives",
        "fails where the first sentence has a relative clause",
        when(is_nested, swaps),
        cause="structure",
    ),
    Profile(
        "constraints", "fails on particular constraint sets", when(is_odd_shape, swaps), cause="constraint"
    ),
)


def profile_named(name: str, profiles: Sequence[Profile] = PROFILES) -> Profile | None:
    return next((profile for profile in profiles if profile.name == name), None)


__all__ = ["PROFILES", "Cause", "Profile", "profile_named"]
