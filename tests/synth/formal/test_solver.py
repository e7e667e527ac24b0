"""Satisfiability and equivalence by Z3."""

from __future__ import annotations

import subprocess
import sys

import pytest

from synth.errors import MissingExtra
from synth.formal import solver
from synth.formal.constraints import Before, EndsBy, StartsFrom
from synth.formal.model import Spec


def order(*pairs: str) -> Spec:
    """`order("a<b", "b<c")`."""
    edges = [pair.split("<") for pair in pairs]
    actions = tuple(sorted({name for edge in edges for name in edge}))
    return Spec(actions, tuple(Before(first, then) for first, then in edges))


def day(*constraints: object, horizon: tuple[int, int] = (540, 1080), **durations: int) -> Spec:
    return Spec(tuple(durations), tuple(constraints), durations, horizon)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (order("a<b", "b<c"), True),
        (order("a<b", "b<c", "c<a"), False),
        (order("a<a"), False),
        (Spec((), ()), True),
        (day(a=60, b=60), True),
        (day(EndsBy("a", 599), a=60), False),
        (day(EndsBy("a", 600), a=60), True),
        (day(StartsFrom("a", 1021), a=60), False),
        (day(Before("a", "b"), EndsBy("b", 650), a=60, b=60), False),
        (day(**{f"a{i}": 60 for i in range(10)}), False),
        (day(**{f"a{i}": 60 for i in range(9)}), True),
    ],
)
def test_satisfiable_says_whether_a_plan_exists(spec: Spec, expected: bool) -> None:
    assert solver.satisfiable(spec) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (order("a<b", "b<c"), order("b<c", "a<b", "a<c"), True),
        (order("a<b", "b<c"), order("a<b", "a<c"), False),
        (order("a<b"), order("b<a"), False),
        (order("a<b"), order("a<c"), False),
        (day(EndsBy("a", 600), a=60), day(EndsBy("a", 600), EndsBy("a", 700), a=30), True),
        (day(EndsBy("a", 600), a=60), day(EndsBy("a", 601), a=60), False),
        (day(EndsBy("a", 600), a=60), day(EndsBy("a", 600), a=60, horizon=(0, 1080)), False),
        (
            day(Before("a", "b"), EndsBy("b", 700), a=1, b=1),
            day(Before("a", "b"), EndsBy("b", 700), EndsBy("a", 700), a=1, b=1),
            True,
        ),
    ],
)
def test_equivalent_compares_the_sets_of_allowed_plans(a: Spec, b: Spec, expected: bool) -> None:
    assert solver.equivalent(a, b) is expected
    assert solver.equivalent(b, a) is expected


def test_without_z3_the_message_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pdoctor-trace\[synth\]'"):
        solver.satisfiable(order("a<b"))


def test_importing_synth_solver_does_not_import_z3() -> None:
    code = "import sys, synth.formal.solver; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
