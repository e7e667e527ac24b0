"""`pdoctor runs import`: runs that were recorded elsewhere, into a collector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import clear_errors, collector_option, json_option, plain, write_json
from collector.cli.runfiles import RunFile, beginning, is_otlp, is_pipe
from synth.client import Collector
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.observed import Run

AT_ONCE = 100
"""Runs of one request."""
BYTES_AT_ONCE = 4 << 20
"""Of one request; a run that is bigger has one of its own."""
NAMED = 5
"""Records that were refused are told of up to here; the rest is counted."""


@dataclass
class Summary:
    """What was read of one file, and what became of it."""

    file: str
    form: str
    runs: list[str] = field(default_factory=list)
    """Ids at the collector, once each."""
    spans: int = 0
    refused: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        known = {"file": self.file, "form": self.form, "runs": self.runs, "refused": self.refused}
        return {**known, "spans": self.spans} if self.spans else known

    def __str__(self) -> str:
        what = counted(self.spans, "span") if self.spans else counted(len(self.runs), "run")
        lines = [f"{self.file}: {what} ({self.form})"]
        lines += [f"  not taken: {plain(why)}" for why in self.refused[:NAMED]]
        more = len(self.refused) - NAMED
        return "\n".join([*lines, *([f"  and {more} more"] if more > 0 else [])])


def counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@collector_option
@json_option
def command(files: tuple[str, ...], url: str, as_json: bool) -> None:
    """Load recorded runs into a collector, which judges them as those that were traced.

    FILE is `-` (standard input) or holds run records, conversations of OpenAI's or Anthropic's chat format,
    tau-bench results, or OTLP as JSON lines or protobuf. Whatever is loaded again is there once.

    \b
    pdoctor runs import runs.jsonl
    pdoctor runs import gpt-4o-airline.json traces.jsonl
    """
    with clear_errors(), Collector(url) as collector:
        refused = 0
        for name in files:
            summary = load(collector, name)
            refused += len(summary.refused)
            if as_json:
                write_json(summary.to_json())
            else:
                click.echo(str(summary))
        if not as_json:
            click.echo(f"Look: {collector.url}/")
        raise SystemExit(1 if refused else 0)


def load(collector: Collector, name: str) -> Summary:
    """Send all that a file holds; BadInput names the place of what cannot be read."""
    if name != "-" and not is_pipe(name) and Path(name).is_file() and _has_spans(name):
        return _spans(collector, name)
    summary = Summary("standard input" if name == "-" else name, "run records or conversations")
    ids: dict[str, None] = {}
    with RunFile(name) as source:
        for body in bodies(source.runs()):
            said = collector.hand_in(body)
            ids |= dict.fromkeys(said["ids"])
            summary.refused += [f"{one['place']}: {one['reason']}" for one in said["rejected"]]
    summary.runs = [*ids]
    return summary


def bodies(runs: Iterable[Run]) -> Iterator[bytes]:
    """The records of runs as JSON lines, a few in each."""
    import orjson

    lines: list[bytes] = []
    size = 0
    for run in runs:
        line = orjson.dumps(run.to_json(), option=orjson.OPT_NON_STR_KEYS)
        if lines and (len(lines) == AT_ONCE or size + len(line) > BYTES_AT_ONCE):
            yield b"\n".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield b"\n".join(lines)


def _has_spans(name: str) -> bool:
    with open(name, "rb") as stream:
        return is_otlp(beginning(stream))


def _spans(collector: Collector, name: str) -> Summary:
    """Spans are sent as they are: the collector keeps them, and reads the runs from them."""
    from collector.otlp.files import requests_in

    summary = Summary(name, "OTLP")
    with open(name, "rb") as stream:
        for request, spans in requests_in(stream, file=name):
            summary.spans += spans
            collector.send_spans(request)
    if not summary.spans:
        raise BadInput("no span stands in it", file=name)
    return summary
