"""One self-contained HTML file (and PNG figures) from what was measured."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from synth.agents.model import SPEC
from synth.agents.specifications import monitors_of
from synth.errors import BadInput, MissingExtra
from synth.experiments import tables
from synth.experiments.capability import Curve
from synth.experiments.facts import Facts, facts_of, in_words
from synth.experiments.money import Prices
from synth.experiments.paper import Chapter, Reproduction, Sizes
from synth.experiments.tables import Table
from synth.experiments.tally import detection, most_telling, untested
from synth.experiments.trial import Result
from synth.formal.diagram import svg_of
from synth.formal.model import ERROR_TYPES

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem;
       color: #1b1f24; background: #fff; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #d0d7de; padding: .3rem .5rem; text-align: left; vertical-align: top; }
th { background: #f3f5f7; } caption { text-align: left; font-weight: 600; padding: .3rem 0; }
caption span, figcaption span { display: inline-block; position: sticky; left: 0;
max-width: calc(100vw - 3rem); }
.number { text-align: right; } details { margin: .5rem 0 1.5rem; } summary { cursor: pointer; }
.note { color: #57606a; font-size: .9rem; } figure { margin: 1rem 0; } img { max-width: 100%; }
.wide { overflow-x: auto; } a { color: #0a58ca; } dl { display: grid; grid-template-columns: max-content 1fr;
gap: .2rem 1rem; } dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; } dl { display: block; } th, td { padding: .3rem .4rem; }
  figure { overflow-x: auto; } img.own { width: 40rem; max-width: none; }
}
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; } th { background: #161b22; }
  th, td { border-color: #30363d; } .note { color: #9198a1; } a { color: #79b8ff; } img { background: #fff; }
  img.own { background: none; }
}
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, drawn if matplotlib is there."""

    name: str
    title: str
    png: bytes | None
    svg: str | None = None
    """The same for pages, light or dark."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A diagram of ours."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a report shows, before it is HTML."""

    title: str
    findings: tuple[str, ...]
    """Worth reading first, in plain words."""
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...] = ()
    note: str = ""
    summary: tuple[str, ...] = ()
    """What it comes to, a sentence for each agent and model."""
    drawings: tuple[Drawing, ...] = ()
    none: str = "No run failed."
    """What is said where there are no findings."""
    facts: Facts | None = None
    """What a reader needs in order to cite it."""
    runs: tuple[Result, ...] = ()
    """Those that the numbers are of."""

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"title": self.title, "note": self.note, "findings": list(self.findings)}
        shown |= {"summary": list(self.summary), "facts": None if self.facts is None else dict(self.facts)}
        shown["runs"] = [_run_to_json(result) for result in self.runs]
        return {**shown, "tables": [table.to_json() for table in self.tables]}


def _run_to_json(result: Result) -> dict[str, Any]:
    """What leads from a number to a run."""
    return {
        "agent": result.agent, "model": result.model, "case_id": result.case_id, "run_id": result.trace_id,
        "actions": result.actions, "outcome": result.outcome, "error_type": result.error_type,
    }  # fmt: skip


def report_of(
    measured: Reproduction, title: str = "Planning errors", options: Mapping[str, Any] | None = None
) -> Report:
    """The paper's tables and figures; `options` is how agents were driven, for who cites it."""
    prices = measured.purse.prices
    subjects = [(one.agent, one.model) for chapter in measured.chapters for one in chapter.curves]
    shown = [
        tables.agents_table(agent for agent, _ in subjects),
        tables.overview_table(
            measured.rq1, "table2", "Table 2: queries, errors found, time and cost", prices, subjects
        ),
    ]
    pictures = []
    for chapter in measured.chapters:
        shown += _chapter_tables(chapter, prices)
        number, what = ("8", "order") if chapter.mode == "order" else ("9", "order and time")
        pictures.append(picture(chapter.curves, f"figure{number}", f"Figure {number}: success with {what}"))
    if any(result.planted is not None for result in measured.results):
        shown.append(
            tables.detection_table(measured.results, "detection", "Planted faults, and what was found")
        )
    return Report(
        title, findings_of(measured.results), tuple(shown), tuple(pictures), sizes_in_words(measured.sizes),
        (
            *_end_in_words(measured), *untested(measured.results),
            *chain.from_iterable(map(summary_of, measured.chapters)),
        ),
        facts={**facts_of(measured.results, prices, options), "spent_in_all": measured.purse.bill()},
        runs=measured.results,
        drawings=drawings_of(result.agent for result in measured.results),
    )  # fmt: skip


def _end_in_words(measured: Reproduction) -> Iterator[str]:
    if measured.stopped is not None:
        yield f"Not everything was measured: {measured.stopped}."


CAUSES_IN_WORDS = {
    "probability": "chance",
    "terminal": "particular words",
    "topic": "the topic",
    "structure": "the sentence structure",
    "constraint": "the constraints themselves",
    "difficulty": "size and luck",
}


def summary_of(chapter: Chapter) -> Iterator[str]:
    """Where each agent's ability ends, how it fails most, and why."""
    kind = "order" if chapter.mode == "order" else "order and time"
    for one in chapter.curves:
        subject = one.agent, one.model
        errors = Counter(e.error_type for e in chapter.errors if (e.agent, e.model) == subject)
        causes = Counter(d.cause for d in chapter.contrasts if (d.agent, d.model) == subject)
        said = f"{one.agent} on {one.model}, {kind}: {_reach(one)}"
        if errors:
            (type, count), total = errors.most_common(1)[0], sum(errors.values())
            said += f"; {count} of {total} failures looked into are {type}"
        if causes:
            (cause, count), total = causes.most_common(1)[0], sum(causes.values())
            said += (
                f"; tested against chance, most are put down to {CAUSES_IN_WORDS[cause]} ({count} of {total})"
            )
        yield said + "."


def _reach(one: Curve) -> str:
    if not one.measured:
        return "nothing was measured"
    if one.limit < one.measured[0].actions:
        return "not even the smallest plans succeed 1 time in 5"
    reach = f"plans of up to {one.limit} actions succeed at least 1 time in 5"
    return reach if one.limit < one.measured[-1].actions else f"{reach}, and nothing longer was tried"


def _chapter_tables(chapter: Chapter, prices: Prices) -> list[Table]:
    order = chapter.mode == "order"
    subjects = [(one.agent, one.model) for one in chapter.curves]
    errors, causes, figure = ("3", "4", "8") if order else ("6", "7", "9")
    kind = "order" if order else "order and time"
    shown = [
        tables.curve_table(chapter.curves, f"figure{figure}-data", f"Success by number of actions ({kind})"),
        tables.limit_table(chapter.curves, f"limit-{chapter.mode}", f"Capability limit ({kind})"),
        tables.error_table(
            chapter.failures,
            chapter.results,
            f"table{errors}",
            f"Table {errors}: error types ({kind})",
            types=tables.ORDER_TYPES if order else ERROR_TYPES,
            prices=prices,
        ),
        tables.cause_table(
            chapter.dissections,
            chapter.errors,
            f"table{causes}",
            f"Table {causes}: root causes ({kind})",
            subjects=subjects,
            prices=prices,
        ),
    ]
    shown += [
        tables.contrast_table(
            chapter.contrasts,
            chapter.contrasted,
            f"contrast-{chapter.mode}",
            f"Causes told from chance ({kind})",
            subjects,
            prices,
        ),
        tables.layers_table(
            chapter.contrasts, f"layers-{chapter.mode}", f"Passes of mutants by layer ({kind})"
        ),
    ]
    if order:
        shown.append(
            tables.topics_table(
                chapter.dissections, chapter.results, "table5", "Table 5: topics with most failures"
            )
        )
    return shown


def campaign_report(
    results: Sequence[Result], title: str, before: Sequence[Result] = (), prices: Prices | None = None
) -> Report:
    """A report over the results of one campaign, beside an earlier one if given."""
    told = results_report(results, title, before, prices)
    drawings = drawings_of(result.agent for result in results)
    return replace(told, drawings=drawings, facts=facts_of(results, prices))


GUARD_TITLE = "Without a guard and under one"


def results_report(
    results: Sequence[Result], title: str, before: Sequence[Result] = (), prices: Prices | None = None
) -> Report:
    """What results come to, wherever they are from: nothing else of this machine is read or told."""
    failed = [result for result in results if result.outcome == "fail"]
    shown = [
        tables.overview_table(results, "overview", "Queries, errors, time and cost", prices),
        tables.error_table(
            failed, results, "errors", "Error types", "Each by its primary type.", prices=prices
        ),
    ]
    if any(result.guard is not None for result in results):
        shown.insert(0, tables.guard_table(results, "guard", GUARD_TITLE))
    if detection(results):
        shown.append(tables.detection_table(results, "detection", "Planted faults, and what was found"))
    summary, runs = untested(results), tuple(results)
    return compared(Report(title, findings_of(results), tuple(shown), summary=summary, runs=runs), before)


def compared(report: Report, before: Sequence[Result]) -> Report:
    """A report with what changed since an earlier campaign, if there was one, before all else."""
    if not before:
        return report
    comparisons = tables.compare(before, report.runs)
    table = tables.comparison_table(comparisons, "comparison", "Before and after")
    words = [tables.comparison_in_words(one) for one in comparisons] or [
        "Nothing is compared: no agent ran on the same model in both campaigns."
    ]
    return replace(report, tables=(table, *report.tables), summary=(*report.summary, *words))


def findings_of(results: Iterable[Result], count: int = 5) -> tuple[str, ...]:
    return tuple(telling.text for telling in most_telling(results, count))


def sizes_in_words(sizes: Sizes) -> str:
    """The sizes of the experiments, so that nobody takes a quick run for a whole one."""
    how_long = f"{sizes.rq1_cases} cases" if sizes.rq1_cases is not None else f"{sizes.rq1_seconds or 0:g} s"
    low, high = sizes.rq1_actions
    return (
        f"Sizes: {how_long} per agent and model with {low} to {high} actions for Table 2; "
        f"{sizes.sampling.per_pair} * C(n, 2) cases per size, {sizes.sampling.cap} at most, up to "
        f"{sizes.largest} actions, {'for all' if sizes.fixed else 'until success is under 20 %'}; "
        f"{sizes.errors} failures per agent, model and "
        f"mode for the tables of causes, {sizes.repeats} repeats and {sizes.mutants} mutants per "
        f"layer; {sizes.contrasts} of them looked into again with up to {sizes.looks[-1]} mutants per layer, "
        f"to tell causes from chance. Sentences: stop rule “{sizes.stop}”"
        + (" (the paper's; it may leave an action unmentioned)" if sizes.stop == "count" else "")
        + f", decider of Table 2 “{sizes.decider}”."
    )


def picture(curves: Sequence[Curve], name: str, title: str) -> Picture:
    """The figure; without matplotlib only its place."""
    from synth.experiments import plots

    errors = sum(one.errors for one in curves)
    title = f"{title} ({errors} runs in error left out)" if errors else title
    try:
        figure = plots.capability_figure(curves, title)
        return Picture(name, title, plots.png(figure), plots.svg(figure))
    except MissingExtra:
        return Picture(name, title, None)


def drawings_of(agents: Iterable[str]) -> tuple[Drawing, ...]:
    """The diagrams of agents that are behaviour specifications, as far as they can be drawn."""
    found: dict[str, Drawing] = {}
    for name in agents:
        with suppress(BadInput):
            for monitor in monitors_of(name.removeprefix(SPEC)) if name.startswith(SPEC) else ():
                found.setdefault(monitor.text, Drawing(monitor.specification.name, svg_of(monitor)))
    return tuple(found.values())


# ---------------------------------------------------------------- HTML


def write_report(report: Report, path: Path) -> list[Path]:
    """The HTML file and, beside it, one PNG per figure; returns what was written."""
    path.write_text(html(report), encoding="utf-8")
    written = [path]
    for one in report.pictures:
        if one.png is not None:
            written.append(path.with_name(f"{path.stem}-{one.name}.png"))
            written[-1].write_bytes(one.png)
    return written


def html(report: Report) -> str:
    """The whole report as one page that loads nothing from elsewhere."""
    parts = f"<h1>{escape(report.title)}</h1>{body_html(report)}"
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{view}<title>{escape(report.title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{parts}</body></html>\n'


def body_html(
    report: Report, told: Sequence[tuple[str, str]] = (), shown: Container[str] = frozenset()
) -> str:
    """What is below the title, as the pages of a collector have it, too.

    `told` are facts that somebody else put into words, `shown` the ids of runs that have a page there.
    """
    findings = "".join(f"<li>{escape(text)}</li>" for text in report.findings)
    summary = "".join(f"<li>{escape(text)}</li>" for text in report.summary)
    places = _places(report.runs)
    facts = told if report.facts is None else in_words(report.facts)
    parts = [
        f'<p class="note">{escape(report.note)}</p>' if report.note else "",
        f"<h2>In short</h2><ul>{summary}</ul>" if summary else "",
        f"<h2>Worth reading first</h2><ol>{findings}</ol>" if findings else f"<p>{escape(report.none)}</p>",
        *(_picture_html(one) for one in report.pictures),
        *(_table_html(table, places) for table in report.tables),
        *(_drawing_html(one) for one in report.drawings),
        _facts_html(facts) if facts else "",
        *(_runs_html(subject, place, report.runs, shown) for subject, place in places.items()),
    ]
    return "".join(parts)


_CURVE = (
    "the share of cases that passed, with its 95 % interval; below the dashed line (20 %) "
    "an agent's ability ends"
)


def _picture_html(one: Picture) -> str:
    title = escape(one.title)
    if one.png is None:
        return f'<p class="note">{title}: install the extra "report" to draw it; its data is below.</p>'
    kind, drawn = ("svg+xml", one.svg.encode()) if one.svg is not None else ("png", one.png)
    own = ' class="own"' if one.svg is not None else ""
    data = base64.b64encode(drawn).decode()
    image = f'<img{own} alt="{title}" src="data:image/{kind};base64,{data}">'
    return f'<figure>{image}<figcaption class="note"><span>{title}: {_CURVE}</span></figcaption></figure>'


_LEGEND = "the environment writes dashed states, a run may end in double ones"


def _drawing_html(one: Drawing) -> str:
    """As a picture of its own: ids in it are of no other's, and nothing in it runs."""
    data, title = base64.b64encode(one.svg.encode()).decode(), escape(one.title)
    image = f'<img alt="{title}" src="data:image/svg+xml;base64,{data}">'
    return f'<figure>{image}<figcaption class="note">{title}: {_LEGEND}</figcaption></figure>'


LONG_TABLE = 15
"""Rows from which on a table is folded."""


Places = Mapping[tables.Subject, str]
"""(agent, model) -> the id of the list of its runs."""


def _places(runs: Iterable[Result]) -> Places:
    return {subject: f"runs-{number}" for number, subject in enumerate(tables.by_subject(runs), 1)}


def _facts_html(facts: Iterable[tuple[str, str]]) -> str:
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    return f'<h2 id="facts">To cite this</h2><dl>{lines}</dl>'


MOST_LISTED = 1_000
"""Runs of one agent and model; what did not pass comes first, and JSON has all of them."""


def _runs_html(subject: tables.Subject, place: str, runs: Iterable[Result], shown: Container[str]) -> str:
    own = [run for run in runs if (run.agent, run.model) == subject]
    own.sort(key=lambda run: (run.outcome == "pass", run.actions))
    rows = tuple(
        (
            run.run_id,
            run.case_id or "-",
            str(run.actions),
            run.outcome,
            run.error_type or "-",
            str(run.tokens),
        )
        for run in own[:MOST_LISTED]
    )
    left = len(own) - len(rows)
    note = f"And {left:,} more, which --json lists." if left else ""
    headers = ("run", "case", "actions", "outcome", "error type", "tokens")
    title = f"Runs of {subject[0]} on {subject[1]}"
    listed = _table_html(Table(place, title, headers, rows, note), {}, shown, folded=True)
    return f"<h2>Runs</h2>{listed}" if place == "runs-1" else listed


def _table_html(
    table: Table, places: Places, shown: Container[str] = frozenset(), *, folded: bool = False
) -> str:
    columns = [[row[column] for row in table.rows] for column in range(len(table.headers))]
    numeric = [_is_numeric(cells) for cells in columns]
    head = "".join(map(_header_html, table.headers, numeric))
    rows = "".join(f"<tr>{_row_html(table.headers, row, numeric, places, shown)}</tr>" for row in table.rows)
    rows = rows or f'<tr><td class="note" colspan="{len(table.headers)}">none</td></tr>'
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    caption = f"<caption><span>{escape(table.title)}</span></caption>"
    body = f'<table id="{escape(table.name)}">{caption}<tr>{head}</tr>{rows}</table>'
    title, count = escape(table.title), len(table.rows)
    whole = f'<div class="wide" tabindex="0" role="group" aria-label="{title}">{body}</div>{note}'
    if count < LONG_TABLE and not folded:
        return whole
    return f"<details><summary>{title}: {count} row{'' if count == 1 else 's'}</summary>{whole}</details>"


def _is_numeric(cells: Sequence[str]) -> bool:
    """Has a column numbers alone? `-` is none, and stands where they stand."""
    known = [cell for cell in cells if cell != "-"]
    return bool(known) and all(map(_is_number, known))


def _header_html(header: str, numeric: bool) -> str:
    side = ' class="number"' if numeric else ""
    return f'<th scope="col"{side}>{escape(header)}</th>'


def _row_html(
    headers: Sequence[str], row: Sequence[str], numeric: Sequence[bool], places: Places, shown: Container[str]
) -> str:
    """Numbers of an agent on a model lead to its runs, and runs to their pages."""
    if headers[0] == "run" and row[0] in shown:
        page = f'<td><a href="/runs/{quote(row[0], safe="")}">{escape(row[0])}</a></td>'
        return page + "".join(map(_cell_html, row[1:], numeric[1:]))
    place = places.get((row[0], row[1])) if tuple(headers[:2]) == ("agent", "model") else None
    return "".join(_cell_html(cell, right, place) for cell, right in zip(row, numeric, strict=True))


def _cell_html(cell: str, numeric: bool, place: str | None = None) -> str:
    side = ' class="number"' if numeric or _is_number(cell) else ""
    said = escape(cell) if place is None or not _is_number(cell) else f'<a href="#{place}">{cell}</a>'
    return f"<td{side}>{said}</td>"


def _is_number(cell: str) -> bool:
    return cell.removesuffix("%").replace(".", "", 1).isdigit()
