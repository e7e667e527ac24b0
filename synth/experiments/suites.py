"""Frozen sets of cases that agents are measured on: each has a name, a seed, a hash and a cap on its cost.

A suite is a value: how it draws cases from a seed, and the hash that those of its own seed have. Another part
of the project, or a user, adds one as a line of `SUITES`. A suite whose cases change gets a new name. Another
seed (`--reseed`) draws cases that no model can have seen, and says so on the card.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import factorial
from random import Random
from statistics import fmean

import orjson

from synth.cases.case import Action, Case
from synth.cases.generate import Options, generate
from synth.errors import BadInput
from synth.formal.constraints import Before
from synth.formal.day import day_of
from synth.formal.order import Closure, count_linear_extensions
from synth.language.parse import parse
from synth.language.query import query_text

CASES = 20
FEWEST_ACTIONS = 4
"""With fewer, a blind order is right too often."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A set of cases."""

    name: str
    about: str
    draw: Callable[[int], Iterable[Case]]
    """The cases of a seed."""
    seed: int
    hash: str
    """Of the cases of that seed, see `hash_of`."""
    max_tokens: int
    """Cap on what one agent and model may use up, as the provider reports tokens."""

    def cases(self, seed: int | None = None) -> tuple[Case, ...]:
        """Those of its own seed, or of another one. Raises BadInput where this version draws others."""
        cases = tuple(self.draw(self.seed if seed is None else seed))
        if seed is None and hash_of(cases) != self.hash:
            raise BadInput(
                f"suite {self.name}: this version draws other cases ({hash_of(cases)}) than the suite has "
                f"({self.hash}); measure with the version that made it, or with --reseed"
            )
        return cases


def hash_of(cases: Iterable[Case]) -> str:
    """Fingerprint of what agents read and of what is right."""
    digest = hashlib.sha256()
    for case in cases:
        said = {name: value for name, value in case.to_json().items() if name != "statistics"}
        digest.update(orjson.dumps(said, option=orjson.OPT_SORT_KEYS) + b"\n")
    return digest.hexdigest()[:16]


def suite_named(name: str) -> Suite:
    found = next((suite for suite in SUITES if suite.name == name), None)
    if found is None:
        known = ", ".join(suite.name for suite in SUITES)
        raise BadInput(f"unknown suite {name!r}; expected one of {known}", field="suite")
    return found


# ---------------------------------------------------------------- chance


@dataclass(frozen=True, slots=True)
class Chance:
    """How often planners that cannot read pass; a rate near these says nothing."""

    random_order: float
    """Expected, of an order drawn blindly; in timed suites with the best starts that it allows."""
    order_of_mention: float
    """Share of cases that pass where the activities are done in the order in which they are named."""


def chance_of(cases: Sequence[Case]) -> Chance:
    blind = [(case.valid_plans or 0) / factorial(len(case.actions)) for case in cases]
    return Chance(fmean(blind), fmean(passes_in(case, order_of_mention(case)) for case in cases))


def order_of_mention(case: Case) -> list[str]:
    """Actions in the order in which the paragraph first names them; those it does not name come last."""
    named = [action for action, _ in parse(case.paragraph, case.actions).mentions]
    return list(dict.fromkeys([*named, *(action.id for action in case.actions)]))


def passes_in(case: Case, order: Sequence[str]) -> bool:
    """Whether doing the actions in this order is right, each as early as it may start."""
    if case.mode == "order":
        place = {action: at for at, action in enumerate(order)}
        return all(place[c.first] < place[c.then] for c in case.constraints if isinstance(c, Before))
    assert case.horizon is not None
    assert case.durations is not None
    ids = [action.id for action in case.actions]
    day = day_of(ids, case.constraints, case.horizon)
    assert day is not None, "a timed case has a schedule"
    done, now = 0, day.begin
    for task in map(ids.index, order):
        now = max(now, day.earliest[task]) + case.durations[ids[task]]
        if now > day.latest[task] or day.order.before[task] & ~done:
            return False
        done |= 1 << task
    return True


# ---------------------------------------------------------------- the suites


def _drawn(options: Options, seed: int) -> Iterator[Case]:
    return generate(CASES, seed, options)


TOOLBOX = tuple(
    Action(f"tool{number}", name.replace("_", " "), name)
    for number, name in enumerate(
        (
            "create_ticket", "assign_ticket", "check_invoice", "send_receipt", "archive_files",
            "export_report", "notify_owner", "update_contract", "request_signature", "rotate_key",
            "close_account", "open_vault",
        ),
        1,
    )
)  # fmt: skip
"""Tools as users have them, without topic or description."""

AIRLINE = (
    ("fetch user profile", "get_user_details"),
    ("fetch reservation", "get_reservation_details"),
    ("book flight", "book_reservation"),
    ("change flights", "update_reservation_flights"),
    ("change baggage", "update_reservation_baggages"),
    ("change passengers", "update_reservation_passengers"),
    ("cancel reservation", "cancel_reservation"),
    ("send certificate", "send_certificate"),
)
"""Phrases and tools of `airline_policies.yaml`."""
AFTER_RESERVATION = frozenset(range(3, 8))
"""What rules A2 and A15 want a reservation fetched for; A1 wants a profile for everything but fetching."""
RULES = (
    "{first} must happen before {rest}.", "Before {rest}, {first} must happen.", "{rest} must follow {first}."
)  # fmt: skip


def _airline(seed: int) -> Iterator[Case]:
    """What passengers want at once, under the airline's rules."""
    for index in range(CASES):
        yield _airline_case(seed, index, Random(f"airline:{seed}:{index}"))


def _airline_case(seed: int, index: int, rng: Random) -> Case:
    wanted = rng.sample(range(2, len(AIRLINE)), rng.randint(FEWEST_ACTIONS - 1, 5))
    rules = [(1, [task for task in wanted if task in AFTER_RESERVATION]), (0, wanted)]
    rng.shuffle(rules)
    tasks = rng.sample([0, 1, *wanted], len(wanted) + 2)
    actions = tuple(Action(f"a{at}", *AIRLINE[task]) for at, task in enumerate(tasks, 1))
    paragraph = " ".join(_rule(rng, first, rest) for first, rest in rules)
    constraints = parse(paragraph, actions).constraints
    place = {action.id: at for at, action in enumerate(actions)}
    edges = [(place[c.first], place[c.then]) for c in constraints if isinstance(c, Before)]
    return Case(
        id=hashlib.sha256(f"airline:{seed}:{index}".encode()).hexdigest()[:12],
        seed=seed,
        mode="order",
        query=query_text(paragraph, "a passenger service agent of an airline", len(actions)),
        paragraph=paragraph,
        topic="airline",
        actions=actions,
        constraints=constraints,
        valid_plans=count_linear_extensions(Closure(len(actions), edges)),
    )


def _rule(rng: Random, first: int, rest: Sequence[int]) -> str:
    phrases = [AIRLINE[task][0] for task in rest]
    text = rng.choice(RULES).format(first=AIRLINE[first][0], rest=" and ".join(phrases))
    return text[0].upper() + text[1:]


SUITES: tuple[Suite, ...] = (
    Suite(
        "order-small", "orders of four to six activities",
        partial(_drawn, Options(actions=(4, 6))), 2026, "765f4dfae923a6e7", 400_000,
    ),
    Suite(
        "order-large", "orders of nine to twelve activities, at most one in ten thousand of which is right",
        partial(_drawn, Options(actions=(9, 12), valid_plans=(1, 36))), 2026, "cd5b322ccc5becfe", 1_000_000,
    ),
    Suite(
        "timed", "working days of four to six tasks whose length is known once they are done",
        partial(_drawn, Options(actions=(4, 6), mode="timed")), 2026, "fdbb28f2335552cb", 600_000,
    ),
    Suite(
        "own-tools", "orders of five to seven tools that no topic joins",
        partial(_drawn, Options(actions=(5, 7), tools=TOOLBOX)), 2026, "f592ea33e14d2690", 500_000,
    ),
    Suite(
        "airline-policies", "what passengers want, under the rules of an airline's policy file",
        _airline, 2026, "d2daa1635dc190ad", 500_000,
    ),
)  # fmt: skip
