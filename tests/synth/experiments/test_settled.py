from __future__ import annotations

from synth.agents.process import command
from synth.experiments.harness import settled


def test_waiting_ends_only_with_a_judgement_of_the_run_as_it_ended() -> None:
    judged = {"judged": True, "status": "timeout", "outcome": "fail"}
    assert settled(judged, "timeout")
    assert not settled(None, "ok")
    assert not settled({**judged, "judged": False}, "timeout")
    assert not settled(judged, "ok")
    assert not settled({**judged, "outcome": "open"}, "timeout")
    waiting = {**judged, "outcome": "open", "verdict": {"outcome": "pass"}}
    assert settled(waiting, "timeout")  # a policy waits for later runs of a conversation
    assert not settled({**waiting, "verdict": {"outcome": "open"}}, "timeout")


def test_workers_are_instrumented_only_when_spans_have_somewhere_to_go() -> None:
    assert command("raw-loop", None)[1:] == ["-P", "-m", "synth.agents.worker", "raw-loop"]
    traced = command("raw-loop", "http://127.0.0.1:4318")
    assert traced[1:4] == ["run", "--endpoint", "http://127.0.0.1:4318"]
    assert traced[-1] == "raw-loop"
