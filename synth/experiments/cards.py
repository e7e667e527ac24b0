"""Result cards of suites: what one agent on one model came to, as JSON and as a page, and a leaderboard.

Two runs of one deterministic agent with one seed give the same card but for `times`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from synth.cases.case import Case
from synth.cases.generate import GENERATOR
from synth.errors import BadInput
from synth.experiments.rates import Rate
from synth.experiments.suites import Suite, chance_of, hash_of
from synth.experiments.tally import row_of
from synth.experiments.trial import Result
from synth.files import MIB, content_of
from synth.formal.model import ERROR_TYPES

KIND = "pdoctor card"
VERSION = 1
Card = Mapping[str, Any]
BASELINES = Path(__file__).parents[1] / "data" / "cards.jsonl"
"""Cards of the simulated planners on the frozen suites, one a line."""
MOST_FAILURES = 10
"""Failures that a card tells."""


def card_of(
    suite: Suite,
    cases: Sequence[Case],
    results: Sequence[Result],
    parameters: Mapping[str, Any],
    times: Mapping[str, Any],
    stopped: str | None = None,
) -> dict[str, Any]:
    """The card of one agent and model; `results` are in the order of the cases."""
    agent, model = results[0].agent, results[0].model
    row = row_of(agent, model, results)
    rate = Rate(row.passed, row.runs - row.errors - row.unsettled)
    return {
        "kind": KIND,
        "version": VERSION,
        "suite": {
            "name": suite.name,
            "about": suite.about,
            "seed": cases[0].seed,
            "frozen": hash_of(cases) == suite.hash,
            "hash": hash_of(cases),
            "generator": GENERATOR,
            "cases": len(cases),
            "max_tokens": suite.max_tokens,
            "chance": asdict(chance_of(cases)),
        },
        "agent": agent,
        "model": model,
        "parameters": dict(parameters),
        "pdoctor": metadata.version("pdoctor-trace"),
        "runs": row.runs,
        "passed": row.passed,
        "failed": {type: row.failed[type] for type in ERROR_TYPES if row.failed.get(type)},
        "errors": row.errors,
        "unsettled": row.unsettled,
        "pass_rate": rate.value,
        "interval": list(rate.interval),
        "by_actions": _by_actions(results),
        "tokens": sum(result.tokens for result in results),
        "stopped": stopped,
        "failures": list(_failures(results))[:MOST_FAILURES],
        "times": dict(times),
    }


def _by_actions(results: Sequence[Result]) -> list[dict[str, int]]:
    decided = [result for result in results if result.outcome in ("pass", "fail")]
    runs, passed = (
        Counter(r.actions for r in decided),
        Counter(r.actions for r in decided if r.outcome == "pass"),
    )
    return [{"actions": size, "runs": runs[size], "passed": passed[size]} for size in sorted(runs)]


def _failures(results: Sequence[Result]) -> Iterable[dict[str, Any]]:
    """Without words: which of several findings comes first may differ from run to run."""
    for result in results:
        if result.outcome == "fail":
            yield {"case": result.case_id, "error_type": result.error_type}


# ---------------------------------------------------------------- files


def read_cards(path: Path) -> list[dict[str, Any]]:
    """Cards of a file: one card, or one a line. Raises BadInput for anything else."""
    data = content_of(path, 256 * MIB)
    try:
        bodies = [orjson.loads(data)]
    except orjson.JSONDecodeError:
        bodies = [
            _json(line, path, number) for number, line in enumerate(data.splitlines(), 1) if line.strip()
        ]
    for number, body in enumerate(bodies, 1):
        if not isinstance(body, dict) or body.get("kind") != KIND:
            raise BadInput(
                "this is no card; expected a file that `pdoctor bench run` wrote", file=str(path), line=number
            )
        if body.get("version") != VERSION:
            raise BadInput(
                f"a card of version {body.get('version')!r}; this program reads version {VERSION}",
                file=str(path),
            )
    return bodies


def _json(line: bytes, path: Path, number: int) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error}", file=str(path), line=number) from error


def write_card(card: Card, folder: Path) -> tuple[Path, Path]:
    """The card as JSON and as a page, named by suite, seed where it is not frozen, agent and model."""
    suite = card["suite"]
    seed = () if suite["frozen"] else (f"seed{suite['seed']}",)
    name = "--".join(_file_name(part) for part in (suite["name"], *seed, card["agent"], card["model"]))
    json, page = folder / f"{name}.json", folder / f"{name}.html"
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in (
        (json, orjson.dumps(card, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)),
        (page, card_page(card).encode()),
    ):
        beside = path.with_name(f"{path.name}.new")
        beside.write_bytes(data)
        os.replace(beside, path)
    return json, page


def _file_name(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in ".-_" else "_" for letter in text)[:80]


# ---------------------------------------------------------------- pages

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #57606a; --line: #d0d7de; --back: #fff;
        --panel: #f3f5f7; --bar: #2f6fb3; --chance: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --quiet: #9198a1; --line: #30363d; --back: #0d1117; --panel: #161b22;
          --bar: #6cb0f5; --chance: #f0a35e; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
       color: var(--ink); background: var(--back); overflow-wrap: break-word; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem; }
.quiet { color: var(--quiet); }
.big { font-size: 2.6rem; font-weight: 600; margin: .5rem 0 0; line-height: 1.2; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding: .2rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
thead th { background: var(--panel); } .number { text-align: right; white-space: nowrap; }
svg.rate { display: block; width: 100%; min-width: 7rem; height: 1.1rem; }
svg .all { fill: var(--panel); } svg .bar { fill: var(--bar); }
svg .span { stroke: var(--ink); stroke-width: 2; } svg .chance { stroke: var(--chance); stroke-width: 2; }
@media (max-width: 40rem) {
  thead { display: none; } table, tbody, caption { display: block; }
  tr { display: block; border-bottom: 2px solid var(--line); padding: .4rem 0; }
  td, td.number { display: flex; gap: 1rem; justify-content: space-between; border: 0; padding: .15rem 0;
       text-align: right; white-space: normal; }
  td::before { content: attr(data-name); color: var(--quiet); text-align: left; white-space: nowrap; }
  td.bar { display: block; } td.bar::before { content: none; }
}
"""


def card_page(card: Card) -> str:
    """The card as one page that loads nothing from elsewhere."""
    suite, chance = card["suite"], card["suite"]["chance"]
    low, high = card["interval"]
    frozen = "frozen" if suite["frozen"] else f"drawn anew with seed {suite['seed']}"
    facts = (
        ("suite", f"{suite['name']}: {suite['about']}"),
        ("cases", f"{suite['cases']}, {frozen}, hash {suite['hash']}"),
        ("chance", f"{_percent(chance['random_order'])} for a blind order, "
                   f"{_percent(chance['order_of_mention'])} for the order of mention"),
        ("runs", f"{card['runs']}: {card['passed']} passed, {sum(card['failed'].values())} failed, "
                 f"{card['errors']} in error, {card['unsettled']} unsettled"),
        ("tokens", f"{card['tokens']:,} of at most {suite['max_tokens']:,}"),
        ("parameters", ", ".join(f"{name} = {value}" for name, value in card["parameters"].items())),
        ("measured", f"{card['times'].get('date', '')}, pdoctor-trace {card['pdoctor']}"),
    )  # fmt: skip
    body = [
        f"<h1>{escape(card['agent'])} on {escape(card['model'])}</h1>",
        f'<p class="quiet">{escape(suite["name"])}</p>',
        f'<p class="big">{_percent(card["pass_rate"])}</p>',
        f'<p class="quiet">of the decided runs; {_percent(low)} to {_percent(high)} (95 %)</p>',
        rate_bar(card),
        f"<p><strong>Stopped early by its budget: {escape(card['stopped'])}.</strong></p>"
        if card["stopped"]
        else "",
        _table("What was measured", ("fact", "value"), facts),
        _table(
            "Success by number of actions",
            ("actions", "runs", "passed"),
            [(size["actions"], size["runs"], size["passed"]) for size in card["by_actions"]],
        ),
        _table("Error types", ("type", "runs"), [*card["failed"].items()]) if card["failed"] else "",
        _table(
            f"Failures, the first {len(card['failures'])}",
            ("case", "type"),
            [(one["case"], one["error_type"]) for one in card["failures"]],
        )
        if card["failures"]
        else "",
    ]
    return _page(f"{card['agent']} on {card['model']}: {suite['name']}", body)


def board_page(cards: Iterable[Card], title: str = "Leaderboard") -> str:
    """A static page over many cards: a table a set of cases, the best first."""
    sets: dict[tuple[str, str], list[Card]] = {}
    for card in cards:
        sets.setdefault((card["suite"]["name"], card["suite"]["hash"]), []).append(card)
    body = [
        f"<h1>{escape(title)}</h1>",
        '<p class="quiet">Bars: share of passes among decided runs, the line its 95 % interval; the coloured '
        "mark is the chance level. Cards are compared only on the same cases. "
        "simulated-...: planners with a planted fault, which show what a rate means.</p>",
    ]
    body += [_board(group) for _, group in sorted(sets.items())]
    return _page(title, body)


def _board(cards: Sequence[Card]) -> str:
    suite, chance = cards[0]["suite"], cards[0]["suite"]["chance"]
    frozen = "frozen" if suite["frozen"] else f"seed {suite['seed']}"
    blind, mention = _percent(chance["random_order"]), _percent(chance["order_of_mention"])
    caption = (
        f"{suite['about']}; {suite['cases']} cases, {frozen}, hash {suite['hash']}; "
        f"chance: {blind} a blind order, {mention} the order of mention"
    )
    best_first = sorted(cards, key=lambda c: (-(c["pass_rate"] or 0), -c["runs"], c["agent"], c["model"]))
    rates = [card["pass_rate"] for card in best_first]
    rows = [_board_row(1 + rates.index(card["pass_rate"]), card) for card in best_first]
    names = ("rank", "agent", "model", "rate", "95 %", "", "error", "tokens", "most failures")
    return _filled(suite["name"], caption, names, rows)


def _board_row(rank: int, card: Card) -> tuple[object, ...]:
    low, high = card["interval"]
    worst = max(card["failed"].items(), key=lambda item: item[1], default=("", 0))
    often = f"{worst[0]} ({worst[1]})" if worst[0] else "none"
    early = " (stopped early)" if card["stopped"] else ""
    interval = f"{_percent(low)} to {_percent(high)}"
    settled = (card["pass_rate"], interval, Markup(rate_bar(card)), card["errors"])
    shown = (_percent(settled[0]) + early, *settled[1:])
    return (rank, card["agent"], card["model"], *shown, f"{card['tokens']:,}", often)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def rate_bar(card: Card) -> str:
    """The rate as a bar of 0 to 100 %, with its interval and the chance level; the numbers are beside it."""
    rate, (low, high) = card["pass_rate"] or 0.0, card["interval"]
    chance = max(card["suite"]["chance"].values())
    crisp = 'vector-effect="non-scaling-stroke"'
    return (
        '<svg class="rate" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="all" width="100" height="10"/>'
        f'<rect class="bar" width="{100 * rate:.1f}" height="10"/>'
        f'<line class="span" x1="{100 * low:.1f}" x2="{100 * high:.1f}" y1="5" y2="5" {crisp}/>'
        f'<line class="chance" x1="{100 * chance:.1f}" x2="{100 * chance:.1f}" y1="0" y2="10" {crisp}/></svg>'
    )


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    return "under 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


def _table(title: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return _filled(title, "", names, rows)


def _filled(title: str, caption: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    rows = [*rows]
    first = rows[0] if rows else names
    kinds = [' class="number"' if _is_number(value) else "" for value in first]
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(names, kinds, strict=True)
    )
    lines = "".join(
        "<tr>" + "".join(_cell(name, value) for name, value in zip(names, row, strict=True)) + "</tr>"
        for row in rows
    )
    return (
        f"<h2>{escape(title)}</h2><table>{said}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _is_number(value: object) -> bool:
    text = str(value).removesuffix("%").replace(",", "").replace(".", "", 1)
    return text.isdecimal() or value == "-"


def _cell(name: str, value: object) -> str:
    if isinstance(value, Markup):
        return f'<td class="bar" data-name="{escape(name)}">{value}</td>'
    kind = ' class="number"' if _is_number(value) else ""
    return f'<td{kind} data-name="{escape(name)}">{escape(str(value))}</td>'


def _page(title: str, body: Iterable[str]) -> str:
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
    )
    main = "".join(body)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body><main>{main}</main></body></html>\n'
