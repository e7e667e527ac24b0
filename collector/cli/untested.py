"""How a verb that drives agents ends where runs say nothing about them: what is told, asked and returned."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from collector.cli.console import Exit, asked, at_a_terminal, plain
from synth.counted import counted

if TYPE_CHECKING:
    from synth.experiments.campaign import Stopped
    from synth.experiments.money import Spent


def goes_on(why: Stopped) -> bool:
    """Whether somebody at a terminal wants to go on after too many errors in a row; elsewhere nobody does."""
    if not at_a_terminal():
        return False
    click.echo(f"\npdoctor: {plain(str(why))}", err=True)
    return asked("Go on?")


class Errors:
    """The runs of one command in which an agent was not tested."""

    def __init__(self, most: int, journal: str | None, way_on: str | None = None) -> None:
        """`most` may be left; `journal` is the file or folder with which the same command goes on.

        `way_on` says how to go on where the same command does not.
        """
        self._most, self._journal, self._way_on = most, journal, way_on
        self._stopped: Stopped | None = None

    @contextlib.contextmanager
    def stopping(self) -> Iterator[None]:
        """Work that errors in a row may end; what comes after it is done all the same."""
        from synth.experiments.campaign import Stopped

        try:
            yield
        except Stopped as why:
            self._stopped = why

    def stopped_by(self, why: Stopped | Spent | None) -> None:
        """The same for work that says itself why it ended; a budget is no error, and told."""
        from synth.experiments.campaign import Stopped

        if isinstance(why, Stopped):
            self._stopped = why
        elif why is not None:
            click.echo(f"pdoctor: {why}; with a larger one the same command goes on", err=True)

    def exit_code(self, left: int, code: Exit = Exit.PASSED) -> Exit:
        """2 where work was stopped or more than the allowed errors are left, which is said; else `code`."""
        if self._stopped is not None:
            click.echo(f"pdoctor: {plain(str(self._stopped))}\n{self._how_to_go_on()}", err=True)
        elif left > self._most:
            said = f"planning was not tested in {counted(left, 'run')} (--max-errors {self._most})"
            click.echo(f"pdoctor: {said}\n{self._how_to_go_on()}", err=True)
        else:
            return code
        return Exit.BAD_INPUT

    def _how_to_go_on(self) -> str:
        if self._way_on is not None:
            return f"to go on: {self._way_on}"
        again = shlex.join(["pdoctor", *sys.argv[1:]])
        return f"to go on: {again}" if self._journal else f"to go on another time: {again} --journal FILE"
