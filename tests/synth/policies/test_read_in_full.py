"""Nothing that a sentence says is left out, and nothing is said of calls that cannot be."""

from __future__ import annotations

import json

import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import judge_policies, load_policies
from synth.policies.meanings import demands_of
from synth.policies.model import PolicySet

ACTIONS = {
    "recall payment": "recall", "release payment": "release", "grant extension": "grant",
    "notify manager": "notify", "update salary": "update", "edit file": "edit", "read file": "read",
    "run backup": "backup",
}  # fmt: skip


def policies(sentence: str) -> PolicySet:
    named = "".join(f"  {phrase}: {tool}\n" for phrase, tool in ACTIONS.items())
    return load_policies(f"actions:\n{named}policies:\n  - id: P\n    rule: {json.dumps(sentence)}\n")


@pytest.mark.parametrize(
    ("sentence", "meant"),
    [
        ("No recall of a payment while its release is still running.",
         "Recall payment must not overlap release payment with the same payment."),
        ("Never recall a payment while that payment is being released.",
         "Recall payment must not overlap release payment with the same payment."),
        ("Notify manager comes immediately after each salary update.",
         "Update salary must be immediately followed by notify manager."),
        ("Notify manager comes directly after every salary update.",
         "Update salary must be immediately followed by notify manager."),
        ("No backup longer than 2 hours", "Run backup must take at most 2 hours."),
        ("no extension longer than 14 days", "Grant extension with days over 14 must never happen."),
    ],
)  # fmt: skip
def test_it_is_read_as_meant(sentence: str, meant: str) -> None:
    said, canonical = (policies(one).policies[0].rule for one in (sentence, meant))
    assert demands_of(said) == demands_of(canonical)


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Update salary must happen at most once with the same arguments.", "same_call"),
        ("A backup may take 2 days at most", "2 days"),
    ],
)
def test_what_cannot_be_is_refused(sentence: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        policies(sentence)


@pytest.mark.parametrize(("path", "verdict"), [("src/a.py", "ok"), ("src/b.py", "violated")])
def test_a_file_may_be_named_by_its_path(path: str, verdict: str) -> None:
    calls = (
        ToolCall(None, "read", {"path": "src/a.py"}),
        ToolCall(None, "edit", {"path": path, "lines": 10}),
    )
    (result,) = judge_policies(policies("Never edit a file that has not been read."), Run("r", calls))
    assert result.verdict == verdict
