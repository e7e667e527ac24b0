"""Behaviour specifications over states: what a run shows, what nobody recorded, and what `:trace` changes."""

from __future__ import annotations

from typing import Any

import pytest

from synth.errors import BadInput
from synth.formal.monitor import SHIPPED
from synth.observed.run import run_from_json
from synth.policies import judge_policies, lint, load_policies

ANSWERED = [{"role": "user", "content": "q", "before_call": 0}, {"role": "assistant", "content": "a"}]


def call(step: int | None, *, text: bool | None = True, name: str = "look", **more: Any) -> dict[str, Any]:
    said = {"name": name, "arguments": {}, "result": "seen", "step": step, "with_text": text, **more}
    return {key: value for key, value in said.items() if value is not None}


def judged(
    calls: list[dict[str, Any]], specification: str = "react", answer: bool = True, **more: Any
) -> tuple[str, tuple[int, ...]]:
    last = [*ANSWERED[:1], {**ANSWERED[1], "before_call": len(calls)}]
    run = {"run_id": "r", "calls": calls, **({"messages": last} if answer else {}), **more}
    text = "\n".join(f"      {line}" for line in specification.splitlines())
    file = load_policies(f"policies:\n  - id: shape\n    behaviour: |\n{text}\n")
    (result,) = judge_policies(file, run_from_json(run))
    return result.verdict, result.violations


def test_a_thought_that_nobody_recorded_may_have_been() -> None:
    assert judged([call(0), call(1)]) == ("ok", ())
    assert judged([call(0), call(1, text=None)]) == ("undecided", ())
    assert judged([call(0), call(1, text=False)]) == ("violated", (1,))


def test_a_last_word_that_nobody_recorded_may_have_been() -> None:
    assert judged([call(0)], answer=False) == ("undecided", ())
    assert judged([call(0, text=False)], answer=False) == ("violated", (0,))
    assert judged([call(0)], answer=False, status="running") == ("undecided", ())


def test_calls_of_one_message_are_a_batch() -> None:
    batch = [call(0), call(0)]
    assert judged(batch, "pass") == ("ok", ())
    assert judged(batch, "react") == ("violated", (1,))
    assert judged([*batch, call(1, text=False)], "pass") == ("violated", (2,))
    open_call = {"name": "look", "arguments": {}, "step": 0, "with_text": True, "finished": False}
    assert judged([call(0), open_call], "pass") == ("violated", ())


def test_a_refused_call_was_perhaps_answered() -> None:
    refused = {"name": "look", "arguments": {}, "step": 0, "with_text": True, "executed": False}
    assert judged([refused, call(1)]) == ("undecided", ())
    assert judged([{**refused, "error": "no such tool"}, call(1)]) == ("ok", ())


def test_without_messages_known_the_instants_say_the_order() -> None:
    second = 1.7e9
    one, two = (call(None, start=second + 2 * k, end=second + 2 * k + 1) for k in range(2))
    assert judged([one, two]) == ("ok", ())
    assert judged([one, {**two, "start": second + 0.5}]) == ("violated", (1,))
    bounds = {"start": [second, second + 3], "end": [second + 1, second + 4]}
    assert judged([{**one, **bounds}, {**two, **bounds}]) == ("undecided", ())


def test_a_message_whose_calls_run_into_the_next_one_goes_by_instants() -> None:
    second = 1.7e9
    outer = call(0, start=second, end=second + 9)
    inner = call(1, start=second + 1, end=second + 2)
    assert judged([outer, inner]) == ("violated", (1,))
    assert judged([{**outer, "end": second + 0.5}, inner]) == ("ok", ())


def test_what_was_said_before_the_request_belongs_to_an_older_run() -> None:
    said = [
        {"role": "user", "content": "older", "before_call": 0},
        {"role": "assistant", "content": "older", "before_call": 0},
        *ANSWERED[:1],
        {"role": "assistant", "content": "let me see", "before_call": 0, "asks": True},
        {"role": "assistant", "content": "a", "before_call": 1},
    ]
    assert judged([call(0)], answer=False, messages=said) == ("ok", ())
    assert judged([call(0)], answer=False, messages=[*said, {**ANSWERED[0], "before_call": 1}]) == (
        "violated",
        (),
    )


def test_a_run_without_anything_to_see_is_not_judged() -> None:
    assert judged([], answer=False) == ("not_applicable", ())
    assert judged([], "direct") == ("ok", ())
    assert judged([], "chain_of_thought") == ("ok", ())
    assert judged([call(0)], "direct") == ("violated", (0,))


REVIEWED = """(define reviewed
  (:states (Ques (:text "Q:")) (Act (:text "A:")) (Check (:text "C:")) (Obs (:text "O:")) (Ans (:text "F:")))
  (:behavior (next Ques (until (next Act Obs) (next Check Ans))))
  (:trace (text) ((call review) Check) ((result review)) (answer Ans)))"""


def test_a_specification_says_what_stands_for_its_states() -> None:
    review = call(1, name="review")
    assert judged([call(0), review], REVIEWED) == ("ok", ())
    assert judged([call(0), call(1)], REVIEWED) == ("violated", ())
    assert judged([review, call(2)], REVIEWED) == ("violated", (1,))


def test_reflexion_reads_the_evaluation_from_a_tool() -> None:
    trial = [call(0), call(1, name="evaluate"), call(2), call(3, name="evaluate")]
    assert judged(trial, "reflexion") == ("ok", ())
    assert judged([call(0), call(1, name="evaluate"), call(2)], "reflexion") == ("violated", ())


def test_calls_that_nobody_saw_leave_it_open() -> None:
    assert judged([call(0), call(1, text=False)], problems=["a span is missing"]) == ("undecided", ())


def test_a_bare_formula_still_speaks_of_tools() -> None:
    assert judged([call(0), call(1, name="pay")], "(until look pay)") == ("ok", ())
    with pytest.raises(BadInput, match=r"field policies\[0\].behaviour: no state is called"):
        judged([], '(define x (:states (A (:text "a"))) (:behavior (next B)))')


def test_lint_tells_of_states_that_nothing_stands_for() -> None:
    def flaws(text: str) -> list[str]:
        lines = "\n".join(f"      {line}" for line in text.splitlines())
        return [
            problem.explanation
            for problem in lint(load_policies(f"policies:\n  - id: p\n    behaviour: |\n{lines}\n"))
        ]

    own = '(define x (:states (Ask (:text "q")) (Ans (:text "a"))) (:behavior (next Ask Ans))%s)'
    (said,) = flaws(own % "")
    assert "nothing that a run shows stands for Ask" in said
    assert flaws(own % " (:trace (request Ask))") == []
    assert [flaws(name) for name in SHIPPED] == [[]] * len(SHIPPED)
    assert flaws("(until look pay)") == []
