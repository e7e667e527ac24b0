"""The inbox: findings that are alike, what people say of them, and labels of single verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from collector.api import views
from collector.api.access import Access, reader, writer
from collector.api.answers import JsonRoute
from collector.api.bodies import json_object, reject_unknown
from collector.api.inbox import text_of
from collector.api.runs import alone, find_run, instant, load_run
from collector.api.search import lasting
from collector.errors import BadRequest, NotFound
from collector.judging.owners import Owned, owners
from collector.judging.policies import stored_files
from collector.store import catalog, groups, keys
from collector.store.counts import DAY
from collector.store.groups import SEVERITIES, STATES, Group, Key, Mark
from collector.store.reads import Filter
from collector.store.stretches import STRETCH
from synth.experiments import Rate

router = APIRouter(prefix="/api/v1", tags=["findings and views"], route_class=JsonRoute)
Reader = Annotated[Access, Depends(reader)]
Writer = Annotated[Access, Depends(writer)]

SPARKS = 24
"""Buckets that a range is cut into, about so many."""
USUAL = "7d"
LONG, NOTE = 500, 2_000
"""Characters of a rule, an agent or a tool; of a reason or a note."""
SAID = {"rule", "agent", "tool", "state", "owner", "severity", "reason", "until", "version"}
LABELS = ("verdict_wrong", "verdict_right")


@router.get("/findings/groups")
def list_groups(
    access: Reader, last: str = USUAL, state: str | None = None, rule: str | None = None,
    agent: str | None = None, version: str | None = None, since: str | None = None, until: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Findings by rule, agent and tool, of the runs that came in a stretch of time (`7d`).

    `since` and `until`, instants, take the place of `last`; from `since` until now with one alone.
    `state` is `new`, `known`, `waived`, `fixed` or `wrong`; a waiver that has ended is `new` again, and
    `why` says so. `applied` is how many runs the rule applied to, `rate` the share that broke it. `owner` and
    `severity` are what was said of the group, else what the rule's file says.
    """
    if state and state not in STATES:
        raise BadRequest(f"state is {state[:40]!r}", f"expected one of {', '.join(STATES)}")
    wanted = Filter(
        agent=agent or None, version=version or None,
        since=instant(since, "since"), until=instant(until, "until"),
    )  # fmt: skip
    items = grouped(access, last, wanted)
    chosen = [
        one
        for one in items
        if (not state or one["state"] == state) and (not rule or one["rule"].partition(":")[2] == rule)
    ]
    return {"items": chosen, "cursor": None}


def grouped(access: Access, last: str, wanted: Filter) -> list[dict[str, Any]]:
    """Every group of a stretch of time, those that wait for somebody and have most runs first.

    It is `last`, or where the filter has instants, that between them.
    """
    length = lasting(last)
    if wanted.since is not None or wanted.until is not None:
        end = access.now if wanted.until is None else wanted.until
        length = max(end - wanted.since, 1.0) if wanted.since is not None else length
    found = access.service.remembered.get(
        ("groups", access.project, last, wanted), lambda: looked_up(access, wanted, length)
    )
    with access.service.store.read() as connection:
        marks = groups.marks(connection, access.project)
    owned = owned_rules(access)
    items = [
        item(group, marks.get(group.key), access.now, owned.get(policy_of(group.key.rule)), *about)
        for group, *about in found
    ]
    return sorted(items, key=lambda one: (STATES.index(one["state"]), -one["runs"], one["rule"]))


def owned_rules(access: Access) -> Mapping[str, Owned]:
    """What the files in use say of each rule."""
    with access.service.store.read() as connection:
        state = catalog.policy_state(connection)

    def find() -> Mapping[str, Owned]:
        with access.service.store.read() as connection:
            return owners(stored_files(catalog.active_policies(connection, access.project)))

    return access.service.remembered.get(("owners", access.project, state), find)


def policy_of(rule: str) -> str:
    """`policy:A2` is `A2`; the rule of a case is none."""
    kind, _, name = rule.partition(":")
    return name if kind == "policy" else ""


Found = tuple[Group, Any, int, list[int]]


def looked_up(access: Access, wanted: Filter, length: float) -> list[Found]:
    """Groups, the newest example of each, how many runs its rule applied to, and its runs over time."""
    end = access.now if wanted.until is None else wanted.until
    since = end - length if wanted.since is None else wanted.since
    width, buckets = length / SPARKS, SPARKS
    if length > DAY:  # by what is counted already, in whole stretches
        width = STRETCH * max(1, round(width / STRETCH))
        buckets = 1 + int((end - groups.begins(since, width)) // width)
    wanted = replace(wanted, since=since)
    with access.service.store.read() as connection:
        found = groups.found(connection, access.project, wanted, since=since, width=width)
        told = groups.examples(connection, [group.newest for group in found.values()])
        rules = sorted({key.rule for key in found})
        counts = groups.applied(connection, access.project, rules, wanted)
    return [
        (
            group,
            told[group.newest],
            max(counts.get((key.rule, key.agent), 0), group.runs),
            [group.counts.get(at, 0) for at in range(buckets)],
        )
        for key, group in found.items()
        if group.newest in told
    ]


def item(
    group: Group, mark: Mark | None, now: float, owned: Owned | None, example: Any, applied: int,
    counts: list[int],
) -> dict[str, Any]:  # fmt: skip
    """A group as lists show it."""
    now_in = groups.standing(mark, group, now)
    rate = Rate(group.runs, applied)
    return {
        **{name: value or None for name, value in group.key._asdict().items()},
        "sentence": example["explanation"],
        "run_id": example["key"],
        "title": example["title"],
        "runs": group.runs,
        "applied": applied,
        "rate": rate.value,
        "interval": list(rate.interval),
        "counts": counts,
        "first_seen": views.iso(group.first_seen),
        "last_seen": views.iso(group.last_seen),
        "versions": sorted(filter(None, group.versions)),
        "state": now_in.state,
        "why": now_in.why,
        "owner": (mark and mark.owner) or (owned and owned.owner),
        "severity": (mark and mark.severity) or (owned and owned.severity),
        "reason": mark and mark.reason,
        "until": views.iso(mark.until) if mark else None,
        "in_version": mark and mark.version,
        "marked_by": mark and mark.actor,
        "marked_at": views.iso(mark.at) if mark else None,
    }


@router.put("/findings/groups")
async def mark_group(access: Writer, request: Request) -> dict[str, Any]:
    """Say what findings of a rule, an agent and a tool are: no verdict changes.

    `waived` needs a `reason`, and `until` (a date) or the `version` that it is for: it comes back when the
    date has passed, or another version breaks the rule. `fixed` needs the `version` in which it is.
    """
    said = await json_object(request)
    return await run_in_threadpool(put_mark, access, said)


def put_mark(access: Access, said: Mapping[str, Any]) -> dict[str, Any]:
    reject_unknown(said, SAID, "the group")
    key = Key(
        str(text_of(said.get("rule"), "rule", LONG)),
        text_of(said.get("agent"), "agent", LONG, optional=True) or "",
        text_of(said.get("tool"), "tool", LONG, optional=True) or "",
    )
    state, severity = said.get("state"), said.get("severity") or None
    if state not in STATES:
        raise BadRequest("`state` is none that findings have", f"expected one of {', '.join(STATES)}")
    if severity is not None and severity not in SEVERITIES:
        raise BadRequest("`severity` is none", f"expected one of {', '.join(SEVERITIES)}")
    mark = Mark(
        state,
        text_of(said.get("owner"), "owner", LONG, optional=True),
        severity,
        text_of(said.get("reason"), "reason", NOTE, optional=True),
        moment(said.get("until")) if state == "waived" else None,
        text_of(said.get("version"), "version", LONG, optional=True)
        if state in ("waived", "fixed")
        else None,
        access.actor,
        access.now,
    )
    if state == "waived" and not (mark.reason and (mark.until or mark.version)):
        raise BadRequest(
            "a waiver says why, and when it ends", "send `reason`, and `until` (a date) or `version`"
        )
    if state == "waived" and mark.until is not None and mark.until <= access.now:
        raise BadRequest("the waiver would have ended: `until` has passed", "send a later date")
    if state == "fixed" and not mark.version:
        raise BadRequest("nothing says in which version it is fixed", "send `version`")
    groups.put(access.service.store, access.project, key, mark)
    note(access, f"finding.{state}", " / ".join(filter(None, key)))
    return {
        **{name: value or None for name, value in key._asdict().items()}, "state": state,
        "until": views.iso(mark.until), "in_version": mark.version,
    }  # fmt: skip


def moment(said: Any) -> float | None:
    """A date or time; a date alone ends with its day (UTC). Raises BadRequest."""
    if said in (None, ""):
        return None
    if not isinstance(said, str):
        raise BadRequest("`until` is no text", "send a date such as 2027-01-31")
    at = instant(said, "until")
    if at is not None and len(said) == len("2027-01-31"):
        at += 86_400
    if at is None or not 0 < at < datetime(9999, 1, 1, tzinfo=UTC).timestamp():
        raise BadRequest("`until` is no date that can be", "send a date such as 2027-01-31")
    return at


def note(access: Access, action: str, subject: str) -> None:
    with access.service.store.write() as connection:
        keys.record(connection, access.project, access.actor, action, subject[:500], now=access.now)


# ---------------------------------------------------------------- labels


@router.put("/runs/{run_id}/labels")
async def put_label(access: Writer, run_id: str, request: Request) -> dict[str, Any]:
    """Say of one verdict that it is wrong or right: `{"rule", "label": "verdict_wrong", "note"?}`.

    No verdict changes; `GET /api/v1/labels` is the corpus of what people say.
    """
    said = await json_object(request)
    return await run_in_threadpool(keep_label, access, run_id, said)


def keep_label(access: Access, run_id: str, said: Mapping[str, Any]) -> dict[str, Any]:
    reject_unknown(said, {"rule", "label", "note"}, "the label")
    if said.get("label") not in LABELS:
        raise BadRequest("`label` is none", f"expected one of {', '.join(LABELS)}")
    with access.service.store.read() as connection:
        key = find_run(connection, access, run_id)["key"]
    row = {
        "run": key, "rule": text_of(said.get("rule"), "rule", LONG), "label": said["label"],
        "note": text_of(said.get("note"), "note", NOTE, optional=True), "actor": access.actor,
        "at": access.now,
    }  # fmt: skip
    groups.put_label(access.service.store, access.project, row)
    note(access, f"label.{said['label']}", f"{key} {row['rule']}")
    return label_item(row)


@router.delete("/runs/{run_id}/labels")
def drop_label(access: Writer, run_id: str, rule: str) -> dict[str, Any]:
    """Take back what was said of one verdict."""
    with access.service.store.read() as connection:
        key = find_run(connection, access, run_id)["key"]
    if not groups.drop_label(access.service.store, access.project, key, rule):
        raise NotFound("nothing was said of this verdict", "GET /api/v1/labels lists what was")
    return {"run_id": key, "rule": rule, "dropped": True}


@router.get("/labels")
def list_labels(access: Reader) -> dict[str, Any]:
    """What people say of verdicts, the newest 1,000 first."""
    with access.service.store.read() as connection:
        rows = groups.labels(connection, access.project)
    return {"items": [label_item(row) for row in rows], "cursor": None}


@router.get("/labels/corpus")
def corpus(access: Reader) -> Response:
    """The labelled runs as JSON lines: the label, and the record as `pdoctor check` reads it."""
    with access.service.store.read() as connection:
        rows = groups.labels(connection, access.project)
    about = {"content-disposition": 'attachment; filename="labels.jsonl"'}
    body = b"\n".join(corpus_lines(access, rows))
    return Response(body, media_type="application/x-ndjson", headers=about)


def corpus_lines(access: Access, rows: Any) -> Iterator[bytes]:
    for row in rows:
        try:
            with alone(access, row["run"]):
                record = views.run_record(*load_run(access, row["run"]))
        except NotFound:
            continue
        yield views.encoded({**label_item(row), "run": record})


def label_item(row: Any) -> dict[str, Any]:
    return {
        "run_id": row["run"], "rule": row["rule"], "label": row["label"], "note": row["note"],
        "actor": row["actor"], "at": views.iso(row["at"]),
    }  # fmt: skip
