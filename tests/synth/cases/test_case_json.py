"""Cases to and from JSON: the public spelling, and strict reading."""

from __future__ import annotations

import copy
import io

import orjson
import pytest

from synth.cases.case import Action, Case, case_from_json, read_cases, write_cases
from synth.cases.generate import Options, generate
from synth.errors import BadInput
from synth.formal.constraints import Before, EndsBy, StartsFrom
from synth.language.query import query_text

PARAGRAPH = "The audit must precede the briefing, which must happen after 09:30."
TIMED = Case(
    id="c1",
    seed=7,
    mode="timed",
    query=query_text(PARAGRAPH, "a baker", 2, (540, 1080)),
    paragraph=PARAGRAPH,
    topic="baker",
    actions=(
        Action("a1", "the audit", "audit", "Carries out the audit."),
        Action("a2", "the briefing", "briefing", "Carries out the briefing."),
    ),
    constraints=(Before("a1", "a2", 0, (0, 66)), StartsFrom("a2", 570, 0, (37, 66)), EndsBy("a1", 900)),
    valid_plans=1,
    options={"index": 3},
    durations={"a1": 60, "a2": 30},
    horizon=(540, 1080),
    witness={"a1": 540, "a2": 600},
    statistics={"replans": 0},
)


def test_the_spelling_is_the_public_one():
    said = TIMED.to_json()
    assert said["constraints"] == [
        {"kind": "before", "first": "a1", "then": "a2", "sentence": 0, "span": [0, 66]},
        {"kind": "starts_from", "action": "a2", "time": 570, "sentence": 0, "span": [37, 66]},
        {"kind": "ends_by", "action": "a1", "time": 900},
    ]
    assert said["actions"][0] == {
        "id": "a1", "phrase": "the audit", "tool": "audit", "description": "Carries out the audit.",
    }  # fmt: skip
    assert (said["durations"], said["horizon"]) == ({"a1": 60, "a2": 30}, [540, 1080])
    assert said["witness"] == {"a1": 540, "a2": 600}
    assert list(said)[:5] == ["id", "seed", "mode", "query", "paragraph"]


def test_an_order_case_has_no_fields_of_timed_ones():
    (case,) = generate(1, 0, confirm=False)
    assert {"durations", "horizon", "witness"}.isdisjoint(case.to_json())


@pytest.mark.parametrize("mode", ["order", "timed"])
def test_generated_cases_survive_the_round_trip(mode: str, tmp_path):
    cases = list(generate(30, 5, Options(mode=mode), confirm=False))
    assert write_cases(cases, tmp_path / "cases.jsonl") == 30
    assert read_cases(tmp_path / "cases.jsonl") == cases
    assert read_cases(io.BytesIO((tmp_path / "cases.jsonl").read_bytes())) == cases
    assert read_cases(io.StringIO((tmp_path / "cases.jsonl").read_text())) == cases


def changed(path: str, value: object) -> dict:
    """The timed case with one value replaced (`...` removes it)."""
    said = copy.deepcopy(TIMED.to_json())
    *way, last = path.split(".")
    place = said
    for step in way:
        place = place[int(step)] if step.isdigit() else place[step]
    key = int(last) if last.isdigit() else last
    if value is ...:
        del place[key]
    else:
        place[key] = value
    return said


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        ("surprise", 1, "surprise", "no such field"),
        ("id", ..., "id", "needs this field"),
        ("id", "", "id", "expected text, got ''"),
        ("id", 5, "id", "expected text, got 5"),
        ("seed", "7", "seed", "expected an integer, got '7'"),
        ("seed", True, "seed", "expected an integer, got True"),
        ("mode", "daily", "mode", 'expected "order" or "timed", got \'daily\''),
        ("mode", "order", "durations", "only timed cases have this"),
        ("query", "no such text", "query", "exactly once, but does 0 times"),
        ("actions", [], "actions", "at least one action"),
        ("actions.0", "a1", r"actions\[0\]", "an action is an object, got 'a1'"),
        ("actions.1.phrase", ..., r"actions\[1\].phrase", "expected text, got None"),
        ("actions.1.color", "red", r"actions\[1\].color", "an action has no such field"),
        ("actions.1.id", "a1", r"actions\[1\].id", "'a1' is used twice"),
        ("actions.1.tool", "audit", r"actions\[1\].tool", "'audit' is used twice"),
        ("constraints", {}, "constraints", "expected a list of constraints, got {}"),
        ("constraints.0.first", "a9", r"constraints\[0\]", "'a9' is not the id of an action"),
        ("constraints.0.kind", "near", r"constraints\[0\].kind", "unknown kind 'near'"),
        ("constraints.0.span", [0, 67000], r"constraints\[0\].span", "outside the paragraph"),
        ("constraints.0.span", [5, 2], r"constraints\[0\].span", "0 <= start <= end"),
        ("constraints.2.time", 1500, r"constraints\[2\].time", "minutes after midnight"),
        ("valid_plans", -1, "valid_plans", "from 0 or null"),
        ("options", [], "options", "expected an object"),
        ("durations", ..., "durations", "needs this field"),
        ("durations.a1", ..., "durations.a1", "minutes of every action"),
        ("durations.a1", 0, "durations.a1", "minutes from 1"),
        ("durations.a3", 5, "durations.a3", "not the id of an action"),
        ("witness.a2", "10:00", "witness.a2", "expected an integer"),
        ("horizon", [540], "horizon", r"expected \[begin, end\]"),
        ("horizon", [1080, 540], "horizon", "begin < end"),
    ],
)
def test_anything_else_is_refused_with_its_field(path: str, value: object, field: str, message: str):
    with pytest.raises(BadInput, match=f"field {field}: .*{message}"):
        case_from_json(changed(path, value))


def ordered(*orders: str) -> dict:
    said = changed("mode", "order")
    del said["durations"], said["horizon"], said["witness"]
    pairs = [order.split("<") for order in orders]
    said["constraints"] = [{"kind": "before", "first": a, "then": b} for a, b in pairs]
    said["actions"].append({"id": "a3", "phrase": "the call", "tool": "call"})
    return said


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        (("a1<a2", "a2<a1"), "'a1' before 'a2' and 'a2' before 'a1'"),
        (("a1<a2", "a2<a2"), "'a2' before 'a2'"),
        (("a1<a2", "a2<a3", "a3<a1"), "'a1' before 'a2' and 'a2' before 'a3' and 'a3' before 'a1'"),
    ],
)
def test_orders_in_a_circle_are_refused(orders: tuple[str, ...], said: str):
    with pytest.raises(BadInput, match=f"field constraints: no plan can keep {said}; the order goes in a"):
        case_from_json(ordered(*orders))
    assert case_from_json(ordered(*orders[:1], "a1<a3", "a1<a2")).valid_plans == 1


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("witness.a2", 599, r"constraints\[0\]: 'a1' must end before 'a2' starts"),
        ("durations.a1", 61, r"constraints\[0\]: 'a1' must end before 'a2' starts"),
        ("constraints.1.time", 601, r"constraints\[1\]: 'a2' "),
        ("constraints.2.time", 599, r"constraints\[2\]: 'a1' "),
    ],
)
def test_a_witness_keeps_every_constraint(path: str, value: int, said: str):
    with pytest.raises(BadInput, match=f"field witness: it breaks {said}"):
        case_from_json(changed(path, value))


def test_an_order_case_cannot_limit_the_clock():
    said = changed("mode", "order")
    del said["durations"], said["horizon"], said["witness"]
    with pytest.raises(BadInput, match=r"constraints\[1\].kind: 'starts_from' needs a case in timed mode"):
        case_from_json(said)


@pytest.mark.parametrize("obj", [None, [], "case", 3])
def test_a_case_is_an_object(obj: object):
    with pytest.raises(BadInput, match="a case is a JSON object"):
        case_from_json(obj)


def test_errors_name_file_and_line(tmp_path):
    path = tmp_path / "cases.jsonl"
    good = orjson.dumps(TIMED.to_json())
    path.write_bytes(good + b"\n\n{broken\n")
    with pytest.raises(BadInput, match=r"cases.jsonl:3: not JSON"):
        read_cases(path)
    path.write_bytes(good + b"\n" + good)
    with pytest.raises(BadInput, match=r"cases.jsonl:2, field id: the id 'c1' was already used in line 1"):
        read_cases(path)
    path.write_bytes(orjson.dumps(changed("surprise", 1)))
    with pytest.raises(BadInput, match=r"cases.jsonl:1, field surprise"):
        read_cases(path)
    with pytest.raises(BadInput, match=r"absent.jsonl: cannot read the cases: No such file"):
        read_cases(tmp_path / "absent.jsonl")
