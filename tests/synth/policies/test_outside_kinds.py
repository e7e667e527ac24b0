"""Policy kinds that other distributions bring by an entry point."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.errors import BadInput
from synth.judge_process import SolverProcess
from synth.policies import lint, stated_policies
from synth.policies.kinds import KINDS
from synth.policies.plugins import outside_kinds
from tests.support.building import run
from tests.support.outside_policies import MODULE, SHOWN, Install, for_children, installed
from tests.support.policing import brief, judged, policy, rules_file

PAIRS = "A must come in pairs."


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    monkeypatch.setenv("PYTHONPATH", for_children(tmp_path))
    with installed(tmp_path) as put:
        yield put


@pytest.fixture
def pairs(install: Install) -> None:
    install(f"pairs = {MODULE}:Pairs")


@pytest.mark.parametrize(
    ("calls", "expected"),
    [("a a", ("ok", ())), ("a b a a", ("violated", (3,))), ("b", ("not_applicable", ()))],
)
@pytest.mark.usefixtures("pairs")
def test_files_state_it_by_its_sentence_and_by_its_field(
    calls: str, expected: tuple[str, tuple[int, ...]]
) -> None:
    assert brief(PAIRS, calls) == expected
    assert brief(policy("pairs: A"), calls) == expected


@pytest.mark.usefixtures("pairs")
def test_it_decides_what_gaps_leave_of_its_answer() -> None:
    assert brief(PAIRS, "a", problems=("a hole in the step index",))[0] == "undecided"
    assert brief(PAIRS, "a", status="running")[0] == "undecided"


@pytest.mark.usefixtures("pairs")
def test_it_is_judged_in_a_process_of_its_own() -> None:
    with SolverProcess(limit_seconds=20) as process:
        (there,) = process.judge_policies(rules_file(PAIRS), run("a a a"))
    assert (there.verdict, there.violations) == ("violated", (2,))


@pytest.mark.usefixtures("pairs")
def test_lint_proves_it_together_with_ours() -> None:
    assert lint(rules_file(PAIRS)) == ()
    once = rules_file(PAIRS, "A must happen at most 1 time.", "B must happen before C.")
    assert [(p.code, p.policies) for p in lint(once)] == [("contradiction", ("P0", "P1"))]
    never = lint(rules_file(PAIRS, "A must never happen."))
    assert ("never_applies", ("P0", "P1")) in [(p.code, p.policies) for p in never]
    assert [p.code for p in lint(rules_file(PAIRS), tools=["do_b"])] == ["unknown_tool"]


@pytest.mark.usefixtures("pairs")
def test_what_it_cannot_read_names_the_place() -> None:
    with pytest.raises(BadInput, match="no action is called 'Zebra'") as refused:
        rules_file("Zebra must come in pairs.")
    assert refused.value.line is not None
    with pytest.raises(BadInput, match="expected text") as refused:
        policy("pairs: 3")
    assert refused.value.field is not None


@pytest.mark.usefixtures("pairs")
def test_rules_in_a_request_are_of_our_kinds_only() -> None:
    assert stated_policies("do a must come in pairs.", ("do_a",), anywhere=True) is None
    assert stated_policies("do a must never happen.", ("do_a",), anywhere=True) is not None


def test_without_it_the_file_says_what_it_does_not_know() -> None:
    with pytest.raises(BadInput):
        rules_file(PAIRS)
    with pytest.raises(BadInput, match="no such field"):
        policy("pairs: A")


BROKEN = f"""{SHOWN}
class Clumsy(Pairs):
    kind = "clumsy"
    forms = (Field("clumsy", lambda node, names: Clumsy(read_actions(node, names))),)
    def judge(self, seen, rules):
        return 1 / 0

class Vague(Clumsy):
    kind = "vague"
    forms = (Field("vague", lambda node, names: Vague(read_actions(node, names))),)
    def judge(self, seen, rules):
        return "fine"

class Unread(Pairs):
    kind = "unread"
    forms = (Field("unread", lambda node, names: node.value["no such key"]),)

class Taken(Pairs):
    kind = "count"

class TakenField(Pairs):
    kind = "other"
    forms = (Field("guard", said),)

class Formless(Pairs):
    kind = "formless"
    forms = ()

class NoPattern(Pairs):
    kind = "no_pattern"
    forms = (Sentence("(", said),)

class Partial:
    kind = "partial"
    forms = Pairs.forms

class Unnamed(Pairs):
    kind = ["pairs"]

class UnnamedField(Pairs):
    kind = "unnamed field"
    forms = (Field(["pairs"], said),)

class Greedy(Pairs):
    kind = "greedy"
    forms = (Sentence(".*", lambda match, names, same: Greedy(tuple(names.actions.values()))),)

class Rubbish(Pairs):
    kind = "rubbish"
    forms = (Field("rubbish", lambda node, names: Rubbish(read_actions(node, names))),)
    def judge(self, seen, rules):
        return dict(
            verdict=Judged("perfect"), place=Judged("violated", (-9,)), words=Judged("ok", (), 1),
            taken=Judged("ok", (), "", dict(verdict="ok")), json=Judged("ok", (), "", dict(x=set())),
        )[seen.run.query]

class Unproved(Pairs):
    kind = "unproved"
    forms = (Field("unproved", lambda node, names: Unproved(read_actions(node, names))),)
    def plan_rules(self, slots):
        return [lambda plan: 1 / 0, lambda plan: "text"]
    def flaws(self):
        return 1 / 0

class Unplanned(Unproved):
    kind = "unplanned"
    forms = (Field("unplanned", lambda node, names: Unplanned(read_actions(node, names))),)
    def plan_rules(self, slots):
        return 1 / 0

TEXT = "not a kind"
"""


@pytest.fixture
def install_broken(tmp_path: Path) -> Iterator[Install]:
    with installed(tmp_path, BROKEN) as put:
        yield put


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Taken", "policy kind count ("),
        ("TakenField", "policy kind other ("),
        ("Formless", "its forms are ()"),
        ("NoPattern", "policy kind one ("),
        ("Partial", "it has no flaws, judge, plan_rules, tools, traits, unseen"),
        ("TEXT", "a class was expected"),
        ("GONE", "cannot be loaded"),
        ("Unnamed", "its kind is ['pairs']"),
        ("UnnamedField", "it has a field named ['pairs']"),
    ],
)
def test_a_broken_one_is_told_by_name_and_passed_over(
    install_broken: Install, caplog: pytest.LogCaptureFixture, name: str, told: str
) -> None:
    install_broken(f"one = {MODULE}:{name}", f"pairs = {MODULE}:Pairs", "nowhere = pd_no_such_module:X")
    assert brief(PAIRS, "a a") == ("ok", ())
    assert [kind.kind for kind in outside_kinds()] == ["pairs"]
    assert told in caplog.text
    assert "policy kind nowhere (" in caplog.text


def test_one_that_fails_makes_its_own_policy_unsupported(
    install_broken: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install_broken(f"clumsy = {MODULE}:Clumsy", f"vague = {MODULE}:Vague", f"unread = {MODULE}:Unread")
    result = judged(policy("clumsy: A"), "a")
    assert (result.verdict, "ZeroDivisionError" in result.explanation) == ("unsupported", True)
    assert judged(policy("vague: A"), "a").verdict == "unsupported"
    assert "policy kind clumsy fails" in caplog.text
    with pytest.raises(BadInput, match="the policy kind 'unread' cannot read this"):
        policy("unread: A")


def test_one_that_ends_the_process_at_its_import_is_told_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with installed(tmp_path, "raise SystemExit(3)") as put:
        put(f"pairs = {MODULE}:Pairs")
        assert brief("A must never happen.", "a") == ("violated", (0,))
    assert "policy kind pairs (" in caplog.text


@pytest.mark.parametrize(
    "ours", ["A must happen before B.", "A must never happen.", "A must happen after 09:00."]
)
def test_one_that_matches_every_sentence_gets_none_of_ours(install_broken: Install, ours: str) -> None:
    install_broken(f"greedy = {MODULE}:Greedy", f"pairs = {MODULE}:Pairs")
    (read,) = rules_file(ours).policies
    assert type(read.rule) in KINDS
    (theirs,) = rules_file("A must be nice.").policies
    assert theirs.rule.kind == "greedy"


@pytest.mark.parametrize("what", ["verdict", "place", "words", "taken", "json"])
def test_an_answer_that_is_none_is_not_passed_on(install_broken: Install, what: str) -> None:
    install_broken(f"rubbish = {MODULE}:Rubbish")
    result = judged(policy("rubbish: A"), "a", query=what)
    assert (result.verdict, result.violations, result.details) == ("unsupported", (), {})


@pytest.mark.parametrize("kind", ["Unproved", "Unplanned"])
def test_lint_passes_over_one_that_fails_there(
    install_broken: Install, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    install_broken(f"one = {MODULE}:{kind}")
    assert lint(policy(f"{kind.lower()}: A")) == ()
    assert f"policy kind {kind.lower()} fails (ZeroDivisionError); lint passes over it" in caplog.text


def test_a_failure_of_our_own_kinds_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    (count,) = (kind for kind in KINDS if kind.kind == "count")
    monkeypatch.setattr(count, "judge", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judged("A must never happen.", "a")
