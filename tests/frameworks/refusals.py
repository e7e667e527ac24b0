"""A guard of the tests' own, and what every framework has to do with its refusals.

The environments of the frameworks have no rule language; what rules say is tested beside the guard itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pdoctor_trace
from pdoctor_trace.asking import DOOR
from pdoctor_trace.guarding import Refused, _ask, guard
from pdoctor_trace.person import Question
from tests.frameworks.conformance import Driver, Outcome, ToolLog
from tests.support.models import FINAL, FakeModels
from tests.support.sink import OtlpSink

TEXT = "Not run: add is not wanted here."


class Denying:
    """Refuses every call of one tool."""

    def __init__(self, tool: str, mode: str) -> None:
        self.tool, self.mode = tool, mode
        self.asked: list[str] = []

    def ask(self, call: Any, changeable: bool = False) -> _Said | None:
        self.asked.append(call.tool)
        return (
            _Said(TEXT, Refused(TEXT) if self.mode == "block" else None) if call.tool == self.tool else None
        )

    def used(self, run: Any, model: Any, given: int | None, written: int | None) -> None:
        """It counts no tokens."""


class _Said:
    def __init__(self, text: str, error: BaseException | None) -> None:
        self.text, self.error = text, error
        self.changed: dict[str, Any] | None = None

    def over(self, result: Any, error: BaseException | None) -> None:
        """Nothing is noted here."""


@contextmanager
def denying(tool: str, mode: str = "feedback") -> Iterator[Denying]:
    made, before = Denying(tool, mode), DOOR.ask
    DOOR.guards, DOOR.ask = (made,), _ask
    try:
        yield made
    finally:
        DOOR.guards, DOOR.ask = (), before


Tools = Callable[[list[Any]], Any]
"""What is done to the tools so that a guard can refuse them, where the loop itself does not run them."""


def assert_a_refused_call_does_not_run(
    driver: Driver, models: FakeModels, sink: OtlpSink, mode: str, made: Tools = list
) -> None:
    """The model is told, the other calls run, each is asked about once, and the run ends as it would."""
    log, before = ToolLog(), len(models.requests)
    with denying("add") as guard:
        outcome = driver.run(models, "fake.par.one.same", made(log.functions()), mode)
    pdoctor_trace.flush()
    assert log.names == ["slow_echo"]
    assert (outcome.text, outcome.error) == (FINAL, None)
    assert sorted(guard.asked) == ["add"] * 4 + ["slow_echo"]
    assert TEXT in json.dumps([body for _, body in models.requests[before:]])
    adds = [call for call in sink.calls if call.tool == "add"]
    assert [call.executed for call in adds] == [False] * 4
    assert all(call.failed for call in adds)
    assert [call.executed for call in sink.calls if call.tool == "slow_echo"] == [True]


def assert_a_blocked_call_does_not_run(
    driver: Driver, models: FakeModels, sink: OtlpSink, mode: str, made: Tools = list
) -> None:
    """The typed exception goes through the framework, which ends the run or tells its model."""
    log, before = ToolLog(), len(models.requests)
    with denying("add", "block"):
        outcome = driver.run(models, "fake.one", made(log.functions()), mode)
    pdoctor_trace.flush()
    assert log.names == []
    assert [call.executed for call in sink.calls] == [False]
    if driver.blocked == "loop":
        return
    how = ending(outcome)
    assert how == driver.blocked
    if how == "tells":
        assert TEXT in json.dumps([body for _, body in models.requests[before:]])


NEVER = "actions: {add: add}\npolicies: [{id: NEVER, rule: Add must never happen.}]\n"


@contextmanager
def changing(**changed: Any) -> Iterator[list[Question]]:
    """Somebody lets every call of `add` run with these arguments; gives what was asked."""
    questions: list[Question] = []

    def on_ask(text: str, question: Question) -> dict[str, Any]:
        questions.append(question)
        return changed

    with guard(NEVER, mode="ask", on_ask=on_ask):
        yield questions


def assert_run_with_other_arguments(log: ToolLog, sink: OtlpSink, questions: list[Question]) -> None:
    """Of one call of `add` with 40 and 2, which somebody changed to 40 and 3."""
    pdoctor_trace.flush()
    (question,) = questions
    assert question == Question("add", {"a": 40, "b": 2}, ("NEVER",), question.agent, True)
    assert [entry.arguments for entry in log.entries] == [{"a": 40, "b": 3}]
    (call,) = sink.calls
    assert (call.arguments, call.executed, call.failed) == ({"a": 40, "b": 3}, True, False)
    assert json.loads(call["pdoctor.tool.asked_arguments"]) == {"a": 40, "b": 2}
    assert call["pdoctor.guard.decision"] == "approved"


def ending(outcome: Outcome) -> str | Outcome:
    """What became of a run in which a guard blocked a call: it `ends`, or the framework `tells` its model."""
    error = outcome.error
    while error is not None and not isinstance(error, Refused):
        error = error.__cause__ or error.__context__
    said = outcome.text or ""
    broken = outcome.error is None and (
        not said or "Not run: " in said
    )  # Agno tells in the run, or as an event
    if error is not None or broken:
        return "ends"
    return "tells" if said == FINAL else outcome
