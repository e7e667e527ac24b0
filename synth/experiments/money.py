"""What runs cost: prices by model, a purse with a cap, and an estimate before the first call.

A purse is shared by everything that one command runs. A run begins only where what was spent, what the runs
under way are expected to take and what it is expected to take itself fit under the caps. Expected is what
the dearest run until then took, for its size, and a quarter more; so only a run that takes far more than
every run before it can exceed a cap, by that difference.
"""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any
from uuid import uuid4

from synth.agents.usage import Usage
from synth.errors import BadInput, SynthError
from synth.files import text_of

PER = 1_000_000
"""Tokens that a price is for."""
SIMULATED = ("simulated-", "replay:")
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}\Z")


# ---------------------------------------------------------------- prices


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens."""

    input: float
    output: float

    def of(self, usage: Usage) -> float:
        return (usage.input * self.input + usage.output * self.output) / PER


FREE = Price(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model, or one for all of them."""

    models: Mapping[str, Price] = field(default_factory=dict)
    every: Price | None = None
    currency: str = "USD"
    date: str | None = None
    """When the file was true, as it says."""

    def of(self, model: str) -> Price | None:
        """None where nobody has said; `gpt-4o-2024-08-06` costs what `gpt-4o` does unless it is listed."""
        if self.every is not None:
            return self.every
        found = self.models.get(model) or self.models.get(_DATED.sub("", model))
        return FREE if found is None and model.startswith(SIMULATED) else found

    def cost(self, model: str, usage: Usage | None) -> float | None:
        """In the currency; None where the price or the usage is not known."""
        price = self.of(model)
        return None if price is None or usage is None else price.of(usage)

    def to_json(self) -> dict[str, Any]:
        """What a bill was made out by."""
        named = {name: [price.input, price.output] for name, price in self.models.items()}
        every = None if self.every is None else [self.every.input, self.every.output]
        return {"currency": self.currency, "date": self.date, "every": every, "models": named}


def shipped_prices() -> Prices:
    """Those of `synth/data/prices.toml`."""
    return _read(resources.files("synth.data").joinpath("prices.toml").read_text("utf-8"), "prices.toml")


def prices_from(said: str | None) -> Prices:
    """`NUMBER`, `INPUT,OUTPUT`, or a file in the form of the shipped one, which None means."""
    if said is None:
        return shipped_prices()
    numbers = [_number(part) for part in said.split(",")]
    if len(numbers) <= 2 and all(number is not None for number in numbers):
        return Prices(every=Price(numbers[0] or 0.0, numbers[-1] or 0.0))
    try:
        text = text_of(said)
    except BadInput as bad:
        wanted = "expected a price per million tokens, INPUT,OUTPUT, or a file of prices"
        raise BadInput(f"{said!r}: {wanted} ({bad.message})", field="--price") from None
    return _read(text, said)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not 0 <= number < float("inf"):
        raise BadInput(f"{text!r}: a price is a number from 0 upward", field="--price")
    return number


def _read(text: str, file: str) -> Prices:
    wanted = 'expected `date`, `currency` and `[models]` with "NAME" = { input = 0.15, output = 0.60 }'
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"not TOML: {error}; {wanted}", file=file) from error
    models = said.get("models")
    if not isinstance(models, Mapping) or not models:
        raise BadInput(f"no prices: {wanted}", file=file)
    found = {name: _price(name, price, file) for name, price in models.items()}
    return Prices(
        found, None, str(said.get("currency", "USD")), str(said["date"]) if "date" in said else None
    )


def _price(name: str, said: Any, file: str) -> Price:
    numbers = [said.get(kind) for kind in ("input", "output")] if isinstance(said, Mapping) else []
    known = [
        float(one)
        for one in numbers
        if isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one < float("inf")
    ]
    if len(known) != 2:
        raise BadInput(f"{name}: expected {{ input = 0.15, output = 0.60 }}, got {said!r:.60}", file=file)
    return Price(*known)


# ---------------------------------------------------------------- what a run takes


ALONE, EACH, SAID, WRITTEN = 250, 55, 60, 40
"""Tokens, about: of a query without its actions; of one action in the query and among the tools; of one call
and its result in the history; of one answer. Measured on our agents' requests, ReAct's being the longest."""
LONGEST = 512
"""Tokens of an answer where the upper bound is asked for, as many as ReAct asks for."""


def conversation(answers: int, given: int, said: int = SAID, written: int = WRITTEN) -> Usage:
    """What so many answers take, each of which is `given` so many tokens and all that was said before it."""
    return Usage(answers * given + said * answers * (answers - 1) // 2, answers * written, answers)


def usual(actions: int) -> Usage:
    """What a run takes that calls each action once and then says so."""
    return conversation(actions + 1, ALONE + EACH * actions)


def most(actions: int, iterations: int) -> Usage:
    """What a run can take that goes on to its last answer, each of them long."""
    return conversation(iterations, ALONE + EACH * actions, LONGEST + SAID, LONGEST)


def of_game(steps: int) -> Usage:
    """What a game takes that is played to its last step, one action an answer."""
    return conversation(steps + 1, 2 * ALONE + EACH)


def most_of_game(steps: int, answers: int) -> Usage:
    """The same with that many answers, each of them long."""
    return conversation(answers, 2 * ALONE + EACH, LONGEST + SAID, LONGEST)


JUDGED = conversation(1, 400, written=20)
"""What one answer takes of the judge of a riddle."""


def of_question(examples: int = 0) -> Usage:
    """What an answer to a question takes that a few pages are looked up for, with examples in its prompt."""
    return conversation(4, ALONE + 3 * EACH + examples * EXAMPLE, PAGE)


def most_of_question(answers: int, examples: int = 0) -> Usage:
    """The same with that many answers, each of them long."""
    return conversation(answers, ALONE + 3 * EACH + examples * EXAMPLE, LONGEST + PAGE, LONGEST)


PAGE = 200
"""Tokens, about, of what a search brings."""
EXAMPLE = 150
"""Tokens, about, of a worked example."""


def times(usage: Usage, factor: float) -> Usage:
    return Usage(round(usage.input * factor), round(usage.output * factor), round(usage.answers * factor))


# ---------------------------------------------------------------- the purse


class Spent(SynthError):
    """What may be spent is spent; `limit` is `cost` or `tokens`."""

    def __init__(self, limit: str, bill: str) -> None:
        super().__init__(f"the budget is spent ({limit}): {bill}")
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Paid:
    """What one run took."""

    agent: str
    model: str
    usual: Usage
    """What a run of its kind and size takes that goes as it should."""
    usage: Usage | None
    """None where nobody told."""
    key: str = ""
    """Of its trial, for which money was set aside."""


Wanted = tuple[str, Usage]
"""A model, and what is asked of it if all goes as it should."""
MARGIN = 2.0
"""So many times what is usual is expected of a run while few were seen."""
KNOWN = 10
"""Runs from which on what they took says what to expect."""
MORE = 1.25
"""So many times what a run took at most, for its size, is expected of the next."""


class Purse:
    """What was spent and is expected to be, of all that one command runs; may be used by several threads."""

    def __init__(
        self,
        prices: Prices | None = None,
        cost: float | None = None,
        tokens: int | None = None,
        earlier: Iterable[Paid] = (),
    ) -> None:
        """`earlier` is what was paid for before, which counts."""
        self.prices = prices if prices is not None else Prices()
        self._limits = {"cost": cost, "tokens": tokens}
        self._changed = threading.Condition()
        self._reserved: dict[str, tuple[Wanted, ...]] = {}
        self._used: dict[tuple[str, str], Usage] = {}
        self._seen, self._worst = 0, 0.0
        self.untold = 0
        """Runs of which nobody told what they took; what is expected of such runs is counted."""
        self.reached: str | None = None
        """The limit that let something not begin, and will let nothing begin any more."""
        for paid in earlier:
            self._add(paid)

    @property
    def used(self) -> Mapping[tuple[str, str], Usage]:
        """By agent and model."""
        return self._used

    @property
    def tokens(self) -> int:
        return sum(usage.total for usage in self._used.values())

    @property
    def cost(self) -> float | None:
        """None where the price of a model is not known."""
        costs = [self.prices.cost(model, usage) for (_, model), usage in self._used.items()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    def check_prices(self, models: Iterable[str]) -> None:
        """BadInput where a cost is to be kept to, and the price of a model is not known."""
        unknown = [model for model in models if self.prices.of(model) is None]
        if self._limits["cost"] is not None and unknown:
            raise BadInput(
                f"--max-cost needs the price of {', '.join(unknown)}: give --price INPUT,OUTPUT (per million "
                "tokens) or --price FILE",
                field="--price",
            )

    def take(self, key: str, model: str, usual: Usage, also: Iterable[Wanted] = ()) -> bool:
        """Whether a run may begin; if so, what is expected of it is set aside until `pay` or `release`.

        `usual` is what it takes if it goes as it should, `also` what it takes of further models.
        Where it is not `reached`, it may begin once runs under way have ended and took less than expected.
        """
        with self._changed:
            wanted = ((model, usual), *also)
            self.reached = self.reached or self._exceeded(wanted)
            under_way = (one for several in self._reserved.values() for one in several)
            fits = self.reached is None and self._exceeded([*under_way, *wanted]) is None
            if fits:
                self._reserved[key] = wanted
            return fits

    def afford(self, key: str, model: str, usual: Usage, also: Iterable[Wanted] = ()) -> None:
        """The same, waiting for runs under way; raises `Spent` where nothing may begin any more.

        Whoever waits must have no run under way.
        """
        with self._changed:
            further = tuple(also)
            self._changed.wait_for(lambda: self.take(key, model, usual, further) or self.reached is not None)
            if self.reached is not None:
                raise Spent(self.reached, self.bill())

    @contextmanager
    def run(
        self, agent: str, model: str, usual: Usage, also: Iterable[Wanted] = ()
    ) -> Iterator[Callable[[Usage | None], None]]:
        """A run that this purse affords, as `afford` does; the block calls what it is given with what the run
        took."""
        key = uuid4().hex
        self.afford(key, model, usual, also)
        try:
            yield lambda usage: self.pay(Paid(agent, model, usual, usage, key))
        finally:
            self.release([key])

    def release(self, keys: Iterable[str]) -> None:
        """What was set aside for these is free again: whatever became of them, they are not under way."""
        with self._changed:
            for key in keys:
                self._reserved.pop(key, None)
            self._changed.notify_all()

    def pay(self, paid: Paid) -> None:
        """A run has ended: what it took, in the place of what was expected."""
        with self._changed:
            self._reserved.pop(paid.key, None)
            self._add(paid)
            self._changed.notify_all()

    def bill(self) -> str:
        """`12,345 tokens, 0.0123 USD of 0.50`."""
        said = f"{self.tokens:,} tokens"
        if self._limits["tokens"] is not None:
            said += f" of {self._limits['tokens']:,}"
        if (cost := self.cost) is not None:
            said += f", {in_money(cost, self.prices.currency)}"
            if self._limits["cost"] is not None:
                said += f" of {self._limits['cost']:g}"
        if self.untold:
            said += f" ({self.untold} runs did not tell theirs and are counted as expected)"
        return said

    def _expected(self, usual: Usage) -> Usage:
        margin = MARGIN if self._seen < KNOWN else 0.0
        return times(usual, max(margin, MORE * self._worst))

    def _add(self, paid: Paid) -> None:
        usage = paid.usage
        if usage is None or usage.untold:
            self.untold += 1
            told = usage or Usage()
            guess = self._expected(paid.usual)
            usage = told + Usage(max(0, guess.input - told.input), max(0, guess.output - told.output))
        else:
            guess = paid.usual
            self._seen += 1
            self._worst = max(self._worst, usage.input / guess.input, usage.output / guess.output)
        subject = (paid.agent, paid.model)
        self._used[subject] = self._used.get(subject, Usage()) + usage

    def _exceeded(self, reserved: Iterable[Wanted]) -> str | None:
        """The limit that these runs would exceed."""
        taken = [(model, self._expected(usual)) for model, usual in reserved]
        cost = self._limits["cost"]
        if cost is not None:
            expected = sum(self.prices.cost(model, usage) or 0.0 for model, usage in taken)
            if (self.cost or 0.0) + expected > cost:
                return "cost"
        tokens = self._limits["tokens"]
        if tokens is not None and self.tokens + sum(usage.total for _, usage in taken) > tokens:
            return "tokens"
        return None


def in_money(cost: float, currency: str) -> str:
    """Two figures at least: `12.34 USD`, `0.0012 USD`."""
    if cost >= 1 or cost == 0:
        return f"{cost:,.2f} {currency}"
    return f"{cost:.2g} {currency}" if cost >= 1e-4 else f"{cost:.1e} {currency}"


# ---------------------------------------------------------------- an estimate


@dataclass(frozen=True, slots=True)
class Planned:
    """Runs, or requests, that may be made."""

    model: str
    runs: int
    usual: Usage
    """Of each, if it goes as it should."""
    most: Usage
    """Of each, if it takes all of its answers, and long ones."""

    @classmethod
    def of_cases(cls, model: str, runs: int, actions: int, iterations: int = 50) -> Planned:
        """Runs of cases with so many actions."""
        return cls(model, runs, usual(actions), most(actions, iterations))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What runs can cost, before any of them is made."""

    runs: int
    """At most."""
    usual: Usage
    """If all of them are made, and each goes as it should."""
    most: Usage
    """If each takes all of its answers, and long ones."""
    usual_cost: float | None
    most_cost: float | None
    currency: str

    def text(self, unit: str = "runs") -> str:
        """In a sentence; `unit` is what there are so many of."""

        def money(cost: float | None) -> str:
            return "price not known" if cost is None else in_money(cost, self.currency)

        usual = f"{self.usual.total:,} tokens ({money(self.usual_cost)})"
        most = f"{self.most.total:,} ({money(self.most_cost)})"
        return (
            f"at most {self.runs:,} {unit}: {usual} if all are made and go as they should, {most} if each "
            "takes all of its answers"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs, "tokens": self.usual.total, "cost": self.usual_cost,
            "most_tokens": self.most.total, "most_cost": self.most_cost, "currency": self.currency,
        }  # fmt: skip


def estimate(planned: Iterable[Planned], prices: Prices) -> Estimate:
    """The sum over all of them."""
    listed = list(planned)
    usages = {
        "usual": [times(one.usual, one.runs) for one in listed],
        "most": [times(one.most, one.runs) for one in listed],
    }
    costs = {
        kind: [prices.cost(one.model, usage) for one, usage in zip(listed, found, strict=True)]
        for kind, found in usages.items()
    }

    def together(kind: str) -> tuple[Usage, float | None]:
        known = [cost for cost in costs[kind] if cost is not None]
        return sum(usages[kind], Usage()), sum(known) if len(known) == len(listed) else None

    (first, first_cost), (second, second_cost) = together("usual"), together("most")
    runs = sum(one.runs for one in listed)
    return Estimate(runs, first, second, first_cost, second_cost, prices.currency)
