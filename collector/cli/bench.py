"""`pdoctor bench`: agents on frozen suites, a result card each, and a leaderboard of cards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, json_option, look_at, progress, table, write_json
from collector.cli.driving import Setup, driving_options, several
from collector.cli.spending import Money, money_options
from collector.cli.untested import Errors, goes_on
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.harness import Harness
    from synth.experiments.money import Planned, Purse
    from synth.experiments.suites import Suite
    from synth.experiments.trial import Result


@click.group("bench")
def command() -> None:
    """Measure agents on frozen suites of cases, and compare result cards."""


@command.command("list")
@json_option
def list_suites(as_json: bool) -> None:
    """The suites: cases, seed, hash, cap on tokens, and what chance alone passes."""
    with clear_errors():
        from dataclasses import asdict

        from synth.experiments.suites import SUITES, chance_of

        rows = []
        for suite in SUITES:
            cases = suite.cases()
            said: dict[str, Any] = {"name": suite.name, "about": suite.about, "cases": len(cases)}
            said |= {"seed": suite.seed, "hash": suite.hash, "max_tokens": suite.max_tokens}
            rows.append({**said, "chance": asdict(chance_of(cases))})
        if as_json:
            for row in rows:
                write_json(row)
            return
        headers = ["suite", "cases", "seed", "hash", "tokens", "blind", "mention", "about"]
        click.echo(table(headers, [shown(row) for row in rows]))


def shown(row: dict[str, Any]) -> list[object]:
    chance = [f"{value:.1%}" for value in row["chance"].values()]
    return [*(row[name] for name in ("name", "cases", "seed", "hash", "max_tokens")), *chance, row["about"]]


@command.command("run")
@click.argument("suites")
@click.argument("agent")
@click.option("--reseed", type=click.IntRange(0), default=None, help="Fresh cases, which no model has seen.")
@click.option("-o", "--output", default="cards", show_default=True, metavar="FOLDER", help="Where cards go.")
@driving_options
@money_options
@json_option
def run_suites(
    suites: str, agent: str, reseed: int | None, output: str, as_json: bool, **settings: Any
) -> None:
    """Run AGENT on SUITES (names with commas between, or `all`); writes a card a suite, agent and model.

    An example: pdoctor bench run order-small,timed raw-loop --model gpt-4o-mini
    """
    with clear_errors():
        from synth.experiments.cards import write_card
        from synth.experiments.report import campaign_report

        wanted, agents = chosen(suites), several(agent)
        setup, money = Setup.take(settings), Money.take(settings)
        money.agree(planned(wanted, agents, setup, reseed))
        errors = Errors(setup.max_errors, None)
        untested, rows = 0, []
        made: list[Result] = []
        with (
            setup.harness() as harness,
            errors.stopping(),
            setup.posting(harness, "bench", agent, reseed, suites=suites) as posting,
        ):
            posting.covers(lambda: made, lambda results: campaign_report(results, suites, (), money.prices))

            def told(result: Result) -> None:
                made.append(result)
                posting.add(result)

            for card in cards(wanted, agents, setup, harness, money, reseed, told):
                written = write_card(card, Path(output))[1]
                untested += card["errors"]
                rows.append([card["suite"]["name"], card["agent"], card["model"], rate(card), written])
                if as_json:
                    write_json(card)
        if not as_json:
            click.echo(table(["suite", "agent", "model", "passed", "card"], rows))
            look_at(setup.seen(posting))
        raise SystemExit(errors.exit_code(untested))


def rate(card: dict[str, Any]) -> str:
    return "-" if card["pass_rate"] is None else f"{card['pass_rate']:.1%}"


def chosen(names: str) -> Sequence[Suite]:
    from synth.experiments.suites import SUITES, suite_named

    return SUITES if names == "all" else [suite_named(name) for name in several(names)]


def cards(
    suites: Sequence[Suite],
    agents: Sequence[str],
    setup: Setup,
    harness: Harness,
    money: Money,
    seed: int | None,
    told: Callable[[Result], None],
) -> Iterator[dict[str, Any]]:
    """The card of each suite, agent and model, as soon as it is there."""
    from synth.experiments.cards import card_of

    parameters = {
        "temperature": setup.temperature,
        "max_iterations": setup.max_iterations,
        **setup.params,
        **setup.prompt,
    }
    left = money
    for suite in suites:
        cases = suite.cases(seed)
        for agent in agents:
            for model in setup.models:
                purse = replace(left, tokens=min(suite.max_tokens, left.tokens or suite.max_tokens)).purse(
                    [model]
                )
                began = time.monotonic()
                results, stopped = measured(harness, purse, suite.name, agent, model, cases, told)
                times = {
                    "date": datetime.now(UTC).strftime("%Y-%m-%d"),
                    "seconds": round(time.monotonic() - began, 1),
                    "agent_seconds": round(sum(result.wall_seconds for result in results), 1),
                }
                left = after(left, purse)
                yield card_of(suite, cases, results, parameters, times, stopped)


def measured(
    harness: Harness,
    purse: Purse,
    suite: str,
    agent: str,
    model: str,
    cases: Sequence[Case],
    told: Callable[[Result], None],
) -> tuple[list[Result], str | None]:
    """Results in the order of the cases, and the limit that left some out."""
    from synth.experiments.campaign import Meter, results_journal, run_campaign
    from synth.experiments.trial import Trial

    meter = Meter(goes_on=goes_on, purse=purse)
    trials = [Trial(agent, model, case) for case in cases]
    with (
        results_journal(None, {}) as kept,
        progress((), label=f"{suite}: {agent} on {model}", length=len(cases)) as bar,
    ):

        def follow(result: Result) -> None:
            bar.update(1)
            told(result)

        run_campaign(harness.run, trials, kept, meter, follow)
    if not kept.records:
        raise BadInput(f"{suite}: the budget ({meter.reached}) allows no run of {agent} on {model}")
    place = {trial.key: at for at, trial in enumerate(trials)}
    return sorted(kept.records, key=lambda result: place[result.key]), meter.reached


def after(money: Money, purse: Purse) -> Money:
    """What is left of a command's own limits."""
    cost = None if money.cost is None else max(0.0, money.cost - (purse.cost or 0.0))
    tokens = None if money.tokens is None else max(1, money.tokens - purse.tokens)
    return replace(money, cost=cost, tokens=tokens)


def planned(
    suites: Sequence[Suite], agents: Sequence[str], setup: Setup, seed: int | None
) -> Iterator[Planned]:
    """Every run, for the estimate."""
    from synth.experiments.money import Planned

    for suite in suites:
        for case in suite.cases(seed):
            for model in setup.models:
                yield Planned.of_cases(model, len(agents), len(case.actions), setup.max_iterations)


@command.command("board")
@click.argument("files", nargs=-1, metavar="[CARD...]", type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", default="leaderboard.html", show_default=True, metavar="FILE")
@click.option("--no-baselines", is_flag=True, help="Leave the simulated planners out.")
def board(files: tuple[Path, ...], output: str, no_baselines: bool) -> None:
    """A static leaderboard page from many cards (JSON files, or folders of them)."""
    with clear_errors():
        from synth.experiments.cards import BASELINES, board_page, read_cards

        found = [
            inner for file in files for inner in (sorted(file.glob("*.json")) if file.is_dir() else [file])
        ]
        read = [card for file in found for card in read_cards(file)]
        read += [] if no_baselines else read_cards(BASELINES)
        if not read:
            raise BadInput("no card to show; name files that `pdoctor bench run` wrote")
        Path(output).write_text(board_page(read), encoding="utf-8")
        click.echo(f"{len(read)} cards: {output}")
