"""The verdict of one run against one case (semantics: order mode and timed mode).

Everything is read from the run once (`classify`), then order and time are claims that `check`
decides, with Z3 as judge; what is wrong is explained, and a plan near the observed one is given.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from synth.case import Case
from synth.errors import BadInput
from synth.explain import Wording
from synth.judge_order import judge_order
from synth.judge_timed import judge_timed
from synth.model import Verdict
from synth.rules import Rules
from synth.run import Run
from synth.subject import Subject

__all__ = ["Rules", "judge", "subject_of"]


def judge(case: Case, run: Run, *, rules: Rules | None = None) -> Verdict:
    """Judge `run` against `case`. BadInput where the case itself is unusable."""
    subject = subject_of(case)
    rules = rules or Rules()
    return judge_timed(subject, run, rules) if subject.spec.timed else judge_order(subject, run, rules)


_subjects: OrderedDict[int, tuple[Case, Subject]] = OrderedDict()
_MAX_SUBJECTS = 256
_lock = threading.Lock()


def subject_of(case: Case) -> Subject:
    """The parts of a case that judging needs, checked; the newest 256 cases are remembered."""
    with _lock:
        known = _subjects.get(id(case))
    if known is not None and known[0] is case:
        return known[1]
    subject = _checked(case)
    with _lock:
        _subjects[id(case)] = (case, subject)  # holds the case, so that its id stays its own
        while len(_subjects) > _MAX_SUBJECTS:
            _subjects.popitem(last=False)
    return subject


def _checked(case: Case) -> Subject:
    spec = case.spec
    known = set(spec.actions)
    actions = {action.tool: action.id for action in case.actions}
    if len(actions) < len(case.actions) or len(known) < len(case.actions):
        raise BadInput(f"case {case.id}: ids and tools of actions must be distinct", field="actions")
    for i, constraint in enumerate(spec.constraints):
        if strange := [name for name in constraint.actions if name not in known]:
            raise BadInput(f"case {case.id}: no action has the id {strange[0]!r}", field=f"constraints[{i}]")
    say = Wording(
        {action.id: action.phrase for action in case.actions},
        {action.id: action.tool for action in case.actions},
        case.paragraph,
    )
    return Subject(case.id, spec, actions, say)
