"""A run is judged once for while it goes on and for once it has ended: as if it had been judged for each."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from collector.judging.assess import Standard, assess, assess_both
from collector.judging.policies import Policies, Talk
from collector.model import Assessment
from synth import policies
from synth.cases import Case
from synth.formal import check
from synth.judge import Rules
from synth.observed.run import Run, ToolCall, Unseen
from synth.policies import PolicySet, load_policies
from synth.policies.kinds import KINDS
from tests.support.building import case as case_of
from tests.support.gapped_runs import ACTIONS, RULES, blurred, complete_run, policy_file, without
from tests.support.random_runs import random_case, random_day, random_run

OFF = Rules(z3="off")
STATUS = "applies: {status: ok}\n"


def file_of(kind: str, head: str = "") -> PolicySet:
    return load_policies(head + policy_file(kind))


def told(found: Assessment) -> object:
    """All that an assessment says but the time that Z3 took."""
    verdict = found.verdict and {**found.verdict.to_json(), "z3_ms": 0}
    results = [(one.to_json(), one.awaits, one.until) for one in found.policies]
    return verdict, results, found.suggested


def some_run(r: random.Random) -> Run:
    whole = complete_run(r)
    whole = blurred(whole, r) if r.random() < 0.3 else whole
    lost = r.sample(range(len(whole.calls)), min(len(whole.calls), r.choice((0, 0, 0, 1, 2))))
    return without(whole, lost)


def each(open_: Run, ended: Run, standard: Standard) -> Counter[str]:
    """Both ways say the same; returns by what the two differed."""
    talks = Talk.of(open_), Talk.of(ended)
    expected = assess(open_, standard, talks[0]), assess(ended, standard, talks[1])
    both = assess_both(open_, ended, standard, talks)
    assert (told(both[0]), told(both[1])) == (told(expected[0]), told(expected[1]))
    words = [[result.verdict for result in one.policies] for one in expected]
    return Counter(["differs" if words[0] != words[1] else "same", *words[1]])


def test_every_kind_is_tried() -> None:
    assert {kind.kind for kind in KINDS} == {*RULES}


@pytest.mark.parametrize("kind", RULES)
def test_policies_of_all_kinds(kind: str) -> None:
    r = random.Random(f"open and ended {kind}")
    files = [file_of(kind), file_of(kind, STATUS)]
    seen: Counter[str] = Counter()
    for number in range(80):
        ended = some_run(r)
        if r.random() < 0.1:
            ended = replace(ended, status=r.choice(("timeout", "crash", "abandoned")))
        open_ = replace(ended, status="running")
        if r.random() < 0.1:
            said = "the run announced more"
            ended = replace(ended, problems=(*ended.problems, said), unseen=(*ended.unseen, Unseen(said)))
        standard = Standard(None, Policies((files[number % 8 == 0],)), OFF, OFF)
        seen += each(open_, ended, standard)
    assert {"ok", "violated", "same", "differs"} <= {*seen}


def test_policies_of_several_kinds() -> None:
    """A repair of one kind may owe what another kind asks of a run that has ended."""
    r = random.Random("open and ended, several kinds")
    rules = [text for texts in RULES.values() for text in texts if text[0] not in "{("]
    asking = [*RULES["response"], *RULES["last_call"]]
    seen: Counter[str] = Counter()
    for number in range(400):
        # a repair that will not last is rare: every other draw asks for a call and for another one before it
        two = r.sample(rules, 2) if number % 2 else [r.choice(asking), r.choice(RULES["precedence"])]
        lines = [f"  - {{id: P{at}, rule: {text!r}}}\n" for at, text in enumerate(two)]
        file = load_policies(f"{ACTIONS}policies:\n{''.join(lines)}")
        ended = complete_run(r)
        open_ = replace(ended, status="running")
        seen += each(open_, ended, Standard(None, Policies((file,)), OFF, OFF))
        repairs = [one.repair for one in assess(open_, Standard(None, Policies((file,)), OFF, OFF)).policies]
        seen += Counter("lasting" if one.lasting else "passing" for one in repairs if one is not None)
    assert {"ok", "violated", "same", "differs", "lasting", "passing"} <= {*seen}


def test_a_repair_that_owes_nothing_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    real = policies.repairs
    monkeypatch.setattr(policies, "repairs", lambda *given: looked.append(1) or real(*given))
    ended = Run("run", tuple(ToolCall(None, name) for name in ("pay", "verify")))
    open_, talk = replace(ended, status="running"), Talk.of(ended)
    for rule, times in (("Verify must happen before pay.", 1), ("Verify must never happen.", 2)):
        others = "" if times == 1 else "  - {id: Q, rule: Pay must be followed by verify.}\n"
        file = load_policies(f"{ACTIONS}policies:\n  - {{id: P, rule: {rule}}}\n{others}")
        looked.clear()
        found = assess_both(open_, ended, Standard(None, Policies((file,)), OFF, OFF), (talk, talk))
        assert [one.policies[0].verdict for one in found] == ["violated", "violated"]
        assert len(looked) == times


def the_case(r: random.Random) -> tuple[Case, Run]:
    if r.random() < 0.4:
        return random_day(r)
    case = random_case(r)
    return case, random_run(r, [action.id for action in case.actions])


def test_cases() -> None:
    r = random.Random("open and ended cases")
    outcomes: Counter[str] = Counter()
    for _ in range(150):
        case, ended = the_case(r)
        standard = Standard(case, Policies(), OFF, OFF)
        open_, ended = replace(ended, status="running"), replace(ended, case_id=case.id)
        each(replace(open_, case_id=case.id), ended, standard)
        verdict = assess(ended, standard).verdict
        outcomes[verdict.outcome if verdict else ""] += 1
    assert {"pass", "fail"} <= {*outcomes}


def test_z3_is_asked_once_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """About a case, and about policies that wait for nothing and are kept."""
    asked = []
    real = check.violated
    monkeypatch.setattr(check, "shape_of", lambda *_: None)  # no answer is kept
    monkeypatch.setattr(check, "violated", lambda *given, **named: asked.append(1) or real(*given, **named))
    kept = load_policies(f"{ACTIONS}policies:\n  - {{id: P, rule: Verify must happen before pay.}}\n")
    calls = [ToolCall(None, name) for name in ("verify", "pay", "do_a", "do_b")]
    case = case_of("a<b")
    ended = Run("run", tuple(calls), case_id=case.id)
    standard = Standard(case, Policies((kept,)), Rules(), Rules())
    assert assess(ended, standard).policies[0].verdict == "ok"
    alone = len(asked)
    assert alone == 2
    each(replace(ended, status="running"), ended, standard)
    assert len(asked) == 4 * alone  # once more for each of the two that it is held against
