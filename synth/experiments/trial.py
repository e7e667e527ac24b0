"""One run to make and what became of it, as campaigns keep them and reports read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from synth.agents.tasks import Task
from synth.agents.usage import NOTHING, Usage, usage_from_json
from synth.cases.case import Case
from synth.experiments.money import Paid, usual
from synth.formal.trouble import Trouble, trouble_from_json
from synth.simulated_model.replay import Record

UNGUARDED = "none"


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to make: an agent, a model, and a case, a recorded run or a task."""

    agent: str
    model: str
    case: Case | None = None
    record: Record | None = None
    repeat: int = 0
    """Distinguishes runs of the same case."""
    synthesis_seconds: float = 0.0
    """What making the case took."""
    task: Task | None = None
    guard: str | None = None
    """Mode of a guard of the case's own constraints, or `none` beside runs under one; None: nobody asked."""

    @property
    def case_id(self) -> str | None:
        return None if self.case is None else self.case.id

    @property
    def tested(self) -> str:
        """What results are told of: the agent, with its guard."""
        return self.agent if self.guard is None else f"{self.agent} (guard: {self.guard})"

    @property
    def actions(self) -> int:
        """Number of actions of the case; where there is none, of the recorded calls."""
        if self.case is not None:
            return len(self.case.actions)
        recorded = self.record or ((self.task and self.task.recorded) or {}).get("run", {})
        return len(recorded.get("calls", ()))

    @property
    def usual(self) -> Usage:
        """What its run takes if it goes as it should."""
        return usual(self.actions)

    @property
    def key(self) -> str:
        """Identifies the trial across processes; campaigns resume by it."""
        what = self.case_id if self.record is None else self.record["run_id"]
        what = what if self.task is None else self.task.key
        key = f"{self.agent}|{self.model}|{what}|{self.repeat}"
        return key if self.guard is None else f"{key}|{self.guard}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one trial."""

    trial: str
    """`Trial.key`."""
    agent: str
    model: str
    case_id: str | None
    trace_id: str
    """Also the collector's run id, except for recorded runs: `run["id"]`."""
    status: str
    """How the agent ended: `ok`, `timeout` or `crash`."""
    error: str | None
    answer: str
    iterations: int
    wall_seconds: float
    run: Mapping[str, Any] | None
    """The run as the collector shows it, None when it never appeared."""
    tool_log: tuple[Mapping[str, Any], ...]
    """Executions as the mock tools saw them."""
    planted: Mapping[str, Any] | None = None
    """Simulated model only: the conversation's record, with its fault or without."""
    verdict_seconds: float = 0.0
    """From the end of the agent's run until its verdict was readable."""
    synthesis_seconds: float = 0.0
    case: Mapping[str, Any] | None = None
    """The case as JSON, so that a record can be read alone; None for recorded runs."""
    trouble: Trouble | None = None
    """Why the agent was not tested; None where it was."""
    heard: tuple[Mapping[str, Any], ...] = ()
    """What the user of a recorded case said after the request, as `messages` of a run record."""
    usage: Usage | None = None
    """What its model took; None where nobody told."""
    lost: Usage | None = NOTHING
    """What earlier tries took, in which the agent was not tested; None where nobody told."""
    guard: str | None = None
    """`Trial.guard`."""
    refused: int | None = None
    """Calls that the guard did not let run; None without one."""

    @property
    def key(self) -> str:
        return self.trial

    @property
    def run_id(self) -> str:
        """The collector's id of the run."""
        return str((self.run or {}).get("id") or self.trace_id)

    @property
    def is_void(self) -> bool:
        """The agent was not tested: the trial is to be made again."""
        return self.trouble is not None

    @property
    def verdict(self) -> Mapping[str, Any] | None:
        return None if self.run is None else self.run.get("verdict")

    @property
    def outcome(self) -> str:
        """`pass`, `fail`, `open`, `undecided` or `error`; a recorded run, which has no case, is undecided."""
        if self.trouble is not None:
            return "error"
        return "undecided" if self.verdict is None else str(self.verdict["outcome"])

    @property
    def error_type(self) -> str | None:
        return None if self.verdict is None or self.is_void else self.verdict["error_type"]

    @property
    def tokens(self) -> int:
        """0 where nobody told."""
        return 0 if self.usage is None else self.usage.total

    @property
    def paid(self) -> Paid:
        """What it took, earlier tries included."""
        known = None if self.usage is None or self.lost is None else self.usage + self.lost
        size = self.actions if self.case is not None else len(self.tool_log)
        return Paid(self.agent, self.model, usual(size), known, self.key)

    @property
    def actions(self) -> int:
        """Number of actions of the case."""
        return 0 if self.case is None else len(self.case["actions"])

    @property
    def judging_seconds(self) -> float:
        """Time in Z3 while the run was judged."""
        return float(0.0 if self.verdict is None else self.verdict["z3_ms"]) / 1e3

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "tokens": self.tokens}


KEPT = (
    "id",
    "agent",
    "status",
    "outcome",
    "error_type",
    "judged",
    "calls",
    "verdict",
    "policies",
    "problems",
)
"""Fields of the collector's run that a result keeps."""


def result_from_json(body: Mapping[str, Any]) -> Result:
    lists = {name: tuple(body.get(name, ())) for name in ("tool_log", "heard")}
    read = {**lists, "trouble": trouble_from_json(body.get("trouble"))}
    usages = {name: _usage(body[name]) for name in ("usage", "lost") if name in body}
    kept = {name: value for name, value in body.items() if name != "tokens"}
    return Result(**{**kept, **read, **usages})


def _usage(said: Mapping[str, Any] | None) -> Usage | None:
    return None if said is None else usage_from_json(said)
