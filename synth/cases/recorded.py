"""Cases made from recorded runs: the request, the tools with what they answered, the rules of the run.

The JSON spelling is public: see "Recorded case" in `docs/formats.md`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from synth.cases.case import Case, case_from_json
from synth.errors import BadInput
from synth.observed.fields import kind_of, object_in, text_in
from synth.observed.lines import json_lines
from synth.observed.run import Run, run_from_json

FIELDS = ("id", "query", "tools", "run", "rules", "found", "case", "from")
CALLS, DEFINITION = "calls", "definition"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the recorded run was offered or called."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments."""
    known_from: str = DEFINITION
    """`definition`, or `calls`: nobody recorded its schema, and this one fits the recorded calls."""

    def to_json(self) -> dict[str, Any]:
        said = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return said if self.known_from == DEFINITION else {**said, "known_from": self.known_from}


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The policies of one file that were for the run."""

    name: str
    text: str
    """YAML, as `load_policies` reads it."""
    version: int | None = None
    """Of the file at the collector."""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, "text": self.text}


@dataclass(frozen=True, slots=True)
class Found:
    """What was found about the recorded run."""

    outcome: str
    """`pass`, `fail`, `open`, `undecided`, `error` or `unbound`."""
    policies: Mapping[str, str] = field(default_factory=dict)
    """`FILE/POLICY` -> verdict."""
    error_type: str | None = None
    """Of the synthesized case, where there is one."""

    def to_json(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "error_type": self.error_type, "policies": dict(self.policies)}


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """A recorded run as a test: the same request again, with the recorded answers of its tools."""

    id: str
    query: str
    tools: tuple[Tool, ...]
    run: Run
    rules: tuple[RuleFile, ...]
    found: Found
    case: Case | None = None
    """The synthesized case that the run was bound to."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Where the run is: `run_id`, and `collector` where it was read from one."""

    @property
    def replies(self) -> list[tuple[int, Any]]:
        """What the user said after the request: the number of calls made before it, and the content."""
        said = [m for m in self.run.extra.get("messages") or () if m.get("role") == "user"]
        return [(m.get("before_call") or 0, m.get("content")) for m in said[1:]]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "query": self.query,
            "tools": [tool.to_json() for tool in self.tools],
            "run": self.run.to_json(),
            "rules": [rules.to_json() for rules in self.rules],
            "found": self.found.to_json(),
            "case": None if self.case is None else self.case.to_json(),
            "from": dict(self.source),
        }


def recorded_case_from_json(said: Any) -> RecordedCase:
    """A recorded case from its JSON object; BadInput for anything that is none."""
    if not isinstance(said, dict):
        raise BadInput(f"a recorded case is a JSON object, got {kind_of(said)}")
    if "run" not in said and "constraints" in said:
        raise BadInput(
            "a synthesized case, and none from a run: `pdoctor test AGENT --cases FILE` runs those"
        )
    if "run" not in said and "calls" in said:
        raise BadInput("a run, and no case: `pdoctor runs import` it, then `pdoctor cases from-run`")
    for name in ("id", "query"):
        if not text_in(said, name):
            raise BadInput("a recorded case needs this text", field=name)
    if strange := sorted(said.keys() - set(FIELDS)):
        raise BadInput(f"unknown field {strange[0]!r} (expected {', '.join(FIELDS)})")
    try:
        run = run_from_json(said.get("run"))
    except BadInput as bad:
        raise BadInput(bad.message, field=f"run.{bad.field}" if bad.field else "run") from None
    case = said.get("case")
    return RecordedCase(
        said["id"],
        said["query"],
        tuple(_tool(tool, f"tools[{i}]") for i, tool in enumerate(_list(said, "tools"))),
        run,
        tuple(_rules(rules, f"rules[{i}]") for i, rules in enumerate(_list(said, "rules"))),
        _found(object_in(said, "found")),
        None if case is None else case_from_json(case),
        object_in(said, "from"),
    )


def _list(said: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = said.get(name)
    if not isinstance(value, list):
        raise BadInput(f"expected a list, got {kind_of(value)}", field=name)
    return value


def _tool(said: Any, where: str) -> Tool:
    if not isinstance(said, dict) or not text_in(said, "name", where):
        raise BadInput("expected a tool with a name", field=where)
    parameters = object_in(said, "parameters")
    return Tool(
        said["name"], text_in(said, "description", where) or "", parameters,
        text_in(said, "known_from", where) or DEFINITION,
    )  # fmt: skip


def _rules(said: Any, where: str) -> RuleFile:
    if not isinstance(said, dict) or not text_in(said, "name", where) or not text_in(said, "text", where):
        raise BadInput("expected rules with a name and a text", field=where)
    return RuleFile(said["name"], said["text"], said.get("version"))


def _found(said: Mapping[str, Any]) -> Found:
    outcome = text_in(said, "outcome", "found")
    return Found(outcome or "unbound", object_in(said, "policies"), text_in(said, "error_type", "found"))


def read_recorded(source: str | Path) -> list[RecordedCase]:
    """The cases of a JSON-lines file (`-`: standard input); BadInput names file, line and field."""
    name = "standard input" if str(source) == "-" else str(source)
    try:
        with nullcontext(sys.stdin.buffer) if str(source) == "-" else Path(source).open("rb") as stream:
            cases = list(_read(stream, name))
    except OSError as problem:
        raise BadInput(f"cannot be read: {problem.strerror or problem}", file=name) from problem
    if not cases:
        raise BadInput("no case stands in it: `pdoctor cases from-run ID` makes one", file=name)
    return cases


def _read(stream: IO[bytes], file: str) -> Iterator[RecordedCase]:
    lines: dict[str, int] = {}
    for line, said in json_lines(stream, file):
        try:
            case = recorded_case_from_json(said)
        except BadInput as bad:
            raise bad.at(file=file, line=line) from None
        if case.id in lines:
            raise BadInput(
                f"the id {case.id!r} was already used in line {lines[case.id]}", file=file, line=line
            )
        lines[case.id] = line
        yield case


_TESTS = '''"""Recorded runs as tests: an agent against what its tools answered then."""

from pathlib import Path

import pytest

from synth import read_recorded

AGENT = "{agent}"  # "module:function"; "recorded" does again what the recorded agent did
CASES = read_recorded(Path(__file__).parent / "{cases}")


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_recorded_run(pdoctor, case):
    pdoctor.replay(case, AGENT)
'''


def tests_of(cases: str, agent: str) -> str:
    """The tests of a file of recorded cases, which lies at this place beside them."""
    return _TESTS.format(agent=agent, cases=cases)


def definitions_in(value: Any) -> list[dict[str, Any]]:
    """The definitions of tools in an attribute of a span, which has them as JSON text."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list | tuple) else []


def tools_of(run: Run, definitions: Iterable[Mapping[str, Any]] = ()) -> tuple[Tool, ...]:
    """The tools that a run was offered or called; `definitions` as model calls were given them.

    A tool without a schema there has one that fits its recorded calls.
    """
    defined = {tool.name: tool for tool in map(_defined, definitions) if tool is not None}
    names = dict.fromkeys([*(run.tools or ()), *(call.tool for call in run.calls)])
    return tuple(defined[name] if name in defined else _guessed(name, run) for name in names)


def _defined(said: Mapping[str, Any]) -> Tool | None:
    """OpenAI's nested or flat form, or Anthropic's; None where it says no schema."""
    inner = said.get("function") if isinstance(said.get("function"), Mapping) else said
    assert isinstance(inner, Mapping)
    name, parameters = inner.get("name"), inner.get("parameters", inner.get("input_schema"))
    if not isinstance(name, str) or not isinstance(parameters, Mapping):
        return None
    about = inner.get("description")
    return Tool(name, about if isinstance(about, str) else "", parameters)


def _guessed(name: str, run: Run) -> Tool:
    given = [c.arguments for c in run.calls if c.tool == name and isinstance(c.arguments, Mapping)]
    properties: dict[str, Any] = {}
    for arguments in given:
        for argument, value in arguments.items():
            properties.setdefault(argument, {}).update(_type(value))
    required = [argument for argument in properties if all(argument in one for one in given)]
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool(name, f"Recorded tool {name}.", schema, CALLS)


def _type(value: Any) -> dict[str, Any]:
    kinds = ((bool, "boolean"), (str, "string"), (int | float, "number"), (list, "array"), (dict, "object"))
    kind = next((kind for of, kind in kinds if isinstance(value, of)), None)
    if kind == "array":
        return {"type": kind, "items": {}}  # some providers refuse a list of nobody knows what
    return {} if kind is None else {"type": kind}
