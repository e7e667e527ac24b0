from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from synth.cases.case import Case
from synth.errors import BadInput
from synth.experiments.capability import Curve, Point, Sampling
from synth.experiments.paper import PAPER, QUICK, Bench, Reproduction, reproduce
from synth.experiments.rates import Rate
from synth.experiments.report import (
    Picture,
    Report,
    campaign_report,
    drawings_of,
    html,
    picture,
    report_of,
    write_report,
)
from synth.experiments.tables import Table
from synth.experiments.trial import Trial
from tests.support.bench_results import finding, result, running

SIZES = replace(
    QUICK,
    rq1_cases=3,
    sampling=Sampling(per_pair=2, cap=4),
    largest=4,
    errors=2,
    mutants=1,
    repeats=1,
    looks=(1, 2),
)
draws = pytest.mark.processes
"""The first figure on a machine makes matplotlib ask another program for the fonts."""
SUBJECTS = (("raw-loop", "m"), ("react", "m"))


def bench(passes: Callable[[Trial], bool], ran: list[str]) -> Bench:
    def passes_case(agent: str, model: str, case: Case, number: int) -> bool:
        ran.append(case.id)
        return "topic" in case.id

    return Bench(
        running(passes), lambda journal: passes_case, on_result=lambda result: ran.append(result.key)
    )


def fails_from_four(trial: Trial) -> bool:
    assert trial.case is not None
    return len(trial.case.actions) < 4 or trial.agent == "react"


def measured(folder: Path, ran: list[str]) -> Reproduction:
    return reproduce(bench(fails_from_four, ran), SUBJECTS, SIZES, folder)


class Page(HTMLParser):
    """Collects table ids, and everything a page would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = dict(attributes)
        if tag == "table":
            self.tables.append(known.get("id") or "")
        self.loads += [value for name in ("src", "href") if (value := known.get(name))]


@draws
def test_one_call_gives_the_tables_of_the_paper(tmp_path: Path) -> None:
    report = report_of(measured(tmp_path, []))
    names = [table.name for table in report.tables]
    assert [name for name in names if re.fullmatch(r"table\d", name)] == [
        f"table{n}" for n in (1, 2, 3, 4, 5, 6, 7)
    ]
    assert [picture.name for picture in report.pictures] == ["figure8", "figure9"]
    assert "3 cases per agent and model" in report.note
    limits = next(table for table in report.tables if table.name == "limit-order")
    assert limits.rows == (("raw-loop", "m", "3", "0"), ("react", "m", "4", "0"))


def fails_every_other(trial: Trial) -> bool:
    assert trial.case is not None
    return int(trial.case.id, 16) % 2 == 0


@draws
def test_error_types_are_of_all_failures_within_the_limit_and_causes_of_a_sample(tmp_path: Path) -> None:
    sizes = replace(SIZES, contrasts=1)
    report = report_of(reproduce(bench(fails_every_other, []), SUBJECTS, sizes, tmp_path))
    rows = {t.name: [dict(zip(t.headers, row, strict=True)) for row in t.rows] for t in report.tables}
    for figure, types, causes, mode in (
        ("figure8-data", "table3", "table4", "order"),
        ("figure9-data", "table6", "table7", "timed"),
    ):
        for at, (agent, _) in enumerate(SUBJECTS):
            limit = int(rows[f"limit-{mode}"][at]["largest plan with at least 20 % success"])
            within = [r for r in rows[figure] if r["agent"] == agent and int(r["actions"]) <= limit]
            failed = sum(round(int(r["runs"]) * (1 - float(r["success"][:-1]) / 100)) for r in within)
            assert failed > sizes.errors
            assert rows[types][at]["failures"] == str(failed)
            assert rows[causes][at]["dissected"] == str(sizes.errors)
            assert rows[f"contrast-{mode}"][at]["dissected"] == "1"


@draws
def test_who_was_asked_nothing_stands_in_table_2(tmp_path: Path) -> None:
    report = report_of(replace(measured(tmp_path, []), rq1=()))
    (table,) = (table for table in report.tables if table.name == "table2")
    assert [(row[:3]) for row in table.rows] == [(*subject, "0") for subject in SUBJECTS]


@draws
def test_starting_it_again_runs_nothing_again(tmp_path: Path) -> None:
    first: list[str] = []
    again: list[str] = []
    one, two = measured(tmp_path, first), measured(tmp_path, again)
    assert len(first) > 20
    assert again == []
    first_told, again_told = report_of(one).to_json(), report_of(two).to_json()
    assert first_told["facts"].pop("date") <= again_told["facts"].pop("date")
    for told in (first_told, again_told):
        del told["facts"]["spent_in_all"]  # of each call by itself here: nothing was said of the first
    assert first_told == again_told


def test_other_sizes_do_not_continue_the_same_folder(tmp_path: Path) -> None:
    measured(tmp_path, [])
    with pytest.raises(BadInput, match="another campaign"):
        reproduce(bench(fails_from_four, []), SUBJECTS, replace(SIZES, seed=2), tmp_path)


def test_agents_driven_otherwise_do_not_continue_the_same_folder(tmp_path: Path) -> None:
    measured(tmp_path, [])
    warm = replace(bench(fails_from_four, []), apart={"temperature": 1.0})
    with pytest.raises(BadInput, match=r"another campaign \(temperature differ\)"):
        reproduce(warm, SUBJECTS, SIZES, tmp_path)


def test_the_paper_s_sizes_are_the_paper_s() -> None:
    assert (PAPER.rq1_seconds, PAPER.rq1_actions, PAPER.errors) == (3600, (3, 5), 100)
    assert (PAPER.sampling.per_pair, PAPER.sampling.cap, PAPER.repeats, PAPER.mutants) == (20, 300, 3, 10)


@draws
def test_the_page_stands_alone_and_shows_every_table(tmp_path: Path) -> None:
    report = report_of(measured(tmp_path / "data", []))
    written = write_report(report, tmp_path / "report.html")
    page = Page(written[0].read_text())
    assert page.tables == [*(table.name for table in report.tables), "runs-1", "runs-2"]
    assert [load for load in page.loads if not load.startswith(("data:", "#"))] == []
    assert {load[1:] for load in page.loads if load.startswith("#")} <= set(page.tables)


def test_what_agents_and_models_say_cannot_become_markup() -> None:
    evil = "<script>alert(1)</script>"
    spoken = result("fail", "order_error", agent=evil, findings=[finding("order_error", evil)])
    text = html(campaign_report([spoken], title=evil))
    assert "<script>" not in text
    assert text.count("&lt;script&gt;") >= 3


def test_a_report_beside_an_earlier_campaign_starts_with_the_difference() -> None:
    before = [result("fail", "order_error", key=str(k)) for k in range(8)]
    after = [result("pass", key=str(k)) for k in range(8)]
    report = campaign_report(after, "After", before)
    assert report.tables[0].name == "comparison"
    assert report.tables[0].rows[0][-1] == "better"
    assert report.summary == (
        "raw-loop on m: 0.0% before, 100.0% after: better (p = 0.008; of the cases both ran, 8 pass now "
        "that failed, 0 fail now that passed).",
    )
    assert "No run failed." in html(report)


@draws
def test_figures_are_pictures_that_suit_light_and_dark_pages_and_stay_the_same() -> None:
    curves = [Curve("react", "m<1>", (Point(2, Rate(3, 4), 0), Point(3, Rate(1, 4), 0)))]
    one, again = (picture(curves, "figure8", "Figure 8") for _ in range(2))
    assert one.svg is not None
    assert one.svg == again.svg
    root = ElementTree.fromstring(one.svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in one.svg
    assert "currentColor" in one.svg
    assert [colour for colour in ("#000000", "fill: #ffffff") if colour in one.svg] == []
    page = html(Report("T", (), (), (one,)))
    assert 'src="data:image/svg+xml;base64,' in page
    assert "data:image/png" not in page


def test_a_figure_that_cannot_be_drawn_says_what_to_install() -> None:
    text = html(Report("T", (), (), (Picture("figure8", "Figure 8", None),)))
    assert 'install the extra "report"' in text


@draws
def test_figures_are_png_files_beside_the_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = report_of(measured(tmp_path / "data", []))
    page, *pictures = write_report(report, tmp_path / "report.html")
    assert [path.name for path in pictures] == ["report-figure8.png", "report-figure9.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    assert page.read_text().count("data:image/svg+xml;base64,") == 2
    assert page.read_text().count("with its 95 % interval; below the dashed line") == 2


@draws
def test_the_report_says_in_short_where_ability_ends_and_why(tmp_path: Path) -> None:
    report = report_of(measured(tmp_path, []))
    assert report.summary[0] == (
        "raw-loop on m, order: plans of up to 3 actions succeed at least 1 time in 5."
    )
    assert "react on m, order and time: plans of up to 4 actions" in report.summary[3]
    assert report.summary[3].endswith("nothing longer was tried.")
    assert all(sentence in html(report) for sentence in report.summary)
    assert "<dt>spent in all</dt>" in html(report)
    assert [row[0] for row in report.tables[0].rows] == ["raw-loop", "react"]
    assert "`" not in html(report), "no page reads that as code"


def test_long_tables_are_folded_and_numbers_stand_to_the_right() -> None:
    rows = tuple((f"agent-{number}", f"{number}.0%") for number in range(20))
    page = html(Report("t", (), (Table("long", "Long", ("agent", "rate"), rows),)))
    assert "<details><summary>Long: 20 rows</summary>" in page
    assert '<td>agent-3</td><td class="number">3.0%</td>' in page
    assert '<th scope="col">agent</th><th scope="col" class="number">rate</th>' in page
    short = html(Report("t", (), (Table("short", "Short", ("a", "b"), rows[:3]),)))
    assert "<details>" not in short
    assert '<div class="wide" tabindex="0" role="group" aria-label="Short">' in short, "keys move it"


def test_only_columns_of_nothing_but_numbers_have_their_title_to_the_right() -> None:
    rows = (("7", "-", "-"), ("a1", "-", "2.5"))
    page = html(Report("t", (), (Table("short", "Short", ("case", "none", "seconds"), rows),)))
    titles = '<th scope="col">case</th><th scope="col">none</th><th scope="col" class="number">seconds</th>'
    assert titles in page
    assert "<td>7</td>" not in page, "a number is no text"
    assert '<td>-</td><td class="number">-</td></tr>' in page, "what is not known stands where numbers do"


def test_agents_that_are_specifications_are_drawn_once() -> None:
    names = ["spec:direct+react", "spec:react", "spec:gone.spec", "react", "spec:direct"]
    assert [one.title for one in drawings_of(names)] == ["direct-agent", "react-agent"]
    assert all(one.svg.startswith("<svg ") for one in drawings_of(names))
