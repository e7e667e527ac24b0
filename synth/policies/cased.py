"""A test case as a rule: the plan that its request asks for, asked about before each call.

A call is taken to do what it is made for, and so is one that still runs: whatever comes after it, the run is
then no right answer to the request. In order mode that is what the judge says of the calls so far. In timed
mode a plan may be given up and made anew, so that a run is never lost for good; there a call is refused that
ends the plan in hand, as far as order, windows and deadlines tell. Z3 is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from typing import Any, ClassVar

from synth.cases.case import Case, read_cases
from synth.errors import BadInput
from synth.formal.constraints import Outline, clock, listed, outline_of
from synth.formal.day import day_of, find_schedule
from synth.formal.dead_end import DayPlan
from synth.formal.order import bits, topological_order
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.subject import Subject, subject_of
from synth.judge.timed_mode import Attempt, dead_at, known_durations, split_attempts
from synth.observed.instants import hidden_duration, hidden_start
from synth.observed.run import Run, ToolCall
from synth.policies.evidence import Evidence
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.kind import Form, Reads, Traits
from synth.policies.kinds.plans import Slot
from synth.policies.load import load_policies
from synth.policies.model import Applies, Policy, PolicySet
from synth.policies.names import Tools

TEXT = "the request asks for another plan"


def rules_of(source: Any) -> PolicySet:
    """The rules of a policy file or its text, of a case, or of a file of cases (`.jsonl`)."""
    if isinstance(source, Case):
        return rules_of_cases([source])
    if isinstance(source, str | Path) and Path(source).suffix == ".jsonl":
        return rules_of_cases(read_cases(source), str(source))
    return load_policies(source)


def rules_of_cases(cases: Sequence[Case], file: str | None = None) -> PolicySet:
    """One rule a case; of several each is for the runs that name it."""
    alone = len(cases) == 1
    return PolicySet(
        tuple(
            Policy(
                case.id,
                TEXT,
                CaseRule(case),
                applies=Applies() if alone else Applies({"case_id": (escape(case.id),)}),
            )
            for case in cases
        ),
        file=file,
    )


@dataclass(frozen=True)
class CaseRule:
    """The calls so far can still become a right answer to the request of a case."""

    kind: ClassVar[str] = "case"
    forms: ClassVar[tuple[Form, ...]] = ()
    takes_success: ClassVar[bool] = True
    """Is a call that runs taken to succeed?"""
    case: Case
    subject: Subject = field(init=False, compare=False)
    outline: Outline = field(init=False, compare=False)

    def __post_init__(self) -> None:
        subject = subject_of(self.case)
        object.__setattr__(self, "subject", subject)
        object.__setattr__(self, "outline", outline_of(subject.spec.actions, subject.spec.constraints))

    @property
    def tools(self) -> tuple[Tools, ...]:
        return tuple(Tools(action.phrase, (action.tool,)) for action in self.case.actions)

    @property
    def traits(self) -> Traits:
        reads = None if self.subject.spec.timed else Reads(others=True)
        return Traits((), words=self.case.paragraph, reads=reads)

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        broken, done = self._read(seen)
        if self.outline.circular:
            return Judged("undecided", (), "No plan keeps all that the request says.")
        if isinstance(broken, str):
            return Judged("undecided", (), broken)
        if broken:
            return Judged("violated", tuple(sorted(broken)), broken[min(broken)])
        left = [a for a in self.subject.spec.actions if a not in done]
        if not left:
            return Judged("ok", (), "What was asked for is done.")
        said = f"Still to do: {self._named(left)}."
        return Judged("violated" if seen.run.closed else "undecided", (), said, awaits=True)

    def rest(self, run: Run) -> tuple[str, ...]:
        """The tools of a plan that works from here, with starts in timed mode; () where none is known."""
        seen = Evidence(run)
        broken, done = self._read(seen)
        if broken:
            return ()
        spec = self.subject.spec
        before = sum(1 << self.outline.position[action] for action in done)
        if not spec.timed:
            plan = topological_order(self.outline.order)
            return tuple(self._tool(spec.actions[i]) for i in plan if not before >> i & 1)
        return tuple(self._rest_of_day(run, before))

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        return Judged("undecided", (), "The evidence is incomplete: a call may not have been seen.")

    def plan_rules(self, slots: Sequence[Slot]) -> Iterable[PlanRule]:
        return ()

    def flaws(self) -> Iterable[str]:
        return ()

    # ------------------------------------------------------------ what the calls say

    def _read(self, seen: Evidence) -> tuple[dict[int, str] | str, Iterable[str]]:
        """(call -> what is wrong with it, or why that is not known; what is done, or is taken to be)."""
        calls = [_taken(call) for call in seen.calls]
        strange = {
            i: f"{call.tool} is not a tool that was offered."
            for i, call in enumerate(calls)
            if call.executed and seen.run.tools is not None and call.tool not in seen.run.tools
        }
        if self.subject.spec.timed:
            return self._in_time(calls, strange)
        done: dict[str, bool] = {}
        for i in seen.order:
            self._add(calls[i], i, done, strange, seen)
        return strange, done

    def _add(
        self, call: ToolCall, i: int, done: dict[str, bool], broken: dict[int, str], seen: Evidence
    ) -> None:
        action = self.subject.actions.get(call.tool)
        if action is None or not call.succeeded:
            return
        if why := self._out_of_place(action, done, runs=done.get(action, False)):
            broken[i] = why
        done.setdefault(action, not seen.calls[i].finished)

    def _out_of_place(self, action: str, done: Iterable[str], *, runs: bool = False) -> str | None:
        """Why an action cannot be done next, whenever that is; `runs`: does it now?"""
        tool = self._tool(action)
        if action in done:
            return f"{tool} {'runs' if runs else 'is done'} already."
        missing = self._missing(action, done)
        return f"{tool} comes after {self._named(missing)}, not done yet." if missing else None

    def _missing(self, action: str, done: Iterable[str]) -> list[str]:
        known, actions = set(done), self.subject.spec.actions
        before = self.outline.order.before[self.outline.position[action]]
        return [actions[i] for i in bits(before) if actions[i] not in known]

    def _in_time(
        self, calls: Sequence[ToolCall], broken: dict[int, str]
    ) -> tuple[dict[int, str] | str, Iterable[str]]:
        untold = [i for i, call in enumerate(calls) if self._hides_times(call)]
        known = calls[: untold[0]] if untold else calls
        plan = DayPlan(self.subject.spec, known_durations(self.subject, known), 0)
        last = split_attempts(self.subject, known, plan, ended=False)[-1]
        dead = dead_at(plan, last)
        if dead is not None:
            broken[dead] = self._lost(known, last, dead)
        for i in last.order:
            action = self.subject.actions.get(calls[i].tool)
            if action is not None and calls[i].succeeded and last.calls[action] != i:
                broken[i] = f"{calls[i].tool} is done already."
        if untold and not broken:
            said = None
            if len(untold) == 1 and untold[0] == len(calls) - 1:
                said = self._out_of_place(self.subject.actions[calls[-1].tool], last.calls)
            if said is None:
                return f"When {calls[untold[0]].tool} is to start, or how long it took, is not known.", ()
            broken[untold[0]] = said
        return broken, last.calls

    def _hides_times(self, call: ToolCall) -> bool:
        if call.tool not in self.subject.actions or not call.succeeded:
            return False
        hidden = hidden_start(call) is not None or hidden_duration(call) is not None
        return hidden or call.arguments is None

    def _lost(self, calls: Sequence[ToolCall], attempt: Attempt, dead: int) -> str:
        place = attempt.order.index
        before = [action for action, i in attempt.calls.items() if place(i) < place(dead)]
        action = self.subject.actions[calls[dead].tool]
        why = self._out_of_place(action, before)
        return why or f"With {calls[dead].tool} at that time there is no way to do the rest in time."

    def _rest_of_day(self, run: Run, before: int) -> Iterator[str]:
        spec = self.subject.spec
        calls = [_taken(call) for call in run.calls]
        durations = known_durations(self.subject, calls)
        last = split_attempts(self.subject, calls, DayPlan(spec, durations, 0), ended=False)[-1]
        try:
            day = day_of(spec.actions, spec.constraints, spec.horizon or (0, 24 * 60))
        except BadInput:  # more than order and limits: Z3 would have to be asked
            return
        minutes = [durations.get(action, 0) for action in spec.actions]
        slots = find_schedule(day, minutes, before, last.now, 10_000) if day is not None else None
        for task, start in slots or ():
            yield f"{self._tool(spec.actions[task])} at {clock(start)}"

    def _tool(self, action: str) -> str:
        return self.subject.say.tools[action]

    def _named(self, actions: Iterable[str]) -> str:
        return listed(self._tool(action) for action in actions)


def _taken(call: ToolCall) -> ToolCall:
    """A call that runs, as one that has succeeded."""
    return call if call.finished or not call.executed else replace(call, finished=True, end=call.start)
