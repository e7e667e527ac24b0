"""The work queue: claim due runs, read what they need, write what was concluded.

A claim is a lease: a checker that dies loses it, and another takes the run again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import Float, Integer, bindparam, case, delete, null, or_, select, update
from sqlalchemy.engine import Connection

from collector.store import closings, counts, events, schema, turns, webhooks
from collector.store.engine import Store
from collector.store.prepared import Prepared, insertion
from synth.frozen import quick


@quick
@dataclass(frozen=True, slots=True)
class Claim:
    """A run that a checker holds for now."""

    run: int
    project: int
    key: str
    version: int
    first_seen: float
    last_seen: float
    root_seen: float | None
    attempts: int
    """How often it was claimed without being finished."""
    case_id: str | None
    digest: str | None
    """Of the last conclusion; equal = nothing new to record."""
    joined: str | None = None
    """Key of the run that shows this trace of a conversation; None = it is none."""


@quick
@dataclass(frozen=True, slots=True)
class Conclusion:
    """What one look at a run came to."""

    claim: Claim
    summary: Mapping[str, Any]
    """Columns of `runs`."""
    digest: str
    body: str
    """JSON of verdict, policy results and metrics, for history."""
    next_due: float | None
    wakes: tuple[int, ...] = ()
    """Other runs that must be looked at again because of this one's news."""
    tools: tuple[str, ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    policies: Mapping[str, str] | None = None
    guards: tuple[tuple[str, str], ...] = ()
    """(rule, what a guard decided by it before a call), each once."""
    awaits: bool | None = None
    """Of a run of a conversation: may later runs put right what it did not keep?"""
    broken: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Rule of a finding -> the words of it, for those who are told of the finding."""
    same: frozenset[str] = frozenset()
    """Of `findings`, `tools`, `policies` and `guards` what is as it was recorded last."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """Columns of `runs` that are as they were recorded last, as far as others are told of them."""
    closing: Closing | None = None
    """What the run will be if nothing comes."""

    @property
    def is_news(self) -> bool:
        return self.digest != self.claim.digest

    def closing_with(self, closed: Conclusion, at: float, last_seen: float) -> Conclusion:
        """This one of an open run, and what the run will be `at` an instant if nothing comes until then.

        Not where anything but that is waited for: then it is judged when its time has come.
        """
        if self.next_due != at or closed.next_due is not None or self.awaits or closed.awaits:
            return self
        same = ("tools", "guards", *(name for name in ("findings", "policies") if _equal(self, closed, name)))
        return replace(self, closing=Closing(at, last_seen, closed, same))


def _equal(one: Conclusion, other: Conclusion, name: str) -> bool:
    return bool(getattr(one, name) == getattr(other, name))


CLOSED = ("outcome", "error_type", "complete", "findings", "heard")
"""Columns of `runs` that may change when a run has ended."""


@quick
@dataclass(frozen=True, slots=True)
class Closing:
    """What will be recorded about a run if nothing comes until then."""

    at: float
    """Unix seconds."""
    last_seen: float
    """Arrival of the newest span of any part of the run."""
    conclusion: Conclusion
    same: Sequence[str] = ()
    """As in the conclusion: of what is recorded until then."""

    @property
    def row(self) -> Mapping[str, Any]:
        found = self.conclusion
        body = {
            "summary": {name: found.summary[name] for name in CLOSED},
            "digest": found.digest,
            "body": found.body,
            "findings": found.findings,
            "policies": None if "policies" in self.same else found.policies,
            "broken": found.broken if found.findings else {},
            "same": self.same,
        }
        claim = found.claim
        packed = orjson.dumps(body)
        return {
            "run": claim.run, "version": claim.version, "at": self.at, "last_seen": self.last_seen,
            "body": packed,
        }  # fmt: skip


def _closed(claim: Claim, body: bytes, told: Mapping[str, Any]) -> Conclusion:
    """The conclusion of a `Closing`, from its row."""
    said = orjson.loads(body)
    return Conclusion(
        claim,
        said["summary"],
        said["digest"],
        said["body"],
        next_due=None,
        findings=tuple(said["findings"]),
        policies=said["policies"],
        broken=said["broken"],
        same=frozenset(said["same"]),
        told=told,
    )


SKEW = 60.0
"""Seconds beyond the longest lease: one that ends later was given by a clock that was wrong."""


def claim(store: Store, worker: str, *, now: float, lease: float, limit: int) -> list[Claim]:
    """Up to `limit` due runs, held by `worker` until `now + lease`."""
    with store.write() as connection:
        found = CLAIM.ask(
            connection, now=now, until=now + lease, longest=now + lease + SKEW, worker=worker, limit=limit
        )
        return [Claim(*row) for row in found]


def _claim(_on_sqlite: bool) -> Any:
    runs = schema.runs
    now, longest = bindparam("now", type_=Float), bindparam("longest", type_=Float)
    free = or_(runs.c.lease.is_(None), runs.c.lease < now, runs.c.lease > longest)
    due = (
        select(runs.c.id)
        .where(runs.c.due <= now, free, ~closings.is_held(now))
        .order_by(runs.c.due)
        .limit(bindparam("limit", type_=Integer))
        .with_for_update(skip_locked=True)
        .cte("mine")  # PostgreSQL may run a plain subquery more than once, and then take more than `limit`
    )
    # who let a lease run out was killed with the whole collector, which is no fault of the runs around it
    attempts = case((runs.c.worker.is_not(None), runs.c.attempts), else_=runs.c.attempts + 1)
    return (
        update(runs)
        .where(runs.c.id.in_(select(due.c.id)))
        .values(lease=bindparam("until"), worker=bindparam("worker"), attempts=attempts)
        .returning(
            runs.c.id, runs.c.project, runs.c.key, runs.c.version, runs.c.first_seen, runs.c.last_seen,
            runs.c.root_seen, runs.c.attempts, runs.c.case_id, runs.c.digest, runs.c.joined,
        )
    )  # fmt: skip


CLAIM = Prepared(_claim)


def next_due(store: Store) -> float | None:
    """When the earliest unclaimed work becomes due, Unix seconds; None = nothing is planned."""
    runs = schema.runs
    with store.read() as connection:
        query = select(runs.c.due, runs.c.lease).where(runs.c.due.is_not(None)).order_by(runs.c.due).limit(1)
        row = connection.execute(query).first()
    return None if row is None else max(row.due, row.lease or 0.0)


def come_back(store: Store, *, now: float) -> int:
    """Make due what arrived after `now`, by a clock that has been set back since; returns how many runs."""
    runs, bindings = schema.runs, schema.bindings
    ahead = runs.c.last_seen > now + SKEW
    with store.read() as connection:
        if (
            connection.execute(select(runs.c.id).where(runs.c.due.is_not(None), ahead).limit(1)).first()
            is None
        ):
            return 0
    with store.write() as connection:
        connection.execute(update(bindings).where(bindings.c.at > now).values(at=now))
        statement = update(runs).where(runs.c.due.is_not(None), or_(ahead, runs.c.due > now))
        earlier = {
            name: case((runs.c[name] > now, now), else_=runs.c[name]) for name in ("last_seen", "root_seen")
        }
        return int(connection.execute(statement.values(due=now, **earlier)).rowcount)


def renew(store: Store, worker: str, *, until: float) -> None:
    """A worker that is still alive keeps what it holds."""
    runs = schema.runs
    with store.write() as connection:
        connection.execute(update(runs).where(runs.c.worker == worker).values(lease=until))


def held(store: Store, worker: str) -> set[int]:
    """Rows of the runs that a worker holds."""
    runs = schema.runs
    with store.read() as connection:
        return set(connection.scalars(select(runs.c.id).where(runs.c.worker == worker)))


def release(
    store: Store, worker: str | None = None, *, culprit: str | None = None, forgive: bool = True
) -> None:
    """Give back what a dead worker held; without a name, what anybody held.

    Only the run with the key `culprit`, which was being judged when its checker died, has used up an
    attempt: a run must not be given up because whole collectors were killed around it. Without
    `forgive` every run has.
    """
    runs = schema.runs
    held = runs.c.worker == worker if worker is not None else runs.c.worker.is_not(None)
    fewer = case((runs.c.key == (culprit or ""), runs.c.attempts), else_=runs.c.attempts - 1)
    attempts = fewer if forgive else runs.c.attempts
    with store.write() as connection:
        connection.execute(update(runs).where(held).values(lease=None, worker=None, attempts=attempts))


def finish(store: Store, conclusions: Sequence[Conclusion], *, now: float) -> None:
    """Record conclusions in one transaction; a run that grew in between stays due.

    A worker that was too slow and lost its lease does not overwrite what another found from more spans.
    """
    with store.write() as connection:
        _put(store, connection, conclusions, now)
        turns.settle(connection, [(c.claim.run, c.awaits) for c in conclusions if c.awaits is not None])
        runs, planned = [c.claim.run for c in conclusions], [c.closing for c in conclusions if c.closing]
        closings.put(connection, runs, [closing.row for closing in planned])


def confirm(store: Store, *, now: float, limit: int) -> int:
    """Record what was concluded beforehand about runs to which nothing came; returns how many were due.

    Those that changed since are left to be judged again.
    """
    with store.read() as connection:  # looking costs nothing, a write transaction would hold up arrivals
        if not closings.are_due(connection, now):
            return 0
    with store.write() as connection:
        found = closings.due(connection, now, limit)
        closings.forget(connection, [row[2] for row in found])
        closed = [
            _closed(Claim(*row[2:13]), row[1], dict(zip(closings.TOLD, row[13:], strict=True)))
            for row in found
            if row[0]
        ]
        if closed:
            _put(store, connection, closed, now)
        return len(found)


def _put(store: Store, connection: Connection, conclusions: Sequence[Conclusion], now: float) -> None:
    news = [conclusion for conclusion in conclusions if conclusion.is_news]
    if news:
        events.announce(store, connection)
    runs = [conclusion.claim.run for conclusion in conclusions]
    changed = [conclusion.claim.run for conclusion in conclusions if not _leaves_results(conclusion)]
    with counts.kept(connection, runs, changed):
        _record(connection, news, now)
        _close(connection, conclusions)
    if news:
        webhooks.enqueue(store, connection, _alerts(news), now=now)
        _wake(connection, {run for conclusion in news for run in conclusion.wakes}, now)


def _leaves_results(conclusion: Conclusion) -> bool:
    """Are results and findings, and under what they are counted, what was recorded last?"""
    return COUNTED.issubset(conclusion.same) and UNDER.isdisjoint(conclusion.summary)


COUNTED = frozenset(("findings", "policies", "guards"))
UNDER = frozenset(("agent", "release", "listed"))


def shelve(store: Store, claim: Claim) -> None:
    """Take a run out of the queue as it is; it comes back when spans of it arrive, or by `recheck`."""
    runs = schema.runs
    with store.write() as connection:
        connection.execute(
            update(runs)
            .where(runs.c.id == claim.run, runs.c.version == claim.version)
            .values(lease=None, worker=None, due=None)
        )


def _alerts(news: Sequence[Conclusion]) -> Iterator[tuple[int, int, str, str, str]]:
    """(project, run, outcome, digest, body) of complete runs; open ones may still change."""
    for conclusion in news:
        summary = {**conclusion.told, **conclusion.summary}
        if summary.get("complete") and summary.get("listed") and summary.get("outcome"):
            said = {
                "event": "run.judged",
                "run_id": conclusion.claim.key,
                **{name: summary[name] for name in ("outcome", "error_type", "case_id", "agent", "service")},
                "findings": [
                    {
                        **{name: finding[name] for name in ("rule", "type", "code", "tool", "explanation")},
                        **conclusion.broken.get(finding["rule"], {}),
                    }
                    for finding in conclusion.findings[:20]
                ],
            }
            if summary["outcome"] == "error":
                said["trouble"] = orjson.loads(conclusion.body)["trouble"]
            body = json.dumps(said)
            yield conclusion.claim.project, conclusion.claim.run, summary["outcome"], conclusion.digest, body


def _wake(connection: Connection, ids: set[int], now: float) -> None:
    runs = schema.runs
    if ids:
        connection.execute(
            update(runs).where(runs.c.id.in_(sorted(ids))).values(due=now, version=runs.c.version + 1)
        )


def _record(connection: Connection, news: Sequence[Conclusion], now: float) -> None:
    for table, what in REPLACED:
        again = [c.claim.run for c in news if c.claim.digest is not None and what not in c.same]
        if again:
            connection.execute(delete(table).where(table.c.run.in_(again)))
    ADD_VERDICTS.run(
        connection,
        [
            {
                "run": conclusion.claim.run,
                "at": now,
                "outcome": conclusion.summary.get("outcome"),
                "error_type": conclusion.summary.get("error_type"),
                "body": conclusion.body,
            }
            for conclusion in news
        ],
    )
    TRIM.run(connection, [{"run_": c.claim.run} for c in news if c.claim.digest is not None])
    changed = {what: [c for c in news if what not in c.same] for _, what in REPLACED}
    ADD_TOOLS.run(connection, [{"run": c.claim.run, "tool": t} for c in changed["tools"] for t in c.tools])
    ADD_FINDINGS.run(
        connection,
        [
            {"run": c.claim.run, "project": c.claim.project, **found}
            for c in changed["findings"]
            for found in c.findings
        ],
    )
    ADD_RESULTS.run(
        connection,
        [
            {"run": c.claim.run, "policy": name, "verdict": verdict}
            for c in changed["policies"]
            for name, verdict in (c.policies or {}).items()
        ],
    )
    ADD_DECISIONS.run(
        connection,
        [
            {"run": c.claim.run, "policy": rule, "decision": decision}
            for c in changed["guards"]
            for rule, decision in c.guards
        ],
    )


REPLACED = (
    (schema.findings, "findings"), (schema.run_tools, "tools"), (schema.policy_results, "policies"),
    (schema.guard_results, "guards"),
)  # fmt: skip


HISTORY = 50
"""Conclusions about one run that are kept, the newest: a run may go on, or be judged again, for ever."""


def _trim(_on_sqlite: bool) -> Any:
    verdicts, run = schema.verdicts, bindparam("run_", type_=Integer)
    newest = select(verdicts.c.id).where(verdicts.c.run == run).order_by(verdicts.c.id.desc())
    too_old = newest.limit(1).offset(HISTORY).scalar_subquery()
    return delete(verdicts).where(verdicts.c.run == run, verdicts.c.id <= too_old)


TRIM = Prepared(_trim)


def _add(table: Any, *columns: str) -> Prepared:
    return Prepared(lambda on_sqlite: insertion(on_sqlite, table, *columns))


ADD_VERDICTS = _add(schema.verdicts, "run", "at", "outcome", "error_type", "body")
ADD_TOOLS = _add(schema.run_tools, "run", "tool")
ADD_RESULTS = _add(schema.policy_results, "run", "policy", "verdict")
ADD_DECISIONS = _add(schema.guard_results, "run", "policy", "decision")
ADD_FINDINGS = _add(
    schema.findings,
    "run", "project", "rule", "type", "code", "tool", "sentence", "calls", "explanation",
)  # fmt: skip


def _close(connection: Connection, conclusions: Sequence[Conclusion]) -> None:
    columns = tuple(sorted(set().union(*{tuple(conclusion.summary) for conclusion in conclusions})))
    names = [f"{name}_" for name in columns]
    _closing(columns).run(
        connection,
        [
            {
                **dict(zip(names, map(conclusion.summary.get, columns), strict=True)),
                "run_": conclusion.claim.run,
                "version_": conclusion.claim.version,
                "digest_": conclusion.digest,
                "next_due_": conclusion.next_due,
            }
            for conclusion in conclusions
        ],
    )


@lru_cache(maxsize=16)
def _closing(columns: tuple[str, ...]) -> Prepared:
    """Sets these columns, and says that the run has been looked at; one that grew in between stays due."""
    runs = schema.runs
    version, next_due = bindparam("version_", type_=Integer), bindparam("next_due_", type_=Float)
    statement = (
        update(runs)
        .where(runs.c.id == bindparam("run_"), runs.c.checked <= version)
        .values(
            {
                **{name: bindparam(f"{name}_") for name in columns},
                "lease": null(),
                "worker": null(),
                "attempts": 0,
                "checked": version,
                "digest": bindparam("digest_"),
                "due": case((runs.c.version == version, next_due), else_=runs.c.due),
            }
        )
    )
    return Prepared(lambda _: statement)
