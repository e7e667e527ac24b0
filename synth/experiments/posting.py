"""Telling a collector of a campaign while it runs: what was asked, each result, the report at the end.

A thread of its own does the telling, so that a campaign neither waits for it nor fails with it. A collector
that is away is asked again until the campaign is over; one that refuses is not asked again. Either is said
once. Everything may be told twice: the id of a campaign and the keys of its results are chosen here.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from synth.agents.usage import Usage
from synth.client import Collector, NoAnswer
from synth.errors import BadInput
from synth.experiments.facts import in_words
from synth.experiments.report import Report, body_html, compared, results_report
from synth.experiments.tables import Table
from synth.experiments.trial import Result
from synth.formal.trouble import trouble_from_json

AT_ONCE = 200
"""Results in one request."""
MOST = 10_000
"""Results of a campaign that a collector keeps; of more, only the report tells."""
EVERY = 0.5
"""Seconds between two requests."""
PAUSE = 5.0
"""Seconds until a collector that was away is asked again."""
REQUEST_SECONDS, END_SECONDS = 5.0, 12.0
"""For a request, and for all that is left to tell when a campaign ends."""
LONG, NAME, CELL = 2_000, 200, 2_000
"""Characters that a collector takes of a text, a name, a cell."""
FINDINGS, LINES, ROWS = 3, 200, 5_000
"""Of a result; sentences of a report; rows of a table."""
_ONLY_HERE = {"GIT_OPTIONAL_LOCKS": "0"}


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is asked of whom."""

    verb: str
    agent: str
    model: str
    name: str = ""
    """As people call it; else agent and model."""
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        named = self.name or f"{self.agent} on {self.model}"
        return {
            "verb": self.verb, "name": _cut(" ".join(named.split()) or self.verb, NAME),
            "agent": _maybe(self.agent), "model": _maybe(self.model), "seed": self.seed,
            "options": {name: _plain(value) for name, value in self.options.items()},
        }  # fmt: skip


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return value if isinstance(value, bool | int | float | None) else _cut(str(value))


def _cut(text: str, most: int = LONG) -> str:
    text = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Posting:
    """Tells of one campaign; use with `with`. What goes wrong is told by `say`, once, and hurts nobody."""

    def __init__(
        self,
        url: str,
        campaign: Campaign,
        say: Callable[[str], None] = lambda text: None,
        id: str | None = None,
    ) -> None:
        """`id` where several processes run one campaign."""
        self.id = id or secrets.token_hex(16)
        self.report: Callable[[], Report | None] = lambda: None
        """Makes the report that the campaign ends with."""
        self.told = False
        """Whether the collector has a page of it."""
        self._begun = False
        self._url, self._head, self._say = url.rstrip("/"), campaign.to_json(), say
        self._waiting: deque[dict[str, Any]] = deque()
        self._keys: set[str] = set()
        self._end: dict[str, Any] | None = None
        self._given_up = self._complained = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._tell, name="pdoctor campaign", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._begun or kind is None:
            self.close("done" if kind is None else "stopped")

    def covers(
        self, results: Callable[[], Iterable[Result]], report: Callable[[list[Result]], Report]
    ) -> None:
        """Tell of the results that are there; the report at the end is of those that are there then."""
        self.report = lambda: report([*results()])
        for result in results():
            self.add(result)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._thread.start()

    def add(
        self, result: Result, outcome: str | None = None, findings: tuple[str, ...] = (), where: str = ""
    ) -> None:
        """Tell of a result; `outcome` and `findings` where somebody else judged it.

        `where` tells apart what the same is tried in: the name of a test.
        """
        said = told_of(result, outcome, findings)
        said["key"] = _cut(f"{where}|{said['key']}" if where else said["key"])
        with self._changed:
            self._begin()
            full = said["key"] not in self._keys and len(self._keys) >= MOST
            if not (full or self._given_up):
                self._keys.add(said["key"])
                self._waiting.append(said)
        if full:
            self._complain(f"it lists {MOST} results, there are more")

    def close(self, state: str) -> None:
        """End the campaign, and wait a little until that was told."""
        report = None
        try:
            report = self.report()
        except Exception as error:  # telling must not cost what was measured
            self._complain(f"no report could be made of it ({type(error).__name__}: {error})")
        with self._changed:
            self._begin()
            self._end = {"state": state, **({} if report is None else {"report": report_told(report)})}
            self._changed.notify()
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            self._complain("it takes the collector too long")

    def _complain(self, why: str) -> None:
        with self._changed:
            first, self._complained = not self._complained, True
        if first:
            self._say(f"the page of this campaign at {self._url} is not complete: {why}")

    # ------------------------------------------------------------ in a thread of its own

    def _tell(self) -> None:
        try:
            self._head["commit"] = commit()
            with Collector(self._url, timeout=REQUEST_SECONDS) as collector:
                while not self._is_over(collector):
                    pass
        except BadInput as refused:
            self._give_up(str(refused))
        except Exception as error:  # a daemon thread that dies of anything else would say so in a traceback
            self._give_up(f"{type(error).__name__}: {error}")

    def _give_up(self, why: str) -> None:
        with self._changed:
            self._given_up = True
            self._waiting.clear()
        self._complain(why)

    def _is_over(self, collector: Collector) -> bool:
        """Tell what there is; whether it was the last."""
        with self._changed:
            count, ending = min(AT_ONCE, len(self._waiting)), self._end
            results = [self._waiting[at] for at in range(count)]
            last = ending is not None and not self._waiting
        said = {"id": self.id, **self._head, "results": results}
        try:
            collector.post("/campaigns", {**said, **(ending or {})} if last else said)
        except NoAnswer as away:
            self._complain(str(away))
            if ending is None:
                self._wait(PAUSE)
            return ending is not None
        self.told = True
        with self._changed:
            for _ in range(count):
                self._waiting.popleft()
        if not last:
            self._wait(EVERY)
        return last

    def _wait(self, seconds: float) -> None:
        """Until so long has passed, or the campaign ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._end is not None, seconds)


def commit() -> str | None:
    """The commit of the folder that one stands in, `-dirty` where files differ from it; None without git."""
    command = ("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=REQUEST_SECONDS, env={**os.environ, **_ONLY_HERE}
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return _cut(done.stdout.strip()) or None if done.returncode == 0 else None


# ---------------------------------------------------------------- what is told


def told_of(result: Result, outcome: str | None = None, findings: tuple[str, ...] = ()) -> dict[str, Any]:
    """A result as a collector keeps it of a campaign; `result_of` reads it again."""
    verdict = result.verdict or {}
    found = [f for f in verdict.get("findings", ()) if f["type"] == result.error_type]
    said = [(f["type"], f["explanation"]) for f in found] or [("policy", text) for text in findings]
    error_type = result.error_type or ("policy" if said and outcome == "fail" else None)
    return {
        "key": _cut(result.key), "agent": _cut(result.agent), "model": _cut(result.model),
        "case_id": _maybe(result.case_id), "run_id": _maybe(result.run_id),
        "outcome": outcome or result.outcome, "error_type": _maybe(error_type),
        "actions": result.actions, "seconds": max(0.0, result.wall_seconds), "tokens": result.tokens,
        "trouble": None if result.trouble is None else _trouble(result.trouble.to_json()),
        "findings": [
            {"type": _cut(type) or "-", "explanation": _cut(text) or "-"} for type, text in said[:FINDINGS]
        ],
    }  # fmt: skip


def _maybe(text: str | None) -> str | None:
    return _cut(text) if text else None


def _trouble(said: dict[str, Any]) -> dict[str, Any]:
    return {**said, "message": _cut(said["message"] or "")}


def result_of(said: Mapping[str, Any]) -> Result:
    """What `told_of` told of a result, with all that tables and findings need of it."""
    findings = [{**one, "sentence": None} for one in said["findings"]]
    verdict = {"outcome": said["outcome"], "error_type": said["error_type"], "findings": findings, "z3_ms": 0}
    return Result(
        trial=said["key"], agent=said["agent"], model=said["model"], case_id=said["case_id"],
        trace_id=said["run_id"] or "-", status="ok", error=None, answer="", iterations=0,
        wall_seconds=said["seconds"], run={"verdict": verdict}, tool_log=(),
        case={"id": said["case_id"], "actions": [{}] * min(int(said["actions"]), MOST_ACTIONS)},
        trouble=trouble_from_json(said["trouble"]), usage=Usage(input=int(said["tokens"])),
    )  # fmt: skip


MOST_ACTIONS = 1_000


def report_told(report: Report) -> dict[str, Any]:
    """A report as a collector keeps it: sentences, tables, facts; no pictures, and no runs, which it has."""
    return {
        "note": _cut(report.note),
        "summary": [_cut(text, CELL) for text in report.summary[:LINES]],
        "findings": [_cut(text, CELL) for text in report.findings[:LINES]],
        "tables": [_table(table) for table in report.tables],
        "facts": [
            [_cut(name, CELL), _cut(text, CELL)]
            for name, text in (() if report.facts is None else in_words(report.facts)[:LINES])
        ],
    }


def _table(table: Table) -> dict[str, Any]:
    rows = [[_cut(cell, CELL) for cell in row] for row in table.rows[:ROWS]]
    return {**asdict(table), "title": _cut(table.title, NAME), "note": _cut(table.note), "rows": rows}


def report_of(said: Mapping[str, Any], title: str, runs: tuple[Result, ...]) -> Report:
    """What `report_told` told of a report, with the runs that the collector has."""
    shown = (
        Table(one["name"], one["title"], tuple(one["headers"]), tuple(map(tuple, one["rows"])), one["note"])
        for one in said["tables"]
    )
    return Report(
        title, tuple(said["findings"]), tuple(shown), note=said["note"], summary=tuple(said["summary"]),
        runs=runs,
    )  # fmt: skip


def campaign_body(
    results: Sequence[Mapping[str, Any]],
    report: Mapping[str, Any] | None,
    before: Sequence[Mapping[str, Any]],
    shown: Container[str],
) -> str:
    """See `synth.experiments.campaign_body`."""
    runs, earlier = tuple(map(result_of, results)), [result_of(one) for one in before]
    if report is None:
        made = results_report(runs, "", earlier)
    else:  # it knows what results do not tell: times, cost, what a guard did, planted faults
        made = compared(report_of(report, "", runs), earlier)
    return body_html(made, [(name, text) for name, text in (report or {}).get("facts", ())], shown)
