"""The last check of a generated case: its paragraph reads back to its constraints, and Z3 agrees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec

from synth.cases.case import Case
from synth.errors import SynthError
from synth.formal.constraints import Constraint, EndsBy, StartsFrom
from synth.language.parse import parse


class ConfirmationFailed(SynthError):
    """A case of ours is not what it claims to be; a bug, never the user's fault."""


def z3_installed() -> bool:
    """Whether Z3 can be asked here."""
    return find_spec("z3") is not None


def confirmed(cases: Iterable[Case]) -> Iterator[Case]:
    """The same cases, each after its check."""
    for case in cases:
        confirm(case)
        yield case


def confirm(case: Case) -> None:
    """Raises ConfirmationFailed unless the case is satisfiable and its paragraph says its constraints."""
    from synth.formal.solver import satisfiable

    read = parse(case.paragraph, case.actions).constraints
    if read != case.constraints:
        raise ConfirmationFailed(f"case {case.id}: the paragraph says {read}, not {case.constraints}")
    claims = dict.fromkeys(replace(c, sentence=None, span=None) for c in (*case.constraints, *_pinned(case)))
    found = satisfiable(replace(case.spec, constraints=tuple(claims)))
    if found is None:
        raise ConfirmationFailed(f"case {case.id}: Z3 gave up before it confirmed the constraints")
    if not found:
        raise ConfirmationFailed(f"case {case.id}: Z3 does not find the constraints satisfiable")


def _pinned(case: Case) -> Iterator[Constraint]:
    """The witness as limits that leave no choice: then Z3 confirms it instead of searching itself."""
    for action, start in (case.witness or {}).items():
        yield StartsFrom(action, start)
        yield EndsBy(action, start + (case.durations or {})[action])
