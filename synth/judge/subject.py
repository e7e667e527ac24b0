"""What a run is judged against, without the language layers of a case."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from synth.cases.case import Case
from synth.errors import BadInput
from synth.formal.constraints import Before
from synth.formal.model import Spec
from synth.judge.wording import Wording


@dataclass(frozen=True, slots=True)
class Subject:
    """A spec, the tools that fulfil its actions, and the words for both."""

    case_id: str
    spec: Spec
    actions: Mapping[str, str]
    """Tool name -> action id."""
    say: Wording
    orders: tuple[Before, ...]
    """The constraints about order alone; in order mode there are no others."""


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
    orders = spec.orders
    if not spec.timed and len(orders) < len(spec.constraints):
        odd = next(c for c in spec.constraints if c not in orders)
        raise BadInput(f"case {case.id}: {odd.kind!r} needs a case in timed mode", field="constraints")
    say = Wording(
        {action.id: action.phrase for action in case.actions},
        {action.id: action.tool for action in case.actions},
        case.paragraph,
    )
    return Subject(case.id, spec, actions, say, orders)
