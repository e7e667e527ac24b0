"""The first page: what runs came to over time, who fails, what is broken, and how the collector is."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote_plus, urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from collector.api import views
from collector.api.access import Access, reader
from collector.api.search import quoted
from collector.errors import CollectorError
from collector.judging.names import misspelt_tools
from collector.store import buckets, catalog, reads
from collector.store.reads import Filter
from collector.ui import words
from collector.ui.pages import FILTERS, page
from collector.ui.ranges import BARS, OFFERED, Range, stamp
from synth.experiments import Rate
from synth.pictures import Bar, Picture, Share, shares, stacked_bars

router = APIRouter(include_in_schema=False)
Reader = Annotated[Access, Depends(reader)]
LATEST = 8
MOST_ROWS = 8


@router.get("/")
def overview(request: Request, access: Reader) -> Response:
    """What happened; addresses with filters, from when the list was here, lead to it."""
    if any(request.query_params.get(name) for name in (*FILTERS, "cursor") if name not in ("since", "until")):
        return RedirectResponse(f"/runs?{request.url.query}", 307)
    asked = {name: request.query_params.get(name, "").strip() for name in ("last", "since", "until")}
    problem = None
    try:
        chosen = Range.of(asked, access.now)
    except CollectorError as failure:
        problem, chosen = str(failure), Range.of({}, access.now)
    with access.service.store.read() as connection:
        stats = reads.stats(connection, access.project)
        latest = reads.list_runs(connection, access.project, Filter(), limit=LATEST).rows
        first = reads.first_findings(connection, [row["id"] for row in latest])
        misspelt = misspelt_tools(connection, access.project)
    key = ("overview", access.project, chosen.last or (chosen.since, chosen.until))
    figures = access.service.remembered.get(key, lambda: found(access, chosen))
    return page(
        "overview.html",
        stats=stats,
        chosen=chosen,
        offered=OFFERED,
        asked=asked,
        problem=problem,
        misspelt=misspelt,
        runs=[shown(row, first.get(row["id"])) for row in latest],
        outcomes=words.OUTCOMES,
        meanings=words.MEANT,
        behind=access.service.behind,
        collector=collector_row(access),
        now=access.now,
        **figures,
        **teaching(request, access),
    )


def teaching(request: Request, access: Access) -> dict[str, Any]:
    """What the lines for a program that is to be watched need."""
    return {
        "endpoint": str(request.base_url).rstrip("/"),
        "needs_key": access.service.gate.needs_key,
        "project": access.project_name,
    }


def shown(row: Any, finding: Any) -> dict[str, Any]:
    """A run in a list, its first finding as a sentence with the query below."""
    return {
        **views.run_item(row), "seen": row["first_seen"], "title": row["title"], "user": row["person"],
        "finding": finding,
    }  # fmt: skip


def found(access: Access, chosen: Range) -> dict[str, Any]:
    """The pictures and tables of a stretch of time."""
    wanted = Filter(since=chosen.since, until=chosen.until)
    with access.service.store.read() as connection:
        counts = buckets.over_time(connection, access.project, wanted, since=chosen.since, width=chosen.width)
        decided = buckets.decided(connection, access.project, chosen.since, chosen.until)
        rules = buckets.broken_rules(connection, access.project, chosen.since, chosen.until)
        lost = buckets.lost_at(connection, access.project, wanted)
    total = sum(counts.values())
    return {
        "total": total,
        "over_time": over_time(counts, chosen),
        "by_agent": by(decided["agent"], "agent", chosen),
        "by_version": by(decided["version"], "version", chosen),
        "rules": [
            {
                **one._asdict(),
                "of": one.rule.partition(":")[0],
                "name": one.rule.partition(":")[2],
                "link": link(f"rule:{quoted(one.rule)}", chosen),
            }
            for one in rules
        ],
        "lost": lost_picture(lost),
        "lost_of": sum(lost.values()),
    }


def link(search: str, chosen: Range) -> str:
    """The runs of a stretch of time that a search finds."""
    return f"/runs?q={quote_plus(f'{search} {chosen.search}'.strip())}"


def over_time(counts: Mapping[tuple[int, str], int], chosen: Range) -> Picture:
    """Outcomes, a bar for each stretch; it leads to the runs of it."""
    bars: list[Counter[str]] = [Counter() for _ in range(BARS)]
    for (stretch, outcome), runs in counts.items():
        bars[min(max(stretch, 0), BARS - 1)][outcome] += runs
    drawn = []
    for at, bar in enumerate(bars):
        start = chosen.since + at * chosen.width
        times = {"since": stamp(start), "until": stamp(start + chosen.width)}
        search = f"since:{times['since']} until:{times['until']}"
        drawn.append(Bar(chosen.label(start), bar, f"/runs?q={quote_plus(search)}"))
    kinds = {key: words.OUTCOMES[key] for key in ("pass", "unbound", "open", "undecided", "error", "fail")}
    drag = f' data-range-since="{chosen.since:.3f}" data-range-until="{chosen.until:.3f}"'
    return stacked_bars("Runs by outcome over time", drawn, kinds, attributes=drag, ticks=chosen.ticks)


def by(counts: Mapping[tuple[str, str], int], field: str, chosen: Range) -> Picture | None:
    """The share of failures of each agent or version, those with most runs; of what was decided."""
    decided, failed = Counter[str](), Counter[str]()
    for (name, outcome), runs in counts.items():
        decided[name] += runs
        failed[name] += runs * (outcome == "fail")
    rows = []
    for name, runs in decided.most_common(MOST_ROWS):
        rate = Rate(failed[name], runs)
        low, high = rate.interval
        rows.append(
            Share(
                name,
                failed[name],
                runs,
                rate.value or 0.0,
                low,
                high,
                link(f"{field}:{quoted(name)}", chosen),
            )
        )
    title = f"Share of failed runs by {field}"
    return shares(title, rows, (field.capitalize(), "Failed (95 % interval)", "Runs")) if rows else None


def lost_picture(lost: Mapping[int, int]) -> Picture | None:
    """At which call plans are lost."""
    if not lost:
        return None
    last = min(max(lost), 39)
    bars = [Bar(f"call {at}", {"fail": lost.get(at, 0)}) for at in range(last + 1)]
    if beyond := sum(count for at, count in lost.items() if at > last):
        bars.append(Bar("later", {"fail": beyond}))
    return stacked_bars(
        "Calls at which plans were lost", bars, {"fail": "runs"}, of="Call", height=150, width=520
    )


def collector_row(access: Access) -> Iterator[tuple[str, str, bool]]:
    """(what, how it is, whether that is bad) of the collector."""
    service = access.service
    lag = service.watch.lag
    yield "Verdicts behind", f"{lag:.0f} s", bool(service.behind)
    with service.store.read() as connection:
        waiting = reads.waiting(connection, access.project).get(access.project, 0)
        never = never_applied(connection, access)
    yield "Runs that wait", str(waiting), False
    sums = service.all_figures().sums
    refused = sums["requests_refused_total"] + sums["store_failures_total"] + sums["bodies_refused_total"]
    yield "Requests refused", str(refused), bool(refused)
    if service.store.file is not None:
        usage = shutil.disk_usage(service.store.file.parent)
        free = usage.free / 2**30
        yield "Disk free", f"{free:.1f} GiB", free < 1
    if never:
        yield "Rules that never applied", ", ".join(never[:5]) + (" …" if len(never) > 5 else ""), True


def never_applied(connection: Any, access: Access) -> list[str]:
    """Rules of the active files that applied to none of the newest runs that they judged."""
    names = access.service.remembered.get(
        ("rules", access.project, catalog.policy_state(connection)),
        lambda: reads.idle_rules(connection, access.project),
    )
    return list(names)


def address(path: str, **asked: str | None) -> str:
    """An address with what is asked of it."""
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"{path}?{query}" if query else path
