"""Synthesis of cases by rejection sampling, one sentence at a time (paper, Alg. 1).

A candidate sentence is kept only if the whole set stays satisfiable. For pure order that is
acyclicity, which `order.Closure` decides in microseconds; Z3 confirms every finished case, and
`decider="z3"` asks it about every candidate, as the paper does. Cases are never built from a hidden
order: that would favour loose cases (the share of cases with one valid plan halves).

Everything random comes from one `random.Random` per case, seeded with the seed and the position of
the case; only its `random()` is used, whose sequence Python guarantees. So the same seed gives the
same bytes on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, Literal, TypeVar

import orjson

from synth.case import Action, Case
from synth.deciders import Decider, decider_for
from synth.derive import constraints_of
from synth.errors import BadInput
from synth.grammar import (
    PHRASE_FORMS,
    RELATIVE_FORMS,
    Form,
    Moment,
    Names,
    Relative,
    Sentence,
    SubSentence,
    Target,
)
from synth.order import Closure, count_linear_extensions
from synth.query import query_text
from synth.render import render
from synth.topics import Topic, activity, find_topic, shipped_topics
from synth.words import Relation

T = TypeVar("T")

COUNT_PLANS_UP_TO = 12
"""Counting linear extensions is #P-hard: larger cases get null unless bounds were asked for."""

MAX_RESTARTS = 2_000
"""Attempts at one case before its options count as impossible."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Weights and sizes of the random expansion."""

    relative: float = 0.4
    """Chance that a list gets a relative clause."""
    depth: int = 1
    """How deep relative clauses nest."""
    longer_list: float = 0.3
    """Chance that a list grows by one more name."""
    list_length: int = 3
    join: float = 0.35
    """Chance that a sentence grows by one more sub-sentence."""
    parts: int = 2
    """Most sub-sentences in a sentence."""
    clock: float = 0.35
    """Timed mode: chance that an object is a clock time."""
    forms: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0)
    """Weights of the five forms, in the order of `grammar.Form`."""


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
    max_sentences: int | None = None
    """N of Alg. 1; by default 3 for `count` and unbounded otherwise."""
    max_tries: int = 100
    """K of Alg. 1."""
    decider: Literal["closure", "z3"] = "closure"
    topic: str | None = None
    """A job; by default drawn for each case."""
    tools: tuple[Action, ...] | str | None = None
    """The user's own tools instead of a topic: actions, or where to find them (see `toolbox`)."""
    horizon: tuple[int, int] = (9 * 60, 18 * 60)
    """Timed mode: the working day, minutes after midnight."""
    sizes: Sizes = field(default_factory=Sizes)

    def to_json(self) -> dict[str, Any]:
        """As stored with a case; what is not used in its mode is left out."""
        said = asdict(self)
        if self.mode == "order":
            del said["horizon"], said["sizes"]["clock"]
        if self.tools is None:
            del said["tools"]
        return dict(orjson.loads(orjson.dumps(said)))


def generate(
    count: int, seed: int, options: Options | None = None, *, start: int = 0, confirm: bool | None = None
) -> Iterator[Case]:
    """`count` cases, the `start`-th of the seed's stream first; each is independent of the others.

    `confirm` lets Z3 prove each case satisfiable and reads its paragraph back (raising
    `ConfirmationFailed` on any difference, which would be a bug of ours); by default that is done
    where z3 is installed. Raises BadInput for options that no case can fulfil.
    """
    from synth.confirm import confirmed, z3_installed

    maker = _Maker(options or Options(), seed)
    cases = (maker.case(index) for index in range(start, start + count))
    return confirmed(cases) if (z3_installed() if confirm is None else confirm) else cases


@dataclass(frozen=True, slots=True)
class _Pool:
    """Where the actions of a case come from."""

    name: str
    role: str
    phrases: tuple[str, ...]
    tools: tuple[Action, ...] | None
    """The user's own; None for activities of topics."""
    natural: Closure

    def action(self, number: int, position: int) -> Action:
        if self.tools is None:
            return activity(number, self.phrases[position])
        tool = self.tools[position]
        return Action(f"a{number}", tool.phrase, tool.tool, tool.description)


class _Maker:
    """Makes the cases of one stream."""

    def __init__(self, options: Options, seed: int) -> None:
        _check(options)
        self.options, self.seed = options, seed
        self.stored = options.to_json()
        self.identity = orjson.dumps(self.stored, option=orjson.OPT_SORT_KEYS)
        self.pools = _pools(options)

    def case(self, index: int) -> Case:
        rng = Random(f"{self.seed}:{index}")
        for _ in range(MAX_RESTARTS):
            case = self._attempt(rng, index)
            if case is not None:
                return case
        raise BadInput(
            f"no case for these options in {MAX_RESTARTS} attempts; widen the number of valid plans, "
            "allow more sentences or tries, or use fewer actions",
            field="options",
        )

    def _attempt(self, rng: Random, index: int) -> Case | None:
        options = self.options
        size = _between(rng, *options.actions)
        pool = _pick(rng, self.pools[size])
        chosen = _sample(rng, len(pool.phrases), size)
        actions = tuple(pool.action(number, position) for number, position in enumerate(chosen, 1))
        ids = tuple(action.id for action in actions)
        natural = [
            (a, b)
            for a, first in enumerate(chosen)
            for b, then in enumerate(chosen)
            if (first, then) in pool.natural
        ]
        decider = decider_for(options.decider, ids, natural)
        drawn = draw_sentences(rng, ids, decider, options)
        if drawn is None:
            return None
        sentences, candidates = drawn
        plans = _valid_plans(decider.stated, options)
        if options.valid_plans and not options.valid_plans[0] <= (plans or 0) <= options.valid_plans[1]:
            return None
        text, placed = render(sentences, {action.id: action.phrase for action in actions}, rng)
        return Case(
            id=self._id(index),
            seed=self.seed,
            mode=options.mode,
            query=query_text(text, pool.role, size),
            paragraph=text,
            topic=pool.name,
            actions=actions,
            constraints=constraints_of(placed),
            valid_plans=plans,
            stop=options.stop,
            options=self.stored | {"index": index},
            statistics={"candidates": candidates} | decider.statistics(),
        )

    def _id(self, index: int) -> str:
        return hashlib.sha256(b"%d:%d:%b" % (self.seed, index, self.identity)).hexdigest()[:12]


def draw_sentences(
    rng: Random, ids: Sequence[str], decider: Decider, options: Options
) -> tuple[list[Sentence], int] | None:
    """Sentences whose joint meaning the decider accepts, and how many candidates that took.

    None if the stop rule was not met within the bounds: start again.
    """
    expansion = Expansion(rng, ids, options)
    by_count = options.stop == "count"
    limit = options.max_sentences or (3 if by_count else None)
    missing = set(ids)
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


class Expansion:
    """Random top-down expansion of the grammar; an action stands at most once in a sub-sentence."""

    __slots__ = ("forms", "ids", "mentioned", "moments", "pool", "random", "sizes", "used")

    def __init__(self, rng: Random, ids: Sequence[str], options: Options) -> None:
        self.random = rng.random
        self.ids = list(ids)
        self.sizes = options.sizes
        self.forms = _cumulative(options.sizes.forms)
        begin, end = options.horizon
        self.moments = range(begin + 30 - begin % 30, end, 30) if options.mode == "timed" else range(0)
        self.pool = self.ids[:]
        self.used = 0
        self.mentioned: list[str] = []
        """The actions of the last sentence."""

    def sentence(self) -> Sentence:
        """A new candidate."""
        random, sizes = self.random, self.sizes
        self.mentioned = []
        parts = [self.part()]
        while len(parts) < sizes.parts and random() < sizes.join:
            parts.append(self.part())
        return Sentence(tuple(parts))

    def part(self) -> SubSentence:
        self.used = 0
        form = self._form()
        relation = self._relation()
        clock_allowed = bool(self.moments) and form in PHRASE_FORMS
        at_clock = clock_allowed and (len(self.ids) == 1 or self.random() < self.sizes.clock)
        subject = self._names(0 if at_clock else 1, 0)
        target: Target = self._moment() if at_clock else self._names(0, 0)
        self.mentioned += self.pool[: self.used]
        return SubSentence(form, relation, subject, target)

    def _names(self, reserve: int, depth: int) -> Names:
        """A list that leaves at least `reserve` actions for the rest of the sub-sentence."""
        random, sizes = self.random, self.sizes
        spare = len(self.ids) - self.used - reserve
        length = 1
        while length < sizes.list_length and length < spare and random() < sizes.longer_list:
            length += 1
        actions = tuple([self._take() for _ in range(length)])
        if depth < sizes.depth and random() < sizes.relative and (spare > length or self.moments):
            return Names(actions, self._relative(reserve, depth + 1, spare > length))
        return Names(actions)

    def _relative(self, reserve: int, depth: int, has_names: bool) -> Relative:
        form = RELATIVE_FORMS[int(self.random() * 2)]
        relation = self._relation()
        at_clock = not has_names or (bool(self.moments) and self.random() < self.sizes.clock)
        return Relative(form, relation, self._moment() if at_clock else self._names(reserve, depth))

    def _take(self) -> str:
        pool, used = self.pool, self.used
        other = used + int(self.random() * (len(pool) - used))
        pool[used], pool[other] = pool[other], pool[used]
        self.used = used + 1
        return pool[used]

    def _moment(self) -> Moment:
        return Moment(self.moments[int(self.random() * len(self.moments))])

    def _form(self) -> Form:
        draw = self.random() * self.forms[-1]
        return next(form for form, bound in zip(Form, self.forms, strict=True) if draw < bound)

    def _relation(self) -> Relation:
        return Relation.PRECEDES if self.random() < 0.5 else Relation.SUCCEEDS


# ---------------------------------------------------------------- small draws


def _pick(rng: Random, options: Sequence[T]) -> T:
    return options[int(rng.random() * len(options))]


def _between(rng: Random, low: int, high: int) -> int:
    return low + int(rng.random() * (high - low + 1))


def _sample(rng: Random, population: int, count: int) -> list[int]:
    positions = list(range(population))
    for index in range(count):
        other = index + int(rng.random() * (population - index))
        positions[index], positions[other] = positions[other], positions[index]
    return positions[:count]


def _cumulative(weights: Sequence[float]) -> list[float]:
    total = 0.0
    return [total := total + weight for weight in weights]


# ---------------------------------------------------------------- options


def _check(options: Options) -> None:
    low, high = options.actions
    least = 1 if options.mode == "timed" else 2
    if not least <= low <= high:
        raise BadInput(
            f"expected {least} <= fewest <= most, got {low}..{high}; an order needs two actions",
            field="actions",
        )
    if options.mode not in ("order", "timed"):
        raise BadInput(f"expected order or timed, got {options.mode!r}", field="mode")
    if options.stop not in ("covered", "saturated", "count"):
        raise BadInput(f"expected covered, saturated or count, got {options.stop!r}", field="stop")
    if options.decider not in ("closure", "z3"):
        raise BadInput(f"expected closure or z3, got {options.decider!r}", field="decider")
    for name in ("max_sentences", "max_tries"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise BadInput(f"expected at least 1, got {value}", field=name)
    bounds = options.valid_plans
    if bounds is not None and not 1 <= bounds[0] <= bounds[1]:
        raise BadInput(f"expected 1 <= fewest <= most, got {bounds[0]}..{bounds[1]}", field="valid_plans")


def _pools(options: Options) -> dict[int, list[_Pool]]:
    """For each number of actions, the pools to draw from with equal chance."""
    sizes = range(options.actions[0], options.actions[1] + 1)
    topics = shipped_topics() if options.topic is None else (find_topic(options.topic),)
    return {size: [_pool_of_topics(topic, size) for topic in topics] for size in sizes}


def _pool_of_topics(topic: Topic, size: int) -> _Pool:
    """A topic, and as many others of its industry as the size needs."""
    phrases: list[str] = []
    pairs: list[tuple[int, int]] = []
    jobs: list[str] = []
    related = [other for other in shipped_topics() if other.industry == topic.industry and other != topic]
    for member in (topic, *related):
        if len(phrases) >= size:
            break
        position = {
            phrase: len(phrases) + i
            for i, phrase in enumerate(p for p in member.activities if p not in phrases)
        }
        pairs += [
            (position[member.activities[a]], position[member.activities[b]])
            for a, b in member.natural_order
            if member.activities[a] in position and member.activities[b] in position
        ]
        phrases += position
        jobs.append(member.job)
    if len(phrases) < size:
        raise BadInput(
            f"the industry of {topic.job!r} has only {len(phrases)} activities, {size} were asked for",
            field="actions",
        )
    return _Pool(", ".join(jobs), topic.role, tuple(phrases), None, Closure(len(phrases), pairs))


def _valid_plans(stated: Closure, options: Options) -> int | None:
    if stated.size > COUNT_PLANS_UP_TO and options.valid_plans is None:
        return None
    return count_linear_extensions(stated)
