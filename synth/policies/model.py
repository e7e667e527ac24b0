"""Policies for production runs: what they are, and what is found about a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePath
from typing import Any

from synth.errors import BadInput
from synth.formal.partly import Unknown
from synth.frozen import quick
from synth.observed.run import Run
from synth.policies.compared import compares_nothing
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.kind import PolicyKind
from synth.policies.names import VERDICTS, PolicyVerdict, Scope, Severity, Span, Tools

_WILD = re.compile(r"[*?\[]")
CHEAP_FIRST = (
    "count", "turn", "duration", "first_call", "last_call", "window", "weekdays", "timetable", "precedence",
    "absence_after", "between", "overlap", "response", "adjacency", "next_call", "gap", "rate",
    "times_before", "paired", "after_failures", "failure_first",
    "as_often", "in_a_row", "variety", "against", "total", "contract", "guard", "provenance", "behaviour",
)  # fmt: skip
"""Kinds by what they cost; others come last."""


@dataclass(frozen=True, slots=True)
class Applies:
    """The runs a policy is for; what is not named does not matter."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Field of the run (`agent`, `service`, `source`, `model`, ...) -> allowed values, `*` as wildcard."""
    tools: tuple[str, ...] = ()
    """The run must offer or have called one of these tools."""
    calls: tuple[Tools, ...] = ()
    """The run must have called one of these actions."""

    def to(self, seen: Evidence) -> bool:
        """Is the policy for this run?"""
        return self._is_offered(seen) and self._is_called(seen) and self.fields_fit(seen) is True

    def why_open(self, seen: Evidence) -> str | None:
        """Why the policy, which is not for this run as it was seen, may be for it; None: it is not."""
        if self.fields_fit(seen) is False:
            return None
        if not self._is_offered(seen) and not self._may_be_offered(seen):
            return None
        if not self._is_called(seen) and not any(map(seen.gaps.can_be, self.calls)):
            return None
        lost = [
            name for name, patterns in self.fields.items() if _fits(seen.known_field(name), patterns) is None
        ]
        if lost:
            return f"The policy may be one for this run: {seen.known_field(lost[0])}."
        if not seen.gaps:
            return "The policy may be one for this run: what it said of its tools was lost."
        return "A call that was not seen may make the policy one for this run."

    def fields_fit(self, seen: Evidence) -> bool | None:
        """Do the run's fields leave it one that the policy is for? None where what is missing decides."""
        answers = {_fits(seen.known_field(name), patterns) for name, patterns in self.fields.items()}
        return False if False in answers else (None if None in answers else True)

    def _is_offered(self, seen: Evidence) -> bool:
        return not self.tools or any(seen.offers(tool) for tool in self.tools)

    def _may_be_offered(self, seen: Evidence) -> bool:
        unsaid = seen.run.tools is None and seen.lost_fields
        return unsaid or any(seen.gaps.can_be(Tools(tool, (tool,))) for tool in self.tools)

    def _is_called(self, seen: Evidence) -> bool:
        return not self.calls or any(seen.attempts(action) for action in self.calls)


def _fits(value: Any, patterns: Iterable[str]) -> bool | None:
    """Has a field one of these values? None where what is missing of it decides."""
    if not isinstance(value, Unknown):
        return isinstance(value, str) and any(fnmatchcase(value, pattern) for pattern in patterns)
    begins = value.begins or ""
    starts = [_WILD.split(pattern)[0][: len(begins)] for pattern in patterns]
    return None if any(map(begins.startswith, starts)) else False


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy of a file."""

    id: str
    text: str
    """In words, as shown to people."""
    rule: PolicyKind
    severity: Severity = "error"
    """`error` where the file says none; `warning` and `info` are `medium` and `low`."""
    applies: Applies = Applies()
    line: int | None = None
    """1-based, in the policy file."""
    sentence: str | None = None
    """All of what states the rule: a sentence, the condition of a guard, the specification of a behaviour."""
    clause: Span | None = None
    """The words of a sentence that states one thing, without its full stop."""
    on_break: str | None = None
    """What a guard does about a call that is about to break it; None = as the guard says."""
    on_error: str = "open"
    """What a guard does where it cannot ask: `open` lets the call run, `closed` does not."""
    owner: str | None = None
    """Who is told, or asked, when it is broken."""

    def told(self, found: Judged) -> str:
        """What is said of an answer; of a broken rule also what its words leave open."""
        open_ = compares_nothing(self.sentence, self.rule) if found.verdict == "violated" else ""
        return f"{found.explanation} {open_[0].upper()}{open_[1:]}." if open_ else found.explanation

    @property
    def named_tools(self) -> tuple[str, ...]:
        """The names of tools that it says in full; a pattern is no name."""
        traits = self.rule.traits
        actions = (*self.rule.tools, *self.applies.calls)
        said = [*(name for action in actions for name in action.names), *self.applies.tools]
        return tuple(dict.fromkeys(n for n in (*said, *traits.loose, *traits.named) if "*" not in n))

    def broken_words(self, found: Judged) -> Span | None:
        """The words of the sentence that were broken; None where they are not of one clause."""
        if found.verdict != "violated":
            return None
        if not found.clauses:
            return self.clause
        violations = set(found.violations)
        broken = {span for call, span in found.clauses if call is None or call in violations}
        return broken.pop() if len(broken) == 1 else None


@dataclass(frozen=True)
class PolicySet:
    """A policy file, read."""

    policies: tuple[Policy, ...]
    actions: Mapping[str, Tools] = field(default_factory=dict)
    """By phrase."""
    timezone: str = "UTC"
    scope: Scope = "run"
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Our name of a call's field -> the name in the records, such as `step: assistant_step`."""
    file: str | None = None
    source: str = ""
    """The text it was read from. Compiled conditions do not pickle: another process reads this again."""
    version: int | None = None
    """Of a file that a collector keeps; `file` is then its name there."""
    known_tools: tuple[str, ...] = ()
    """Names that are meant as they stand, though no run may show them yet."""
    kept: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What its readers made of it, as long as it lives."""

    def __len__(self) -> int:
        return len(self.policies)

    @cached_property
    def cheap_first(self) -> list[int]:
        """Places of the policies in the order in which they are judged."""
        cost = {kind: place for place, kind in enumerate(CHEAP_FIRST)}
        return sorted(range(len(self)), key=lambda k: cost.get(self.policies[k].rule.kind, len(cost)))

    @cached_property
    def named_tools(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The id of each policy, and the tools that it names in full."""
        return tuple((policy.id, policy.named_tools) for policy in self.policies)

    @cached_property
    def name(self) -> str | None:
        """What results call the file."""
        return PurePath(self.file).name if self.file is not None and self.version is None else self.file

    def result(self, run: Run, policy: Policy, found: Judged, repair: Repair | None = None) -> PolicyResult:
        """What was found about a run and one of these policies, with the rule itself."""
        return PolicyResult(
            run.id,
            policy.id,
            found.verdict,
            found.violations,
            policy.told(found),
            policy.severity,
            found.details,
            pending=found.awaits and found.verdict == "undecided" and not run.ended,
            awaits=found.awaits,
            until=found.until,
            text=policy.text,
            file=self.name,
            version=self.version,
            sentence=policy.sentence,
            span=policy.broken_words(found),
            repair=repair,
        )


@quick
@dataclass(frozen=True, slots=True)
class Repair:
    """What would have kept a rule, as near as possible to what was done."""

    order: tuple[str, ...]
    """Tools of the calls, in the order in which they would have begun: those that the rule speaks of."""
    calls: tuple[int | None, ...]
    """Position of each in the run; None = it was not made."""
    moved: tuple[int, ...] = ()
    """Positions of the calls that were taken out and put elsewhere."""
    added: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """(tool, arguments that the rule asks for) of the calls that were not made, in their order."""
    dropped: tuple[int, ...] = ()
    """Positions of the calls that would have been left out."""
    proved: tuple[str, ...] = ()
    """The policies of the file that the repaired run was judged to keep."""
    lasting: bool = field(default=False, compare=False)
    """Is it that of the same run once it has ended, too? Not part of its JSON."""

    def within(self, own: range) -> Repair:
        """As a repair of the last of several runs, whose calls these are; it changes nothing before them."""
        steps = [(t, c) for t, c in zip(self.order, self.calls, strict=True) if c is None or c in own]
        return replace(
            self,
            order=tuple(tool for tool, _ in steps),
            calls=tuple(None if call is None else call - own.start for _, call in steps),
            moved=tuple(call - own.start for call in self.moved),
            dropped=tuple(call - own.start for call in self.dropped),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "order": list(self.order),
            "calls": list(self.calls),
            "moved": list(self.moved),
            "added": [{"name": tool, "arguments": arguments} for tool, arguments in self.added],
            "dropped": list(self.dropped),
            "proved": list(self.proved),
        }

    @classmethod
    def from_json(cls, said: Any) -> Repair:
        """The reverse of `to_json`."""
        added = tuple((call["name"], call["arguments"]) for call in said["added"])
        order, calls, moved, dropped, proved = (
            tuple(said[name]) for name in ("order", "calls", "moved", "dropped", "proved")
        )
        return cls(order, calls, moved, added, dropped, proved)


@quick
@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What was found about one run and one policy."""

    run_id: str
    policy: str
    verdict: PolicyVerdict
    violations: tuple[int, ...] = ()
    """0-based positions of the violating calls."""
    explanation: str = ""
    severity: Severity = "error"
    details: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the result: `valid`, `first_bad`, `unmet`, `goal_reached` of a contract."""
    pending: bool = False
    """Undecided only as long as the run, or its conversation, goes on."""
    awaits: bool = field(default=False, compare=False)
    """Could calls that have not come yet put right what is not kept?"""
    until: int | None = field(default=None, compare=False)
    """Wall-clock ns: the first of what they could put right is past then. None = it stays possible."""
    text: str | None = None
    """The rule as shown to people; None in results that are older than this field."""
    file: str | None = None
    """Name of the policy file; None for rules of a request."""
    version: int | None = None
    """Of the file in a collector."""
    sentence: str | None = None
    """All of what states the rule, see `Policy.sentence`."""
    span: Span | None = None
    """The words of `sentence` that were broken; None where they are not of one clause."""
    repair: Repair | None = None
    """Of a violation; None where none was found and proved."""

    def to_json(self) -> dict[str, Any]:
        """The public spelling, see "PolicyResult" in `docs/formats.md`."""
        return {
            "run_id": self.run_id,
            "policy": self.policy,
            "text": self.text,
            "file": self.file,
            "version": self.version,
            "sentence": self.sentence,
            "span": None if self.span is None else list(self.span),
            "verdict": self.verdict,
            "violations": list(self.violations),
            "explanation": self.explanation,
            "severity": self.severity,
            "repair": None if self.repair is None else self.repair.to_json(),
            **({"pending": True} if self.pending else {}),
            **self.details,
        }


RULE_FIELDS = ("text", "file", "version", "sentence", "span", "repair")
"""Of every result: which rule it is, what of it was broken and what would have kept it."""
RESULT_FIELDS = (
    *RULE_FIELDS, "run_id", "policy", "verdict", "violations", "explanation", "severity", "pending",
)  # fmt: skip
"""Of every result; what else it has are details of the kind."""


def policy_result_from_json(said: Any) -> PolicyResult:
    """The reverse of `PolicyResult.to_json`; BadInput for what is none."""
    try:
        if said["verdict"] not in VERDICTS:
            raise BadInput(f"expected one of {', '.join(VERDICTS)}, got {said['verdict']!r}", field="verdict")
        span, repair = said.get("span"), said.get("repair")
        return PolicyResult(
            said["run_id"],
            said["policy"],
            said["verdict"],
            tuple(said["violations"]),
            said["explanation"],
            said.get("severity", "error"),
            {name: value for name, value in said.items() if name not in RESULT_FIELDS},
            said.get("pending", False),
            **{name: said.get(name) for name in ("text", "file", "version", "sentence")},
            span=None if span is None else (span[0], span[1]),
            repair=None if repair is None else Repair.from_json(repair),
        )
    except (KeyError, TypeError, IndexError) as problem:
        raise BadInput(f"not a policy result: {type(problem).__name__} {problem}") from problem
