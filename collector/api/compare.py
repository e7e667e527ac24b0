"""Two runs side by side, two populations with the right tests, and how rules drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Query

from collector.api import views
from collector.api.access import Access, reader
from collector.api.answers import JsonRoute
from collector.api.numbers import numbers_of
from collector.api.runs import alone, load_case, load_run, run_filter
from collector.errors import BadRequest
from collector.judging.aligned import aligned, differing
from collector.metrics import METRICS
from collector.model import ToolCall
from collector.store import populations
from collector.store.reads import Filter
from synth.experiments import Counted, Member, Rate, compare, drifts, matched

router = APIRouter(prefix="/api/v1", tags=["runs"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
FIELDS = ("version", "prompt", "environment", "agent", "service")
"""By what runs are told apart into populations."""
COMPARED = 5_000
"""Runs of each population, the newest: enough to tell a change of three in a hundred."""
MEASURED = 50
"""Runs of each population, the newest, whose spans are read for the metrics."""
HIGHEST = {metric.name: metric.highest for metric in METRICS if metric.highest is not None}
"""Metrics that have an upper end."""


@router.get("/compare")
def compare_runs(
    access: Reader,
    a: Annotated[str, Query(description="Id of a run; with `by` a value.")],
    b: Annotated[str, Query(description="The same of the other.")],
    by: Annotated[str | None, Query(description="version, prompt, environment, agent or service")] = None,
    agent: str | None = None,
    service: str | None = None,
    environment: str | None = None,
    tool: str | None = None,
    policy: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> dict[str, Any]:
    """Two runs (calls aligned, what differs), or with `by` the complete runs that have one value each.

    `differences` have for each outcome, rule, tool and metric both sides with 95 % intervals, the test, its
    p-value, that value adjusted for the number of tests, and whether it `differs`. `smallest_change` is the
    change of the rate of failures that so many runs would show with a chance of `power`.
    """
    if by is None:
        return two_runs(access, a, b)
    if by not in FIELDS:
        raise BadRequest(f"by is {by[:40]!r}", f"expected one of {', '.join(FIELDS)}")
    wanted = run_filter(
        outcome=None, since=since, until=until, agent=agent, service=service, environment=environment,
        tool=tool, policy=policy,
    )  # fmt: skip
    asked: list[dict[str, Any]] = [{by: value} for value in (a, b)]
    (first, second), counted = populations_of(access, [replace(wanted, **one) for one in asked])
    return {"by": by, "a": a, "b": b, **compare(first, second, HIGHEST, counted).to_json()}


def two_runs(access: Access, a: str, b: str) -> dict[str, Any]:
    """What differs between two runs; raises NotFound."""
    return differences(loaded(access, a), loaded(access, b))


Loaded = tuple[dict[str, Any], Sequence[ToolCall]]
"""A run as its page shows it, and its calls."""


def loaded(access: Access, run_id: str) -> Loaded:
    """Raises NotFound."""
    with alone(access, run_id):
        row, rebuilt, history = load_run(access, run_id)
        return views.run_detail(row, rebuilt, history, load_case(access, row["case_id"])), rebuilt.run.calls


def differences(first: Loaded, second: Loaded) -> dict[str, Any]:
    """Calls aligned, and which policies and metrics are not equal."""
    (one, calls), (other, others) = first, second
    pairs = aligned(calls, others)
    said = [{p["policy"]: p["verdict"] for p in detail["policies"]} for detail in (one, other)]
    kept = (
        "id",
        "outcome",
        "error_type",
        "agent",
        "version",
        "prompt",
        "environment",
        "model",
        "case_id",
        "query",
    )
    return {
        "a": {name: one[name] for name in kept},
        "b": {name: other[name] for name in kept},
        "calls": [pair.to_json() for pair in pairs],
        "first_difference": next((k for k, pair in enumerate(pairs) if pair.how != "same"), None),
        "policies": differing(*said),
        "metrics": differing(one["metrics"], other["metrics"]),
    }


@dataclass(frozen=True, slots=True)
class Gathered:
    """The complete runs of a population, newest first, and how many of them rules and tools concern."""

    runs: Sequence[int]
    """Rows."""
    members: Sequence[Member]
    rules: Mapping[str, tuple[int, int]]
    tools: Mapping[str, int]


def gathered(access: Access, wanted: Filter) -> Gathered:
    with access.service.store.read() as connection:
        rows = populations.complete_runs(connection, access.project, wanted, limit=COMPARED)
        newest = populations.to_measure(connection, access.project, wanted, limit=MEASURED)
        runs = [row[0] for row in rows]
        rules = populations.rules_counted(connection, runs)
        tools = populations.tools_counted(connection, runs)
    numbers = numbers_of(access, newest)
    members = []
    for run, outcome, case, calls, started_ns, ended_ns in rows:
        told = populations.counts_of(calls, started_ns, ended_ns)
        told.update(numbers.get(run, NOTHING))
        members.append(Member(str(run), outcome, case, numbers=told))
    return Gathered(runs, members, rules, tools)


def populations_of(access: Access, wanted: Sequence[Filter]) -> tuple[list[Sequence[Member]], Counted]:
    """The runs of both populations, and how many of them rules and tools concern.

    Only where the two are compared case by case, each run says that itself.
    """
    remembered = access.service.compared
    a, b = (remembered.get((access.project, one), partial(gathered, access, one)) for one in wanted)
    if not matched(*([member for member in some.members if member.case] for some in (a, b))):
        return [a.members, b.members], shares(a, b)
    return [each(access, a), each(access, b)], {}


def each(access: Access, some: Gathered) -> list[Member]:
    """The runs of a population, with the rules that each was judged by and the tools that it called."""
    with access.service.store.read() as connection:
        rules = populations.rules_of(connection, some.runs)
        tools = populations.tools_of(connection, some.runs)
    return [
        replace(member, rules=rules.get(run, NOTHING), tools=frozenset(tools.get(run, ())))
        for run, member in zip(some.runs, some.members, strict=True)
    ]


NOTHING: Mapping[str, Any] = {}


def shares(a: Gathered, b: Gathered) -> Counted:
    """How often each rule was broken and each tool called, in both populations."""
    rules = {
        ("rule", name): tuple(Rate(*some.rules.get(name, (0, 0))) for some in (a, b))
        for name in {*a.rules, *b.rules}
    }
    tools = {
        ("tool", name): tuple(Rate(some.tools.get(name, 0), len(some.runs)) for some in (a, b))
        for name in {*a.tools, *b.tools}
    }
    return cast(Counted, rules | tools)


@router.get("/drift")
def drift(
    access: Reader,
    policy: str | None = None,
    agent: str | None = None,
    service: str | None = None,
    environment: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> dict[str, Any]:
    """Each rule by version and week: how many runs it applied to, its rate of violations, and whether that
    differs from all weeks before (Fisher's exact test, adjusted for the number of weeks and rules)."""
    wanted = run_filter(
        outcome=None,
        since=since,
        until=until,
        agent=agent,
        service=service,
        environment=environment,
        policy=policy,
    )
    with access.service.store.read() as connection:
        counted = populations.by_week(connection, access.project, wanted)
    found = drifts({key: Rate(hits, trials) for key, (hits, trials) in counted.items()})
    return {"items": [one.to_json() for one in found], "cursor": None}
