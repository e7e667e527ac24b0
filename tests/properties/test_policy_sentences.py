"""Every kind of policy rule: its sentences mean one thing, and what is missing never makes it say more."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from synth.errors import BadInput
from synth.observed.run import Run
from synth.policies import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds import KINDS, Field, Judged, Names, Relation, Sentence, Tools, Traits
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.against import Against
from synth.policies.kinds.between import Between
from synth.policies.kinds.count import Count
from synth.policies.kinds.duration import Duration
from synth.policies.kinds.ends import FirstCall, LastCall
from synth.policies.kinds.failure_first import FailureFirst
from synth.policies.kinds.failures import AfterFailures
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.in_a_row import InARow
from synth.policies.kinds.kind import Form, Paths, PolicyKind, answer
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.overlap import NoOverlap
from synth.policies.kinds.paired import AsOften, Paired
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.response import Response
from synth.policies.kinds.times import CALENDAR_DAY
from synth.policies.kinds.times_before import TimesBefore
from synth.policies.kinds.timetable import Timetable
from synth.policies.kinds.total import Total
from synth.policies.kinds.turn import Alone
from synth.policies.kinds.variety import Variety
from synth.policies.kinds.weekdays import NAMES as DAYS
from synth.policies.kinds.weekdays import Weekdays
from synth.policies.kinds.window import Window
from synth.policies.load import load_policies
from synth.policies.sentences import OURS, read_sentence
from tests.support.building import call, run

PHRASES = ("pay", "verify", "D and E", "turn off", "overlap check", "follow up", "start over")
ACTIONS = {phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in PHRASES}
NAMES = Names({**ACTIONS, "any tool": Tools("any tool", ("*",))})
SECOND = 10**9
UNITS = {"s": SECOND, "seconds": SECOND, "minutes": 60 * SECOND, "h": 3600 * SECOND, "days": 86400 * SECOND}

Pairs = tuple[tuple[Tools, Tools], ...]
Made = tuple[str, PolicyKind]
"""A sentence and the rule that it states."""


def listed(r: random.Random, most: int = 2) -> tuple[str, tuple[Tools, ...]]:
    """A list of actions in words, and the actions."""
    some = r.sample(list(ACTIONS.values()), r.randint(1, most))
    return " and ".join(f'"{t.phrase}"' if " " in t.phrase else t.phrase for t in some), tuple(some)


def pairs(r: random.Random) -> tuple[str, str, Pairs]:
    """Two lists of actions in words, and every action of one with every action of the other."""
    (a, first), (b, then) = listed(r), listed(r)
    return a, b, tuple((x, y) for x in first for y in then)


def must(r: random.Random) -> str:
    return r.choice(("must", "should", "has to", "have to", "need to"))


def happen(r: random.Random) -> str:
    return r.choice(("happen", "occur", "take place", "be called", "be carried out"))


def duration(r: random.Random) -> tuple[str, int]:
    amount, unit = r.randint(1, 90), r.choice(list(UNITS))
    return f"{amount} {unit}", amount * UNITS[unit]


def same(r: random.Random) -> tuple[str, Paths]:
    if r.random() < 0.6:
        return "", ()
    return " with the same id and user.name", ((("id",), ("id",)), (("user", "name"), ("user", "name")))


def precedence(r: random.Random) -> Made:
    (a, b, both), (ending, paths) = pairs(r), same(r)
    return f"{a} must happen before {b}{ending}", Precedence(both, paths)


def failure_first(r: random.Random) -> Made:
    (a, b, both), (ending, paths) = pairs(r), same(r)
    return f"{a} {must(r)} fail before {b}{ending}", FailureFirst(both, paths)


def response(r: random.Random) -> Made:
    (a, b, both), (ending, paths), (limit, ns) = pairs(r), same(r), duration(r)
    said, within = r.choice((("", None), (f" within {limit}", ns)))
    return f"{a} {must(r)} be followed by {b}{said}{ending}", Response(both, within, paths)


def after_failures(r: random.Random) -> Made:
    (a, b, both), n, (ending, paths), (limit, ns) = pairs(r), r.randint(1, 4), same(r), duration(r)
    if r.random() < 0.4:
        said = f"{b} {must(r)} never {happen(r)} after {a} fails {n} times in a row"
        return f"{said}{ending}", AfterFailures(both, n, in_a_row=True, banned=True, same=paths)
    row, within = r.random() < 0.5, r.random() < 0.5
    said = f"if {a} fails {n} times{' in a row' if row else ''}, {b} {must(r)} follow"
    rule = AfterFailures(both, n, in_a_row=row, within=ns if within else None, same=paths)
    return f"{said}{f' within {limit}' if within else ''}{ending}", rule


def absence(r: random.Random) -> Made:
    a, b, both = pairs(r)
    (limit, ns), (ending, paths), failed = duration(r), same(r), r.random() < 0.3
    within, time = r.choice((("", None), (f" within {limit}", ns)))
    if r.random() < 0.2:
        but, trigger = r.sample(list(ACTIONS.values()), 2)
        said = (
            f"any tool {r.choice(('but', 'except', 'other than'))} {but.phrase} {must(r)} never {happen(r)}"
        )
        barred = ((trigger, Tools("any tool", ("*",))),)
        return f"{said}{within} after {trigger.phrase}", AbsenceAfter(barred, within=time, but=but)
    never = f"{b} {must(r)} {r.choice(('never', 'not'))} {happen(r)}{within} after {a}"
    return f"{never}{' fails' if failed else ''}{ending}", AbsenceAfter(both, failed, time, paths)


def count(r: random.Random) -> Made:
    (a, what), n = listed(r), r.randint(0, 4)
    how = r.choice(("at most", "no more than", "at least", "exactly", "never"))
    if how == "never":
        return f"{a} {must(r)} never {happen(r)}", Count(what, most=0)
    if r.random() < 0.2:
        return f"{a} {must(r)} fail at most {n + 1} times", Count(what, most=n + 1, ended="failed")
    least = None if how in ("at most", "no more than") else n
    return f"{a} {must(r)} {happen(r)} {how} {n} times", Count(what, least, None if how == "at least" else n)


DAILY = (
    " per calendar day", " in one calendar day", " on the same calendar day", " on any calendar day",
    " on any one calendar day", " each calendar day", " a calendar day",
)  # fmt: skip


def rate(r: random.Random) -> Made:
    (a, what), n, (limit, ns), (ending, paths) = listed(r), r.randint(1, 4), duration(r), same(r)
    within, time = r.choice((("", None), (f" within {limit}", ns), (f" within any {limit}", ns)))
    if time is None and not paths:
        within, time = f" within {limit}", ns
    if r.random() < 0.2:
        within, time = r.choice(DAILY), CALENDAR_DAY
    how = r.choice(("at most", "no more than"))
    if r.random() < 0.3:
        said = f"{a} {must(r)} succeed {how} {n} times{within}{ending}"
        return said, Rate(what, n, time, paths, ended="succeeded")
    return f"{a} {must(r)} {happen(r)} {how} {n} times{within}{ending}", Rate(what, n, time, paths)


def total(r: random.Random) -> Made:
    what, most, (limit, ns), (ending, paths) = (
        r.choice(list(ACTIONS.values())),
        r.randint(0, 99),
        duration(r),
        same(r),
    )
    per, scope = r.choice((("", None), (" per run", "run"), (" per conversation", "session")))
    within, time = r.choice((("", None), (f" within {limit}", ns), (r.choice(DAILY), CALENDAR_DAY)))
    said = f"The {r.choice(('sum', 'total'))} of {r.choice(('args.', ''))}cost.net of {what.phrase}"
    limited = f"{r.choice((f'{must(r)} be at most', 'must not exceed'))} {most}.5"
    return f"{said} {limited}{per}{within}{ending}", Total(
        what,
        ("cost", "net"),
        Fraction(2 * most + 1, 2),
        time,
        paths,
        scope,  # type: ignore[arg-type]
    )


def times_before(r: random.Random) -> Made:
    (a, b, both), n, (ending, paths) = pairs(r), r.randint(2, 4), same(r)
    match r.randrange(5):
        case 0:
            return f"{a} {must(r)} {happen(r)} at least {n} times before {b}{ending}", TimesBefore(
                both, n, same=paths
            )
        case 1:
            said = f"{a} {must(r)} {happen(r)} at least {n} times before {b} with different by.name{ending}"
            return said, TimesBefore(both, n, same=paths, different=("by", "name"))
        case 2:
            said = f"{a} {must(r)} {happen(r)} at most {n} times before {b}{ending}"
            return said, TimesBefore(both, n, "begun", paths)
        case 3:
            said = f"{b} {must(r)} never {happen(r)} after {a} succeeds {n} times{ending}"
            return said, TimesBefore(both, n - 1, "succeeded", paths)
    said = f"{b} {must(r)} not {happen(r)} after {a} fails {n} times{ending}"
    return said, TimesBefore(both, n - 1, "failed", paths)


def paired(r: random.Random) -> Made:
    (a, b, both), (ending, paths) = pairs(r), same(r)
    return f"{b} {must(r)} not {happen(r)} more often than {a}{ending}", Paired(both, paths)


def as_often(r: random.Random) -> Made:
    (a, b, both), (ending, paths) = pairs(r), same(r)
    return f"{a} {must(r)} {happen(r)} as often as {b}{ending}", AsOften(both, paths)


def in_a_row(r: random.Random) -> Made:
    (a, what), n, (ending, paths), failed = listed(r), r.randint(1, 4), same(r), r.random() < 0.5
    do = "fail" if failed else happen(r)
    return f"{a} {must(r)} {do} at most {n} times in a row{ending}", InARow(what, n, failed, paths)


def variety(r: random.Random) -> Made:
    (a, what), n, (ending, paths) = listed(r), r.randint(1, 4), same(r)
    if r.random() < 0.5:
        return f"{a} {must(r)} {happen(r)} with at least {n} different by", Variety(what, ("by",), least=n)
    said = f"{a} {must(r)} {happen(r)} {r.choice(('with', 'for'))} at most {n} different by.name"
    return f"{said} per run{ending}", Variety(what, ("by", "name"), most=n, same=paths, per="run")


def long(r: random.Random) -> Made:
    (a, what), (limit, ns) = listed(r), duration(r)
    return f"{a} {must(r)} take {r.choice(('at most', 'no more than'))} {limit}", Duration(what, ns)


def first_call(r: random.Random) -> Made:
    what = r.choice(list(ACTIONS.values()))
    return f"The first call {must(r)} be {what.phrase}", FirstCall(what)


def last_call(r: random.Random) -> Made:
    what, when = r.sample(list(ACTIONS.values()), 2)
    if r.random() < 0.4:
        said = f"{r.choice(('if', 'when', 'whenever'))} {when.phrase} {r.choice(('happens', 'has happened'))}"
        return f"{said}, the last call {must(r)} be {what.phrase}", LastCall(what, when)
    return f"The last call {must(r)} be {what.phrase}", LastCall(what)


def against(r: random.Random) -> Made:
    one, other = r.sample(list(ACTIONS.values()), 2)
    said, how = r.choice((
        ("must be at most", "at most"), ("must not exceed", "at most"), ("must be more than", "more than"),
        ("must equal", "equal"), ("must differ from", "differ from"), ("must not be less than", "at least"),
    ))  # fmt: skip
    (ending, paths), (words, beside) = same(r), r.choice((("that", "cost"), ("the net.sum", "net.sum")))
    made = Against(one, ("cost",), how, other, tuple(beside.split(".")), paths)  # type: ignore[arg-type]
    return f"The cost of {one.phrase} {said} {words} of {other.phrase}{ending}", made


def adjacency(r: random.Random) -> Made:
    a, b, both = pairs(r)
    if r.random() < 0.5:
        return f"{a} {must(r)} {happen(r)} immediately before {b}", Adjacency(both)
    return f"{b} {must(r)} {happen(r)} immediately after {a}", Adjacency(both)


def next_call(r: random.Random) -> Made:
    (a, first), (b, (then,)), (ending, paths) = listed(r), listed(r, most=1), same(r)
    both = tuple((trigger, then) for trigger in first)
    said, failed = r.choice((
        (f"{a} {must(r)} be immediately followed by {b}", False),
        (f"A failed {a} {must(r)} be immediately followed by {b}", True),
        (f"If {a} fails, {b} {must(r)} {happen(r)} immediately", True),
        (f"If {a} fails, the next call {must(r)} be {b}", True),
    ))  # fmt: skip
    return f"{said}{ending}", NextCall(both, paths, failed)


def window(r: random.Random) -> Made:
    (a, what), at = listed(r), r.randint(1, 1438)
    clock = f"{at // 60:02d}:{at % 60:02d}"
    if r.random() < 0.5:
        return f"{a} must happen before {clock}", Window(tuple((t, None, at) for t in what))
    return f"{a} must happen after {clock}", Window(tuple((t, at, None) for t in what))


def gap(r: random.Random) -> Made:
    (a, b, both), (limit, ns) = pairs(r), duration(r)
    begin = r.choice(("start", "begin", happen(r)))
    if r.random() < 0.5:
        word, side = r.choice((("after", "after"), ("before", "before"), ("of", "around")))
        return f"{b} {must(r)} {begin} within {limit} {word} {a}", Gap(both, within=ns, side=side)  # type: ignore[arg-type]
    return f"{b} {must(r)} {begin} at least {limit} after {a}", Gap(both, least=ns)


def overlap(r: random.Random) -> Made:
    if r.random() < 0.5:
        (a, b, both), (ending, paths) = pairs(r), same(r)
        return f"{a} {must(r)} not overlap {r.choice(('', 'with '))}{b}{ending}", NoOverlap(both, paths)
    a, what = listed(r, 3)
    every = tuple((x, y) for i, x in enumerate(what) for y in what[i + 1 :]) or ((what[0], what[0]),)
    return f"{a} {must(r)} not overlap{r.choice(('', ' each other'))}", NoOverlap(every)


def turn(r: random.Random) -> Made:
    a, what = listed(r)
    return f"{a} {must(r)} be alone in {r.choice(('its', 'their'))} turn", Alone(what)


def weekdays(r: random.Random) -> Made:
    (a, what), some = listed(r), sorted(r.sample(range(7), r.randint(1, 3)))
    said, days = r.choice((
        (" and ".join(f"{DAYS[day]}s" for day in some), frozenset(some)),
        ("weekdays", frozenset(range(5))),
        ("weekends", frozenset((5, 6))),
        ("Friday to Monday", frozenset((4, 5, 6, 0))),
    ))  # fmt: skip
    if r.random() < 0.5:
        return f"{a} {must(r)} {happen(r)} {r.choice(('', 'only '))}on {said}", Weekdays(what, days)
    return f"{a} {must(r)} never {happen(r)} on {said}", Weekdays(what, frozenset(range(7)) - days)


def timetable(r: random.Random) -> Made:
    (a, what), some, never = listed(r), sorted(r.sample(range(7), r.randint(1, 3))), r.random() < 0.5
    said = " and ".join(f"{DAYS[day]}s" for day in some)
    hours, since, until = r.choice((
        ("between 09:00 and 17:30", 540, 1050), ("after 15:00", 900, 1440), ("before 8:00", 0, 480),
    ))  # fmt: skip
    do = f"{'never ' if never else ''}{happen(r)}"
    return f"{a} {must(r)} {do} on {said} {hours}", Timetable(what, frozenset(some), since, until, never)


def between(r: random.Random) -> Made:
    names = [r.choice(list(ACTIONS)) for _ in range(3)]
    (b, a, c), (ending, paths) = names, same(r)
    triples = ((ACTIONS[b], ACTIONS[a], ACTIONS[c]),)
    never = f"{a} {must(r)} {r.choice(('never', 'not'))} {happen(r)}"
    said, until, failed = r.choice((
        (f"{never} between {b} and {c}", False, False),
        (f"{never} after {b} until {c}", True, False),
        (f"{never} after {b} fails until {c} succeeds", True, True),
    ))  # fmt: skip
    return f"{said}{ending}", Between(triples, paths, until, failed)


SENTENCES: dict[str, Callable[[random.Random], Made]] = {
    "precedence": precedence,
    "response": response,
    "absence_after": absence,
    "after_failures": after_failures,
    "failure_first": failure_first,
    "count": count,
    "rate": rate,
    "total": total,
    "times_before": times_before,
    "paired": paired,
    "as_often": as_often,
    "in_a_row": in_a_row,
    "variety": variety,
    "duration": long,
    "first_call": first_call,
    "last_call": last_call,
    "against": against,
    "adjacency": adjacency,
    "next_call": next_call,
    "window": window,
    "gap": gap,
    "overlap": overlap,
    "turn": turn,
    "weekdays": weekdays,
    "timetable": timetable,
    "between": between,
}
FIELDS = {
    "guard": "{calls: pay, check: \"last('verify') != null\"}",
    "provenance": "{calls: pay, argument: id, from: verify}",
    "contract": "{initial: [], tools: {pay: {requires: p}, verify: {provides: p}}}",
    "behaviour": "(until pay verify)",
}


def trials(kind: str, number: int = 150) -> Iterator[Made]:
    r = random.Random(f"sentences {kind}")
    return (SENTENCES[kind](r) for _ in range(number))


def test_every_kind_is_whole_and_tried() -> None:
    for kind in KINDS:
        stated = SENTENCES if any(not isinstance(form, Field) for form in kind.forms) else FIELDS
        assert kind.forms
        assert kind.kind in stated
    assert {kind.kind for kind in KINDS} == {*SENTENCES, *FIELDS}
    assert len({kind.kind for kind in KINDS}) == len(KINDS)


# ---------------------------------------------------------------- sentences


def as_said(rule: PolicyKind) -> Any:
    """The rule with its pairs in one order: which is stated first does not matter."""
    both = getattr(rule, "pairs", None)
    return rule if both is None else replace(rule, pairs=tuple(sorted(both, key=repr)))  # type: ignore[type-var]


@pytest.mark.parametrize("kind", SENTENCES)
def test_a_sentence_reads_back_as_the_rule_it_states(kind: str) -> None:
    for said, rule in trials(kind):
        read = read_sentence(f"{said[0].upper()}{said[1:]}.", NAMES)
        assert as_said(read) == as_said(rule), said
        assert {*rule.traits.subjects} <= {*read.tools}
        assert {tools.phrase for tools in read.tools} <= {*PHRASES, "any tool"}


def meanings(said: str, forms: Sequence[Form]) -> set[Any]:
    """What the forms that match a sentence make of it; the grammar is asked after all of them."""
    found = set()
    for form in forms:
        if isinstance(form, Sentence) and not form.only_same and (match := form.match(said)):
            try:
                found.add(as_said(form.build(match, NAMES, ())))
            except BadInput:
                continue
    return found


def shuffled(said: str, r: random.Random) -> Any:
    """What a sentence means where the kinds stand in another order."""
    kinds = r.sample(KINDS, len(KINDS))
    return as_said(read_sentence(said, NAMES, tuple(form for kind in kinds for form in kind.forms)))


@pytest.mark.parametrize("kind", SENTENCES)
def test_no_sentence_has_two_meanings_whatever_the_order_of_the_kinds(kind: str) -> None:
    r = random.Random(kind)
    for said, rule in trials(kind):
        assert len(meanings(said, OURS)) <= 1, said
        assert shuffled(said, r) == as_said(rule), said


def test_a_form_that_reads_sentences_of_others_is_caught() -> None:
    greedy = Sentence(r"(?P<a>\w+) must .*happen.*", lambda m, names, same: Alone(names.list(m["a"])))
    caught = [said for said, _ in trials("count") if len(meanings(said, (*OURS, greedy))) > 1]
    assert caught


def test_only_precedence_and_window_are_read_by_the_grammar() -> None:
    assert [kind.kind for kind in KINDS if any(isinstance(form, Relation) for form in kind.forms)] == [
        "precedence",
        "window",
    ]


# ---------------------------------------------------------------- what was not seen


def some_run(r: random.Random) -> Run:
    calls = []
    for _ in range(r.randint(0, 6)):
        start = r.choice((None, r.randint(0, 9)))
        end = None if start is None else start + r.randint(0, 2)
        name = r.choice(("pay", "pay", "verify", "verify", "turn_off"))
        made = call("a", start, end, step=r.choice((None, 1, 2)), with_text=False, arguments={"id": 1})
        calls.append(replace(made, tool=name, error=r.choice((None, None, "no"))))
    return run(calls)


def rules_of(kind: str) -> Iterator[PolicyKind]:
    """Rules of a kind over the actions of the runs."""
    if kind in FIELDS:
        text = f"actions: {{pay: pay, verify: verify}}\npolicies:\n  - {{id: P, {kind}: {FIELDS[kind]!r}}}\n"
        yield load_policies(text.replace(repr(FIELDS[kind]), FIELDS[kind])).policies[0].rule
        return
    for _, rule in trials(kind, 400):
        if {tools.phrase for tools in rule.tools} <= {"pay", "verify"}:
            yield rule


OFF = Rules(z3="off")


def says_no_more(rule: PolicyKind, seen: Run) -> bool:
    """Is the answer where calls may be missing that on what was seen, about no more calls, or none?"""
    whole = answer(rule, Evidence(seen), OFF)
    rest = answer(rule, Evidence(replace(seen, problems=("a hole in the step index",))), OFF)
    fewer = set(rest.violations) <= set(whole.violations) and bool(rest.violations) == bool(whole.violations)
    return rest.verdict == "undecided" or (rest.verdict == whole.verdict and fewer)


@pytest.mark.parametrize("kind", [*SENTENCES, *FIELDS])
def test_where_calls_may_be_missing_a_rule_says_the_same_or_nothing(kind: str) -> None:
    r = random.Random(f"unseen {kind}")
    rules = list(rules_of(kind))
    assert rules
    for _ in range(150):
        rule, seen = r.choice(rules), some_run(r)
        assert says_no_more(rule, seen), (rule, seen)


@dataclass(frozen=True)
class Hopeful(Count):
    """Takes a gap for a reason to trust."""

    kind: ClassVar[str] = "hopeful"

    @property
    def traits(self) -> Traits:
        return Traits(subjects=())

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return replace(judged, verdict="ok", violations=())


def test_a_rule_that_says_more_where_it_saw_less_is_caught() -> None:
    r = random.Random(3)
    hopeful = Hopeful((ACTIONS["pay"],), most=1)
    assert not all(says_no_more(hopeful, some_run(r)) for _ in range(50))
