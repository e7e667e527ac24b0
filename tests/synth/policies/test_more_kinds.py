"""Failures and rows, different values, the first and the last call, durations."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import judge_policies
from synth.policies.online import Prefix
from tests.support.policing import brief, judged, rules_file
from tests.support.soak import seeded, tell, tries
from tests.synth.policies.test_hundred_sentences import run

SECOND = 10**9
FAILS_IN_A_ROW = "A must fail at most once in a row with the same id."
TWICE_IN_A_ROW = "A must happen at most twice in a row."
ONCE_IN_A_ROW = "A must happen at most once in a row with the same id."
TWO = "A must happen with at most 2 different id."


@pytest.mark.parametrize(
    ("rule", "calls", "found"),
    [
        ("A must fail at most twice.", "do_a! do_a do_a! do_a!", ("violated", (3,))),
        ("A must fail at most twice.", "do_a do_a do_a", ("ok", ())),
        ("A must fail at most twice.", "do_b", ("not_applicable", ())),
        ("A must succeed at most once with the same id.", "do_a(id=1) do_a(id=2) do_a(id=1)!", ("ok", ())),
        ("A must succeed at most once with the same id.", "do_a(id=1) do_a", ("undecided", ())),
        ("A must not fail.", "do_a do_a!", ("violated", (1,))),
        ("A must happen at most twice in a row.", "do_a do_a do_b do_a do_a", ("ok", ())),
        ("A must happen at most twice in a row.", "do_a do_a! do_a do_a", ("violated", (2, 3))),
        (ONCE_IN_A_ROW, "do_a(id=1) do_a do_a(id=1)", ("undecided", ())),
        (ONCE_IN_A_ROW, "do_a(id=1) do_b do_a(id=1)", ("ok", ())),
        ("A must fail at most twice in a row.", "do_a! do_b do_a! do_b do_a!", ("violated", (4,))),
        ("A must fail at most twice in a row.", "do_a! do_a! do_a do_a!", ("ok", ())),
        (f"{TWICE_IN_A_ROW[:-1]} with the same id.", "do_a(id=1) do_a do_a(id=2)", ("ok", ())),
        (f"{TWICE_IN_A_ROW[:-1]} with the same id.", "do_a(id=1) do_a do_a do_a(id=2)", ("undecided", ())),
        (FAILS_IN_A_ROW, "do_a do_a(id=1)! do_a(id=1)!", ("violated", (2,))),
        (FAILS_IN_A_ROW, "do_a(id=1)! do_a do_a(id=1)!", ("undecided", ())),
        (FAILS_IN_A_ROW, "do_a! do_a(id=1) do_a!", ("undecided", ())),
        (FAILS_IN_A_ROW, "do_a(id=1)! do_a(id=2) do_a(id=1)!", ("violated", (2,))),
        (TWO, "do_a(id=1) do_a(id=2) do_a(id=1) do_a(id=3)", ("violated", (3,))),
        (TWO, "do_a(id=1) do_a(id=2) do_a", ("undecided", ())),
        (TWO, "do_a(id=1) do_a", ("ok", ())),
        ("A must happen with at least 2 different id.", "do_a(id=1) do_a(id=2)!", ("violated", ())),
        ("The first call must be A.", "do_a! do_b", ("ok", ())),
        ("The first call must be A.", "do_b do_a do_b", ("violated", (0,))),
        ("The first call must be A or B.", "do_c do_b", ("violated", (0,))),
        ("The first call must be A.", "", ("not_applicable", ())),
        ("The last call must be A.", "do_b do_a! do_a", ("ok", ())),
        ("The last call must be A.", "do_a do_a!", ("violated", (1,))),
        ("The last call must be A.", "do_a do_b", ("violated", (1,))),
        ("A must take at most 5 minutes.", "do_a@10:00-10:05", ("ok", ())),
        ("A must take at most 5 minutes.", "do_a@10:00-10:06! do_b", ("unsupported", ())),
        ("A must take at most 5 minutes.", "do_a@10:00-10:06! do_b@10:07", ("violated", (0,))),
        ("A must take at most 5 minutes.", "do_b@10:00-11:00", ("not_applicable", ())),
    ],
)  # fmt: skip
def test_what_counts_and_when(rule: str, calls: str, found: tuple[str, tuple[int, ...]]) -> None:
    assert brief(rule, run(calls)) == found


def test_what_is_last_is_known_in_the_end() -> None:
    said = judged("The last call must be A.", replace(run("do_a do_b"), status="running"))
    assert (said.verdict, said.awaits) == ("undecided", True)


def test_a_call_that_runs_may_still_end_in_time() -> None:
    call = replace(run("do_a@10:00").calls[0], end=None, finished=False)
    for status, awaits in (("running", True), ("ok", False)):
        said = judged("A must take at most 5 minutes.", Run("r", (call,), status=status))  # type: ignore[arg-type]
        assert (said.verdict, said.awaits) == ("undecided", awaits)


def test_a_call_that_nobody_saw_may_lie_between() -> None:
    calls = run("do_a do_a").calls
    for gap, verdict in ((Unseen("lost", 0, 1, 1), "undecided"), (Unseen("lost", 1, None, 1), "violated")):
        lost = Run("r", calls, unseen=(gap,))
        (found,) = judge_policies(rules_file("A must happen at most once in a row."), lost)
        assert found.verdict == verdict


@pytest.mark.parametrize(
    ("rule", "calls", "gap", "found"),
    [
        (TWICE_IN_A_ROW, "do_a do_b do_a", Unseen("lost", 1, None, 1), ("ok", ())),
        (
            "A must happen at most twice in a row.",
            "do_a do_b do_a",
            Unseen("lost", 1, 2, 2),
            ("undecided", ()),
        ),
        (TWICE_IN_A_ROW, "do_b do_b", Unseen("lost", 0, 1, 2), ("undecided", ())),
        ("A must happen at most once in a row.", "do_a do_a", Unseen("lost", None, 0, 9), ("violated", (1,))),
        (
            "A must happen at most once in a row.",
            "do_a do_a do_a",
            Unseen("lost", 0, 1, 1),
            ("violated", (2,)),
        ),
        (ONCE_IN_A_ROW, "do_a(id=1) do_b do_a(id=1)", Unseen("lost", 2, None, 1), ("undecided", ())),
        (ONCE_IN_A_ROW, "do_a(id=1) do_b do_c", Unseen("lost", 1, 2, 1), ("ok", ())),
        ("A must fail at most once in a row.", "do_a do_a!", Unseen("lost", None, 0, 1), ("ok", ())),
        ("A must fail at most once in a row.", "do_a do_a!", Unseen("lost", 0, 1, 1), ("undecided", ())),
        (FAILS_IN_A_ROW, "do_a(id=1)", Unseen("lost", 0, None, 1), ("ok", ())),
        (FAILS_IN_A_ROW, "do_a(id=1)", Unseen("lost", 0, None, 2), ("undecided", ())),
    ],
)
def test_a_row_stays_what_no_unseen_call_makes_or_ends(
    rule: str, calls: str, gap: Unseen, found: tuple[str, tuple[int, ...]]
) -> None:
    assert brief(rule, replace(run(calls), unseen=(gap,))) == found


def test_only_other_calls_end_a_row() -> None:
    lost = replace(run("do_a do_a"), unseen=(Unseen("lost", 0, 1, 1),))
    assert brief("A must happen at most once in a row.", lost) == ("undecided", ())
    only = replace(lost, tools=("do_a",))
    assert brief("A must happen at most once in a row.", only) == ("violated", (1,))


def test_a_misspelt_argument_is_told() -> None:
    said = judged(
        "A must happen with at most 1 different custmer_id.", run("do_a(customer_id=1) do_a(customer_id=2)")
    )
    assert said.verdict == "unsupported"
    assert said.explanation.endswith("did you mean 'customer_id'?")


def test_one_call_is_of_one_action() -> None:
    with pytest.raises(BadInput, match="join them with or: 'A or B'"):
        rules_file("The first call must be A and B.")


@pytest.mark.parametrize(
    ("rule", "before", "call", "refused"),
    [
        ("The first call must be A.", "", "do_b", True),
        ("The first call must be A.", "", "do_a", False),
        ("The first call must be A.", "do_a", "do_b", False),
        ("The last call must be A.", "do_a", "do_b", False),
        ("A must happen at most twice in a row.", "do_a do_a", "do_a", True),
        ("A must happen at most twice in a row.", "do_a do_a do_b", "do_a", False),
        ("A must fail at most once.", "do_a!", "do_a", False),
        ("A must take at most 1 second.", "do_a", "do_a", False),
    ],
)
def test_the_guard_refuses_what_breaks_them_by_its_start(
    rule: str, before: str, call: str, refused: bool
) -> None:
    prefix = Prefix(rules_file(rule))
    for one in run(before).calls:
        prefix.ended(prefix.began(one), error=one.error)
    assert prefix.would(ToolCall(None, call, {})).refused is refused


def lasting(r: random.Random) -> Run:
    """Calls with instants that are known, or within bounds of a few seconds."""
    calls = []
    for _ in range(r.randint(0, 4)):
        start = r.randint(0, 5)
        end = start + r.randint(0, 4)
        late = [r.choice((0, 0, 1, 2)) for _ in range(2)]
        finished = r.random() < 0.9
        calls.append(
            ToolCall(
                None,
                r.choice(("do_a", "do_a", "do_b")),
                {},
                error=r.choice((None, "no")),
                start=(start * SECOND, (start + late[0]) * SECOND),
                end=(end * SECOND, (end + late[1]) * SECOND) if finished else None,
                finished=finished,
            )
        )
    return Run("run", tuple(calls))


def by_worlds(seen: Run, most: int) -> tuple[str, tuple[int, ...]]:
    """What every world says in which instants are whole seconds within their bounds."""
    long, open_ = [], False
    for at, call in enumerate(seen.calls):
        if call.tool != "do_a" or call.start is None:
            continue
        if call.end is None:
            open_ = True
            continue
        starts, ends = (range(lo // SECOND, hi // SECOND + 1) for lo, hi in (call.start, call.end))
        took = {end - start > most for start, end in itertools.product(starts, ends) if end >= start}
        long += [at] if took == {True} else []
        open_ = open_ or len(took) > 1
    tried = any(call.tool == "do_a" for call in seen.calls)
    verdict = "violated" if long else "undecided" if open_ else "ok" if tried else "not_applicable"
    return verdict, tuple(long)


def test_how_long_a_call_took_is_judged_as_by_trying_every_world() -> None:
    found: Counter[str] = Counter()
    rules = rules_file("A must take at most 2 seconds.")
    with seeded() as r:
        for _ in range(tries(50_000)):
            seen = lasting(r)
            expected = by_worlds(seen, 2)
            assert brief(rules, seen) == expected, seen
            found[expected[0]] += 1
    tell("durations", found)
    assert {"ok", "violated", "undecided", "not_applicable"} <= set(found)
