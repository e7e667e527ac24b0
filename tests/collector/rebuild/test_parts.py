"""Runs that come in parts: one waited for somebody, another process went on with it."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest

from collector.dialects import names
from collector.dialects.names import SCOPE_NAME
from collector.judging.bind import Arrival, Ending, bound_run, ending
from collector.model import Binding, Piece, Rebuilt, Run, Span
from collector.rebuild import rebuild
from collector.rebuild.conversations import piece_from_json, piece_to_json
from collector.rebuild.parts import BEGINNING, groups
from collector.settings import Settings
from synth.policies import judge_policies, load_policies
from tests.support.traces import MS, T0

DAY = 86_400 * 10**9
ONE, TWO, THREE = ("1" * 32, "2" * 32, "3" * 32)


def part(
    run: str,
    *tools: str,
    at: int = 0,
    first: int = 0,
    state: str | None = None,
    token: str = "thread",
    root: bool = True,
    **said: Any,
) -> list[Span]:
    """Calls one after the other from `at` (ns after T0) on, numbered from `first`, then the root."""
    spans = [
        _call(run, tool, first + k, T0 + at + (10 * k + 10) * MS, **said) for k, tool in enumerate(tools)
    ]
    end = T0 + at + (10 * len(tools) + 20) * MS
    return [*spans, _root(run, T0 + at, end, first + len(tools), state, token, **said)] if root else spans


def _call(run: str, tool: str, number: int, at: int, **said: Any) -> Span:
    own = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": f"call_{tool}",
        "gen_ai.tool.call.arguments": "{}",
        "pdoctor.run.id": run,
        "pdoctor.step.index": number,
        "pdoctor.turn.index": number,
        **said.get("call", {}),
    }
    id_ = f"{run[0]}{at:015d}"[:16]
    return Span(run, id_, f"{run[:16]}", "execute_tool", at, at + MS, "unset", "", own, scope=SCOPE_NAME)


def _root(run: str, start: int, end: int, calls: int, state: str | None, token: str, **said: Any) -> Span:
    own = {"gen_ai.operation.name": "invoke_agent", "pdoctor.run.id": run, names.RUN_CALLS: calls}
    own |= {} if state is None else {names.RUN_STATE: state, names.RUN_TOKEN: token}  # type: ignore[dict-item]
    own |= {names.RUN_RESUMED: said["resumed"]} if "resumed" in said else {}
    own |= said.get("own", {})
    return Span(run, f"{end:016d}"[-16:], None, "agent", start, end, "unset", "", own, scope=SCOPE_NAME)


def unknown(tool: str, number: int, run: str = ONE, at: int = 0) -> Span:
    made = _call(run, tool, number, T0 + at)
    said = {names.EXECUTED: False, names.EXECUTION: "unknown", names.TIMING: "inferred"}
    return made._replace(attributes={**made.attributes, **said})


def history(tool: str, number: int, run: str = TWO, at: int = DAY, **said: Any) -> Span:
    made = _call(run, tool, number, T0 + at)
    told = {names.RESULT_SOURCE: "history", names.TIMING: "inferred", "gen_ai.tool.call.result": '"done"'}
    return made._replace(attributes={**made.attributes, **told, **said})


def ended(rebuilt: Rebuilt, *, days: float = 0.0) -> Ending:
    """What is said of completeness so many days after the last span came."""
    return ending(rebuilt, None, Arrival(days * 86_400, 0.0, 0.0), Settings())


def settled(spans: list[Span], key: str = ONE) -> Run:
    rebuilt = rebuild(key, spans)
    return bound_run(rebuilt, None, ended(rebuilt, days=100), None)


def verdict(run: Run, rule: str) -> str:
    text = f"actions: {{pay: pay, verify: verify, look: look}}\npolicies: [{{id: p, rule: {rule!r}}}]"
    return judge_policies(load_policies(text), run)[0].verdict


# ---------------------------------------------------------------- one process


def test_a_run_that_waits_is_not_complete_and_says_for_what() -> None:
    spans = part(ONE, "verify", state="paused", own={names.RUN_PAUSE_REASON: "approval"})
    rebuilt = rebuild(ONE, spans)
    assert ended(rebuilt) == Ending(False, 7 * 86_400.0)
    assert ended(rebuilt, days=6.9).complete is False
    assert rebuilt.waits is not None
    assert (rebuilt.waits.state, rebuilt.waits.reason, rebuilt.waits.calls) == ("paused", "approval", 1)


def test_after_the_pause_idle_it_is_abandoned_and_convicts_nobody() -> None:
    spans = part(ONE, "verify", "look", state="paused")
    rebuilt = rebuild(ONE, spans)
    end = ended(rebuilt, days=7.1)
    run = bound_run(rebuilt, None, end, None)
    assert (end.complete, run.status, run.problems) == (True, "abandoned", ())
    assert verdict(run, "Verify must be followed by pay.") == "undecided"  # it never had its time
    assert verdict(run, "Pay must happen at least 1 time.") == "undecided"
    assert verdict(run, "Verify must never happen.") == "violated"  # and stays so
    assert verdict(run, "Look must happen before verify.") == "violated"
    assert verdict(run, "Verify must happen before look.") == "ok"


def test_a_later_part_of_the_same_process_goes_on() -> None:
    first = part(ONE, "verify", state="paused")
    going_on = [*first, *part(ONE, "pay", at=DAY, first=1, root=False)]
    rebuilt = rebuild(ONE, going_on)
    assert (rebuilt.waits, rebuilt.has_root, ended(rebuilt).look_again) == (None, False, 60.0)
    whole = [*first, *part(ONE, "pay", at=DAY, first=1)]
    for order in (whole, whole[::-1]):
        rebuilt = rebuild(ONE, order)
        assert ended(rebuilt) == Ending(True)
        assert [found.state for found in rebuilt.parts] == ["paused", None]
        assert verdict(settled(order), "Verify must happen before pay.") == "ok"


def test_an_announcement_after_the_pause_says_that_the_run_goes_on() -> None:
    first = part(ONE, "verify", state="paused")
    said = {"gen_ai.operation.name": "invoke_agent", "pdoctor.run.id": ONE, "pdoctor.run.going_on": True}
    start, end = first[-1].start_ns, T0 + DAY
    announced = Span(ONE, "a" * 16, "f" * 16, "agent", start, end, "unset", "", said, scope=SCOPE_NAME)
    assert rebuild(ONE, [*first, announced]).waits is None


def test_calls_that_miss_at_a_pause_are_waited_for_and_then_a_gap() -> None:
    spans = part(ONE, "verify", "pay", state="paused")
    run = settled(spans[1:])
    assert run.status == "abandoned"
    assert [gap.calls for gap in run.unseen] == [1, 0]


def test_a_run_that_ended_with_calls_nobody_heard_of_has_the_grace_time() -> None:
    spans = [unknown("pay", 0), *part(ONE, state="unanswered", token="digest", first=1)]
    rebuilt = rebuild(ONE, spans)
    assert ended(rebuilt) == Ending(False, 2.0, nearly=True)
    assert ended(rebuilt, days=1) == Ending(True)
    assert verdict(settled(spans), "Pay must never happen.") == "undecided"


# ---------------------------------------------------------------- several processes


def two_parts() -> list[Span]:
    """A correct agent: it verified, waited a day for an approval, and paid in another process."""
    return [
        *part(ONE, "verify", state="paused"),
        *part(TWO, "pay", at=DAY, resumed="thread"),
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_parts_of_two_processes_are_one_run(turned: bool) -> None:
    spans = two_parts()[::-1] if turned else two_parts()
    rebuilt = rebuild(ONE, spans)
    assert ended(rebuilt) == Ending(True)
    run = settled(spans)
    assert [call.tool for call in run.calls] == ["verify", "pay"]
    assert [call.step for call in run.calls] == [0, 1]
    assert run.problems == ()
    assert verdict(run, "Verify must happen before pay.") == "ok"
    assert verdict(run, "Pay must be alone in its turn.") in ("ok", "unsupported")
    assert [found.run_id for found in rebuilt.parts] == [ONE, TWO]


def test_a_lost_call_of_either_part_is_a_gap() -> None:
    whole = [
        *part(ONE, "verify", "look", state="paused"),
        *part(TWO, "look", "pay", at=DAY, resumed="thread"),
    ]
    assert settled(whole).problems == ()
    assert settled([whole[0], *whole[2:]]).unseen[0].after == 0
    hole = settled([*whole[:3], *whole[4:]])  # the second part lacks its first call
    assert (hole.unseen[0].after, hole.unseen[0].before, hole.unseen[0].calls) == (None, 2, 1)
    last = settled([*whole[:4], whole[5]])
    assert [gap.calls for gap in last.unseen] == [1]
    assert last.unseen[0].after == 2


def test_where_the_first_part_was_never_seen_the_beginning_is_a_gap() -> None:
    spans = part(TWO, "pay", at=DAY, resumed="thread")
    run = settled(spans, TWO)
    assert run.problems == (BEGINNING,)
    assert (run.unseen[0].after, run.unseen[0].before) == (None, 0)
    assert verdict(run, "Verify must happen before pay.") == "undecided"
    assert verdict(run, "Pay must never happen.") == "violated"
    assert verdict(run, "Pay must happen at least 1 time.") == "ok"


def test_a_part_of_which_only_the_root_is_known_leaves_the_run_going_on() -> None:
    spans = [*part(ONE, "verify", state="paused"), *part(TWO, "pay", at=DAY, root=False)]
    said = {"gen_ai.operation.name": "invoke_agent", "pdoctor.run.id": TWO, names.RUN_RESUMED: "thread"}
    start = T0 + DAY
    going = Span(TWO, "a" * 16, "f" * 16, "agent", start, start + MS, "unset", "", said, scope=SCOPE_NAME)
    rebuilt = rebuild(ONE, [*spans, going])
    assert (rebuilt.waits, rebuilt.has_root) == (None, False)


def test_a_run_may_wait_again_in_every_process() -> None:
    spans = [
        *part(ONE, "verify", state="paused"),
        *part(TWO, "look", at=DAY, state="paused", resumed="thread"),
    ]
    rebuilt = rebuild(ONE, spans)
    assert rebuilt.waits is not None
    assert rebuilt.waits.run_id == TWO
    ended_ = [*spans, *part(THREE, "pay", at=2 * DAY, resumed="thread")]
    assert rebuild(ONE, ended_).waits is None
    again = [*spans, *part(THREE, "pay", at=2 * DAY, state="paused", resumed="thread")]
    assert rebuild(ONE, again).waits.run_id == THREE  # type: ignore[union-attr]


# ---------------------------------------------------------------- one call in two parts


def test_a_result_in_the_history_is_that_of_the_call_that_was_asked_for() -> None:
    spans = [
        unknown("pay", 0),
        *part(ONE, state="unanswered", first=1),
        history("pay", 0),
        *part(TWO, at=DAY, first=1, resumed="thread"),
    ]
    rebuilt = rebuild(ONE, spans)
    assert rebuilt.all_calls_arrived
    (call,) = rebuilt.run.calls
    assert (call.executed, call.result, call.step) == (True, "done", 0)
    assert call.start == call.end == (T0, T0 + DAY + MS)  # at any time after it was asked for
    assert rebuilt.run.problems == ()


def test_what_waited_for_an_approval_and_ran_in_another_process_is_one_call() -> None:
    spans = [
        *part(ONE, "verify", root=False),
        unknown("pay", 1, at=20 * MS),
        *part(ONE, state="paused", first=2, at=30 * MS),
        *part(TWO, "pay", at=DAY, resumed="thread"),
    ]
    run = settled(spans)
    assert [(call.tool, call.executed, call.step) for call in run.calls] == [
        ("verify", True, 0),
        ("pay", True, 1),
    ]
    assert run.calls[1].start == (T0 + DAY + 10 * MS,) * 2
    assert run.gaps == ()


def test_what_a_person_changed_is_still_the_call_that_was_asked_for() -> None:
    edited = {"call": {"gen_ai.tool.call.arguments": '{"amount": 1}', names.ASKED_ARGUMENTS: "{}"}}
    spans = [
        unknown("pay", 0),
        *part(ONE, state="paused", first=1),
        *part(TWO, "pay", at=DAY, resumed="thread", **edited),
    ]
    (call,) = settled(spans).calls
    assert (call.arguments, call.asked_arguments, call.executed) == ({"amount": 1}, {}, True)


def test_a_call_that_a_person_rejected_did_not_run() -> None:
    refused = {"call": {names.EXECUTED: False}}
    spans = [
        unknown("pay", 0),
        *part(ONE, state="paused", first=1),
        *part(TWO, "pay", at=DAY, resumed="thread", **refused),
    ]
    (call,) = settled(spans).calls
    assert call.executed is False


def test_other_arguments_or_another_tool_are_another_call() -> None:
    other = {"gen_ai.tool.call.arguments": '{"amount": 2}'}
    spans = [
        unknown("pay", 0),
        *part(ONE, state="unanswered", first=1),
        history("pay", 0, **other),
        history("look", 1, at=DAY + MS, **{"gen_ai.tool.call.id": "call_pay"}),
        *part(TWO, at=DAY + 2 * MS, first=2, resumed="thread"),
    ]
    run = settled(spans)
    assert [(call.tool, call.executed) for call in run.calls] == [
        ("pay", None),
        ("pay", True),
        ("look", True),
    ]


def test_a_history_that_several_processes_tell_is_one_call() -> None:
    spans = [
        unknown("pay", 0),
        *part(ONE, state="unanswered", token="a", first=1),
        history("pay", 0),
        *part(TWO, at=DAY, state="unanswered", token="b", first=1, resumed="a"),
        history("pay", 0, run=THREE, at=2 * DAY),
        *part(THREE, at=2 * DAY, first=1, resumed="b"),
    ]
    run = settled(spans)
    assert [call.tool for call in run.calls] == ["pay"]
    assert run.problems == ()


def test_a_history_of_a_call_that_was_seen_to_run_tells_nothing_new() -> None:
    spans = [
        *part(ONE, "pay", state="unanswered"),
        history("pay", 0),
        *part(TWO, at=DAY, first=1, resumed="thread"),
    ]
    run = settled(spans)
    assert [call.start for call in run.calls] == [(T0 + 10 * MS,) * 2]


def test_a_history_beside_a_call_of_its_own_process_is_another_call() -> None:
    spans = [
        *part(ONE, "pay", root=False),
        history("pay", 1, run=ONE, at=50 * MS),
        *part(ONE, at=60 * MS, first=2, state="unanswered"),
        *part(TWO, at=DAY, resumed="thread"),
    ]
    assert len(settled(spans).calls) == 2


def test_arguments_that_were_left_out_tell_no_two_calls_apart() -> None:
    hidden = {"pdoctor.content": "none", "gen_ai.tool.call.arguments": None}
    asked = unknown("pay", 0)
    asked = asked._replace(attributes={**asked.attributes, "pdoctor.turn.has_text": True})
    spans = [
        asked,
        *part(ONE, state="unanswered", first=1),
        history("pay", 0, **hidden),
        *part(TWO, at=DAY, first=1, resumed="thread"),
    ]
    (call,) = settled(spans).calls
    assert (call.executed, call.with_text) == (True, True)


def test_of_several_tails_that_miss_the_calls_came_after_the_first() -> None:
    spans = [
        *part(ONE, "verify", "look", state="paused"),
        *part(TWO, "verify", "look", at=DAY, resumed="thread"),
    ]
    run = settled([spans[0], spans[2], spans[3], spans[5]])
    (gap,) = (gap for gap in run.unseen if gap.calls)
    assert (gap.after, gap.calls) == (0, 2)


def test_a_harness_that_says_the_run_is_over_waits_for_nobody() -> None:
    rebuilt = rebuild(ONE, part(ONE, "verify", state="paused"))
    over = Binding(ONE, "case", "ok", at=0.0)
    end = ending(rebuilt, over, Arrival(5.0, 0.0, 0.0), Settings())
    assert (end.complete, end.abandoned) == (True, False)


def test_ids_that_models_use_again_are_calls_of_their_own() -> None:
    again = part(ONE, "pay", "pay")
    assert len(settled(again).calls) == 2
    later = [*part(ONE, "pay", root=False), unknown("pay", 1, at=50 * MS), *part(ONE, at=60 * MS, first=2)]
    assert [call.executed for call in settled(later).calls] == [True, None]


def test_a_call_that_is_told_again_with_its_number_is_the_one_that_is_known() -> None:
    spans = [unknown("pay", 0), *part(ONE, "pay")]
    (call,) = settled(spans).calls
    assert call.executed is True


# ---------------------------------------------------------------- which parts belong together


def piece(name: str, at: int, *, says: str | None = None, takes: str | None = None) -> Piece:
    return Piece(name, at, tokens=(says,) if says else (), resumed=(takes,) if takes else ())


def told(*pieces: Piece) -> list[list[str]]:
    return sorted([one.trace_id for one in group] for group in groups(pieces))


def test_what_belongs_together_does_not_depend_on_the_order_of_arrival() -> None:
    thread = [
        piece("a", 1, says="t"),
        piece("b", 2, says="t", takes="t"),
        piece("c", 3, takes="t"),
        piece("d", 4, says="t"),  # another run of the same thread
        piece("e", 5, takes="t"),
    ]
    for order in permutations(thread):
        assert told(*order) == [["a", "b", "c"], ["d", "e"]]


def test_clocks_that_differ_do_not_part_them() -> None:
    assert told(piece("b", 1, takes="t"), piece("a", 2, says="t")) == [["a", "b"]]


def test_parts_that_go_on_with_each_other_have_a_first() -> None:
    assert told(piece("a", 1, says="x", takes="y"), piece("b", 2, says="y", takes="x")) == [["a", "b"]]


def test_parts_of_runs_and_conversations_stay_apart() -> None:
    talk = [Piece("t1", 1, session="s"), Piece("t2", 2, session="s")]
    assert told(*talk, piece("a", 1, says="s"), piece("b", 2, takes="s")) == [["a", "b"], ["t1", "t2"]]


def test_pieces_are_stored_as_ever_and_read_from_rows_of_before() -> None:
    made = piece("a", 1, says="t", takes="u")
    assert piece_from_json(piece_to_json(made)) == made
    assert piece_from_json('["a", 1, "s", [], [], [], [], null]') == Piece("a", 1, session="s")


def test_runs_cut_anywhere_are_one_run_whatever_comes_first() -> None:
    r = random.Random(3)
    tools = ("verify", "look", "pay")
    for _ in range(60):
        cuts = [r.choice(tools) for _ in range(r.randint(1, 3))], [r.choice(tools) for _ in range(3)]
        whole = part(ONE, *cuts[0], *cuts[1])
        parts = [
            *part(ONE, *cuts[0], state="paused"),
            *part(TWO, *cuts[1], at=DAY, resumed="thread"),
        ]
        run = settled(r.sample(parts, len(parts)))
        for rule in (
            "Verify must happen before pay.",
            "Pay must happen at most 1 time.",
            "Look must be followed by pay.",
        ):
            assert verdict(run, rule) == verdict(settled(whole), rule)
