"""Money: the options of every verb that asks models, the estimate before the first call, and the question."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from collector.cli.console import asked, at_a_terminal
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.experiments.money import Paid, Planned, Prices, Purse

Item = TypeVar("Item")

MONEY_OPTIONS = (
    click.option(
        "--max-cost",
        type=click.FloatRange(0),
        default=None,
        help="Budget: begin nothing that may not fit, by the prices of --price.",
    ),
    click.option(
        "--max-tokens", type=click.IntRange(1), default=None, help="The same in tokens, as providers report."
    ),
    click.option(
        "--price",
        default=None,
        metavar="P|IN,OUT|FILE",
        help="Per million tokens, or a TOML file by model [default: a dated list that is shipped].",
    ),
    click.option("--yes", is_flag=True, help="Do not ask before models are asked for money."),
)


def money_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What may be spent: `MONEY_OPTIONS`, taken by `Money.take`."""
    for option in reversed(MONEY_OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True)
class Money:
    """What may be spent, and by which prices."""

    prices: Prices
    cost: float | None
    tokens: int | None
    yes: bool

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Money:
        """Take the values of `MONEY_OPTIONS` out of a verb's settings."""
        from synth.experiments.money import prices_from

        prices = prices_from(settings.pop("price"))
        return cls(prices, *(settings.pop(name) for name in ("max_cost", "max_tokens", "yes")))

    def purse(self, models: Iterable[str], earlier: Iterable[Paid] = ()) -> Purse:
        """The purse of a command; `BadInput` where it cannot tell what its models cost."""
        from synth.experiments.money import Purse

        purse = Purse(self.prices, self.cost, self.tokens, earlier)
        purse.check_prices(models)
        return purse

    @contextlib.contextmanager
    def spending(
        self, planned: Iterable[Planned], earlier: Iterable[Paid] = (), unit: str = "runs"
    ) -> Iterator[Purse]:
        """The purse of a command, once what it can cost is agreed to; says at the end what was spent."""
        listed = list(planned)
        purse = self.purse(dict.fromkeys(one.model for one in listed), earlier)
        self.agree(listed, unit)
        try:
            yield purse
        finally:
            spent_in_all(purse)

    def agree(self, planned: Iterable[Planned], unit: str = "runs") -> None:
        """Say what runs can cost, where they cost something; at a terminal, ask.

        A cap is an answer to that question, as `--yes` is. Raises `BadInput` where the answer is no.
        """
        from synth.experiments.money import estimate

        expected = estimate(planned, self.prices)
        if expected.most_cost == 0 or not expected.runs:
            return
        click.echo(f"pdoctor: {expected.text(unit)}", err=True)
        answered = self.yes or self.cost is not None or self.tokens is not None
        if not answered and at_a_terminal() and not asked("Go on?"):
            raise BadInput("nothing was run; --max-cost limits what is spent, --yes does not ask")


def spent_in_all(purse: Purse) -> None:
    """Say what was spent, where anything was."""
    if purse.cost != 0 and purse.tokens:
        click.echo(f"pdoctor: spent {purse.bill()}", err=True)


def until_spent(items: Iterable[Item], what: str) -> Iterator[Item]:
    """The items, until money for the next one is missing, which is said; raises where there is no first."""
    from synth.experiments.money import Spent

    made = 0
    try:
        for item in items:
            yield item
            made += 1
    except Spent as spent:
        if not made:
            raise
        said_to_be_spent(spent.limit, made, what)


def said_to_be_spent(limit: str, made: int, what: str) -> None:
    """Say that money was the end of it: after so many `what`, such as `of 20 games`. BadInput after none."""
    if not made:
        raise BadInput(f"nothing was made: the budget ({limit}) does not allow the first")
    click.echo(f"pdoctor: stopped by the budget ({limit}) after {made} {what}", err=True)
