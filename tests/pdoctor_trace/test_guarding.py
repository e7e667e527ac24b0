"""The guard in the host: what is refused does not run, what is allowed runs as without it."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import pdoctor_trace
from pdoctor_trace import asking, command, guarding
from pdoctor_trace.asking import DOOR
from pdoctor_trace.calls import Call
from pdoctor_trace.harmless import FAILURES
from pdoctor_trace.wrappers import around
from synth.cases.case import read_cases, write_cases
from tests.support.bench_cases import order_case
from tests.support.sink import OtlpSink
from tests.support.soak import tries

HEAD = "actions: {verify: verify, refund: refund, any tool: '*'}\npolicies:\n"
FIRST = HEAD + "  - {id: FIRST, rule: Verify must happen before refund.}\n"
ONCE = HEAD + "  - {id: ONCE, rule: Refund must happen at most 1 time.}\n"


@pytest.fixture(autouse=True)
def _no_guard_stays(sink: OtlpSink) -> Iterator[None]:
    yield
    pdoctor_trace.flush()
    DOOR.guards = ()


class Shop:
    """Two tools that note what ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.verify = pdoctor_trace.tool(self._tool("verify"))
        self.refund = pdoctor_trace.tool(self._tool("refund"))

    def _tool(self, name: str) -> Callable[..., str]:
        def body(order: str = "7") -> str:
            self.ran.append(name)
            return f"{name} done"

        body.__name__ = name
        return body


def rule(text: str, **fields: str) -> str:
    more = "".join(f", {name}: {value}" for name, value in fields.items())
    return f"{HEAD}  - {{id: R, rule: {text}{more}}}\n"


def test_feedback_tells_the_model_and_nothing_runs() -> None:
    shop = Shop()
    with pdoctor_trace.guard(FIRST, mode="feedback"), pdoctor_trace.run():
        said = shop.refund()
        assert shop.ran == []
        assert said.startswith("Not run: Verify must happen before refund.")
        assert len(said) < 400
        assert [shop.verify(), shop.refund()] == ["verify done", "refund done"]
    assert shop.ran == ["verify", "refund"]


def test_block_raises() -> None:
    shop = Shop()
    with pdoctor_trace.guard(FIRST, mode="block"), pdoctor_trace.run():
        with pytest.raises(pdoctor_trace.Refused) as refused:
            shop.refund()
        assert refused.value.rules == ("FIRST",)
    assert shop.ran == []


@pytest.mark.parametrize("mode", [None, "observe", "warn"])
def test_the_mild_modes_let_everything_run(mode: str | None) -> None:
    shop = Shop()
    told: list[str] = []
    with pdoctor_trace.guard(FIRST, mode=mode, on_warn=told.append) as guard, pdoctor_trace.run():
        assert shop.refund() == "refund done"
    assert shop.ran == ["refund"]
    assert len(told) == (mode == "warn")
    assert guard.counts[mode or "observe"] == 1


def test_a_rule_says_how_far_it_goes_up_to_what_is_asked_for() -> None:
    text = rule("Verify must happen before refund.", on_break="block")
    shop = Shop()
    with pdoctor_trace.guard(text), pdoctor_trace.run():
        assert shop.refund().startswith("Not run")
    with pdoctor_trace.guard(text, mode="observe"), pdoctor_trace.run():
        assert shop.refund() == "refund done"
    with pdoctor_trace.guard(text, mode="block"), pdoctor_trace.run(), pytest.raises(pdoctor_trace.Refused):
        shop.refund()


def a_case(tmp_path: Path, *names: str) -> Path:
    """A file of cases; in each, verifying comes before the refund."""
    cases = [
        order_case(f"The {n} check must precede the refund.", (f"the {n} check", "the refund"), n)
        for n in names
    ]
    write_cases(cases, tmp_path / "cases.jsonl")
    return tmp_path / "cases.jsonl"


def test_a_case_is_asked_about_and_the_rest_of_a_plan_is_told(tmp_path: Path) -> None:
    (case,) = read_cases(a_case(tmp_path, "guest"))
    check, refund = (pdoctor_trace.tool(_named(action.tool)) for action in case.actions)
    with pdoctor_trace.guard(case, mode="feedback") as guard, pdoctor_trace.run():
        said = refund()
        assert said == (
            "Not run: the request asks for another plan. refund comes after guest_check, not done yet. "
            "A plan that works from here: guest_check, refund."
        )
        assert [check(), refund()] == ["ran", "ran"]
        assert check() == "Not run: the request asks for another plan. guest_check is done already."
    assert guard.counts == {"feedback": 2}


def test_of_a_file_of_cases_each_is_asked_about_in_its_own_runs(tmp_path: Path) -> None:
    refund = pdoctor_trace.tool(_named("refund"))
    with pdoctor_trace.guard(a_case(tmp_path, "guest", "card"), mode="feedback"):
        for case, told in (("guest", "guest_check"), ("card", "card_check"), ("other", None)):
            with pdoctor_trace.case(case):
                said = refund()
            assert said == "ran" if told is None else f"comes after {told}," in said


def _named(name: str) -> Callable[[], str]:
    def body() -> str:
        return "ran"

    body.__name__ = name
    return body


@pytest.mark.parametrize("answer", [True, False, "no"])
def test_ask_lets_it_run_for_a_yes(answer: object) -> None:
    shop = Shop()
    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=lambda text: answer), pdoctor_trace.run():
        shop.refund()
    assert shop.ran == (["refund"] if answer is True else [])


@pytest.mark.parametrize("coroutine", [True, False])
def test_a_coroutine_function_is_asked_in_the_loop_of_a_coroutine_tool(coroutine: bool) -> None:
    loops: list[Any] = []

    async def on_ask(text: str) -> bool:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return len(loops) == 1

    async def refund() -> str:
        return "ran"

    tool = pdoctor_trace.tool(refund if coroutine else _named("refund"))

    async def main() -> None:
        for ran in (True, False):
            said: Any = tool()
            if coroutine:
                said = await said
            assert (said == "ran") is ran
        assert (loops[0] is asyncio.get_running_loop()) is coroutine

    with pdoctor_trace.guard(FIRST, mode="ask", on_ask=on_ask), pdoctor_trace.run():
        asyncio.run(main())


@pytest.mark.parametrize(("mode", "threads"), [("feedback", 0), ("block", 0), ("ask", 1)])
def test_a_coroutine_waits_in_a_thread_only_for_a_guard_that_may_ask(
    monkeypatch: pytest.MonkeyPatch, mode: str, threads: int
) -> None:
    begun: list[object] = []
    in_thread = asyncio.to_thread

    async def counted(*given: Any) -> Any:
        begun.append(given)
        return await in_thread(*given)

    monkeypatch.setattr(asyncio, "to_thread", counted)

    @pdoctor_trace.tool
    async def verify() -> str:
        return "verified"

    async def main() -> str:
        with pdoctor_trace.run():
            return await verify()

    with pdoctor_trace.guard(FIRST, mode=mode, on_ask=lambda text: True):
        assert asyncio.run(main()) == "verified"
    assert len(begun) == threads


def test_what_a_run_has_left_undone_is_told_before_it_ends() -> None:
    shop = Shop()
    rules = rule("Refund must be followed by verify.")
    with pdoctor_trace.guard(rules, mode="feedback") as guard:
        assert guard.owed() == ()
        with pdoctor_trace.run():
            assert guard.owed() == ()
            shop.refund()
            ((policy, text),) = guard.owed()
            assert (policy, "verify" in text) == ("R", True)
            with pdoctor_trace.run():
                assert [one.policy for one in guard.owed()] == ["R"]
            shop.verify()
            assert guard.owed() == ()
    with pdoctor_trace.guard(rule("Verify must happen at least once.")) as guard, pdoctor_trace.run():
        assert [one.policy for one in guard.owed()] == ["R"]


def test_each_run_begins_anew() -> None:
    shop = Shop()
    with pdoctor_trace.guard(ONCE, mode="feedback"):
        for _ in range(2):
            with pdoctor_trace.run():
                shop.refund()
                shop.refund()
    assert shop.ran == ["refund", "refund"]


def test_without_a_guard_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: Any) -> Any:
        raise AssertionError("asked")

    monkeypatch.setattr(asking, "call_of", never)
    shop = Shop()
    assert shop.refund() == "refund done"


def test_what_fails_of_ours_lets_the_tool_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> Any:
        raise RuntimeError("ours")

    shop = Shop()
    with pdoctor_trace.guard(FIRST, mode="block"), pdoctor_trace.run():
        monkeypatch.setattr(guarding.Guard, "ask", broken)
        assert shop.refund() == "refund done"
    assert dict(FAILURES) == {"_ask: RuntimeError": 1}
    FAILURES.clear()


@pytest.mark.parametrize(("on_error", "ran"), [("open", ["refund"]), ("closed", [])])
def test_a_rule_that_cannot_be_asked_fails_as_it_says(
    monkeypatch: pytest.MonkeyPatch, on_error: str, ran: list[str]
) -> None:
    from synth.policies.online import Prefix

    def broken(*given: Any) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr(Prefix, "_judged", broken)
    shop = Shop()
    text = rule("Verify must happen before refund.", on_error=on_error)
    with pdoctor_trace.guard(text, mode="feedback"), pdoctor_trace.run():
        shop.refund()
    assert shop.ran == ran


def test_a_bad_file_or_mode_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="expected one of observe"):
        pdoctor_trace.guard(FIRST, mode="blok")
    with pytest.raises(Exception, match="expected one of"):
        pdoctor_trace.guard(rule("Verify must happen before refund.", on_break="stop"))
    assert not DOOR.guards


def test_the_environment_sets_a_guard_and_a_bad_one_leaves_the_host_alone(tmp_path: Any) -> None:
    guarding.from_environment({"PDOCTOR_GUARD": str(tmp_path / "none.yaml")})
    assert not DOOR.guards
    file = tmp_path / "rules.yaml"
    file.write_text(FIRST)
    guarding.from_environment({"PDOCTOR_GUARD": str(file), "PDOCTOR_GUARD_MODE": "block"})
    (told,) = pdoctor_trace.status()["guards"]
    assert (told["rules"], told["mode"]) == (1, "block")


def test_the_span_says_what_was_decided(sink: OtlpSink) -> None:
    shop = Shop()
    with pdoctor_trace.guard(FIRST, mode="feedback"), pdoctor_trace.run():
        shop.refund()
        shop.verify()
    pdoctor_trace.flush()
    calls = {span.name: span.attributes for span in sink.spans if span.name.startswith("execute_tool")}
    refund, verify = calls["execute_tool refund"], calls["execute_tool verify"]
    assert refund["pdoctor.guard.decision"] == "refused"
    assert refund["pdoctor.guard.rules"] == "FIRST"
    assert refund["pdoctor.tool.executed"] is False
    assert verify["pdoctor.guard.decision"] == "allowed"
    assert verify["pdoctor.tool.executed"] is True


def events(sink: OtlpSink, tool: str = "refund") -> list[dict[str, Any]]:
    """What guards said of the calls of a tool, event by event, without the beginnings of the names."""
    pdoctor_trace.flush()
    told = [(span, one) for span in sink.calls if span.tool == tool for one in span.events]
    assert all(name == "pdoctor.guard.decision" for _, (name, _, _) in told)
    assert all(span.start <= at <= span.end for span, (_, at, _) in told)
    return [{key.rpartition(".")[2]: value for key, value in said.items()} for _, (_, _, said) in told]


@pytest.mark.parametrize(
    ("mode", "decision"),
    [
        ("observe", "observe"),
        ("warn", "warn"),
        ("feedback", "refused"),
        ("block", "refused"),
        ("ask", "approved"),
    ],
)
def test_what_was_decided_is_an_event_of_the_span(sink: OtlpSink, mode: str, decision: str) -> None:
    shop = Shop()
    with pdoctor_trace.guard(FIRST, mode=mode, on_ask=lambda text: True), pdoctor_trace.run():
        with suppress(pdoctor_trace.Refused):
            shop.refund()
        shop.verify()
    (said,) = events(sink)
    reason = said.pop("reason")
    assert said == {"decision": decision, "mode": mode, "rules": "FIRST"}
    assert reason.startswith("Not run: Verify must happen before refund.")
    assert events(sink, "verify") == []


def test_of_several_guards_each_has_its_event_and_a_refusal_stays_on_the_span(sink: OtlpSink) -> None:
    shop = Shop()
    with pdoctor_trace.guard(FIRST, "feedback"), pdoctor_trace.guard(FIRST, "observe"), pdoctor_trace.run():
        shop.refund()
    assert [(said["decision"], said["mode"]) for said in events(sink)] == [
        ("refused", "feedback"),
        ("observe", "observe"),
    ]
    (call,) = sink.calls
    assert (call["pdoctor.guard.decision"], call["pdoctor.guard.mode"]) == ("refused", "feedback")


SAME = HEAD + """  - {id: SAME, guard: {calls: refund, check: 'args.order != "secret-7"'}}\n"""


@pytest.mark.parametrize("content", ["full", "shape", "none"])
def test_an_event_has_values_of_arguments_only_where_they_are_kept(sink: OtlpSink, content: str) -> None:
    pdoctor_trace.install(content=content)
    shop = Shop()
    try:
        with pdoctor_trace.guard(SAME, mode="feedback"), pdoctor_trace.run():
            shop.refund(order="secret-7")
        (said,) = events(sink)
    finally:
        pdoctor_trace.install(content="full")
    assert said["decision"] == ("refused" if content == "full" else "doubt")
    assert ("args.order" in said["reason"]) is (content == "full")
    assert any(b"secret-7" in body for body in sink.bodies) is (content == "full")


def race(number: int) -> int:
    """How many of two refunds at once ran, in all of so many runs."""
    shop = Shop()
    both = threading.Barrier(2)

    def refund() -> None:
        both.wait()
        shop.refund()

    with pdoctor_trace.guard(ONCE, mode="feedback"), ThreadPoolExecutor(2) as pool:
        for _ in range(number):
            with pdoctor_trace.run():
                for waited in [pool.submit(refund), pool.submit(refund)]:
                    waited.result()
    return len(shop.ran)


RACES = 10_000


def test_two_threads_race_for_one_refund() -> None:
    assert race(tries(RACES)) == tries(RACES)


def race_of_tasks(number: int) -> int:
    """The same of two tasks of one event loop."""
    ran: list[int] = []

    @pdoctor_trace.tool
    async def refund() -> str:
        await asyncio.sleep(0)
        ran.append(1)
        return "done"

    async def all_races() -> None:
        for _ in range(number):
            with pdoctor_trace.run():
                await asyncio.gather(refund(), refund())

    with pdoctor_trace.guard(ONCE, mode="feedback"):
        asyncio.run(all_races())
    return len(ran)


def test_two_tasks_race_for_one_refund() -> None:
    assert race_of_tasks(tries(RACES)) == tries(RACES)


def race_of_one_message(number: int) -> int:
    """The same of two calls of one reply of a model, which a loop of one's own runs side by side."""
    shop = Shop()
    with pdoctor_trace.guard(ONCE, mode="feedback") as guard, ThreadPoolExecutor(2) as pool:
        for _ in range(number):
            with pdoctor_trace.run():
                contexts = [contextvars.copy_context() for _ in range(2)]
                said = [*pool.map(lambda one, order: one.run(shop.refund, order), contexts, ("7", "8"))]
                assert (
                    sum(text.startswith("Not run: Refund must happen at most 1 time.") for text in said) == 1
                )
        assert guard.counts == {"feedback": number}
    return len(shop.ran)


def test_two_calls_of_one_message_race_for_one_refund() -> None:
    assert race_of_one_message(tries(RACES)) == tries(RACES)


@pytest.mark.parametrize(("on_error", "ran"), [("open", ["refund"]), ("closed", [])])
@pytest.mark.parametrize("mode", ["feedback", "block"])
def test_a_guard_that_fails_as_a_whole_fails_as_its_rules_say(
    monkeypatch: pytest.MonkeyPatch, on_error: str, ran: list[str], mode: str
) -> None:
    def broken(*given: Any) -> Any:
        raise RuntimeError("ours")

    shop = Shop()
    text = rule("Verify must happen before refund.", on_error=on_error)
    with pdoctor_trace.guard(text, mode=mode), pdoctor_trace.run():
        monkeypatch.setattr(guarding.Guard, "ask", broken)
        if ran or mode == "feedback":
            shop.refund()
        else:
            with pytest.raises(pdoctor_trace.Refused):
                shop.refund()
    assert shop.ran == ran
    FAILURES.clear()


@pytest.mark.parametrize(("on_error", "ran"), [("open", ["refund"]), ("closed", [])])
def test_a_rule_that_takes_too_long_fails_as_it_says(
    monkeypatch: pytest.MonkeyPatch, on_error: str, ran: list[str]
) -> None:
    from synth.policies import online

    shop = Shop()
    text = HEAD + f"  - {{id: R, guard: {{calls: refund, check: 'true'}}, on_error: {on_error}}}\n"
    with pdoctor_trace.guard(text, mode="feedback") as guard, pdoctor_trace.run():
        monkeypatch.setattr(online, "OVERRUN", -1.0)
        shop.refund()
    assert shop.ran == ran
    assert guard.counts == {"feedback" if on_error == "closed" else "doubt": 1}


def test_rules_that_change_count_from_the_next_call_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "LOOK_EVERY", 0.0)
    shop, file = Shop(), tmp_path / "rules.yaml"
    file.write_text(FIRST)
    with pdoctor_trace.guard(file, mode="feedback") as guard, pdoctor_trace.run():
        assert shop.refund().startswith("Not run: Verify must happen before refund.")
        assert [shop.verify(), shop.refund()] == ["verify done", "refund done"]
        file.write_text(ONCE + "  # of all calls of the run\n")
        assert shop.refund().startswith("Not run: Refund must happen at most 1 time.")
        assert guard.told()["rules"] == 1


@pytest.mark.parametrize("becomes", ["policies: [", None])
def test_a_file_that_breaks_is_told_once_and_its_rules_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, becomes: str | None
) -> None:
    monkeypatch.setattr(guarding, "LOOK_EVERY", 0.0)
    shop, file = Shop(), tmp_path / "rules.yaml"
    file.write_text(FIRST)
    with pdoctor_trace.guard(file, mode="feedback"), pdoctor_trace.run():
        if becomes is None:
            file.unlink()
        else:
            file.write_text(becomes)
        for _ in range(3):
            assert shop.refund().startswith("Not run")
        assert caplog.text.count("the rules of before stay") == 1
        file.write_text(HEAD + "  - {id: OTHER, rule: Refund must happen at most 2 times.}\n")
        assert shop.refund() == "refund done"


def test_where_a_refusal_cannot_be_told_the_tool_fails_and_does_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*given: Any) -> Any:
        raise TypeError("ours")

    monkeypatch.setattr("pdoctor_trace.tools._refuse", broken)
    shop = Shop()
    told = pytest.raises(pdoctor_trace.Refused, match="Not run: Verify must happen before refund")
    with pdoctor_trace.guard(FIRST, mode="feedback"), pdoctor_trace.run(), told:
        shop.refund()
    assert shop.ran == []
    assert sum(FAILURES.values()) == 1
    FAILURES.clear()


PROGRAM = """
import pdoctor_trace

@pdoctor_trace.tool
def refund():
    return "refunded"

with pdoctor_trace.run():
    print(refund())
"""


def test_a_program_is_run_under_a_guard(tmp_path: Path) -> None:
    file, program = tmp_path / "rules.yaml", tmp_path / "program.py"
    file.write_text(FIRST)
    program.write_text(PROGRAM)

    env = {**os.environ, "PDOCTOR_EXIT_TIMEOUT": "0.1"}

    def said(*options: str) -> tuple[int, str, str]:
        words = [sys.executable, "-m", "pdoctor_trace", "run", *options, "--", "python", "program.py"]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, err = said("--guard", "rules.yaml", "--guard-mode", "feedback")
    assert (code, out.startswith("Not run: Verify must happen before refund.")) == (0, True), err
    file.write_text("policies: [")
    code, out, err = said("--guard", "rules.yaml", "--guard-mode", "block")
    assert (code, out, err.count("is not in force")) == (0, "refunded\n", 1)


def test_a_predecessor_that_runs_is_waited_for() -> None:
    shop = Shop()
    said: list[str] = []

    def slow() -> str:
        said.append(shop.refund())
        return "verified"

    slow.__name__ = "verify"
    with pdoctor_trace.guard(FIRST, mode="feedback"), pdoctor_trace.run():
        pdoctor_trace.tool(slow)()
    assert "Wait for verify, which still runs." in said[0]
    assert shop.ran == []


YES = HEAD + "  - {id: YES, guard: {calls: refund, check: user.contains('yes')}}\n"


@pytest.mark.parametrize(("query", "ran"), [("yes, refund it", ["verify", "refund"]), ("no", ["verify"])])
def test_a_rule_reads_what_the_user_said(query: str, ran: list[str]) -> None:
    shop = Shop()
    with pdoctor_trace.guard(YES, mode="feedback"), pdoctor_trace.run(query=query):
        shop.verify()
        shop.refund()
    assert shop.ran == ran


def test_in_a_conversation_the_latest_words_count() -> None:
    shop = Shop()
    with pdoctor_trace.guard("scope: session\n" + YES, mode="feedback"):
        for query in ("yes", "no, wait", "yes"):
            with pdoctor_trace.run(query=query, conversation="c1"):
                shop.verify()
                shop.refund()
    assert shop.ran == ["verify", "refund", "verify", "verify", "refund"]


@pytest.mark.parametrize(("tier", "ran"), [("gold", ["refund"]), ("tin", [])])
def test_a_rule_reads_what_the_host_said_of_the_run(tier: str, ran: list[str]) -> None:
    text = HEAD + "  - {id: GOLD, guard: {calls: refund, check: \"run.customer.tier == 'gold'\"}}\n"
    for facts in ({"customer": {"tier": tier}}, {"customer.tier": tier}):
        shop = Shop()
        with pdoctor_trace.guard(text, mode="feedback"), pdoctor_trace.run(facts=facts):
            shop.refund()
        assert shop.ran == ran


def test_the_strictest_rule_is_the_one_that_is_told() -> None:
    text = FIRST + "  - {id: MILD, rule: Refund must never happen., on_break: observe}\n"
    text = text.replace("before refund.", "before refund., on_break: feedback")
    text = (
        HEAD + text.removeprefix(HEAD).splitlines()[1] + "\n" + text.removeprefix(HEAD).splitlines()[0] + "\n"
    )
    shop = Shop()
    with pdoctor_trace.guard(text), pdoctor_trace.run():
        assert shop.refund().startswith("Not run: Verify must happen before refund.")


@pytest.mark.parametrize(
    ("option", "value", "flaw"),
    [
        ("--guard-ask", "tty", "'tty' is no place to ask (expected terminal or http://HOST:PORT)"),
        ("--guard-ask", "desk:4318", "'desk:4318' is no place to ask"),
        ("--approval-timeout", "soon", "invalid seconds value: 'soon'"),
        ("--approval-timeout", "-1", "invalid seconds value: '-1'"),
    ],
)
def test_where_nobody_can_be_asked_the_program_does_not_start(
    capsys: Any, option: str, value: str, flaw: str
) -> None:
    assert command.main(["run", f"{option}={value}", "--", "python", "program.py"]) == 2
    assert flaw in capsys.readouterr().err


def test_a_guard_file_that_is_missing_is_told_before_the_program_starts(capsys: Any) -> None:
    assert command.main(["run", "--guard", "none.yaml", "--", "python", "program.py"]) == 2
    assert capsys.readouterr().err == "pdoctor run: --guard: there is no file 'none.yaml'\n"


class Told(Call):
    """A call of a framework that tells of a failure as of a result, and lets a call wait for a person."""

    __slots__ = ()

    def returned(self, result: Any) -> None:
        if str(result).startswith("error"):
            self.fail(result)
        self.close()

    def raised(self, error: BaseException) -> None:
        self.withdraw()


def asked_about(guard: guarding.Guard) -> list[tuple[str, bool, bool]]:
    """Tool, whether it has ended, whether it failed; of all calls that have begun."""
    (course,) = guard._runs.values()
    return [(call.tool, call.finished, call.error is not None) for call in course.prefix.calls]


def test_a_failure_that_is_told_as_text_is_one_for_the_rules_after_it() -> None:
    said = iter(["error: down", "fine"])
    verify = around(lambda *_: Told("told", "verify", b"{}"), lambda *_: "no").direct(lambda: next(said))
    with pdoctor_trace.guard(FIRST, mode="feedback") as guard, pdoctor_trace.run():
        verify()
        verify()
        assert asked_about(guard) == [("verify", True, True), ("verify", True, False)]


def test_a_call_that_waits_for_a_person_and_goes_on_is_one_call() -> None:
    answers: list[str] = []

    def refund() -> str:
        if not answers:
            raise RuntimeError("somebody has to answer first")
        return answers[0]

    asking = around(lambda *_: Told("told", "refund", b"{}", call_id="c1"), lambda *_: "no").direct(refund)
    with pdoctor_trace.guard(ONCE, mode="feedback") as guard, pdoctor_trace.run():
        with pytest.raises(RuntimeError, match="somebody"):
            asking()
        assert asked_about(guard) == [("refund", False, False)]
        answers.append("yes")
        assert asking() == "yes"
        assert asked_about(guard) == [("refund", True, False)]
        assert asking() == "no"
