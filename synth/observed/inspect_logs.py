"""Logs of Inspect (UK AI Security Institute), `.json` and `.eval`: each sample is a run.

Its messages say what was asked and answered, its tool events when a call ran. A sample that ended in an error
of the harness is a crash; one that reached a limit of time is a timeout.
"""

from __future__ import annotations

import codecs
import io
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import IO, Any

from synth.errors import BadInput
from synth.observed.fields import kind_of
from synth.observed.lines import Refused, parse_json
from synth.observed.run import Run, run_from_json
from synth.observed.transcripts import run_of_transcript

ZIP = b"PK\x03\x04"
ZSTANDARD = 93
"""Number of the way in which newer releases compress a log."""
MOST_MIB = 256
"""Of one log, or of one sample of an `.eval` file."""
TIMED_OUT = ("time", "working")
"""Limits that are of time."""


def is_log(stream: IO[bytes]) -> bool:
    """Does a seekable stream hold a log of Inspect?"""
    stream.seek(0)
    head = stream.read(65_536).removeprefix(codecs.BOM_UTF8)
    stream.seek(0)
    if head.startswith(ZIP):
        return True
    return head.lstrip()[:1] == b"{" and b'"eval"' in head and b'"task_id"' in head and b'"eval_id"' in head


def read(stream: IO[bytes], *, name: str, refused: Refused | None = None) -> Iterator[Run]:
    """The runs of a log; BadInput names the file and the sample of what cannot be read.

    `refused`, where it is given, is told of such a sample instead.
    """
    header, samples = _parts(stream, name)
    for place, sample in samples:
        try:
            yield _run(sample, header)
        except BadInput as bad:
            told = BadInput(f"{place}: {bad.message}", file=name, field=bad.field)
            if refused is None:
                raise told from None
            refused(told)


def _parts(stream: IO[bytes], name: str) -> tuple[Mapping[str, Any], Iterator[tuple[str, Any]]]:
    """What the log says of the whole evaluation, and the samples with their places."""
    stream.seek(0)
    if stream.read(len(ZIP)) == ZIP:
        return _zipped(stream, name)
    stream.seek(0)
    log = _object(parse_json(_bounded(stream, name), file=name), "the log", name)
    samples = log.get("samples")
    if not isinstance(samples, list):
        raise BadInput(f"expected a list of samples, got {kind_of(samples)}", file=name, field="samples")
    return _object(log.get("eval"), "eval", name), ((f"samples[{k}]", one) for k, one in enumerate(samples))


def _zipped(stream: IO[bytes], name: str) -> tuple[Mapping[str, Any], Iterator[tuple[str, Any]]]:
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
        raise BadInput(f"no log that can be read: {problem}", file=name) from None
    listed = [one for one in archive.infolist() if one.filename.startswith("samples/")]
    start = next(
        (one for one in archive.infolist() if one.filename in ("header.json", "_journal/start.json")), None
    )
    if start is None:
        raise BadInput("a zip file without `header.json`: expected a log of Inspect", file=name)
    header = _object(_member(archive, stream, start, name), start.filename, name)
    samples = ((one.filename, _member(archive, stream, one, name)) for one in listed)
    return _object(header.get("eval"), "eval", name), samples


def _member(archive: zipfile.ZipFile, stream: IO[bytes], info: zipfile.ZipInfo, name: str) -> Any:
    if info.file_size > MOST_MIB << 20:
        raise BadInput(f"{info.filename} has over {MOST_MIB} MiB", file=name)
    try:
        if info.compress_type == ZSTANDARD:
            text = _zstandard(stream, info, name)
        else:
            with archive.open(info) as member:
                text = member.read((MOST_MIB << 20) + 1)
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError, RuntimeError) as problem:
        raise BadInput(f"{info.filename} cannot be read: {problem}", file=name) from None
    try:
        return parse_json(text)
    except BadInput as bad:
        raise BadInput(f"{info.filename}: {bad.message}", file=name) from None


def _zstandard(stream: IO[bytes], info: zipfile.ZipInfo, name: str) -> bytes:
    """A part that this Python's own reader of zip files cannot unpack."""
    try:
        import zstandard
    except ImportError:
        raise BadInput(
            "its parts are compressed with Zstandard: pip install zstandard, or "
            "`inspect log convert --to json`",
            file=name,
        ) from None
    stream.seek(info.header_offset)
    head = stream.read(30)
    if len(head) < 30 or not head.startswith(ZIP):
        raise BadInput(f"{info.filename} is not where the list of the zip file says", file=name)
    stream.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), io.SEEK_CUR)
    packed = io.BytesIO(stream.read(info.compress_size))
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            return bytes(reader.read((MOST_MIB << 20) + 1))
    except zstandard.ZstdError as problem:
        raise OSError(str(problem)) from None


def _bounded(stream: IO[bytes], name: str) -> bytes:
    text = stream.read((MOST_MIB << 20) + 1)
    if len(text) > MOST_MIB << 20:
        raise BadInput(f"over {MOST_MIB} MiB: convert it to .eval", file=name)
    return text.removeprefix(codecs.BOM_UTF8)


def _object(value: Any, what: str, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(f"expected an object, got {kind_of(value)}", file=name, field=what)
    return value


def _run(sample: Any, header: Mapping[str, Any]) -> Run:
    if not isinstance(sample, Mapping):
        raise BadInput(f"expected a sample, got {kind_of(sample)}")
    messages = sample.get("messages")
    if not isinstance(messages, list):
        raise BadInput(f"expected a list of messages, got {kind_of(messages)}", field="messages")
    told = [_message(message, f"messages[{k}]") for k, message in enumerate(messages)]
    said = {
        "messages": told,
        "tools": _offered(sample),
        "source": "inspect",
        "agent": header.get("task"),
        "model": header.get("model"),
    }
    read_ = run_of_transcript(said, name=_name(sample, header)).to_json()
    events, unread = _tool_events(sample), _unread(messages)
    for call in read_["calls"]:
        call |= _times(events.get((call["id"], call["name"]), []))
        call |= {"executed": False} if call["id"] in unread else {}
    error, limit = sample.get("error"), sample.get("limit")
    status = "crash" if error else "timeout" if _limit(limit) in TIMED_OUT else "ok"
    metadata = sample.get("metadata")
    facts = (
        {key: value for key, value in metadata.items() if key not in read_}
        if isinstance(metadata, Mapping)
        else {}
    )
    labels = {key: sample[key] for key in ("scores", "epoch", "limit") if sample.get(key) is not None}
    version = header.get("task_version")
    versions = {} if version in (None, 0) else {"agent": str(version)}
    return run_from_json({**facts, **read_, "status": status, "labels": labels, "versions": versions})


def _name(sample: Mapping[str, Any], header: Mapping[str, Any]) -> str:
    if isinstance(sample.get("uuid"), str) and sample["uuid"]:
        return str(sample["uuid"])
    parts = (header.get("run_id") or header.get("eval_id"), sample.get("id"), sample.get("epoch"))
    return "-".join(str(part) for part in parts if part is not None)


def _message(message: Any, where: str) -> dict[str, Any]:
    """A message in the chat format of OpenAI, of which Inspect's is a plainer form."""
    if not isinstance(message, Mapping):
        raise BadInput(f"expected a message, got {kind_of(message)}", field=where)
    calls = message.get("tool_calls")
    asked = [
        {"id": call.get("id"), "function": {"name": call.get("function"), "arguments": _asked(call)}}
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, Mapping)
    ]
    error = message.get("error")
    if message.get("role") == "tool" and isinstance(error, Mapping):
        block = {
            "type": "tool_result", "tool_use_id": message.get("tool_call_id"), "is_error": True,
            "content": str(error.get("message") or error.get("type") or "failed"),
        }  # fmt: skip
        return {"role": "user", "content": [block]}
    return {**message, "tool_calls": asked}


def _asked(call: Mapping[str, Any]) -> Any:
    """The arguments; those that could not be read are the model's own text."""
    raw = call.get("raw_arguments") if call.get("parse_error") else None
    return call.get("arguments") if raw is None else raw


def _tool_events(sample: Mapping[str, Any]) -> dict[tuple[Any, Any], list[Mapping[str, Any]]]:
    """The events of calls by id and tool, in order."""
    found: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    events = sample.get("events")
    for event in events if isinstance(events, list) else ():
        if isinstance(event, Mapping) and event.get("event") == "tool":
            found.setdefault((event.get("id"), event.get("function")), []).append(event)
    return found


def _unread(messages: list[Any]) -> set[Any]:
    """Calls that Inspect did not run: there is no such tool, or the arguments are not its."""
    errors = {one.get("tool_call_id"): one.get("error") for one in messages if isinstance(one, Mapping)}
    return {
        call
        for call, error in errors.items()
        if isinstance(call, str) and isinstance(error, Mapping) and error.get("type") == "parsing"
    }


def _offered(sample: Mapping[str, Any]) -> list[str] | None:
    """The tools of the first request to a model that has any."""
    events = sample.get("events")
    for event in events if isinstance(events, list) else ():
        tools = event.get("tools") if isinstance(event, Mapping) and event.get("event") == "model" else None
        listed = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
        names = [name for tool in listed if isinstance(name := tool.get("name"), str)]
        if names:
            return names
    return None


def _times(events: list[Mapping[str, Any]]) -> dict[str, float]:
    """When the next call of one id began and ended, as far as its event says it."""
    if not events:
        return {}
    event = events.pop(0)
    start, end = _seconds(event.get("timestamp")), _seconds(event.get("completed"))
    if start is None or end is None or end < start:
        return {}
    return {"start": start, "end": end}


def _seconds(said: Any) -> float | None:
    try:
        at = datetime.fromisoformat(said) if isinstance(said, str) else None
    except ValueError:
        return None
    return None if at is None else (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _limit(said: Any) -> Any:
    return said.get("type") if isinstance(said, Mapping) else said
