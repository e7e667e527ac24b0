"""Policy files: YAML 1.2, and errors that name file, line and field."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import Rules, judge_policies, load, load_policies
from synth.policies.names import Tools

HEAD = "actions:\n  pay: pay\n  verify: verify\npolicies:\n  - id: P\n"


@pytest.mark.parametrize(
    ("body", "line", "field", "said"),
    [
        ("    rule: Pay must happen before verfy.\n", 6, "policies[0].rule", "did you mean 'verify'"),
        ("    rule: Pay must be followed by verfy.\n", 6, "policies[0].rule", "did you mean 'verify'"),
        ("    rule: Pay must frobnicate verify.\n", 6, "policies[0].rule", "unknown name"),
        ("    rule: ''\n", 6, "policies[0].rule", "expected text"),
        ("    rule: 7\n", 6, "policies[0].rule", "expected text, got 7"),
        (
            "    rule: Pay must happen at least 1 time with the same id.\n",
            6,
            "policies[0].rule",
            "same arguments",
        ),
        ("    rule: Pay must happen before verify and before 15:00.\n", 6, "policies[0].rule", ""),
        (
            "    severity: bad\n    rule: Pay must never happen.\n",
            6,
            "policies[0].severity",
            "error, warning, info",
        ),
        ("    rule: Pay must never happen.\n    foo: 1\n", 7, "policies[0].foo", "no such field"),
        ("    rule: a\n    guard: b\n", 5, "policies[0]", "got rule and guard"),
        ("    severity: info\n", 5, "policies[0]", "got none of them"),
        ("    behaviour: (next a\n", 6, "policies[0].behaviour", "never closed"),
        (
            "    guard: {calls: no one, check: 'true'}\n",
            6,
            "policies[0].guard.calls",
            "no action is called 'no one'",
        ),
        (
            "    provenance: {calls: pay, argument: 'a..b', from: verify}\n",
            6,
            "policies[0].provenance.argument",
            "a path",
        ),
        ("    rule: [\n", 7, None, "not YAML"),
    ],
)
def test_errors_name_line_and_field(body: str, line: int, field: str | None, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_policies(HEAD + body)
    assert (caught.value.line, caught.value.field) == (line, field)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policies: 3\n", "expected a list, got 3"),
        ("- 1\n", "expected named fields, got a list"),
        ("\n", "expected named fields, got nothing"),
        ("actions: {}\n", "the field 'policies' is missing"),
        ("timezone: Mars/Base\npolicies: []\n", "unknown time zone 'Mars/Base'"),
        ("scope: world\npolicies: []\n", "expected one of run, session"),
        ("aliases: {stp: a}\npolicies: []\n", "no field is called 'stp'"),
        ("actions: {x: []}\npolicies: []\n", "at least one tool"),
        ("rules: []\npolicies: []\n", "no such field"),
        ("\tx: 1\n", "not YAML"),
        ("policies: &a [*a]\n", "expected named fields"),
        ("policies:\n- {id: A, rule: Any tool must never happen.}\n" * 1 + "- {id: A, rule: x}\n", ""),
        (f"policies: [{'[' * 3000}]\n", "nested deeper"),
    ],
)
def test_files_that_are_no_policies_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_policies(text)
    assert said in str(caught.value)


def test_a_file_of_very_many_values_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "MAX_NODES", 50)
    with pytest.raises(BadInput, match="over 50 values"):
        load_policies("policies: [" + "a," * 60 + '"never ended\n')
    assert load_policies("aliases: {}\npolicies: []\n").policies == ()


def test_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("policies: 3\n")
    with pytest.raises(BadInput, match=r"p\.yaml:1, field policies: expected a list"):
        load_policies(path)
    path.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(BadInput, match="not UTF-8"):
        load_policies(str(path))
    with pytest.raises(BadInput, match=r"none\.yaml: cannot be read: No such file"):
        load_policies(tmp_path / "none.yaml")


def test_yaml_1_2_words_stay_words() -> None:
    policies = load_policies("actions: {yes: no_tool, on: 'off'}\npolicies: []\n")
    assert policies.actions["yes"] == Tools("yes", ("no_tool",))
    assert policies.actions["on"].names == ("off",)


def test_actions_may_be_a_list_and_tools_patterns() -> None:
    text = (
        "actions:\n  - {phrase: write, tools: ['set_*', put]}\n  - {phrase: read, tool: get}\n"
        "policies:\n  - {id: P, rule: Read must happen before write.}\n"
    )
    run = Run("run", (ToolCall(None, "set_x"), ToolCall(None, "put"), ToolCall(None, "get")))
    (result,) = judge_policies(load_policies(text), run)
    assert (result.verdict, result.violations) == ("violated", (0, 1))


@pytest.mark.parametrize(
    "sentence",
    [
        "Pay must happen before verify.",
        "The pay should occur before the verify",
        "Before pay, verify has to be done.",
        "Pay, which must happen after verify, must happen before 15:00.",
        "PAY MUST BE FOLLOWED BY VERIFY WITHIN 1.5 HOURS.",
        'Call "pay" must never happen.',
        "Pay and verify must happen no more than 3 times.",
        "Pay must never happen after verify.",
        "Pay must take place immediately after verify.",
        "Pay must begin at least 90 s after verify",
        "Pay should not overlap verify.",
        "Pay must be alone in its turn.",
    ],
)
def test_sentences_that_are_read(sentence: str) -> None:
    text = HEAD + f"    rule: {sentence!r}\n"
    if ", which must happen after" in sentence:
        with pytest.raises(BadInput, match="write two policies"):
            load_policies(text)
    else:
        assert load_policies(text).policies[0].text == sentence


@pytest.mark.heavy
def test_a_thousand_policies_on_ten_thousand_calls_end_in_bounded_time() -> None:
    actions = "".join(f"  act{i}: t{i}\n" for i in range(200))
    rules = "".join(
        f"  - {{id: P{i}, rule: act{i % 199} must happen before act{i % 199 + 1}.}}\n" for i in range(1000)
    )
    policies = load_policies(f"actions:\n{actions}policies:\n{rules}")
    calls = tuple(ToolCall(None, f"t{(i * 7) % 200}") for i in range(10_000))
    began = time.process_time()
    results = judge_policies(policies, Run("run", calls), rules=Rules(z3="failing", run_seconds=30))
    assert len(results) == 1000
    assert {result.verdict for result in results} <= {"ok", "violated"}
    assert time.process_time() - began < 20
