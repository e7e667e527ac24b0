"""`pdoctor runs import`: runs that were recorded elsewhere, into a collector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import click

from collector.cli.console import (
    clear_errors,
    collector_option,
    json_option,
    look_at,
    plain,
    told_of,
    write_json,
)
from collector.cli.downloads import downloaded, is_url, shown
from collector.cli.runfiles import beginning, copied, is_otlp, is_pipe, runs_of
from synth.client import Collector
from synth.counted import counted
from synth.errors import BadInput
from synth.observed import inspect_logs

if TYPE_CHECKING:
    from collector.otlp.exports import Form
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
        counts = ((self.runs, "run"), (self.spans, "span"))
        what = ", ".join(counted(n if isinstance(n, int) else len(n), word) for n, word in counts if n)
        lines = [f"{self.file}: {what or 'nothing'} ({self.form})"]
        lines += [f"  not taken: {plain(why)}" for why in self.refused[:NAMED]]
        more = len(self.refused) - NAMED
        return "\n".join([*lines, *([f"  and {more} more"] if more > 0 else [])])


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE|URL...")
@collector_option
@json_option
def command(files: tuple[str, ...], url: str, as_json: bool) -> None:
    """Load recorded runs into a collector, which judges them as those that were traced.

    FILE is `-` (standard input), an address (http or https, 1 GiB at most) or a file. It holds run records,
    conversations of OpenAI's or Anthropic's chat format, tau-bench results, OTLP as JSON lines or protobuf,
    spans of Phoenix (its client's data frame as JSON or Parquet), observations of Langfuse, runs of
    LangSmith, a log of Inspect or traces of the OpenAI Agents SDK. Whatever is loaded again is there once.

    \b
    pdoctor runs import runs.jsonl
    pdoctor runs import gpt-4o-airline.json traces.jsonl
    pdoctor runs import https://example.org/trajectories.json
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
            look_at(f"{collector.url}/")
        raise SystemExit(1 if refused else 0)


def load(collector: Collector, name: str) -> Summary:
    """Send all that a file or an address holds; BadInput names the place of what cannot be read."""
    said = "standard input" if name == "-" else shown(name) if is_url(name) else name
    with _opened(name) as stream:
        if is_otlp(beginning(stream)):
            return _spans(collector, stream, said)
        if not inspect_logs.is_log(stream):
            from collector.otlp import exports

            if (form := exports.form_of(stream)) is not None:
                return _export(collector, stream, form, said)
        return _records(collector, stream, said)


def _opened(name: str) -> IO[bytes]:
    if is_url(name):
        return downloaded(name)
    return copied(name) if name == "-" or is_pipe(name) else open(name, "rb")


def _records(collector: Collector, stream: IO[bytes], name: str) -> Summary:
    summary = Summary(name, "Inspect log" if inspect_logs.is_log(stream) else "run records or conversations")
    ids: dict[str, None] = {}
    for body in bodies(told_of(runs_of(stream, name), f"runs of {name}")):
        said = collector.hand_in(body)
        ids |= dict.fromkeys(said["ids"])
        summary.refused += [f"{one['place']}: {one['reason']}" for one in said["rejected"]]
    if not ids and not summary.refused:
        raise BadInput("no run stands in it", file=name)
    summary.runs = [*ids]
    return summary


def _export(collector: Collector, stream: IO[bytes], form: Form, name: str) -> Summary:
    """The spans that it tells of, as if they had been sent."""
    from collector.otlp.exports import requests_in_export

    summary = Summary(name, form.name)
    ids: dict[str, None] = {}

    def refuse(place: str, why: str) -> None:
        summary.refused.append(f"{place}: {why}")

    requests = requests_in_export(stream, form, file=name, refused=refuse)
    for request, spans in told_of(requests, f"requests of {name} sent"):
        collector.send_spans(request)
        summary.spans += len(spans)
        ids |= dict.fromkeys(span.run_id for span in spans)
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


def _spans(collector: Collector, stream: IO[bytes], name: str) -> Summary:
    """Spans are sent as they are: the collector keeps them, and reads the runs from them."""
    from collector.otlp.files import requests_in

    summary = Summary(name, "OTLP")
    for request, spans in told_of(requests_in(stream, file=name), f"requests of {name} sent"):
        summary.spans += spans
        collector.send_spans(request)
    if not summary.spans:
        raise BadInput("no span stands in it", file=name)
    return summary
