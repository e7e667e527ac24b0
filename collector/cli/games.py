"""`pdoctor games`: let players and agents play, and see how far they come and how much they repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import Exit, clear_errors, json_option, plain, progress, table, write_json
from collector.cli.driving import NO_KEY, POSITIVE, Setup, several
from collector.cli.progress import curve
from collector.cli.spending import Money, money_options, said_to_be_spent
from synth.counted import counted
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.agents.game_tool import Judge
    from synth.agents.usage import Usage
    from synth.experiments.money import Planned, Purse
    from synth.games import Played, Variant

Play = Callable[["Variant", int], "Played"]


@click.command("games")
@click.argument("games", nargs=-1, required=True, metavar="GAME...")
@click.option(
    "--player", "players", metavar="PLAYER",
    help="good, repeating or forgetting, or module:function, which is called with the number of the game and "
    "gives a function from what is seen to an action; several with commas between. [default: good]",
)  # fmt: skip
@click.option("--agent", "agents", metavar="AGENT", help="An agent as `pdoctor test` takes it, or several.")
@click.option("--model", default=None, help="Default: simulated-perfect, or gpt-4o-mini with a key.")
@click.option("--base-url", default=None, metavar="URL", help="OpenAI-compatible endpoint.")
@click.option("--temperature", type=float, default=0.0, show_default=True)
@click.option("--parallel", type=click.IntRange(1, 64), default=2, show_default=True, help="Agent processes.")
@click.option(
    "--agent-timeout", type=click.FloatRange(0.1), default=180.0, show_default=True, help="Seconds per game."
)
@click.option("--collector", "url", metavar="URL", default=None, help="Where agents are traced, if anywhere.")
@click.option("--games", "count", type=POSITIVE, default=10, show_default=True, help="How many of each.")
@click.option("--seed", default=0, show_default=True, help="Of the first game; each next one has the next.")
@click.option("--steps", type=POSITIVE, default=60, show_default=True, help="For each game.")
@click.option(
    "--threshold", default=1.0, show_default=True, help="From which similarity on an action is repeated."
)
@click.option(
    "--patience", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
    help="Seconds for one answer of a player.",
)  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), help="Your data of alfworld, gaia or ltp.")
@click.option("--judge", "judge_model", metavar="MODEL", help="ltp: a model as judge, not the script.")
@click.option("--judge-url", metavar="URL", default=None, help="Its OpenAI-compatible endpoint.")
@click.option("--repeated", is_flag=True, help="Also draw each game: . is a new action, # a repeated one.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write an HTML report with figures.")
@money_options
@json_option
def command(
    games: tuple[str, ...], players: str | None, agents: str | None, model: str | None, base_url: str | None,
    temperature: float, parallel: int, agent_timeout: float, url: str | None, count: int, seed: int,
    steps: int, threshold: float, patience: float, data: Path | None, judge_model: str | None,
    judge_url: str | None, repeated: bool, output: Path | None, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Play GAME and show steps, progress and repetition of each game and of all together.

    GAME is mastermind, sudoku, ltp (Lateral Thinking Puzzles), alfworld or gaia. With +memory the player is
    told again what it did, with +120 it has so many steps: mastermind+memory, alfworld+120.

    SR is the share of games won, PR and RR the mean progress and repetition rates after the last step (with
    60 steps PR60 and RR60). A player that crashes, hangs or gives no text has a row that says so. Exit code
    0: all games were won; 1: some were not.

    Example: pdoctor games mastermind mastermind+memory --player good,forgetting
    """
    from synth.agents.game_tool import Judge
    from synth.games import Supplies, tables, variant_named

    with clear_errors(), ExitStack() as stack:
        variants = [variant_named(name, steps) for name in dict.fromkeys(games)]
        judge = Judge(judge_model, judge_url) if judge_model else None
        setup = Setup(model, base_url, temperature, parallel, agent_timeout, 50, url, 0)
        money = Money.take(settings)
        models = [model for _ in several(agents) for model in setup.models] if agents else []
        riddled = len(models) + len(several(players or ("" if agents else "good")))
        purse = stack.enter_context(
            money.spending(planned(variants, models, count, judge_model, riddled), unit="games")
        )
        supplies = Supplies(data, asking_of(judge, purse))
        for variant in variants:
            variant.driver(seed, supplies)  # what is missing is said before anybody plays
        subjects: list[Play] = []
        if players or not agents:
            subjects += [by_player(who, supplies, threshold, patience) for who in several(players or "good")]
        if agents:
            subjects += stack.enter_context(playing_agents(agents, setup, data, judge, threshold, purse))
        jobs = [(play, variant, one) for variant in variants for play in subjects
                for one in range(seed, seed + count)]  # fmt: skip
        rows = rows_of(jobs, parallel if agents else 1)
        numbers = tables(rows)
        if output:
            write(rows, output)
        if as_json:
            said = [asdict(one) for one in numbers]
            write_json({"games": [row.to_json() for row in rows], "tables": said, "table": said[0]})
        else:
            click.echo("\n".join(text_of(rows, repeated)))
        raise SystemExit(Exit.PASSED if all(row.success for row in rows) else Exit.FAILED)


def rows_of(jobs: Sequence[tuple[Play, Variant, int]], parallel: int) -> list[Played]:
    """Every game that is paid for, in the order of the jobs."""
    from synth.experiments.money import Spent

    limit = None
    with ThreadPoolExecutor(parallel) as pool, progress((), label="games", length=len(jobs)) as bar:
        waiting = [pool.submit(play, variant, one) for play, variant, one in jobs]
        rows = []
        try:
            for one in waiting:
                try:
                    rows.append(one.result())
                    bar.update(1)
                except Spent as spent:
                    limit = spent.limit
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if limit is not None:
        said_to_be_spent(limit, len(rows), f"of {counted(len(jobs), 'game')}")
    return rows


def by_player(who: str, supplies: Any, threshold: float, patience: float) -> Play:
    """Games of a reference player or one of the user's. BadInput where there is none."""
    from synth.games import play

    def one(variant: Variant, seed: int) -> Played:
        driver, player = variant.driver(seed, supplies), player_for(who, variant.game, seed)
        return play(variant, driver, player, seed=seed, name=who, threshold=threshold, patience=patience)

    return one


def player_for(who: str, game: str, seed: int) -> Any:
    """A reference player or one of the user's. BadInput where there is none."""
    from importlib import import_module

    from synth.games import reference

    module, _, name = who.partition(":")
    if not name:
        return reference(game, who, seed)
    try:
        make: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError) as problem:
        raise BadInput(f"the player {who!r} cannot be loaded: {problem}") from None
    player = make(seed)
    if not callable(player):
        raise BadInput(f"{who} gives no function but {type(player).__name__}")
    return player


@contextmanager
def playing_agents(
    agents: str, setup: Setup, data: Path | None, judge: Judge | None, threshold: float, purse: Purse
) -> Iterator[list[Play]]:
    """A function for each agent and model that lets it play."""
    from synth.agents import Settings
    from synth.experiments.gaming import AgentGames
    from synth.simulated_model import SimulatedModel

    setup.check_model()
    with (
        SimulatedModel() as simulated,
        AgentGames(
            setup.url,
            limit=setup.agent_timeout,
            data=data,
            judge=judge,
            threshold=threshold,
            purse=purse,
        ) as games,
    ):

        def by(agent: str, model: str) -> Play:
            settings = Settings(model, setup.base_url, setup.api_key, setup.temperature)
            if model.startswith("simulated-") and setup.base_url is None:
                settings = Settings(model, simulated.base_url, NO_KEY, setup.temperature)
            return lambda variant, seed: games.play(agent, settings, variant, seed)

        yield [by(agent, model) for agent in several(agents) for model in setup.models]


def planned(
    variants: Sequence[Variant], models: Sequence[str], count: int, judge: str | None, players: int
) -> Iterator[Planned]:
    """What agents on these models and the judge of all players may take."""
    from synth.agents.game_tool import ROUNDS
    from synth.experiments.money import JUDGED, Planned, most_of_game, of_game, times

    for variant in variants:
        steps = variant.steps
        for model in models:
            yield Planned(model, count, of_game(steps), most_of_game(steps, steps + ROUNDS))
        if judge is not None and variant.game == "ltp":
            asked = times(JUDGED, steps)
            yield Planned(judge, count * players, asked, times(asked, 2))


def asking_of(judge: Judge | None, purse: Purse) -> Callable[[str], str] | None:
    """The judge of games that are played here, in the process of the verb."""
    from synth.agents.game_tool import asking
    from synth.experiments.gaming import JUDGE
    from synth.experiments.money import JUDGED

    if judge is None:
        return None
    told: list[Usage] = []
    ask = asking(judge, told.append)

    def paid(prompt: str) -> str:
        with purse.run(JUDGE, judge.model, JUDGED) as pays:
            said = ask(prompt)
            pays(told.pop())
        return said

    return paid


def write(rows: Sequence[Played], output: Path) -> None:
    """The report, and which files it is."""
    from synth.experiments.gaming import games_report
    from synth.experiments.report import write_report

    title = "Games: " + ", ".join(dict.fromkeys(row.game for row in rows))
    for path in write_report(games_report(rows, title), output):
        click.echo(f"written: {path}", err=True)


def text_of(rows: Sequence[Played], repeated: bool) -> Iterator[str]:
    """What the terminal shows: each game of one player, or a line for each game and player."""
    from synth.games import tables

    numbers, label = tables(rows), labels([row.player for row in rows])
    if repeated:
        yield from map(picture_of, rows)
        yield ""
    if len(numbers) > 1:
        yield table(
            ["game", "player", "games", "SR", "Steps", "to win", "PR", "RR", "trouble"],
            [
                [one.game, label[one.player], one.games, f"{one.success_rate:.2f}", f"{one.steps:.2f}",
                 "-" if one.steps_to_success is None else f"{one.steps_to_success:.2f}",
                 f"{one.progress_rate:.2f}", f"{one.repetition_rate:.2f}", one.trouble] for one in numbers
            ],
        )  # fmt: skip
        yield "\nMeans over the steps:"
        yield table(
            ["game", "player", "progress", "repetition"],
            [[one.game, label[one.player], curve(one.progress), curve(one.repetition)] for one in numbers],
        )
        yield from (
            f"{plain(row.player)} at {row.game}, game {row.seed}: {plain(row.trouble)}"
            for row in rows if row.trouble
        )  # fmt: skip
        return
    (total,) = numbers
    yield table(
        ["game", "won", "steps", "progress", "PR", "repetition", "RR", "trouble"],
        [row_of(row.to_json()) for row in rows],
    )
    yield from (f"{row.seed}: {plain(row.trouble)}" for row in rows if row.trouble)
    won = "" if total.steps_to_success is None else (
        f" ({total.steps_to_success:.2f} steps, {total.seconds_to_success:.2f} s where won)"
    )  # fmt: skip
    yield (
        f"\nSR {total.success_rate:.2f}  Steps {total.steps:.2f}{won}  PR{total.given} "
        f"{total.progress_rate:.2f}  RR{total.given} {total.repetition_rate:.2f}"
    )


def labels(players: Sequence[str]) -> dict[str, str]:
    """Players by shorter names: of `AGENT MODEL` only what tells them apart."""
    parts = [player.partition(" ") for player in players]
    agents, models = {agent for agent, _, _ in parts}, {model for _, _, model in parts}
    if "" in models or (len(agents) > 1 and len(models) > 1):
        return {player: player for player in players}
    shown = [model if len(models) > 1 else agent for agent, _, model in parts]
    return dict(zip(players, shown, strict=True))


def row_of(said: dict[str, Any]) -> list[Any]:
    return [
        said["seed"], "yes" if said["success"] else "no", said["steps"], curve(said["progress"]),
        f"{said['progress_rate']:.2f}", curve(said["repetition"]), f"{said['repetition_rate']:.2f}",
        said["trouble"] or "",
    ]  # fmt: skip


def picture_of(row: Played) -> str:
    """Which actions repeat (AgentQuest, Figure 3)."""
    cells = "".join("#" if again else "." for again in row.repeated)
    return f"{row.game} {plain(row.player)} {row.seed}: {cells or '-'}"
