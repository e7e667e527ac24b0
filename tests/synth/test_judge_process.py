"""The judge in a process of its own: same answers, hard limits, no orphan."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from synth import judge_process
from synth.errors import BadInput
from synth.formal.constraints import constraint_from_json
from synth.judge import judge
from synth.judge_process import STOPS, JudgeFailed, SolverProcess
from synth.policies import PolicySet, judge_policies, load_policies
from tests.support.building import case, run
from tests.support.memory import FILL
from tests.support.outside_policies import HANGING, MODULE, for_children, installed

POLICIES = load_policies("""
policies:
  - {id: P1, guard: {calls: do_a, check: "size(args) == 0"}}
  - {id: P2, rule: Any tool must happen at most 1 time.}
""")


@pytest.fixture(scope="module")
def solver() -> Iterator[SolverProcess]:
    with SolverProcess(limit_seconds=20) as process:
        yield process


def test_answers_are_those_of_the_same_call_here(solver: SolverProcess) -> None:
    spec, seen = case("a<b"), run("b a")
    there, here = solver.judge(spec, seen), judge(spec, seen)
    assert replace(there, z3_ms=0.0) == replace(here, z3_ms=0.0)
    assert solver.judge_policies(POLICIES, seen) == judge_policies(POLICIES, seen)


def test_errors_come_back_as_themselves(solver: SolverProcess) -> None:
    with pytest.raises(BadInput, match="id of an action") as caught:
        solver.ask(constraint_from_json, {"kind": "before"})
    assert caught.value.field == "first"
    assert solver.kills == 0


def test_a_question_that_overruns_is_stopped_and_the_next_one_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judge_process, "STALL", 100.0)
    with SolverProcess(limit_seconds=3) as process:
        with pytest.raises(JudgeFailed, match=r"took longer than 3 s and was stopped"):
            process.ask(eval, "sum(range(10**12))")
        assert process.kills == 1
        assert process.ask(os.path.basename, "a/b") == "b"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the CPU time of another process")
def test_time_in_which_a_child_does_not_work_is_not_held_against_it_for_four_times_its_limit() -> None:
    """As where the machine has much else to do."""
    with SolverProcess(limit_seconds=1, first=partial(time.sleep, 0)) as process:
        process.ask(time.sleep, 1.5)
        assert process.kills == 0
        began = time.monotonic()
        with pytest.raises(JudgeFailed, match=r"took longer than 4 s, of which it worked 0.0 s, and was"):
            process.ask(time.sleep, 30)
        assert time.monotonic() - began < 20


def test_a_child_that_dies_is_replaced() -> None:
    with SolverProcess(limit_seconds=20) as process:
        with pytest.raises(JudgeFailed, match="died"):
            process.ask(os._exit, 3)
        assert process.judge(case("a<b"), run("a b")).outcome == "pass"


@pytest.mark.parametrize("room", [0, 5 << 20], ids=["to receive it", "to unpack it"])
def test_a_child_without_room_for_a_question_dies_at_once_and_is_replaced(room: int) -> None:
    """It must not wait, for ever, for a question that its receiver could not take."""
    question = bytes(4 << 20)
    with SolverProcess(limit_seconds=60) as process:
        process.ask(exec, FILL, {"room": room})
        with pytest.raises(JudgeFailed, match="died") as failure:
            process.ask(len, question)
        assert (failure.value.overran, failure.value.fresh) == (False, False)
        assert process.ask(len, question) == len(question)
        for told in ("MemoryError", "SystemError"):
            process.close()
            with pytest.raises(JudgeFailed, match="died") as failure:
                process.ask(exec, f"raise {told}")
            assert failure.value.fresh


SWALLOWED = """
def cleaning():
    try:
        yield
    finally:
        raise MemoryError
left = cleaning()
next(left)
del left
"""


def test_a_child_without_memory_ends_though_python_swallows_it() -> None:
    with SolverProcess(limit_seconds=60) as process:
        with pytest.raises(JudgeFailed, match="died"):
            process.ask(exec, SWALLOWED, {})
        process.ask(exec, SWALLOWED.replace("MemoryError", "ValueError"), {})


REFUSED = """
class Weighed(list):
    pass

def refuse():
    read = Weighed()
    seen.append(weakref.ref(read))
    try:
        raise KeyError
    except KeyError:
        raise ValueError

import gc, sys, weakref
gc.disable()
seen = sys.__dict__.setdefault("seen", [])
refuse()
"""


def test_what_was_refused_holds_no_memory_any_more() -> None:
    """Not even until the collector of garbage comes, which does not know how much it would be."""
    with SolverProcess(limit_seconds=60) as process:
        for _ in range(3):
            with pytest.raises(ValueError, match=r"^$"):
                process.ask(exec, REFUSED, {})
        assert process.ask(eval, "[one() for one in __import__('sys').seen]") == [None] * 3


class Weight:
    """What a caller has in hand when its question fails."""


@pytest.mark.parametrize(
    ("asked", "failure"),
    [
        (("time.sleep(60)",), JudgeFailed),
        (("os._exit(3)",), JudgeFailed),
        (("1 / 0",), ZeroDivisionError),
    ],
    ids=["overruns", "dies", "raises"],
)
def test_a_failure_that_was_dealt_with_holds_nothing_of_who_asked(
    asked: tuple[str], failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even until the collector of garbage comes: what callers have in hand may be a body of 20 MB."""
    monkeypatch.setattr(judge_process, "STALL", 1.0)

    def ask(process: SolverProcess) -> weakref.ref[Weight]:
        weight = Weight()
        with contextlib.suppress(failure):
            process.ask(exec, f"import os, time; {asked[0]}", {})
            pytest.fail("no failure")
        return weakref.ref(weight)

    with SolverProcess(limit_seconds=0.5) as process:
        process.ask(eval, "1")
        gc.disable()
        try:
            assert ask(process)() is None
        finally:
            gc.enable()


def test_what_no_child_can_judge_is_undecided() -> None:
    with SolverProcess(limit_seconds=0.001) as process:
        verdict = process.judge(case("a<b"), run("a b"))
        assert (verdict.outcome, verdict.findings[0].code) == ("undecided", "undecided")
        assert [r.verdict for r in process.judge_policies(POLICIES, run("a"))] == ["undecided"] * 2


def test_printing_libraries_do_not_disturb_the_answers(solver: SolverProcess) -> None:
    assert solver.ask(print, "noise") is None
    assert solver.ask(abs, -1) == 1


def test_a_child_is_replaced_after_so_many_questions() -> None:
    with SolverProcess(jobs_per_process=1) as process:
        assert process.ask(os.getpid) != process.ask(os.getpid)
        assert process.kills == 0


def test_the_child_ends_with_its_parent_even_while_it_works(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, threading, time\n"
        "from synth.judge_process import SolverProcess\n"
        "p = SolverProcess(limit_seconds=60)\n"
        "print(p.ask(os.getpid), flush=True)\n"
        "threading.Thread(target=p.ask, args=(time.sleep, 60), daemon=True).start()\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.3)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PYTHONPATH", for_children(tmp_path))
    with installed(tmp_path, HANGING) as put:
        put(f"pairs = {MODULE}:Pairs", f"hangs = {MODULE}:Hangs")
        yield


def hostile(*kinds: str) -> PolicySet:
    lines = "".join(f"  - {{id: P{k}, {kind}: do_a}}\n" for k, kind in enumerate(kinds))
    return load_policies(
        f"actions: {{C: do_c}}\npolicies:\n{lines}  - {{id: never, rule: C must never happen.}}\n"
    )


@pytest.mark.usefixtures("hanging")
def test_a_policy_that_stops_the_judge_is_undecided_and_the_others_keep_their_answers() -> None:
    with SolverProcess(limit_seconds=5) as process:
        hangs, pairs, never = process.judge_policies(hostile("hangs", "pairs"), run("a c"))
        assert process.kills == 1
    assert (hangs.verdict, pairs.verdict, never.verdict) == ("undecided", "violated", "violated")
    assert "had to be stopped while it was at this policy" in hangs.explanation


@pytest.mark.heavy
@pytest.mark.slow
@pytest.mark.usefixtures("hanging")
def test_many_such_policies_stop_so_many_judges_and_no_more() -> None:
    with SolverProcess(limit_seconds=3) as process:
        *hang, never = process.judge_policies(hostile(*["hangs"] * 6), run("a c"))
        assert process.kills == STOPS
    assert {result.verdict for result in hang} == {"undecided"}
    assert never.verdict == "violated"
