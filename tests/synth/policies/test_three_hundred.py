"""A hundred sentences in each of three domains, written down before the parser was asked about them.

Each line of `hundred/*.txt` is a sentence, runs that keep what it means, runs that break it; `?` stands for
a meaning that the language has no one sentence for, or for two meanings. A sentence that is accepted is
accepted as meant; of those with one meaning 85 of a hundred are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from synth.errors import BadInput
from synth.observed.run import Run, ToolCall
from synth.policies import PolicySet, judge_policies, load_policies

FILES = sorted((Path(__file__).parent / "hundred").glob("*.txt"))
FRIDAY = 20_000 * 86_400
"""Seconds since 1970 of a Friday's first instant, UTC."""
_CALL = re.compile(
    r"(?P<code>\w)(?P<failed>!?)(?:\((?P<args>.*?)\))?(?:@(?:(?P<day>\d)T)?(?P<start>[\d:]+)(?:-(?P<end>[\d:]+))?)?"
)


@dataclass(frozen=True)
class Said:
    """One sentence with its reading."""

    rule: str
    kept: tuple[str, ...]
    broken: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    name: str
    actions: dict[str, str]
    """Letter of the runs -> action."""
    sentences: tuple[Said, ...]

    def policies(self, rule: str) -> PolicySet:
        tools = {phrase: phrase.replace(" ", "_") for phrase in self.actions.values()}
        said = {"actions": tools, "policies": [{"id": "said", "rule": rule}]}
        return load_policies(orjson.dumps(said).decode() + "\n")

    def run(self, text: str) -> Run:
        return Run("run", tuple(self._calls(text)))

    def _calls(self, text: str) -> Iterator[ToolCall]:
        for step, turn in enumerate(text.split()):
            for one in turn.split("+"):
                said = _CALL.fullmatch(one)
                assert said is not None, one
                pairs = [pair.split("=") for pair in (said["args"] or "").split(",") if pair]
                start = None if said["start"] is None else _instant(said["day"], said["start"])
                end = _instant(said["day"], said["end"]) if said["end"] else (start or 0) + 10**9
                yield ToolCall(
                    None,
                    self.actions[said["code"]].replace(" ", "_"),
                    {name: int(value) for name, value in pairs},
                    error="boom" if said["failed"] else None,
                    start=None if start is None else (start, start),
                    end=None if start is None else (end, end),
                    step=step,
                    with_text=False,
                )

    def differs(self, said: Said) -> list[str]:
        """The runs that an accepted sentence judges otherwise than it was meant."""
        policies = self.policies(said.rule)

        def verdict(text: str) -> str:
            return judge_policies(policies, self.run(text))[0].verdict

        wrong = [f"{run} is {v}" for run in said.kept if (v := verdict(run)) not in ("ok", "not_applicable")]
        return wrong + [f"{run} is {v}" for run in said.broken if (v := verdict(run)) != "violated"]


def _instant(day: str | None, clock: str) -> int:
    hours, minutes, seconds = map(int, f"{clock}:00".split(":")[:3])
    return (FRIDAY + int(day or 0) * 86_400 + hours * 3600 + minutes * 60 + seconds) * 10**9


def domain(file: Path) -> Domain:
    lines = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
    actions = dict(line.split(" = ") for line in lines if re.match(r"\w = ", line))
    sentences = []
    for line in lines:
        if re.match(r"\w = ", line):
            continue
        rule, *runs = (part.strip() for part in line.split("|"))
        kept, broken = ([], []) if runs == ["?"] else (runs[0].split(";"), runs[1].split(";"))
        sentences.append(Said(rule, tuple(map(str.strip, kept)), tuple(map(str.strip, broken))))
    return Domain(file.stem, actions, tuple(sentences))


DOMAINS = [domain(file) for file in FILES]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_a_sentence_of_a_domain_is_accepted_as_meant_or_refused(domain: Domain) -> None:
    accepted, refused, wrong = 0, [], {}
    for said in domain.sentences:
        try:
            domain.policies(said.rule)
        except BadInput as bad:
            refused.append((said, str(bad)))
            continue
        accepted += 1
        if not said.kept or (found := domain.differs(said)):
            wrong[said.rule] = found if said.kept else ["it has no one meaning"]
    assert not wrong
    meant = [said for said in domain.sentences if said.kept]
    lacking = [said.rule for said, _ in refused if said.kept]
    assert len(lacking) <= 0.15 * len(meant), lacking
