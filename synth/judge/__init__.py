"""The verdict of one run against one case (semantics: order mode and timed mode).

Everything is read from the run once (`classify`), then order and time are claims that `check`
decides, with Z3 as judge; what is wrong is explained, and a plan near the observed one is given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from synth.cases.case import Case
from synth.formal.model import Verdict
from synth.judge.order_mode import judge_order
from synth.judge.rules import Rules
from synth.judge.subject import subject_of
from synth.judge.timed_mode import judge_timed
from synth.observed.run import Run

__all__ = ["Rules", "judge"]


def judge(case: Case, run: Run, *, rules: Rules | None = None) -> Verdict:
    """Judge `run` against `case`. BadInput where the case itself is unusable."""
    subject = subject_of(case)
    rules = rules or Rules()
    return judge_timed(subject, run, rules) if subject.spec.timed else judge_order(subject, run, rules)


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
