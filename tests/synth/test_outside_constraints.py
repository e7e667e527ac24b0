"""A constraint kind of another distribution takes part in everything, or says that it does not know."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from synth.cases.case import Action, Case, case_from_json
from synth.cases.mutate import Layer, mutants
from synth.cases.shrink import shrink
from synth.errors import BadInput
from synth.formal.check import broken_claims
from synth.formal.conflict import conflict
from synth.formal.constraints import (
    Before,
    Constraint,
    EndsBy,
    Fixed,
    Outline,
    Ran,
    Reader,
    StartsFrom,
    Times,
    Truth,
    action_id,
    constraint_from_json,
    constraint_to_json,
    of_the_day,
)
from synth.formal.day import ReferencePlanner
from synth.formal.dead_end import DayPlan, Placed
from synth.formal.model import Spec, verdict_from_json
from synth.formal.repair import repair_schedule
from synth.formal.solver import equivalent, satisfiable, violated
from synth.judge import Rules, judge
from tests.support.building import run, task
from tests.support.outside_kinds import MODULE, Install, installed


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    with installed(tmp_path) as put:
        yield put


@pytest.fixture(autouse=True)
def with_apart(install: Install) -> None:
    install(f"apart = {MODULE}:Apart")


def apart(a: str, b: str, minutes: int = 30) -> Constraint:
    return constraint_from_json({"kind": "apart", "a": a, "b": b, "minutes": minutes})


CASE: dict[str, Any] = {
    "id": "c1",
    "mode": "timed",
    "query": "Audit must precede briefing.",
    "paragraph": "Audit must precede briefing.",
    "actions": [
        {"id": "a", "phrase": "audit", "tool": "do_a"},
        {"id": "b", "phrase": "briefing", "tool": "do_b"},
    ],
    "constraints": [
        {"kind": "before", "first": "a", "then": "b", "sentence": 0, "span": [0, 27]},
        {"kind": "apart", "a": "a", "b": "b", "minutes": 30},
    ],
    "durations": {"a": 60, "b": 60},
    "horizon": [540, 1080],
    "witness": {"a": 540, "b": 630},
}


def test_json_of_a_case_names_the_kind_without_a_change_to_the_project() -> None:
    case = case_from_json(CASE)
    assert case.constraints[1] == apart("a", "b")
    assert case.to_json()["constraints"] == CASE["constraints"]
    assert case_from_json(case.to_json()) == case


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"minutes": 0}, "constraints[1].minutes", "minutes from 1"),
        ({"a": None}, "constraints[1].a", "id of an action"),
        ({"a": "z"}, "constraints[1]", "'z' is not the id"),
        ({"time": 600}, "constraints[1].time", "expected a, b, minutes, sentence, span"),
        ({"kind": "afar"}, "constraints[1].kind", "expected one of before, ends_by, starts_from, apart"),
    ],
)
def test_wrong_json_is_refused_by_field(change: dict[str, Any], field: str, message: str) -> None:
    first, second = CASE["constraints"]
    with pytest.raises(BadInput, match=message) as refused:
        case_from_json({**CASE, "constraints": [first, {**second, **change}]})
    assert refused.value.field == field


def test_a_witness_that_breaks_it_is_refused() -> None:
    with pytest.raises(
        BadInput, match=r"breaks constraints\[1\]: 'a' and 'b' must be at least 30 minutes apart"
    ):
        case_from_json({**CASE, "witness": {"a": 540, "b": 629}})


def test_an_order_case_cannot_have_it() -> None:
    timed = ("durations", "horizon", "witness")
    order = {name: value for name, value in CASE.items() if name not in timed} | {"mode": "order"}
    with pytest.raises(BadInput, match="'apart' needs a case in timed mode"):
        case_from_json(order)


@pytest.mark.parametrize("z3", ["off", "all"])
def test_a_run_that_breaks_it_fails_and_is_told_why(z3: str) -> None:
    case = case_from_json(CASE)
    made = run([task("a", "09:00", 60), task("b", "10:20", 60)])
    verdict = judge(case, made, rules=Rules(z3=z3))
    (finding,) = verdict.findings
    assert (verdict.outcome, verdict.error_type) == ("fail", "order_error")
    assert (finding.code, finding.calls, finding.constraint) == ("too_close", (0, 1), case.constraints[1])
    assert finding.explanation == (
        "audit and briefing must be at least 30 minutes apart: audit (call 0) ran from 09:00 to 10:00, "
        "briefing (call 1) from 10:20 to 11:20."
    )
    assert verdict.decided_by == ("direct" if z3 == "off" else "both")
    assert verdict_from_json(verdict.to_json()) == verdict


def test_a_run_that_keeps_it_passes_by_both_judges() -> None:
    verdict = judge(case_from_json(CASE), run([task("a", "09:00", 60), task("b", "10:30", 60)]))
    assert (verdict.outcome, verdict.decided_by, verdict.findings) == ("pass", "both", ())


def hand_made(*constraints: Constraint, durations: dict[str, int] | None, size: int = 2) -> Case:
    actions = tuple(Action(name, name.upper(), f"do_{name}") for name in "abcd"[:size])
    return Case("c", 0, "timed", "", "", "", actions, constraints, durations=durations, horizon=(540, 1080))


def test_an_unknown_duration_leaves_it_open_with_a_witness_each_way() -> None:
    case = hand_made(apart("a", "b"), durations=None)
    verdict = judge(case, run([task("a", "09:00"), task("b", "10:00", 60)]))
    (finding,) = (f for f in verdict.findings if f.constraint is not None)
    assert (verdict.outcome, finding.code, finding.type) == ("undecided", "undecided", "note")
    assert set(finding.witness or ()) == {"holds", "fails"}
    never = judge(case, run([task("a", "09:00"), task("b", "09:20", 60)]))
    assert (never.outcome, never.findings[0].code) == ("fail", "too_close")


def test_z3_and_direct_evaluation_agree() -> None:
    agree(150)


@pytest.mark.heavy
def test_z3_and_direct_evaluation_agree_on_3000_cases() -> None:
    agree(3000)


def agree(count: int) -> None:
    r = random.Random("agreement apart")
    broken = kept = 0
    for _ in range(count):
        who = ["x0", "x1", "x2"]
        claims = [apart(*r.choices(who, k=2), minutes=r.randint(1, 4)) for _ in range(4)]
        times = world(r, who)
        direct = broken_claims(claims, times)
        assert violated(claims, times) == list(direct)
        broken, kept = broken + len(direct), kept + len(claims) - len(direct)
    assert min(broken, kept) > count // 20


def world(r: random.Random, who: Sequence[str]) -> Fixed:
    """Instants with sequence numbers."""
    scale = 2 * len(who) + 2
    starts = {name: r.randint(0, 6) for name in who}
    ends = {name: starts[name] + r.randint(0, 3) for name in who}
    return Fixed(
        {name: starts[name] * scale + 2 * k for k, name in enumerate(who)},
        {name: ends[name] * scale + 2 * k + 1 for k, name in enumerate(who)},
        scale,
    )


# ---------------------------------------------------------------- dead ends and repair, by brute force


def small_day(r: random.Random) -> tuple[Spec, list[Placed]]:
    """A day of a few minutes, and an agent that is often wrong."""
    names = ["x0", "x1", "x2"]
    durations = {name: r.randint(1, 2) for name in names}
    constraints: list[Constraint] = [apart(*r.sample(names, 2), minutes=r.randint(1, 3))]
    if r.random() < 0.5:
        constraints.append(apart(*r.sample(names, 2), minutes=r.randint(1, 2)))
    if r.random() < 0.5:
        constraints.append(Before(*r.sample(names, 2)))
    if r.random() < 0.5:
        constraints.append(EndsBy(r.choice(names), r.randint(4, 9)))
    if r.random() < 0.3:
        constraints.append(StartsFrom(r.choice(names), r.randint(1, 4)))
    now, placed = 0, []
    for name in r.sample(names, 3):
        now += r.choice((0, 0, 1, 2))
        placed.append((name, now, now + durations[name]))
        now += durations[name]
    return Spec(tuple(names), tuple(constraints), durations, (0, r.randint(6, 10))), placed


def keeps(spec: Spec, starts: dict[str, int]) -> bool:
    durations, (begin, end) = spec.durations or {}, spec.horizon or (0, 0)
    ends = {name: start + durations[name] for name, start in starts.items()}
    alone = all(ends[a] <= starts[b] or ends[b] <= starts[a] for a, b in itertools.combinations(starts, 2))
    inside = min(starts.values()) >= begin and max(ends.values()) <= end
    times = of_the_day(starts, ends)
    return alone and inside and all(c.formula(times) for c in spec.constraints if {*c.actions} <= {*starts})


def plans(spec: Spec, placed: Sequence[Placed] = ()) -> Iterator[dict[str, int]]:
    """Every schedule that goes on from what is placed."""
    fixed = {name: start for name, start, _ in placed}
    now = max((end for _, _, end in placed), default=0)
    left = [name for name in spec.actions if name not in fixed]
    for starts in itertools.product(range(now, (spec.horizon or (0, 0))[1]), repeat=len(left)):
        plan = fixed | dict(zip(left, starts, strict=True))
        if keeps(spec, plan):
            yield plan


def test_the_point_of_no_return_is_where_no_schedule_goes_on() -> None:
    only_by_it = 0
    for seed in range(60):
        spec, placed = small_day(random.Random(seed))
        alive = (next(plans(spec, placed[:k]), None) is not None for k in range(1, len(placed) + 1))
        expected = next((k for k, ok in enumerate(alive) if not ok), None)
        durations = spec.durations or {}
        assert DayPlan(spec, durations).dead_at(placed) == expected, seed
        without = replace(spec, constraints=tuple(c for c in spec.constraints if c.exact))
        only_by_it += expected != DayPlan(without, durations).dead_at(placed)
    assert only_by_it > 10


def test_with_an_unknown_duration_only_what_is_certain_is_called_dead() -> None:
    spec = Spec(("a", "b"), (apart("a", "b"),), {"b": 30}, (540, 660))
    assert DayPlan(spec, {"b": 30}).dead_at([("a", 540, 540), ("b", 545, 575)]) is None
    assert repair_schedule(spec, {"a": 540, "b": 545}, {"b": 30}) is None


def test_repair_keeps_it_and_changes_as_few_starts_as_brute_force() -> None:
    repaired = 0
    for seed in range(40):
        spec, placed = small_day(random.Random(seed))
        declared = {name: start for name, start, _ in placed}
        repair = repair_schedule(spec, declared, spec.durations or {}, timeout_ms=10_000)
        changes = [sum(plan[a] != declared[a] for a in plan) for plan in plans(spec)]
        assert (repair is None) is (not changes)
        if repair is None:
            continue
        repaired += 1
        assert repair.starts is not None
        assert keeps(spec, dict(repair.starts))
        assert sum(repair.starts[a] != declared[a] for a in declared) == min(changes)
    assert repaired > 15


def test_what_it_makes_impossible_is_a_conflict_that_names_it() -> None:
    limits = (EndsBy("a", 600, 0), EndsBy("b", 600, 1), replace(apart("a", "b", 31), sentence=2))  # type: ignore[type-var]
    spec = Spec(("a", "b"), limits, {"a": 20, "b": 10}, (540, 1080))
    found = conflict(spec)
    assert found is not None
    assert found.sentences == (0, 1, 2)
    assert "a and b must be at least 31 minutes apart" in found.in_one_line(str)
    easier = replace(spec, constraints=(*limits[:2], apart("a", "b", 30)))
    assert (satisfiable(easier), equivalent(spec, easier)) == (True, False)


@dataclass(frozen=True)
class During:
    """`then` starts before `first` has ended: never, where one runs at a time."""

    kind: ClassVar[str] = "during"
    fields: ClassVar[dict[str, Reader]] = {"first": action_id, "then": action_id}
    code: ClassVar[str] = "apart"
    exact: ClassVar[bool] = False
    first: str
    then: str
    sentence: int | None = None
    span: tuple[int, int] | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        return (self.first, self.then)

    def formula(self, t: Times) -> Truth:
        return t.start(self.then) <= t.end(self.first)

    def narrow(self, outline: Outline) -> bool:
        return False

    def words(self, name: Callable[[str], str]) -> str:
        return f"{name(self.then)} must start while {name(self.first)} runs"

    def happened(self, ran: Mapping[str, Ran]) -> str:
        return f"{ran[self.first].task} had ended"


def test_one_that_starts_when_the_other_ends_does_not_start_before_it_has_ended() -> None:
    rules = (During("a", "b"), Before("a", "b"))
    durations = {"a": 30, "b": 30}
    spec = Spec(("a", "b"), rules, durations, (540, 1080))
    assert satisfiable(spec) is False
    assert conflict(spec) is not None
    assert DayPlan(spec, durations).dead_at([("a", 540, 570), ("b", 570, 600)]) == 0
    assert equivalent(spec, replace(spec, constraints=(*rules, EndsBy("a", 560)))) is True
    run_of_it = run([task("a", "09:00", 30), task("b", "09:30", 30)])
    assert judge(hand_made(*rules, durations=durations), run_of_it).outcome == "fail"


# ---------------------------------------------------------------- what cannot be done with it is refused


@pytest.mark.parametrize("layer", ["terminal", "topic", "structure"])
def test_no_mutant_forgets_it(layer: Layer) -> None:
    with pytest.raises(BadInput, match=r"'apart' constraint .* is more than"):
        mutants(case_from_json(CASE), layer, 1)


def test_shrinking_leaves_a_case_as_it_is_rather_than_forget_it() -> None:
    three = [*CASE["actions"], {"id": "c", "phrase": "cleanup", "tool": "do_c"}]
    text = "Audit must precede briefing. Briefing must precede cleanup."
    more = {"kind": "before", "first": "b", "then": "c", "sentence": 1}
    whole = CASE | {
        "query": text,
        "paragraph": text,
        "actions": three,
        "constraints": [*CASE["constraints"], more],
        "durations": {"a": 60, "b": 60, "c": 60},
        "witness": {"a": 540, "b": 630, "c": 690},
    }
    case = case_from_json(whole)
    assert shrink(case, lambda smaller: True) is case
    known = case_from_json(whole | {"constraints": [CASE["constraints"][0], more]})
    assert shrink(known, lambda smaller: True) is not known


def test_the_planner_does_not_take_on_what_it_cannot_hold() -> None:
    with pytest.raises(BadInput, match="is more than an order and clock limits"):
        ReferencePlanner("ab", [apart("a", "b")], (540, 1080))


# ---------------------------------------------------------------- broken ones

BROKEN = """
from dataclasses import dataclass
from typing import ClassVar
from synth.formal.constraints import Before

TEXT = "no kind"

@dataclass(frozen=True)
class Half:
    kind: ClassVar[str] = "half"
    action: str
    sentence: int | None = None
    span: tuple | None = None

class Taken(Before):
    pass

class Unnamed(Before):
    kind = ["apart"]
"""


def test_broken_ones_are_told_by_name_and_passed_over(
    install: Install, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "pd_broken_rules.py").write_text(BROKEN)
    (tmp_path / "pd_ends_it.py").write_text("raise SystemExit(3)")
    install(
        f"apart = {MODULE}:Apart",
        "text = pd_broken_rules:TEXT",
        "half = pd_broken_rules:Half",
        "taken = pd_broken_rules:Taken",
        "gone = pd_broken_rules:GONE",
        "nowhere = pd_no_such_module:X",
        "unnamed = pd_broken_rules:Unnamed",
        "ends = pd_ends_it:X",
    )
    assert constraint_to_json(apart("a", "b")) == {"kind": "apart", "a": "a", "b": "b", "minutes": 30}
    with pytest.raises(BadInput, match="expected one of before, ends_by, starts_from, apart"):
        constraint_from_json({"kind": "half", "action": "a"})
    for told in (
        "constraint kind text (pd_broken_rules:TEXT) is not used: a frozen dataclass was expected",
        "constraint kind half (pd_broken_rules:Half) is not used: it has no actions, code, exact, fields",
        "constraint kind before (pd_broken_rules:Taken) is not used: there is one of that name",
        "constraint kind gone (pd_broken_rules:GONE) cannot be loaded",
        "constraint kind nowhere (pd_no_such_module:X) cannot be loaded",
        "constraint kind unnamed (pd_broken_rules:Unnamed) is not used: its kind is ['apart']",
        "constraint kind ends (pd_ends_it:X) cannot be loaded: SystemExit(3)",
    ):
        assert told in caplog.text
