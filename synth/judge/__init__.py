"""The verdict of one run against one case (semantics: order mode and timed mode).

Everything is read from the run once (`classify`), then order and time are claims that `check`
decides, with Z3 as judge; what is wrong is explained, and a plan near the observed one is given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from types import ModuleType

from synth.cases.case import Case
from synth.formal.model import Verdict
from synth.judge.order_mode import read_order
from synth.judge.outcome import Conclude
from synth.judge.rules import Rules
from synth.judge.subject import subject_of
from synth.judge.timed_mode import read_timed
from synth.observed.run import Run

__all__ = ["Rules", "judge", "judge_both"]


def judge(case: Case, run: Run, *, rules: Rules | None = None) -> Verdict:
    """Judge `run` against `case`. BadInput where the case itself is unusable."""
    return _read(case, run, rules)(run)


def judge_both(case: Case, run: Run, *, rules: Rules | None = None) -> tuple[Verdict, Verdict]:
    """The verdicts of a run that ended well: while more of it may come, and once nothing came.

    It is read, and Z3 is asked, once for both, but in timed mode, where it depends on the end of the run
    which calls began a plan anew. BadInput as for `judge`.
    """
    going_on = replace(run, status="running")
    if case.mode == "timed":
        return judge(case, going_on, rules=rules), judge(case, run, rules=rules)
    conclude = _read(case, run, rules)
    return conclude(going_on), conclude(run)


def _read(case: Case, run: Run, rules: Rules | None) -> Conclude:
    subject = subject_of(case)
    return (read_timed if subject.spec.timed else read_order)(subject, run, rules or Rules())


class _CallableWing(ModuleType):
    """`synth.judge` is this wing, and `from synth import judge` asks for the function in it.

    Importing any part of the wing binds that name in `synth` to the wing, whatever it was before. So that
    it is one thing at all times, the wing can be called, and sent to another process, like its function.
    """

    def __call__(self, case: Case, run: Run, *, rules: Rules | None = None) -> Verdict:
        return judge(case, run, rules=rules)

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _CallableWing
