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


def explained(calls: list[dict[str, Any]], **more: Any) -> tuple[str, str]:
    last = [*ANSWERED[:1], {**ANSWERED[1], "before_call": len(calls)}]
    run = run_from_json({"run_id": "r", "calls": calls, "messages": last, **more})
    (result,) = judge_policies(load_policies("policies: [{id: shape, behaviour: react}]\n"), run)
    return result.verdict, result.explanation


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


def hole(**where: int) -> dict[str, Any]:
    return {"problems": ["a hole"], "unseen": [{"problem": "a hole", **where}]}


def test_what_no_unseen_call_can_change_is_said() -> None:
    batch = [call(0), call(0), call(1), call(2)]
    assert judged(batch, **hole(after=2, before=3)) == ("violated", (1,))
    assert judged(batch, **hole(after=0, before=1)) == ("undecided", ())
    assert judged(batch[1:], **hole(after=2)) == ("undecided", ())
    assert judged([call(0)], "direct", **hole(after=0)) == ("violated", (0,))
    silent = [call(0), call(1, text=False), call(2)]
    assert judged(silent, **hole(after=2)) == ("violated", (1,))
    assert judged(silent, **hole(after=1)) == ("undecided", ())
    assert judged([call(0), call(1)], **hole(after=0, before=1, calls=0)) == ("ok", ())
    said = "The run leaves the specification or is incomplete, whatever was not seen."
    late = [call(0), call(1, text=None), call(2), call(2), call(2)]
    assert explained(late, **hole(after=0, before=2)) == ("violated", said)


def test_a_call_that_stands_for_nothing_may_have_been() -> None:
    only = REVIEWED.replace("(call review) Check)", "(call review) Check) (call) (result)")
    seen = [call(0, name="review")]
    assert judged(seen, only, tools=["look", "review"], **hole(before=0)) == ("undecided", ())
    assert judged(seen, only, tools=["look"], **hole(before=0)) == ("ok", ())
    assert judged(seen, only, tools=["look"], **hole(after=0)) == ("undecided", ())


SEEN = """(define seen
  (:states (Ques (:text "Q:")) (Act (:text "A:")) (Obs (:text "O:")) (Ans (:text "F:")))
  (:behavior (next Ques (always (next Act Obs)))))"""


def test_while_a_run_goes_on_it_has_no_last_word_yet() -> None:
    silent = [call(0, text=False)]
    assert judged(silent, SEEN, answer=False, status="running") == ("ok", ())
    assert judged(silent, SEEN, answer=False) == ("undecided", ())
    assert judged(silent, SEEN) == ("violated", ())


def test_before_an_unseen_call_the_last_word_was_none() -> None:
    spoken = f"{SEEN[:-1]}\n  (:trace (text)))"
    assert judged([call(0, text=False)], spoken) == ("violated", ())
    assert judged([call(0, text=False)], spoken, **hole(after=0)) == ("undecided", ())


def test_of_a_batch_with_a_refused_call_there_was_perhaps_no_summary() -> None:
    refused = {"name": "look", "arguments": {}, "step": 0, "with_text": True, "executed": False}
    assert judged([refused, call(1)], "pass") == ("undecided", ())
    assert judged([{**refused, "error": "no such tool"}, call(1)], "pass") == ("ok", ())


@pytest.mark.parametrize("timed", [False, True], ids=["messages", "instants"])
def test_a_thought_of_its_own_stands_before_the_call_that_it_is_placed_at(timed: bool) -> None:
    second = 1.7e9
    times = [{"start": second + 2 * k, "end": second + 2 * k + 1} if timed else {} for k in range(2)]
    calls = [call(None if timed else k, text=k == 0, **times[k]) for k in range(2)]
    said = [*ANSWERED[:1], {"role": "assistant", "content": "on", "before_call": 1}]
    last = {"role": "assistant", "content": "a", "before_call": 2}
    assert judged(calls, answer=False, messages=[*said, last]) == ("ok", ())
    assert judged(calls) == ("violated", (1,))


def test_a_call_that_begins_as_another_ends_comes_after_its_result() -> None:
    second = 1.7e9
    calls = [call(None, start=second + k, end=second + k + 1) for k in range(2)]
    assert judged(calls) == ("ok", ())


def test_a_request_that_is_not_certain_may_not_have_been() -> None:
    last = {"role": "assistant", "content": "a", "before_call": 2}
    again = {"role": "user", "content": None, "before_call": 1}
    calls = [call(0), call(1)]
    unsure = [*ANSWERED[:1], {**again, "partly": "ambiguous"}, last]
    assert judged(calls, answer=False, messages=unsure) == ("undecided", ())
    assert judged(calls, answer=False, messages=[*ANSWERED[:1], again, last])[0] == "violated"


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
