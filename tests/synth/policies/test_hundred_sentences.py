"""Sentences as customers write them: accepted as meant, or refused with a hint that is right.

`sentences/*.yaml` says of each what it means, runs that keep that meaning and runs that break it, and the
answer where it is refused. What is accepted is judged by its runs, and so is what a hint suggests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from ruamel.yaml import YAML

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, judge_policies, load_policies

Actions = dict[str, Any]

FILES = sorted((Path(__file__).parent / "sentences").glob("*.yaml"))
DAY = 20_000 * 86_400
_CALL = re.compile(
    r"(?P<tool>\w+)(?:\((?P<args>.*?)\))?(?:@(?P<start>[\d:]+)(?:-(?P<end>[\d:]+))?)?(?P<failed>!?)"
)


def cases() -> Iterator[Any]:
    for file in FILES:
        known = YAML(typ="safe").load(file.read_text())
        for said in known["sentences"]:
            yield pytest.param(known["actions"], said, id=said["rule"])


def run(text: str) -> Run:
    """`a(id=1)@10:00-10:05 b+c d!`: b and c in one message, d fails; a call without an end takes a second."""
    return Run(
        "run",
        tuple(call(one, step) for step, turn in enumerate(text.split()) for one in turn.split("+")),
    )


def call(text: str, step: int) -> ToolCall:
    said = _CALL.fullmatch(text)
    assert said is not None, text
    start = None if said["start"] is None else instant(said["start"])
    end = None if start is None else instant(said["end"]) if said["end"] else start + 10**9
    return ToolCall(
        None,
        said["tool"],
        dict(pair.split("=") for pair in said["args"].split(",")) if said["args"] else {},
        error="boom" if said["failed"] else None,
        start=None if start is None else (start, start),
        end=None if end is None else (end, end),
        step=step,
        with_text=False,
    )


def instant(clock: str) -> int:
    hours, minutes, seconds = map(int, f"{clock}:00".split(":")[:3])
    return (DAY + hours * 3600 + minutes * 60 + seconds) * 10**9


def file(actions: Actions, rules: Sequence[str]) -> PolicySet:
    policies = [{"id": str(i), "rule": rule} for i, rule in enumerate(rules)]
    return load_policies(orjson.dumps({"actions": actions, "policies": policies}).decode() + "\n")


def means(said: dict[str, Any], actions: Actions, rules: Sequence[str]) -> bool:
    """Do the rules together keep what the sentence keeps, and break what it breaks?"""
    policies = file(actions, rules)
    kept, broken = (
        [{result.verdict for result in judge_policies(policies, run(text))} for text in said.get(which, ())]
        for which in ("kept", "broken")
    )
    return all(v <= {"ok", "not_applicable"} for v in kept) and all("violated" in v for v in broken)


def suggested(answer: str, said: dict[str, Any], actions: Actions) -> list[tuple[Actions, list[str]]]:
    """What an answer tells to write: the alternatives, each as actions and the rules that stand together."""
    if misspelt := re.search(r"'([^']+)'; did you mean '([^']+)'", answer):
        return [(actions, [said["rule"].replace(*misspelt.groups())])]
    if both := re.search(r"name one action for both: '(.+): \[(.+)\]'", answer):
        return [({**actions, both[1]: both[2].split(", ")}, [said["rule"]])]
    written = [s for s in re.findall(r"'([^']+)'", answer.partition("; ")[2]) if "ACTION" not in s]
    rules = [sentence for sentence in written if re.search(r" (must|has to) ", sentence)]
    return (
        [(actions, [rule]) for rule in rules] if ", or '" in answer else [(actions, rules)] if rules else []
    )


@pytest.mark.parametrize(("actions", "said"), [*cases()])
def test_a_sentence_is_read_as_meant_or_refused_with_a_hint_that_is_right(
    actions: Actions, said: dict[str, Any]
) -> None:
    if "answer" not in said:
        assert {"kept", "broken"} <= said.keys()
        assert means(said, actions, [said["rule"]])
        return
    with pytest.raises(BadInput) as refused:
        file(actions, [said["rule"]])
    assert refused.value.message.split("\n")[0] == said["answer"]
    ways = suggested(said["answer"], said, actions)
    assert all(file(known, rules) for known, rules in ways)
    assert not ways or any(means(said, known, rules) for known, rules in ways)


def test_there_are_more_than_thirty_of_each_domain() -> None:
    counts = {file.stem: len(YAML(typ="safe").load(file.read_text())["sentences"]) for file in FILES}
    assert {"airline", "bank", "pipeline"} < counts.keys()
    assert min(counts.values()) > 33
