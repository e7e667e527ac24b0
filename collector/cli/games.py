"""`pdoctor games`: let a player play Mastermind or Sudoku, and see how far it comes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from collector.cli.console import Exit, clear_errors, json_option, progress, table, write_json
from collector.cli.progress import curve
from synth.errors import BadInput


@click.command("games")
@click.argument("game", type=click.Choice(["mastermind", "sudoku"]))
@click.option(
    "--player", "who", default="good", show_default=True, metavar="PLAYER",
    help="good, repeating or forgetting, or module:function, which is called with the number of the game and "
    "gives a function from what is seen to an action.",
)  # fmt: skip
@click.option("--games", "count", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@click.option("--seed", default=0, show_default=True, help="Of the first game; each next one has the next.")
@click.option("--steps", type=click.IntRange(1), default=60, show_default=True, help="For each game.")
@click.option(
    "--threshold", default=1.0, show_default=True, help="From which similarity on an action is repeated."
)
@click.option(
    "--patience", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
    help="Seconds for one answer of the player.",
)  # fmt: skip
@json_option
def command(
    game: str, who: str, count: int, seed: int, steps: int, threshold: float, patience: float, as_json: bool
) -> None:
    """Play GAME and show each game's steps, progress and repetition, and what they are together.

    SR is the share of games won, PR and RR the mean progress and repetition rates after the last step (with
    60 steps PR60 and RR60). A player that crashes, hangs or gives no text has a row that says so. Exit code
    0: all games were won; 1: some were not.
    """
    from synth import games

    with clear_errors():
        rows = []
        with progress(range(seed, seed + count), label="games") as seeds:
            for one in seeds:
                player, driver = player_for(who, game, one), games.GAMES[game](one)
                rows.append(
                    games.play(
                        game, driver, player, seed=one, steps=steps, threshold=threshold, patience=patience
                    )
                )
        total = games.table(rows)
        if as_json:
            write_json({"games": [row.to_json() for row in rows], "table": asdict(total)})
        else:
            shown = [row_of(row.to_json()) for row in rows]
            click.echo(
                table(["game", "won", "steps", "progress", "PR", "repetition", "RR", "trouble"], shown)
            )
            click.echo(
                f"\nSR {total.success_rate:.2f}  Steps {total.steps:.2f}  PR{steps} {total.progress_rate:.2f}"
                f"  RR{steps} {total.repetition_rate:.2f}"
            )
        raise SystemExit(Exit.PASSED if total.success_rate == 1 else Exit.FAILED)


def row_of(said: dict[str, Any]) -> list[Any]:
    return [
        said["seed"], "yes" if said["success"] else "no", said["steps"], curve(said["progress"]),
        f"{said['progress_rate']:.2f}", curve(said["repetition"]), f"{said['repetition_rate']:.2f}",
        said["trouble"] or "",
    ]  # fmt: skip


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
