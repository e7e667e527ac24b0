"""Agents of `pdoctor test` at games, and the paper's table and figures of it (AgentQuest, section 4)."""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from synth.agents.game_tool import ROUNDS, Judge, judged_in
from synth.agents.model import Settings
from synth.agents.usage import Usage, total_of, usage_from_json
from synth.client import Collector
from synth.errors import MissingExtra
from synth.experiments import plots
from synth.experiments.money import JUDGED, Paid, Purse, of_game, times
from synth.experiments.report import Picture, Report
from synth.experiments.tables import Table
from synth.experiments.workers import Workers
from synth.games import Move, Played, Variant, move_from_json, played, tables
from synth.games.play import Table as Numbers

RUN_LIMIT = 10.0
"""Seconds until the collector knows a run whose spans were sent."""
PICTURED = 12
"""Games in the picture of repeated actions."""
JUDGE = "judge"
TOLD = 5
"""Games in words."""


class AgentGames:
    """Lets agents play, in worker processes as `pdoctor test` has them; use with `with`."""

    def __init__(
        self, collector_url: str | None, *, limit: float = 180.0, data: Path | None = None,
        judge: Judge | None = None, threshold: float = 1.0, purse: Purse | None = None,
    ) -> None:  # fmt: skip
        """`limit` in seconds for a game; without a collector nothing is traced, without a purse all is
        paid for."""
        self._purse = purse or Purse()
        self._workers = Workers(collector_url, {})
        self._collector = None if collector_url is None else Collector(collector_url)
        self._folder = tempfile.TemporaryDirectory(prefix="pdoctor-games-")
        self._limit, self._data, self._judge, self._threshold = limit, data, judge, threshold

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.close()
        if self._collector is not None:
            self._collector.close()
        self._folder.cleanup()

    def play(self, agent: str, settings: Settings, variant: Variant, seed: int) -> Played:
        """One game; whatever the agent does, it has a row. BadInput for an agent that is not there, `Spent`
        where the purse does not pay for a game."""
        judged = () if self._judge is None else ((self._judge.model, times(JUDGED, variant.steps)),)
        with self._purse.run(agent, settings.model, of_game(variant.steps), judged) as pays:
            return self._played(agent, settings, variant, seed, pays)

    def _played(
        self, agent: str, settings: Settings, variant: Variant, seed: int,
        pays: Callable[[Usage | None], None],
    ) -> Played:  # fmt: skip
        trace_id = secrets.token_hex(16)
        log = Path(self._folder.name) / trace_id
        game = {
            "variant": variant.name, "seed": seed, "data": None if self._data is None else str(self._data),
            "judge": None if self._judge is None else asdict(self._judge), "log": str(log),
        }  # fmt: skip
        rounds = replace(settings, max_iterations=variant.steps + ROUNDS)
        request = {"agent": agent, "trace_id": trace_id, "case_id": None, "game": game}
        request["settings"] = asdict(rounds)
        with self._workers.borrow(agent) as worker:
            ended = worker.run(request, self._limit)
            sent = self._collector is not None and ended.flushed.result()
        moves, said = _moves_in(log), ended.answer["usage"]
        usage = None if said is None else usage_from_json(said)
        pays(usage)
        if self._judge is not None and (judged := _judged(log)).answers:
            self._purse.pay(Paid(JUDGE, self._judge.model, times(JUDGED, judged.answers), judged))
        return played(
            variant, seed, moves, player=f"{agent} {settings.model}",
            seconds=ended.answer["wall_seconds"] or self._limit,
            trouble=_trouble(variant, moves, log, ended.answer), threshold=self._threshold,
            run_id=self._run_id(agent, trace_id) if sent else None,
            tokens=None if usage is None or usage.untold else usage.total,
        )  # fmt: skip

    def _run_id(self, agent: str, trace_id: str) -> str | None:
        """What the collector calls the run; None where it does not show it in time."""
        assert self._collector is not None
        end = time.monotonic() + RUN_LIMIT
        while (run := self._collector.run_of(agent, trace_id)) is None and time.monotonic() < end:
            time.sleep(0.05)
        return None if run is None else str(run["id"])


def _moves_in(log: Path) -> list[Move]:
    """The moves in a log, the end of which may be cut where its writer was killed."""
    if not log.exists():
        return []
    lines = log.read_text(encoding="utf-8").split("\n")
    return [move_from_json(json.loads(line)) for line in lines if line.endswith("}")]


def _judged(log: Path) -> Usage:
    """What the judge of a game took."""
    file = judged_in(log)
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    return total_of(usage_from_json(json.loads(line)) for line in lines if line.endswith("}"))


def _trouble(variant: Variant, moves: Sequence[Move], log: Path, answer: Mapping[str, Any]) -> str | None:
    """Why a game that is not over was not played on; None for an agent that just stopped."""
    of_game = log.with_name(f"{log.name}.trouble")
    if of_game.exists():
        return of_game.read_text(encoding="utf-8")
    if moves and (moves[-1].seen.done or len(moves) >= variant.steps):
        return None
    return None if answer["status"] == "ok" else f"{answer['status']}: {answer['error']}"


# ---------------------------------------------------------------- table and figures


def games_table(numbers: Sequence[Numbers]) -> Table:
    """Success rate, steps, progress and repetition of each player at each game (AgentQuest, Table 3)."""
    headers = (
        "game", "player", "games", "SR", "Steps", "steps to success", "s to success", "given", "PR", "RR",
        "trouble",
    )  # fmt: skip
    rows = tuple(
        (
            one.game, one.player, str(one.games), f"{one.success_rate:.2f}", f"{one.steps:.2f}",
            _known(one.steps_to_success), _known(one.seconds_to_success), str(one.given),
            f"{one.progress_rate:.2f}", f"{one.repetition_rate:.2f}", str(one.trouble),
        )
        for one in numbers
    )  # fmt: skip
    note = (
        "Means over the games of a player. PR and RR are the progress and repetition rates after the last "
        "step, of the steps that were given (with 60: PR60, RR60); +memory tells the player what it did."
    )
    return Table("table3", "Success, steps, progress and repetition", headers, rows, note)


def curves_table(numbers: Sequence[Numbers]) -> Table:
    """Mean PR and RR after each step (the data of AgentQuest's Figures 2 and 4)."""
    rows = tuple(
        (one.game, one.player, str(step), f"{reached:.3f}", f"{again:.3f}")
        for one in numbers
        for step, (reached, again) in enumerate(zip(one.progress, one.repetition, strict=True), 1)
    )
    return Table(
        "curves", "Progress and repetition over the steps", ("game", "player", "step", "PR", "RR"), rows
    )


def actions_table(rows: Sequence[Played]) -> Table:
    """Every action, and whether it repeats an earlier one (the data of AgentQuest's Figure 3)."""
    cells = tuple(
        (row.game, row.player, str(row.seed), str(step), ascii(action)[1:-1], "repeated" if again else "")
        for row in rows
        for step, (action, again) in enumerate(zip(row.actions, row.repeated, strict=True), 1)
    )
    return Table(
        "actions",
        "Actions, and which of them repeat",
        ("game", "player", "seed", "step", "action", ""),
        cells,
    )


def games_report(rows: Sequence[Played], title: str = "Games") -> Report:
    """The table, a figure of rates for each game, and pictures of repeated actions."""
    numbers = tables(rows)
    pictures = [
        _picture(f"rates-{game}", f"{game}: progress and repetition over the steps", plots.rates_figure, [
            (one.player, one.progress, one.repetition) for one in numbers if one.game == game
        ])
        for game in dict.fromkeys(one.game for one in numbers)
    ]  # fmt: skip
    pictures += [
        _picture(
            f"repeated-{at}",
            f"{one.game}, {one.player}: repeated actions (dark) of each game",
            plots.repeated_figure,
            [(f"game {row.seed}", row.repeated) for row in _rows_of(rows, one)[:PICTURED]],
            one.given,
        )
        for at, one in enumerate(numbers)
    ]
    shown = (games_table(numbers), curves_table(numbers), actions_table(rows))
    return Report(title, tuple(_told(rows)), shown, tuple(pictures))


def _told(rows: Sequence[Played]) -> list[str]:
    """Games that were not won, those with trouble first."""
    lost = sorted((row for row in rows if not row.success), key=lambda row: row.trouble is None)
    return [
        f"{row.player} at {row.game}, game {row.seed}: not won after {len(row.actions)} steps, progress "
        f"{row.progress_rate:.2f}, repetition {row.repetition_rate:.2f}"
        + (f"; {row.trouble}" if row.trouble else "")
        for row in lost[:TOLD]
    ]


def _rows_of(rows: Sequence[Played], one: Numbers) -> list[Played]:
    return [row for row in rows if (row.game, row.player) == (one.game, one.player)]


def _picture(name: str, title: str, draw: Any, *what: Any) -> Picture:
    """The figure; without matplotlib only its place."""
    try:
        figure = draw(*what, title)
        return Picture(name.replace("+", "-"), title, plots.png(figure), plots.svg(figure))
    except MissingExtra:
        return Picture(name.replace("+", "-"), title, None)


def _known(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"
