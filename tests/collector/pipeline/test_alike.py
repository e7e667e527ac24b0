"""Runs of one shape are judged once; what is recorded about each is what judging it would have recorded."""

from __future__ import annotations

import gc
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from sqlalchemy import select

from collector.judging import conclude
from collector.model import Binding
from collector.pipeline import alike, checker
from collector.pipeline.reading import KEPT_SECONDS
from collector.store import catalog, projects, recheck, retention, schema
from tests.support.judge import GRACE, NOW, Judge
from tests.support.soak import seeded
from tests.support.traces import MS, T0, new_id, request

TABLES = (
    schema.runs, schema.verdicts, schema.findings, schema.policy_results, schema.run_tools, schema.closings,
    schema.run_counts,
)  # fmt: skip
ACTIONS = "actions: {verify: verify, pay: pay, receipt: receipt}\npolicies:\n"
ORDER = (
    "Verify must happen before pay.",
    "Pay must be followed by receipt.",
    "Pay must never happen after receipt.",
    "Pay must happen at most twice.",
)
MORE = (
    "Verify must happen before pay with the same id.",
    "Pay must be followed by receipt within 20 milliseconds.",
    "Pay must never happen within 20 milliseconds after receipt.",
    "Pay must not happen on Sundays.",
    "Pay must happen at most once within 15 milliseconds.",
)
TOOLS = ("verify", "pay", "receipt", "look")


def policy_text(rules: Sequence[str]) -> str:
    return ACTIONS + "".join(f"  - {{id: p{i}, rule: {rule}}}\n" for i, rule in enumerate(rules))


class Traces:
    """Random ones; many have the shape of others, and some say what others do not."""

    def __init__(self, dice: random.Random, *, odd: float) -> None:
        self._dice, self._odd = dice, odd

    def one(self) -> bytes:
        dice, trace = self._dice, f"{self._dice.getrandbits(128):032x}"
        at = T0 + dice.randrange(10**15)
        calls = [self._call(trace, at, number) for number in range(dice.choice((1, 2, 2, 3)))]
        root = {
            "trace": trace, "id": 1, "name": "invoke_agent a", "start": at - MS, "end": at + 90 * MS,
            "at": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", **self._of_agent()},
        }  # fmt: skip
        spans = [*calls, *([] if self._is_odd() else [root])]
        if self._is_odd():
            asked = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c9", "name": "pay"}]}]'
            said = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": asked}
            spans.append({"trace": trace, "id": 50, "parent": 1, "start": at, "end": at, "at": said})
        message = request(*spans, scope="pdoctor_trace" if self._is_odd() else "vendor")
        for span in message.resource_spans[0].scope_spans[0].spans:
            span.flags = 0x300 if self._is_odd() else 0
            span.dropped_attributes_count = int(self._is_odd())
        return message.SerializeToString()

    def _is_odd(self) -> bool:
        return self._dice.random() < self._odd / 10

    def _call(self, trace: str, at: int, number: int) -> dict[str, Any]:
        dice = self._dice
        place = dice.choice((number, number, 2 - number))
        start = at + place * dice.choice((10, 10, 10, 25)) * MS + dice.randrange(MS)
        end = start + dice.choice((0, 5 * MS, 5 * MS, 5 * MS, 30 * MS))
        if self._is_odd():
            start, end = dice.choice(((end + MS, start), (0, end), (start, 0), (at, at)))
        said: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": dice.choice(TOOLS[: 4 if self._is_odd() else 3]),
            "gen_ai.tool.call.id": f"c{number}" if self._is_odd() else f"c{dice.getrandbits(40)}",
            "gen_ai.tool.call.arguments": f'{{"id": {dice.randrange(3)}}}',
            "gen_ai.tool.call.result": dice.choice(
                ('"done"', '{"a": 1}', "x" * (128 if self._is_odd() else 90))
            ),
        }
        for name, value in (
            ("pdoctor.timing", "inferred"), ("pdoctor.step.index", number + 1), ("error.type", "timeout"),
            ("pdoctor.run.id", trace), ("gen_ai.agent.name", "b"),
        ):  # fmt: skip
            if self._is_odd():
                said[name] = value
        parent = 77 if self._is_odd() else 1
        failed = "no" if self._is_odd() else None
        return {
            "trace": trace, "id": number + 2, "parent": parent, "start": start, "end": end, "error": failed,
            "at": said,
        }  # fmt: skip

    def _of_agent(self) -> dict[str, Any]:
        said = {
            "pdoctor.run.calls": self._dice.choice((2, 3)),
            "gen_ai.conversation.id": f"s{self._dice.randrange(3)}",
            "gen_ai.input.messages": self._dice.choice(
                ("Buy it.", "You must pay before receipt.", "Pay must be followed by receipt.")
            ),
            "customer.tier": "gold",
        }
        return {name: value for name, value in said.items() if self._is_odd()}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[list[Judge]]:
    judges: list[Judge] = []
    yield judges
    for judge in judges:
        judge.close()


def told(value: Any) -> Any:
    """Without the instants that Z3 shows where the times allow both; they may be others each time."""
    said = value.decode() if isinstance(value, bytes) else value
    return re.sub(r"\(kept: .*?; broken: .*?\)", "", said) if isinstance(said, str) else said


def judged(
    made: list[Judge], folder: Path, bodies: Sequence[bytes], rules: Sequence[str], **options: Any
) -> dict[str, list[Any]]:
    """Every row about the runs, at their roots and when their grace has passed."""
    folder.mkdir()
    judge = Judge(f"sqlite:///{folder / 's.db'}", folder, **options)
    made.append(judge)
    catalog.put_policy(judge.store, 1, "p", policy_text(rules), now=NOW)
    found: dict[str, list[Any]] = {}
    for half in (0, 1):
        for body in bodies[half::2]:
            judge.send_body(body)
        for at in (half * 10, half * 10 + GRACE):
            judge.at(at)
            with judge.store.read() as connection:
                for table in TABLES:
                    rows = connection.execute(select(table))
                    found[f"{table.name} {at}"] = [tuple(map(told, row)) for row in rows]
    return found


@pytest.fixture
def conclusions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One entry for each time that a run is really judged."""
    seen: list[Any] = []
    really = checker.conclude

    def conclude(claim: Any, *rest: Any, **more: Any) -> Any:
        seen.append(claim.key)
        return really(claim, *rest, **more)

    monkeypatch.setattr(checker, "conclude", conclude)
    return seen


@pytest.mark.parametrize(("rules", "odd"), [(ORDER, 0.1), (ORDER, 1.0), (MORE, 0.3)])
def test_every_row_is_as_if_each_run_had_been_judged(
    made: list[Judge],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    conclusions: list[Any],
    rules: Sequence[str],
    odd: float,
) -> None:
    with seeded() as dice:
        traces = Traces(dice, odd=odd)
        bodies = [traces.one() for _ in range(30)]
        found = judged(made, tmp_path / "alike", bodies, rules, z3_check_policies="1/3")
        many = len(conclusions)
        conclusions.clear()
        monkeypatch.setattr(alike, "shape_of", lambda *_: None)
        assert judged(made, tmp_path / "each", bodies, rules, z3_check_policies="1/3") == found
        assert many <= len(conclusions) == 30


def in_turn(dice: random.Random) -> bytes:
    """A trace of calls one after the other, of any length, with and without time between them."""
    trace, at = f"{dice.getrandbits(128):032x}", T0 + dice.randrange(10**15)
    root = {"trace": trace, "id": 1, "start": at, "end": at + 10**12, "at": {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a",
    }}  # fmt: skip
    spans = []
    for number in range(dice.choice((2, 2, 2, 3))):
        start = at + dice.choice((0, *[dice.randrange(1, 10**9)] * 5))
        at = start + dice.choice((0, *[1, dice.randrange(1, 100 * MS), dice.randrange(1, 10**9)] * 2))
        spans.append({"trace": trace, "id": number + 2, "parent": 1, "start": start, "end": at, "at": {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": dice.choice(TOOLS[:3]),
            "gen_ai.tool.call.id": f"c{number}", "gen_ai.tool.call.arguments": f'{{"id": {dice.random()}}}',
        }})  # fmt: skip
    return request(*spans, root, scope="vendor").SerializeToString()


@pytest.mark.parametrize("z3", ["off", "all"])
def test_a_plan_for_calls_in_turn_is_that_of_every_run_of_the_shape(
    made: list[Judge], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conclusions: list[Any], z3: str
) -> None:
    """However long its calls took; every row is as if each run had been judged."""
    rules = (ORDER[0], ORDER[2], "Pay must happen at most once.", "Verify must be the first call.")
    with seeded() as dice:
        bodies = [in_turn(dice) for _ in range(150 if z3 == "off" else 60)]
        found = judged(made, tmp_path / "alike", bodies, rules, z3_check_policies=z3)
        many = len(conclusions)
        conclusions.clear()
        monkeypatch.setattr(alike, "shape_of", lambda *_: None)
        assert judged(made, tmp_path / "each", bodies, rules, z3_check_policies=z3) == found
        assert len(conclusions) == len(bodies)
        assert many < len(bodies) * 0.95


@pytest.fixture
def judge(made: list[Judge], tmp_path: Path) -> Judge:
    made.append(Judge(f"sqlite:///{tmp_path / 's.db'}", tmp_path))
    catalog.put_policy(made[0].store, 1, "p", policy_text(ORDER), now=NOW)
    return made[0]


DAYS = itertools.count()


def send(judge: Judge, *tools: str, backwards: bool = False, lasts: int = 1, **of_agent: str) -> str:
    """A run with calls of these tools that begin one after the other, or the last one first; its id."""
    trace = new_id()
    at = T0 + next(DAYS) * 86_400_000 * MS
    spans = [
        {
            "trace": trace, "id": number + 2, "parent": 1,
            "start": at + place * MS + 1, "end": at + place * MS + 1 + lasts,
            "at": {
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": trace, "gen_ai.tool.call.arguments": f'{{"id": "{trace}"}}',
            },
        }
        for number, tool in enumerate(tools)
        for place in [len(tools) - number if backwards else number]
    ]  # fmt: skip
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", **of_agent}
    root = {"trace": trace, "id": 1, "start": at, "end": at + 90 * MS, "at": agent}
    judge.send(*spans, root)
    return trace


def outcomes(judge: Judge, *runs: str) -> list[Any]:
    known = dict(judge.rows(schema.runs, "key", "outcome"))
    return [known[run] for run in runs]


def test_runs_of_one_shape_are_judged_once(judge: Judge, conclusions: list[Any]) -> None:
    first = send(judge, "verify", "pay", "receipt")
    judge.at(0)
    others = [send(judge, "verify", "pay", "receipt") for _ in range(5)]
    bad = [send(judge, "pay", "verify", "receipt") for _ in range(2)]
    judge.at(0)
    judge.at(GRACE)
    assert outcomes(judge, first, *others, *bad) == ["pass"] * 6 + ["fail"] * 2
    assert conclusions == [first, bad[0]]
    times = judge.rows(schema.runs, "started_ns", "ended_ns", "last_seen")
    assert len({started for started, _, _ in times}) == 8
    assert {(ended - started, seen) for started, ended, seen in times} == {(90 * MS, NOW)}


def test_a_violation_is_judged_again_where_its_plan_depends_on_more_than_places(
    judge: Judge, conclusions: list[Any]
) -> None:
    """On how long calls took that ran side by side, or on what they were given."""
    send(judge, "verify", "pay", "receipt")  # whose names of tools are new
    judge.at(0)
    conclusions.clear()
    beside = [send(judge, "pay", "verify", lasts=5 * MS) for _ in range(2)]
    judge.at(0)
    assert conclusions == beside
    catalog.put_policy(judge.store, 1, "p", policy_text(MORE[:1]), now=NOW)
    given = [send(judge, "pay", "verify") for _ in range(2)]
    judge.at(0)
    assert conclusions == [*beside, *given]
    assert outcomes(judge, *beside, *given) == ["fail"] * 4


def test_runs_that_tell_the_same_calls_in_another_order_are_not_alike(
    judge: Judge, conclusions: list[Any]
) -> None:
    first = send(judge, "verify", "pay", "receipt")
    judge.at(0)
    second = send(judge, "verify", "pay", "receipt", backwards=True)
    judge.at(0)
    assert (outcomes(judge, first, second), conclusions) == (["open", "fail"], [first, second])


def test_what_else_says_something_about_a_run_has_it_judged(judge: Judge, conclusions: list[Any]) -> None:
    good = ("verify", "pay", "receipt")
    send(judge, *good)
    judge.at(0)
    conclusions.clear()

    def again(**of_agent: str) -> bool:
        """Is one more run judged by itself?"""
        run = send(judge, *good, **of_agent)
        judge.at(0)
        was = run in conclusions
        conclusions.clear()
        return was

    assert not again()
    assert again(**{"customer.tier": "gold"})
    assert not again(**{"customer.tier": "gold"})
    projects.change(judge.store, 1, {"clock_skew_ms": 5.0})
    assert again()
    catalog.put_policy(judge.store, 1, "p", policy_text(ORDER[:2]), now=NOW)
    assert again()
    assert not again()
    send(judge, "look")  # a name of a tool that was not known
    judge.at(0)
    assert again()
    run = send(judge, *good)
    catalog.bind(judge.store, 1, [Binding(run, "case-1", at=NOW)], now=NOW, grace=GRACE)
    judge.at(0)
    assert run in conclusions
    assert judge.rows(schema.runs, "case_id", key=run) == [("case-1",)]
    catalog.put_policy(judge.store, 1, "p", policy_text(MORE[:1]), now=NOW)
    assert again()
    assert again()  # arguments are looked at


def test_a_run_that_was_judged_by_an_earlier_release_has_no_news(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conclude, "_lasting", conclude._lasting_before)
    runs = [send(judge, "verify", "pay", "receipt"), send(judge, "pay", "verify", "receipt")]
    for at in (0, GRACE):
        judge.at(at)
    before = judge.rows(schema.verdicts)
    monkeypatch.undo()

    recheck.make_due_of(judge.store, 1, runs, now=NOW)
    judge.at(4 * GRACE)
    assert judge.rows(schema.verdicts) == before
    assert outcomes(judge, *runs) == ["pass", "fail"]


def holds(judge: Judge, text: str) -> bool:
    """Is the text in anything that can be reached from the checker, but the store?"""
    left: list[object] = [judge.checker]
    seen = {id(judge.checker), id(judge.store)}
    while left:
        for one in gc.get_referents(left.pop()):
            if isinstance(one, str | bytes):
                if (text if isinstance(one, str) else text.encode()) in one:
                    return True
            elif id(one) not in seen and not isinstance(one, type | ModuleType | FunctionType):
                seen.add(id(one))
                left.append(one)
    return False


@pytest.mark.parametrize("by", ["key", "session", "user"])
def test_a_run_that_is_deleted_is_soon_gone_from_the_checker_too(judge: Judge, by: str) -> None:
    """Also where that has nothing else to do, and what was kept of a conversation."""
    if by == "session":
        talks = "scope: session\n" + policy_text(ORDER[:1])
        catalog.put_policy(judge.store, 1, "talks", talks, now=NOW)
    run = send(judge, "verify", "pay", "receipt", **{"gen_ai.conversation.id": "s", "user.id": "u"})
    judge.at(0)
    assert holds(judge, run)
    named = {by: {"key": run, "session": "s", "user": "u"}[by]}
    assert retention.delete_runs(judge.store, 1, **named) == 1  # type: ignore[arg-type]
    judge.at(KEPT_SECONDS + 1)
    gc.collect()
    assert not holds(judge, run)


def test_a_shape_is_judged_again_now_and_then(judge: Judge, conclusions: list[Any]) -> None:
    """However often it comes: what is kept of its first run has an end."""
    send(judge, "verify", "pay", "receipt")  # whose names of tools are new
    judge.at(0)
    conclusions.clear()
    runs = []
    for at in (0.0, 0.5, 1.1, 1.6, 2.2):
        judge.at(at * KEPT_SECONDS)
        runs.append(send(judge, "verify", "pay", "receipt"))
        judge.at(at * KEPT_SECONDS)
    assert conclusions == runs[2::2]
