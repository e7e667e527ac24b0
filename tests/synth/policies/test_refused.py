"""Sentences that no policy can be: what is refused says how the language says it."""

from __future__ import annotations

import re

import pytest

from synth.errors import BadInput
from synth.language.parse import parse
from synth.policies import load_policies
from tests.support.language import ABCD

HEAD = "actions: {deploy: deploy, run tests: run_tests, notify: notify, API check: api}\npolicies:\n"


def refused(sentence: str) -> str:
    with pytest.raises(BadInput) as caught:
        load_policies(f"{HEAD}  - {{id: P, rule: {sentence!r}}}\n")
    assert (caught.value.line, caught.value.field) == (3, "policies[0].rule")
    return caught.value.message


HINTS = [
    (
        "Deploy must never happen unless approved.",
        "must never happen unless",
        "'ACTION must happen before deploy' with an action of the file, or a guard for anything else",
    ),
    (
        "Any other tool must follow run tests.",
        "Any other tool",
        "'Any tool must follow run tests', which means any other tool here",
    ),
    (
        "Any other tool must be followed by notify.",
        "Any other tool",
        "'Any tool must be followed by notify', which means any other tool here",
    ),
    (
        "Any other tool must never happen after deploy.",
        "Any other tool",
        "'Any tool must never happen after deploy', which means every tool here",
    ),
    (
        "Any other tool must happen before deploy.",
        "Any other tool",
        "'Any tool must happen before deploy', which means every tool here",
    ),
    (
        "Deploy, which must follow run tests, must be followed by notify.",
        "which must follow run tests",
        "two policies: 'Deploy must follow run tests' and 'Deploy must be followed by notify'",
    ),
    (
        "Deploy must be followed by notify, which must follow run tests",
        "which must follow run tests",
        "two policies: 'Notify must follow run tests' and 'Deploy must be followed by notify'",
    ),
]


SYNONYMS = [
    ("Deploy must never happen after 22:00.", "Deploy must happen before 22:00"),
    ("Deploy and notify must not take place before 9:00", "Deploy and notify must happen after 09:00"),
    (
        "Deploy must happen between 9:00 and 17:00.",
        "Deploy must happen after 09:00, and deploy must happen before 17:00",
    ),
    ("Deploy must not be followed by notify.", "Notify must never happen after deploy"),
    ("Deploy must not follow run tests.", "Deploy must never happen after run tests"),
    ("Deploy should never be preceded by API check.", "Deploy must never happen after API check"),
    ("Deploy must never happen unless run tests.", "Run tests must happen before deploy"),
    ("Deploy must not be called until run tests has succeeded.", "Run tests must happen before deploy"),
    (
        "Deploy must never happen unless run tests with the same id.",
        "Run tests must happen before deploy with the same id",
    ),
    (
        "Either deploy or notify must never happen after run tests.",
        "Deploy or notify must never happen after run tests",
    ),
    ("Deploy must happen after run_tests.", "Deploy must happen after run tests"),
]


def rule_of(sentence: str) -> object:
    """The rule that a sentence states; which words say what is not compared."""
    return load_policies(f"{HEAD}  - {{id: P, rule: {sentence!r}}}\n").policies[0].rule


@pytest.mark.parametrize(("sentence", "same"), SYNONYMS)
def test_what_has_one_meaning_is_read(sentence: str, same: str) -> None:
    assert rule_of(sentence) == rule_of(f"{same}.")
    assert getattr(rule_of(sentence), "clauses", ()) == ()


def test_a_tool_that_is_one_of_several_does_not_name_the_action() -> None:
    both = HEAD.replace("notify: notify", "notify: [send_mail, send_text]")
    with pytest.raises(BadInput, match="send_mail"):
        load_policies(f"{both}  - {{id: P, rule: Deploy must happen before send_mail.}}\n")


def test_actions_that_or_joins_are_one_action_of_all_their_tools() -> None:
    (policy,) = load_policies(
        f"{HEAD}  - {{id: P, rule: Run tests or API check must precede deploy.}}\n"
    ).policies
    either, deploy = policy.rule.tools
    assert (either.phrase, either.names, deploy.names) == (
        "run tests or api check",
        ("run_tests", "api"),
        ("deploy",),
    )
    agents = "Run tests by ci or API check by ops must happen before deploy."
    assert "or" in refused(agents)


@pytest.mark.parametrize(("sentence", "words", "hint"), HINTS)
def test_a_refusal_says_what_to_write(sentence: str, words: str, hint: str) -> None:
    assert refused(sentence) == f"cannot read '{words}'; write {hint}"


@pytest.mark.parametrize("hint", [hint for _, _, hint in HINTS])
def test_what_is_suggested_reads(hint: str) -> None:
    for sentence in re.findall(r"'(.+?)'", hint):
        assert "ACTION" in sentence or load_policies(f"{HEAD}  - {{id: P, rule: {sentence!r}}}\n")


def test_a_suggestion_that_would_not_read_is_not_made() -> None:
    unknown = "(expected one of deploy, run tests, notify, API check, any tool)"
    assert refused("Dploy must never happen after 22:00.") == f"no action is called '22:00' {unknown}"
    assert refused("Deploy must be followed by notify, which must frobnicate run tests.") == (
        f"no action is called 'notify, which must frobnicate run tests' {unknown}"
    )
    assert "write" not in refused("Deploy must happen at least 1 time, which is enough.")
    assert refused("Deploy must not preced notify.").split("\n")[0] == (
        "cannot read 'must not preced'; an order says what must happen, not what must not"
    )


def test_a_query_is_never_told_the_opposite() -> None:
    for negated in ("must not precede", "must never follow", "should not be followed by"):
        with pytest.raises(BadInput) as caught:
            parse(f"Audit {negated} briefing.", ABCD)
        assert caught.value.message.split("\n")[0] == (
            f"cannot read '{negated}'; an order says what must happen, not what must not"
        )
    with pytest.raises(BadInput, match="unknown name 'Do not disturb'"):
        parse("Do not disturb must precede briefing.", ABCD)


@pytest.mark.parametrize(
    ("head", "policy", "line", "field"),
    [
        ("", ", applies: {scope: session}", 3, "policies[0].applies.scope"),
        ("applies: {scope: [session]}\n", "", 1, "applies.scope"),
    ],
)
def test_a_scope_stands_at_the_head(head: str, policy: str, line: int, field: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_policies(f"{head}{HEAD}  - {{id: P, rule: Deploy must never happen.{policy}}}\n")
    assert (caught.value.message, caught.value.line, caught.value.field) == (
        "a run has no scope; write 'scope: session' at the head of the file",
        line,
        field,
    )


def test_a_field_of_runs_may_be_called_scope() -> None:
    text = f"{HEAD}  - {{id: P, rule: Deploy must never happen., applies: {{scope: nightly}}}}\n"
    assert load_policies(text).policies[0].applies.fields == {"scope": ("nightly",)}


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("A crew may be sent at most twice per run.", "A crew ... at most twice"),
        ("Each crew may be sent no more than once per job id.", "Each crew ... no more than once"),
        ("A crew may be sent at most 2 times.", "A crew ... at most 2"),
        ("Never send any crew twice.", "any crew ... twice"),
        ("Every crew must be sent exactly once.", "Every crew ... exactly once"),
        ("Each crew must be sent.", "Each crew"),
        ("All crews must be sent before load is cut.", "All crews"),
    ],
)
def test_a_count_of_one_thing_is_of_all_or_of_each(sentence: str, said: str) -> None:
    head = "actions: {send crew: send_crew, cut load: cut_load}\npolicies:\n"
    with pytest.raises(BadInput) as caught:
        load_policies(f"{head}  - {{id: P, rule: {sentence!r}}}\n")
    assert caught.value.message.startswith(f"cannot read '{said}'")
    assert re.search(r"with the same (?:job_id and )?FIELD'", caught.value.message)
    plain = sentence.replace("No crew may", "The crew must not")
    plain = re.sub("^(A|Each|Every|All) |any (?=crew)", "the ", plain)
    assert load_policies(f"{head}  - {{id: P, rule: {plain!r}}}\n")


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Interns must not pay claims.", "'You must not pay claims' where the agent itself is meant"),
        (
            "Each claim may be paid at most twice per agent_id.",
            "'Pay claim must happen at most 2 times with the same agent_id and FIELD' where FIELD says",
        ),
        (
            "A claim may be paid no sooner than 5 minutes after it was opened.",
            "'Pay claim must never happen within 5 minutes after open claim', or 'Pay claim must start at",
        ),
        (
            "While a claim is opened, it must not be paid.",
            "'until ACTION' after it where an action ends",
        ),
        ("While a claim is being opened, it must be paid.", "something else does is not in the language"),
        (
            "The value of all payments must be at most 500.",
            "The sum of value of pay claim must be at most 500",
        ),
    ],
)
def test_what_is_said_of_one_thing_or_of_somebody_is_told_how_it_is_said(sentence: str, said: str) -> None:
    head = "actions: {open claim: a, pay claim: b, deny claim: c}\npolicies:\n"
    with pytest.raises(BadInput) as caught:
        load_policies(f"{head}  - {{id: P, rule: {sentence!r}}}\n")
    assert said in caught.value.message
