"""Synthesis of cases by rejection sampling, one sentence at a time (paper, Alg. 1).

A candidate sentence is kept only if the whole set stays satisfiable. For pure order that is
acyclicity, which `order.Closure` decides in microseconds; with clock times our own search must find
a schedule. Unless `stop="count"` asks for Alg. 1 to the letter, every clause must also say something
new, so that no paragraph repeats itself. Z3 confirms every finished case, and `decider="z3"` asks it
about every candidate, as the paper does. Cases are never built from a hidden order: that would
favour loose cases (the share of cases with one valid plan halves).

Everything random comes from one `random.Random` per case, seeded with the seed and the position of
the case, so the same seed gives the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, Literal

import orjson

from synth.cases.case import DAY, Action, Case
from synth.cases.deciders import Decider, Ground, decider_for
from synth.cases.pools import Pool, pools_for
from synth.errors import BadInput
from synth.formal.day import Day, ReferencePlanner, count_feasible_orders, find_schedule, play
from synth.formal.order import Closure, count_linear_extensions
from synth.language.derive import constraints_of
from synth.language.expansion import Expansion, Sizes, between, pick, sample
from synth.language.grammar import Sentence
from synth.language.query import query_text
from synth.language.render import render

COUNT_PLANS_UP_TO = 12
"""Counting linear extensions is #P-hard: larger cases get null unless bounds were asked for."""

GENERATOR = 2
"""Which words and shapes are drawn: with the seed and the options it makes a case again."""

MAX_RESTARTS = 2_000
"""Attempts at one case before its options count as impossible."""

DURATION_STEP = 5
LONGEST_DURATION = 180
"""Minutes."""
FULLEST_DAY = 0.9
"""Share of the working day that the tasks fill at most."""


@dataclass(frozen=True, slots=True)
class Options:
    """What cases to make. All of it is stored with each case."""

    actions: tuple[int, int] = (3, 5)
    """Fewest and most actions."""
    mode: Literal["order", "timed"] = "order"
    stop: Literal["covered", "saturated", "count"] = "covered"
    """End when every action is mentioned; when `max_tries` candidates in a row add nothing new; or
    after exactly `max_sentences` sentences or `max_tries` failures (Alg. 1 to the letter)."""
    valid_plans: tuple[int, int] | None = None
    """Fewest and most orders that keep the constraints."""
    replans: tuple[int, int] | None = None
    """Timed mode: fewest and most times that the reference planner has to start over."""
    max_sentences: int | None = None
    """N of Alg. 1; by default 3 for `count` and unbounded otherwise."""
    max_tries: int = 100
    """K of Alg. 1: failed candidates in a row."""
    decider: Literal["closure", "z3"] = "closure"
    topic: str | None = None
    """A job, a file of topics, or `FILE.toml:job`; by default a shipped topic is drawn for each case."""
    tools: tuple[Action, ...] | str | None = None
    """The user's own tools instead of a topic: actions, or where to find them (see `toolbox`)."""
    horizon: tuple[int, int] = (9 * 60, 18 * 60)
    """Timed mode: the working day, minutes after midnight."""
    sizes: Sizes = field(default_factory=Sizes)

    def to_json(self) -> dict[str, Any]:
        """As stored with a case."""
        said = asdict(self)
        if self.mode == "order":
            del said["horizon"], said["replans"]
        return dict(orjson.loads(orjson.dumps(said)))

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Options:
        """The options of a stored case (its place in the stream is left out)."""
        place = ("index", "generator")
        values = {name: _frozen(value) for name, value in said.items() if name not in place}
        values["sizes"] = Sizes(**{name: _frozen(value) for name, value in said["sizes"].items()})
        if isinstance(said.get("tools"), list):
            values["tools"] = tuple(Action(**tool) for tool in said["tools"])
        return cls(**values)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def generate(
    count: int, seed: int, options: Options | None = None, *, start: int = 0, confirm: bool | None = None
) -> Iterator[Case]:
    """`count` cases, from the `start`-th of the seed's stream on; each is independent of the others.

    `confirm` lets Z3 prove each case satisfiable and reads its paragraph back (raising
    `ConfirmationFailed` on any difference, which would be a bug of ours); by default that is done
    where z3 is installed. Raises BadInput for options that no case can fulfil.
    """
    from synth.cases.confirm import confirmed, z3_installed

    maker = _Maker(options or Options(), seed)
    cases = (maker.case(index) for index in range(start, start + count))
    return confirmed(cases) if (z3_installed() if confirm is None else confirm) else cases


class _Maker:
    """Makes the cases of one stream."""

    def __init__(self, options: Options, seed: int) -> None:
        check_options(options)
        self.options, self.seed = options, seed
        self.stored = options.to_json()
        self.identity = orjson.dumps(self.stored, option=orjson.OPT_SORT_KEYS)
        tools = _tools(options)
        low, high = options.actions
        self.pools = {size: pools_for(size, options.topic, tools) for size in range(low, high + 1)}

    def case(self, index: int) -> Case:
        """The case at that position of the stream."""
        rng = Random(f"{self.seed}:{index}")
        for _ in range(MAX_RESTARTS):
            case = self._attempt(rng, index)
            if case is not None:
                return case
        raise BadInput(
            f"no case for these options in {MAX_RESTARTS} attempts; widen the bounds (valid plans, replans), "
            "allow more sentences or tries, or use fewer actions",
            field="options",
        )

    def _attempt(self, rng: Random, index: int) -> Case | None:
        """One run of Alg. 1; None if it did not end in a case that the options allow."""
        options = self.options
        size = between(rng, *options.actions)
        pool = pick(rng, self.pools[size])
        chosen = sample(rng, len(pool.phrases), size)
        actions = pool.actions(chosen)
        ground = _ground(rng, actions, pool.natural_order(chosen), options)
        decider = decider_for(options.decider, ground)
        drawn = draw_sentences(rng, decider, ground, options)
        if drawn is None:
            return None
        sentences, candidates = drawn
        plans = _valid_plans(decider, ground, options)
        if not _within(plans or 0, options.valid_plans):
            return None
        timed = _timed_parts(decider, ground, options) if ground.durations else {}
        if timed is None:
            return None
        text, placed = render(sentences, {action.id: action.phrase for action in actions}, rng)
        statistics = {"candidates": candidates, **timed.pop("statistics", {}), **decider.statistics()}
        return Case(
            id=self._id(index),
            seed=self.seed,
            mode=options.mode,
            query=query_text(text, pool.role, size, ground.horizon),
            paragraph=text,
            topic=pool.name,
            actions=actions,
            constraints=constraints_of(placed),
            valid_plans=plans,
            stop=options.stop,
            options=self.stored | {"index": index, "generator": GENERATOR},
            statistics=statistics,
            **timed,
        )

    def _id(self, index: int) -> str:
        return hashlib.sha256(b"%d:%d:%b" % (self.seed, index, self.identity)).hexdigest()[:12]


def draw_sentences(
    rng: Random, decider: Decider, ground: Ground, options: Options
) -> tuple[list[Sentence], int] | None:
    """Sentences whose joint meaning the decider accepts, and how many candidates that took.

    None if the stop rule was not met within the bounds: start again.
    """
    expansion = Expansion(rng, ground.ids, options.sizes, ground.horizon)
    by_count = options.stop == "count"
    limit = options.max_sentences or (3 if by_count else None)
    missing = set(ground.ids)
    sentences: list[Sentence] = []
    candidates = failures = 0
    while limit is None or len(sentences) < limit:
        candidate = expansion.sentence()
        candidates += 1
        if not decider.keep(candidate, novel=not by_count):
            failures += 1
            if failures >= options.max_tries:
                break
            continue
        failures = 0
        sentences.append(candidate)
        missing.difference_update(expansion.mentioned)
        if options.stop == "covered" and not missing:
            break
    if not sentences or (missing and not by_count):
        return None
    return sentences, candidates


# ---------------------------------------------------------------- timed mode


def _ground(
    rng: Random, actions: Sequence[Action], natural: tuple[tuple[int, int], ...], options: Options
) -> Ground:
    ids = tuple([action.id for action in actions])
    if options.mode == "order":
        return Ground(ids, natural)
    begin, end = options.horizon
    return Ground(ids, natural, _durations(rng, len(ids), end - begin), options.horizon)


def _durations(rng: Random, count: int, day: int) -> tuple[int, ...]:
    """Hidden minutes per task that fill at most `FULLEST_DAY` of the day."""
    budget = FULLEST_DAY * day
    longest = max(1, min(LONGEST_DURATION, int(2 * budget / count)) // DURATION_STEP)
    while True:
        drawn = tuple([DURATION_STEP * between(rng, 1, longest) for _ in range(count)])
        if sum(drawn) <= budget:
            return drawn


def _timed_parts(decider: Decider, ground: Ground, options: Options) -> dict[str, Any] | None:
    """Witness, durations and so on; None for a case without clock time or schedule, or too hard to plan."""
    assert ground.durations is not None
    assert ground.horizon is not None
    facts = decider.facts
    if not facts.limited:
        return None
    with_natural = Closure(len(ground.ids), [*facts.order.edges(), *ground.natural])
    begin = ground.horizon[0]
    slots = find_schedule(Day(with_natural, facts.earliest, facts.latest, begin), ground.durations)
    if slots is None:
        return None
    durations = dict(zip(ground.ids, ground.durations, strict=True))
    planner = ReferencePlanner.for_day(ground.ids, Day(facts.order, facts.earliest, facts.latest, begin))
    play(planner, durations)
    if not planner.finished or not _within(planner.replans, options.replans):
        return None
    starts = dict(slots)
    return {
        "durations": durations,
        "horizon": ground.horizon,
        "witness": {action: starts[task] for task, action in enumerate(ground.ids)},
        "statistics": {"replans": planner.replans},
    }


def _within(number: int, bounds: tuple[int, int] | None) -> bool:
    return bounds is None or bounds[0] <= number <= bounds[1]


def _valid_plans(decider: Decider, ground: Ground, options: Options) -> int | None:
    if len(ground.ids) > COUNT_PLANS_UP_TO and options.valid_plans is None:
        return None
    facts = decider.facts
    if ground.durations is None or ground.horizon is None:
        return count_linear_extensions(facts.order)
    day = Day(facts.order, facts.earliest, facts.latest, ground.horizon[0])
    return count_feasible_orders(day, ground.durations)


# ---------------------------------------------------------------- options


def check_options(options: Options) -> None:
    """Raises BadInput for values that make no sense, before any work is done."""
    low, high = options.actions
    least = 1 if options.mode == "timed" else 2
    if not least <= low <= high:
        raise BadInput(
            f"expected {least} <= fewest <= most, got {low}..{high}; an order needs two actions",
            field="actions",
        )
    _one_of(options.mode, ("order", "timed"), "mode")
    _one_of(options.stop, ("covered", "saturated", "count"), "stop")
    _one_of(options.decider, ("closure", "z3"), "decider")
    for name in ("max_sentences", "max_tries"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise BadInput(f"expected at least 1, got {value}", field=name)
    for name, fewest in (("valid_plans", 1), ("replans", 0)):
        bounds = getattr(options, name)
        if bounds is not None and not fewest <= bounds[0] <= bounds[1]:
            raise BadInput(f"expected {fewest} <= fewest <= most, got {bounds[0]}..{bounds[1]}", field=name)
    if options.topic is not None and options.tools is not None:
        raise BadInput("give a topic or your own tools, not both", field="topic")
    if options.mode == "timed":
        _check_day(options)


def _one_of(value: str, known: Sequence[str], name: str) -> None:
    if value not in known:
        raise BadInput(f"expected one of {', '.join(known)}, got {value!r}", field=name)


def _check_day(options: Options) -> None:
    begin, end = options.horizon
    if not 0 <= begin < end <= DAY or end - begin < 60:
        raise BadInput(f"expected a day of at least an hour, got {begin}..{end} minutes", field="horizon")
    most = int(FULLEST_DAY * (end - begin)) // (2 * DURATION_STEP)
    if options.actions[1] > most:
        raise BadInput(f"at most {most} actions fit into the working day; ask for fewer", field="actions")


def _tools(options: Options) -> tuple[Action, ...] | None:
    if not isinstance(options.tools, str):
        return options.tools
    from synth.cases.own_tools import load_tools

    return load_tools(options.tools)


__all__ = ["Options", "Pool", "Sizes", "check_options", "draw_sentences", "generate"]
