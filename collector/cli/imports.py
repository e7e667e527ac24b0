"""`pdoctor runs import`: runs that were recorded elsewhere, into a collector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
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
from collector.cli.runfiles import beginning, copied, is_otlp, is_pipe, unpacked
from synth.client import Collector, NoAnswer
from synth.counted import counted
from synth.errors import BadInput
from synth.observed import inspect_logs
from synth.observed.transcripts import read_any

if TYPE_CHECKING:
    from collector.otlp.exports import Form
    from synth.observed import Run

AT_ONCE = 100
"""Runs of one request."""
BYTES_AT_ONCE = 4 << 20
"""Of one request; a run that is bigger has one of its own."""
NAMED = 5
"""Records that were refused are told of up to here; the rest is counted."""
MOST_REFUSED = 1000
"""Records that cannot be read: of a file with so many no more is read."""


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
    with unpacked(_opened(name), said) as stream:
        if is_otlp(beginning(stream)):
            return _spans(collector, stream, said)
        if not inspect_logs.is_log(stream):
            from collector.otlp import exports

            if (form := exports.form_of(stream)) is not None:
                return _export(collector, stream, form, said)
        return _records(collector, stream, said)


def _opened(name: str) -> IO[bytes]:
    if not name:
        raise BadInput("the name of the file is empty: give a file, an address, or - for standard input")
    if is_url(name):
        return downloaded(name)
    return copied(name) if name == "-" or is_pipe(name) else open(name, "rb")


def _records(collector: Collector, stream: IO[bytes], name: str) -> Summary:
    is_log = inspect_logs.is_log(stream)
    summary = Summary(name, "Inspect log" if is_log else "run records or conversations")
    ids: dict[str, None] = {}
    bad_ones: list[BadInput] = []

    def refuse(bad: BadInput) -> None:
        bad_ones.append(bad)
        summary.refused.append(told_without_file(bad))
        if len(bad_ones) >= MOST_REFUSED:
            raise Hopeless

    if is_log:
        runs = inspect_logs.read(stream, name=name, refused=refuse)
    else:
        runs = read_any(stream, name=name, refused=refuse, by_content=True)
    try:
        for body in bodies(told_of(once_each(runs, summary.refused), f"runs of {name}")):
            said = collector.hand_in(body)
            ids |= dict.fromkeys(said["ids"])
            summary.refused += [one["reason"] for one in said["rejected"]]
        if len(bad_ones) >= MOST_REFUSED:
            summary.refused.append(f"what stands behind these {MOST_REFUSED}: it was not looked at")
    except NoAnswer as gone:
        raise NoAnswer(f"{gone}; {stored(name, len(ids))}") from None
    if bad_ones and not ids:
        raise bad_ones[0]
    if not ids and not summary.refused:
        raise BadInput("no run stands in it", file=name)
    summary.runs = [*ids]
    return summary


def stored(name: str, runs: int) -> str:
    """How far an import came that was cut off."""
    return (
        f"at least {counted(runs, 'run')} of {name} came there: import it again, nothing will be there twice"
    )


def told_without_file(bad: BadInput) -> str:
    """The line, the field and the reason."""
    said = str(BadInput(bad.message, field=bad.field))
    return said if bad.line is None else f"line {bad.line}: {said}"


def once_each(runs: Iterable[Run], refused: list[str]) -> Iterator[Run]:
    """The first run of each id; another one of that id which says something else is refused."""
    known: dict[str, bytes] = {}
    for run in _until_hopeless(runs):
        digest = blake2b(record_of(run), digest_size=16).digest()
        first = known.setdefault(run.id, digest)
        if first is digest:
            yield run
        elif first != digest:
            refused.append(f"run {run.id}: stands there twice and says different things; the first is taken")


class Hopeless(Exception):
    """Too much of a file cannot be read."""


def _until_hopeless(runs: Iterable[Run]) -> Iterator[Run]:
    with suppress(Hopeless):
        yield from runs


def record_of(run: Run) -> bytes:
    """The record of a run, as JSON."""
    import orjson

    return orjson.dumps(run.to_json(), option=orjson.OPT_NON_STR_KEYS)


def _export(collector: Collector, stream: IO[bytes], form: Form, name: str) -> Summary:
    """The spans that it tells of, as if they had been sent."""
    from collector.otlp.exports import requests_in_export

    summary = Summary(name, form.name)
    ids: dict[str, None] = {}

    def refuse(place: str, why: str) -> None:
        summary.refused.append(f"{place}: {why}")

    requests = requests_in_export(stream, form, file=name, refused=refuse)
    try:
        for request, spans in told_of(requests, f"requests of {name} sent"):
            collector.send_spans(request)
            summary.spans += len(spans)
            ids |= dict.fromkeys(span.run_id for span in spans)
    except NoAnswer as gone:
        raise NoAnswer(f"{gone}; {stored(name, len(ids))}") from None
    summary.runs = [*ids]
    return summary


def bodies(runs: Iterable[Run]) -> Iterator[bytes]:
    """The records of runs as JSON lines, a few in each."""
    lines: list[bytes] = []
    size = 0
    for run in runs:
        line = record_of(run)
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
