"""One self-contained HTML file (and PNG figures) from what was measured."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

from synth.errors import MissingExtra
from synth.experiments import tables
from synth.experiments.capability import Curve
from synth.experiments.paper import Chapter, Reproduction, Sizes
from synth.experiments.tables import Table
from synth.experiments.tally import most_telling, untested
from synth.experiments.trial import Result

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
       color: #1b1f24; background: #fff; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #d0d7de; padding: .3rem .7rem; text-align: left; vertical-align: top; }
th { background: #f3f5f7; } caption { text-align: left; font-weight: 600; padding: .3rem 0; }
td.number { text-align: right; } details { margin: .5rem 0 1.5rem; } summary { cursor: pointer; }
.note { color: #57606a; font-size: .9rem; } figure { margin: 1rem 0; } img { max-width: 100%; }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; } th { background: #161b22; }
  th, td { border-color: #30363d; } .note { color: #9198a1; } img { background: #fff; }
}
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, drawn if matplotlib is there."""

    name: str
    title: str
    png: bytes | None


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

    def to_json(self) -> dict[str, Any]:
        shown = {"title": self.title, "note": self.note, "findings": list(self.findings)}
        shown["summary"] = list(self.summary)
        return {**shown, "tables": [table.to_json() for table in self.tables]}


def report_of(measured: Reproduction, title: str = "Planning errors") -> Report:
    """The paper's tables and figures."""
    shown = [
        tables.agents_table(),
        tables.overview_table(measured.rq1, "table2", "Table 2: queries, time and errors found"),
    ]
    pictures = []
    for chapter in measured.chapters:
        shown += _chapter_tables(chapter)
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
                f"; told from chance, the cause most found is {CAUSES_IN_WORDS[cause]} ({count} of {total})"
            )
        yield said + "."


def _reach(one: Curve) -> str:
    if not one.measured:
        return "nothing was measured"
    if one.limit < one.measured[0].actions:
        return "not even the smallest plans succeed 1 time in 5"
    reach = f"plans of up to {one.limit} actions succeed at least 1 time in 5"
    return reach if one.limit < one.measured[-1].actions else f"{reach}, and nothing longer was tried"


def _chapter_tables(chapter: Chapter) -> list[Table]:
    order = chapter.mode == "order"
    errors, causes, figure = ("3", "4", "8") if order else ("6", "7", "9")
    kind = "order" if order else "order and time"
    shown = [
        tables.curve_table(chapter.curves, f"figure{figure}-data", f"Success by number of actions ({kind})"),
        tables.limit_table(chapter.curves, f"limit-{chapter.mode}", f"Capability limit ({kind})"),
        tables.error_table(
            chapter.errors, chapter.results, f"table{errors}", f"Table {errors}: error types ({kind})"
        ),
        tables.cause_table(
            chapter.dissections, chapter.errors, f"table{causes}", f"Table {causes}: root causes ({kind})"
        ),
    ]
    shown += [
        tables.contrast_table(
            chapter.contrasts,
            chapter.contrasted,
            f"contrast-{chapter.mode}",
            f"Causes told from chance ({kind})",
        ),
        tables.layers_table(
            chapter.contrasts, f"layers-{chapter.mode}", f"Passes of mutants by layer ({kind})"
        ),
    ]
    if order:
        shown.append(tables.topics_table(chapter.dissections, "table5", "Table 5: topics with most failures"))
    return shown


def campaign_report(results: Sequence[Result], title: str, before: Sequence[Result] = ()) -> Report:
    """A report over the results of one campaign, beside an earlier one if given."""
    failed = [result for result in results if result.outcome == "fail"]
    shown = [
        tables.overview_table(results, "overview", "Queries, time and errors"),
        tables.error_table(failed, results, "errors", "Error types", "Each by its primary type."),
    ]
    comparisons = tables.compare(before, results)
    if before:
        shown.insert(0, tables.comparison_table(comparisons, "comparison", "Before and after"))
    if any(result.planted is not None for result in results):
        shown.append(tables.detection_table(results, "detection", "Planted faults, and what was found"))
    summary = (*untested(results), *map(tables.comparison_in_words, comparisons))
    return Report(title, findings_of(results), tuple(shown), summary=summary)


def findings_of(results: Iterable[Result], count: int = 5) -> tuple[str, ...]:
    return tuple(telling.text for telling in most_telling(results, count))


def sizes_in_words(sizes: Sizes) -> str:
    """The sizes of the experiments, so that nobody takes a quick run for a whole one."""
    how_long = f"{sizes.rq1_cases} cases" if sizes.rq1_cases is not None else f"{sizes.rq1_seconds or 0:g} s"
    low, high = sizes.rq1_actions
    return (
        f"Sizes: {how_long} per agent and model with {low} to {high} actions for Table 2; "
        f"{sizes.sampling.per_pair} * C(n, 2) cases per size, {sizes.sampling.cap} at most, up to "
        f"{sizes.largest} actions, until success is under 20 %; {sizes.errors} failures per agent, model and "
        f"mode for the tables of errors and causes, {sizes.repeats} repeats and {sizes.mutants} mutants per "
        f"layer; {sizes.contrasts} of them looked into again with up to {sizes.looks[-1]} mutants per layer, "
        "to tell causes from chance."
    )


def picture(curves: Sequence[Curve], name: str, title: str) -> Picture:
    """The figure; without matplotlib only its place."""
    from synth.experiments import plots

    errors = sum(one.errors for one in curves)
    title = f"{title} ({errors} runs in error left out)" if errors else title
    try:
        return Picture(name, title, plots.png(plots.capability_figure(curves, title)))
    except MissingExtra:
        return Picture(name, title, None)


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
    findings = "".join(f"<li>{escape(text)}</li>" for text in report.findings)
    summary = "".join(f"<li>{escape(text)}</li>" for text in report.summary)
    parts = [
        f"<h1>{escape(report.title)}</h1>",
        f'<p class="note">{escape(report.note)}</p>' if report.note else "",
        f"<h2>In short</h2><ul>{summary}</ul>" if summary else "",
        f"<h2>Worth reading first</h2><ol>{findings}</ol>" if findings else "<p>No run failed.</p>",
        *(_picture_html(one) for one in report.pictures),
        *(_table_html(table) for table in report.tables),
    ]
    head = f'<meta charset="utf-8"><title>{escape(report.title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _picture_html(one: Picture) -> str:
    title = escape(one.title)
    if one.png is None:
        return f'<p class="note">{title}: install the extra "report" to draw it; its data is below.</p>'
    data = base64.b64encode(one.png).decode()
    return f'<figure><img alt="{title}" src="data:image/png;base64,{data}"></figure>'


LONG_TABLE = 15
"""Rows from which on a table is folded."""


def _table_html(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in table.headers)
    rows = "".join("<tr>" + "".join(map(_cell_html, row)) + "</tr>" for row in table.rows)
    rows = rows or f'<tr><td class="note" colspan="{len(table.headers)}">none</td></tr>'
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    caption = f"<caption>{escape(table.title)}</caption>"
    shown = f'<table id="{escape(table.name)}">{caption}<tr>{head}</tr>{rows}</table>{note}'
    if len(table.rows) < LONG_TABLE:
        return shown
    return f"<details><summary>{escape(table.title)}: {len(table.rows)} rows</summary>{shown}</details>"


def _cell_html(cell: str) -> str:
    is_number = cell.removesuffix("%").replace(".", "", 1).isdigit()
    return f'<td class="number">{cell}</td>' if is_number else f"<td>{escape(cell)}</td>"
