"""The generated parts of the README and of docs/; `make docs` writes them, `test_docs.py` compares them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import click
from fastapi import FastAPI

from collector.api import description
from collector.app import API
from collector.cli import serve
from collector.metrics import METRICS
from collector.settings import Settings
from pdoctor_trace import settings
from pdoctor_trace.command import VERBS, _exists, _name_variables
from pdoctor_trace.frameworks import FRAMEWORKS
from synth.agents import AGENTS
from synth.cases.generate import Options, generate
from synth.simulated_model import PROFILES
from tests.frameworks.conformance import BESIDE, CELLS
from tests.frameworks.environments import (
    ENVIRONMENTS,
    Environment,
    recorded_planners,
    recorded_results,
)

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def markdown(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def framework_table() -> str:
    rows = [
        (
            f.title,
            f"`{f.distribution}` {f.versions}",
            _tested(f.name, "newest"),
            _tested(f.name, "previous"),
            f.covers,
            "; ".join(limit.reason for limit in f.limits) or "-",
        )
        for f in (entry.load() for entry in FRAMEWORKS)
    ]
    heads = ("framework", "versions", "newest tested", "release before", "what is recorded", "known limits")
    return markdown(heads, rows)


def _tested(framework: str, kind: str) -> str:
    """Version, tests passed and date of the last recorded run in each environment of a framework."""
    results = recorded_results(kind)
    found = [
        (one, results[one.name])
        for one in ENVIRONMENTS
        if one.adapter().name == framework and one.name in results
    ]
    told = (
        f"{_what(one)}{said['version']}: {said['passed']} passed, {said['failed']} failed ({said['date']})"
        for one, said in found
    )
    return "; ".join(told) or "-"


def _what(environment: Environment) -> str:
    """Whose version it is, where that is not the distribution which the row is about."""
    same = environment.distribution == environment.adapter().distribution
    return "" if same else f"`{environment.distribution}` "


def matrix() -> str:
    """Framework by cell of the conformance suite, from the newest recorded run."""
    results = recorded_results("newest")
    signs, cells = {"passes": "✓", "limit": "limit"}, (*CELLS, *BESIDE)
    rows = [
        (entry.load().title, *(signs.get(results[entry.name]["cells"].get(cell, ""), "-") for cell in cells))
        for entry in FRAMEWORKS
        if entry.name in results
    ]
    return markdown(("", *cells), rows)


def guarded_planner_table() -> str:
    """Pass rates of the swapping planner by guard and by how often it heeds it, and what all of them ran."""
    columns = ("without never", "block never", "feedback never", "feedback half", "feedback always")
    kept, rows = recorded_planners(), []
    for one in (one for one in ENVIRONMENTS if one.name in kept):
        found = kept[one.name]["planners"]
        rates = [_rate(found[f"swaps {column}"]) for column in columns]
        guarded = [figures for what, figures in found.items() if " without " not in what]
        without = found["swaps without never"].get("violating", 0)
        sums = [sum(figures.get(what, 0) for figures in guarded) for what in ("runs", "violating", "refused")]
        rows.append((f"{one.name} {kept[one.name]['version']}", *rates, without, *sums))
    heads = ("environment", "without", "block", "feedback, deaf", "half", "heeded")
    return markdown((*heads, "violating without", "runs guarded", "violating", "refused"), rows)


def _rate(figures: Mapping[str, int]) -> str:
    return f"{figures.get('passed', 0) / figures['runs']:.0%}"


def agent_table() -> str:
    rows = [(f"`{a.name}`", a.loop, a.model, a.tools, a.adjustable) for a in AGENTS]
    return markdown(("agent", "who drives", "model by", "tools by", "adjustable"), rows)


def planner_table() -> str:
    return markdown(("model", "its planning"), [(f"`simulated-{p.name}`", p.about) for p in PROFILES])


def verb_table() -> str:
    return markdown(("verb", "does"), [(f"`pdoctor {v}`", about) for v, about in VERBS.items() if _exists(v)])


def metric_table() -> str:
    return markdown(("metric", "what it is"), [(f"`{metric.name}`", metric.about) for metric in METRICS])


def settings_table() -> str:
    rows = [(f"`{variable}`", shown(default), about) for _, variable, default, about in settings.table()]
    return markdown(("variable", "default", "what it does"), rows)


def collector_settings_table(of: type[Settings] = Settings) -> str:
    """The options of `pdoctor serve` for a table of settings, each with the variable that it reads."""
    verb = serve.command_of(of)
    _name_variables(verb, "PDOCTOR_SERVE")
    defaults = {one.name: one.default for one in fields(of)}
    rows = [
        (f"`{one.opts[0]}`", variables_of(one), shown(defaults[one.name]), one.help)
        for one in verb.params
        if isinstance(one, click.Option)
    ]
    return markdown(("option", "variable", "default", "what it does"), rows)


def variables_of(option: click.Option) -> str:
    named = [option.envvar] if isinstance(option.envvar, str) else option.envvar or ()
    return " or ".join(f"`{name}`" for name in named)


def shown(default: object) -> str:
    return (
        "-"
        if default in ("", None, ())
        else f"`{str(default).lower() if isinstance(default, bool) else default}`"
    )


def synth_example() -> str:
    (case,) = generate(1, 4, Options(actions=(5, 5)))
    words = "\n".join(textwrap.wrap(case.paragraph, 100))
    return f"```console\n$ pdoctor synth --actions 5 --seed 4 | jq -r .paragraph\n{words}\n```"


def framework_names() -> str:
    names = [entry.load().title for entry in FRAMEWORKS]
    return "\n".join(textwrap.wrap("; ".join(names) + ".", 110, break_long_words=False))


def api_table() -> str:
    """Routes of the HTTP API, with the first sentence of what each does."""
    app = FastAPI(title="routes")
    for part in API:
        app.include_router(part.router)
    description.describe(app)
    rows = [
        (f"`{method.upper()} {path}`", _first_line(route.get("description") or route["summary"]))
        for path, methods in app.openapi()["paths"].items()
        for method, route in methods.items()
    ]
    return markdown(("route", "does"), rows)


def _first_line(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


Part = Callable[[], str]
PARTS: dict[str, dict[str, Part]] = {
    "README.md": {"framework names": framework_names},
    "docs/frameworks.md": {"frameworks": framework_table, "matrix": matrix},
    "docs/cli.md": {"verbs": verb_table},
    "docs/api.md": {"api": api_table},
    "docs/guard.md": {"guarded planners": guarded_planner_table},
    "docs/testing.md": {"agents": agent_table, "planners": planner_table},
    "docs/verdicts.md": {"synth": synth_example, "metrics": metric_table},
    "docs/settings.md": {"settings": settings_table, "collector settings": collector_settings_table},
}
"""Page -> its generated parts."""


def renewed(text: str, parts: Mapping[str, Part]) -> str:
    """A page with every generated part made anew."""
    for name, make in parts.items():
        before, opening, rest = text.partition(f"<!-- {name} -->")
        _, closing, after = rest.partition(f"<!-- /{name} -->")
        if not closing:
            raise SystemExit(f"no place for the generated part {name!r}")
        text = f"{before}{opening}\n{make()}\n{closing}{after}"
    return text


if __name__ == "__main__":
    for page, parts in PARTS.items():
        (ROOT / page).write_text(renewed((ROOT / page).read_text(), parts))
