"""How often an agent passes cases of a size: what says whether it is chance that no mutant passed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

from synth.cases.case import Case
from synth.cases.generate import Options, generate
from synth.experiments.causes import BASE_CASES, attempt
from synth.experiments.dissect import Failure, PassesOf
from synth.experiments.rates import Rate
from synth.experiments.trial import Result

SEED = 910_010_019
"""Of the fresh cases, so that they are none of a campaign's own."""

_Group = tuple[str, str, str, int]
"""(agent, model, mode, number of actions)"""


class BaseRates:
    """Base rates by agent, model, mode and size, each found once.

    A campaign's own results serve where at least 50 of a group are decided; else 50 fresh cases are run, with
    the options of the failing case. `results` must be all of the campaign, not its failures alone.
    """

    def __init__(self, passes: PassesOf, results: Iterable[Result] = ()) -> None:
        self._passes = passes
        self._found: dict[_Group, Rate] = {}
        self._locks: dict[_Group, threading.Lock] = {}
        self._lock = threading.Lock()
        for result in results:
            if result.case is not None and result.outcome in ("pass", "fail"):
                group = (result.agent, result.model, result.case["mode"], result.actions)
                old = self._found.get(group, Rate(0, 0))
                self._found[group] = Rate(old.hits + (result.outcome == "pass"), old.trials + 1)

    def __call__(self, failure: Failure) -> Rate:
        """Raises what running the fresh cases raises."""
        case = failure.case
        group = (failure.agent, failure.model, case.mode, len(case.actions))
        with self._lock:
            lock = self._locks.setdefault(group, threading.Lock())
        with lock:
            rate = self._found.get(group)
            if rate is None or rate.trials < BASE_CASES:
                rate = self._found[group] = self._measured(failure)
        return rate

    def _measured(self, failure: Failure) -> Rate:
        cases = generate(BASE_CASES, SEED, options_like(failure.case), confirm=False)
        made = [
            attempt("base", case.id, self._passes(failure.agent, failure.model, case, 0)) for case in cases
        ]
        return Rate(sum(one.passed for one in made), len(made))


def options_like(case: Case) -> Options:
    """The options that make cases like this one, of its size."""
    options = Options.from_json(case.options) if case.options else Options(mode=case.mode)
    return replace(options, actions=(len(case.actions), len(case.actions)))
