"""Trouble that is not the agent's: its planning was not tested, and what it did before stays as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synth.errors import BadInput
from synth.formal.model import Verdict, verdict_from_json
from synth.formal.trouble import TROUBLES, Trouble, trouble_from_json
from synth.judge import judge
from synth.observed.run import Run, run_from_json
from tests.support.building import call, case, run, summary, task
from tests.support.policing import brief, judged, policy

LIMIT = Trouble("endpoint", 429, "Rate limit reached for gpt-4o")


def verdict_of(calls: str, **fields: object) -> Verdict:
    return judge(case("a<b", "b<c"), run(calls, trouble=LIMIT, **fields))


@pytest.mark.parametrize("status", ["ok", "timeout", "crash"])
@pytest.mark.parametrize("calls", ["", "a", "a b", "a b!", "a b c"])
def test_what_trouble_left_undone_is_no_fault(calls: str, status: str) -> None:
    verdict = verdict_of(calls, status=status)
    assert (verdict.outcome, verdict.error_type, verdict.trouble) == ("error", None, LIMIT)
    assert [finding for finding in verdict.findings if finding.type != "note"] == []
    assert (verdict.dead_at, verdict.repair) == (None, None)


def test_what_was_wrong_before_the_trouble_stays_among_the_findings() -> None:
    verdict = verdict_of("b a z", tools=("do_a", "do_b", "do_c"))
    assert summary(verdict) == (
        "error",
        None,
        [("act_error", "unknown_tool", (2,)), ("order_error", "order", (1, 0))],
    )


def test_the_time_that_an_endpoint_took_is_not_the_agents() -> None:
    slow = [call("a", 0, 1), call("b", 400, 401)]
    assert summary(judge(case("a<b"), run(slow, trouble=LIMIT))) == ("error", None, [])
    assert summary(judge(case("a<b"), run(slow)))[:2] == ("fail", "timeout")
    rounds = judge(case("a<b"), run("a b", iterations=51, trouble=LIMIT))
    assert summary(rounds) == ("error", None, [("timeout", "iterations", ())])


def test_an_attempt_that_trouble_cut_short_is_no_bad_plan() -> None:
    timed = case("a<=600", durations={"a": 60, "b": 60})
    verdict = judge(timed, run([task("a", "10:30", 60)], trouble=LIMIT))
    assert summary(verdict) == ("error", None, [])


def test_a_run_that_goes_on_is_open_whatever_happened_to_it() -> None:
    verdict = verdict_of("a", status="running")
    assert (verdict.outcome, verdict.trouble) == ("open", None)


def test_trouble_says_more_than_a_gap() -> None:
    verdict = verdict_of("a", problems=("dropped 2 spans",))
    assert [finding.code for finding in verdict.findings] == ["incomplete_evidence"]
    assert verdict.outcome == "error"


SOON = "A must be followed by B."
DUTIES = [
    (SOON, "a"),
    ("A must happen exactly 2 times.", "a"),
    ("B must happen at least 1 time.", "a"),
]


@pytest.mark.parametrize(("sentence", "calls"), DUTIES)
def test_a_duty_that_was_still_open_is_undecided(sentence: str, calls: str) -> None:
    assert brief(sentence, calls)[0] == "violated"
    assert brief(sentence, calls, trouble=LIMIT, status="crash") == ("undecided", ())


def test_the_open_duty_says_why_it_is_open() -> None:
    said = judged(SOON, "a", trouble=LIMIT).explanation
    assert said.startswith("Still open when trouble ended the run: A (call 0) was not followed by B.")
    assert judged(SOON, "a", status="running").explanation.startswith("Pending: ")


@pytest.mark.parametrize(
    "body",
    [
        "behaviour: (next do_a do_b)",
        "contract:\n  goal: [done]\n  tools:\n    do_a: {provides: [begun]}",
    ],
)
def test_a_course_or_goal_that_trouble_cut_short_is_undecided(body: str) -> None:
    assert brief(policy(body), "a")[0] == "violated"
    assert brief(policy(body), "a", trouble=LIMIT) == ("undecided", ())


def test_something_near_in_time_may_have_come_without_the_trouble() -> None:
    early = [call("b", 0, 1)]
    assert brief("B must happen within 5 minutes of A.", early)[0] == "violated"
    assert brief("B must happen within 5 minutes of A.", early, trouble=LIMIT)[0] == "undecided"


@pytest.mark.parametrize(
    ("sentence", "calls", "expected"),
    [
        ("B must never happen.", "a b", ("violated", (1,))),
        ("A must happen before B.", "b a", ("violated", (0,))),
        ("A must happen at most 1 time.", "a a", ("violated", (1,))),
        ("A must happen before B.", "a b", ("ok", ())),
        ("C must never happen.", "a b", ("not_applicable", ())),
    ],
)
def test_a_rule_that_trouble_cannot_change_keeps_its_answer(
    sentence: str, calls: str, expected: tuple[str, tuple[int, ...]]
) -> None:
    assert brief(sentence, calls) == expected
    assert brief(sentence, calls, trouble=LIMIT) == expected


@pytest.mark.parametrize("kind", TROUBLES)
def test_trouble_survives_json(kind: str) -> None:
    trouble = replace(LIMIT, kind=kind, status=None)  # type: ignore[arg-type]
    seen = run("a", trouble=trouble)
    assert run_from_json(seen.to_json()) == seen
    verdict = judge(case("a<b"), seen)
    assert verdict_from_json(verdict.to_json()) == verdict
    assert verdict.to_json()["trouble"] == {"kind": kind, "status": None, "message": LIMIT.message}


def test_a_run_without_trouble_does_not_speak_of_it() -> None:
    assert "trouble" not in run("a").to_json()
    assert judge(case("a<b"), run("a b")).to_json()["trouble"] is None
    assert trouble_from_json(None) is None


def test_a_verdict_that_was_stored_before_there_was_trouble_is_read() -> None:
    said = judge(case("a<b"), run("a b")).to_json()
    del said["trouble"]
    assert verdict_from_json(said).trouble is None


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("429", "trouble"),
        ({}, "trouble.kind"),
        ({"kind": "weather"}, "trouble.kind"),
        ({"kind": "endpoint", "status": "429"}, "trouble.status"),
        ({"kind": "endpoint", "status": True}, "trouble.status"),
        ({"kind": "endpoint", "message": 5}, "trouble.message"),
    ],
)
def test_what_is_no_trouble_is_refused_with_its_place(said: object, place: str) -> None:
    with pytest.raises(BadInput) as refused:
        run_from_json({"run_id": "r", "calls": [], "trouble": said})
    assert refused.value.field == place


def test_trouble_is_told_in_one_line() -> None:
    assert str(LIMIT) == "endpoint 429: Rate limit reached for gpt-4o"
    assert str(Trouble("no_verdict")) == "no_verdict"
    assert Run("r", ()).closed
