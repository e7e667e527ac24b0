"""Which tools there are, what they take and give, and which may follow which (m&m's, section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.errors import BadInput

Types = Mapping[str, str | None]
"""Name -> type; None = not said, which fits every other."""


@dataclass(frozen=True, slots=True)
class PlanTool:
    """A tool as plans see it."""

    name: str
    inputs: Types = field(default_factory=dict)
    outputs: Types | None = None
    """None: not said, so that any key may be used."""
    optional: frozenset[str] = frozenset()
    """Of the inputs, those that a step may leave out."""
    description: str = ""

    @property
    def identifier(self) -> str:
        """The name as Python code writes it."""
        return self.name.replace(" ", "_").replace("-", "_")

    @property
    def signature(self) -> tuple[Any, ...]:
        """Tools with equal ones can stand for each other, where all their types are said."""
        return tuple(sorted(self.inputs.items(), key=str)), tuple(
            sorted((self.outputs or {}).items(), key=str)
        )

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputs": dict(self.inputs),
        }
        if self.outputs is not None:
            said["outputs"] = dict(self.outputs)
        return said | ({"optional": sorted(self.optional)} if self.optional else {})


@dataclass(frozen=True, slots=True)
class ToolGraph:
    """Tools by name, and the connections that are allowed."""

    tools: Mapping[str, PlanTool]
    edges: frozenset[tuple[str, str]] | None = None
    """(from, to) of all that are allowed; None = those whose types fit."""

    def connects(self, source: str, key: str | None, target: str, argument: str) -> bool:
        """May this output of a tool be this argument of another?"""
        if self.edges is not None:
            return (source, target) in self.edges
        gives = (self.tools[source].outputs or {}).get(key or "")
        takes = self.tools[target].inputs.get(argument)
        return gives is None or takes is None or gives == takes

    def by_identifier(self, identifier: str) -> str:
        """The name of the tool that code calls so; the identifier itself where there is none."""
        if identifier in self.tools:
            return identifier
        return next((tool.name for tool in self.tools.values() if tool.identifier == identifier), identifier)


def graph_from_json(tools: Any, edges: Any = None) -> ToolGraph:
    """A graph from a list of tools and, where they are declared, a list of `[from, to]`.

    A tool is `{"name", "inputs", "outputs"?, "optional"?, "description"?}`, inputs and outputs each a list of
    names or an object name -> type; or a function specification, `{"name", "parameters"}` with a JSON schema.
    An object with `tools` and `edges` is taken too. BadInput for what is not that.
    """
    if isinstance(tools, Mapping) and "tools" in tools:
        tools, edges = tools["tools"], tools.get("edges") if edges is None else edges
    if not isinstance(tools, list):
        raise BadInput("the tools are a list of objects", field="tools")
    read = [_tool(one, f"tools[{at}]") for at, one in enumerate(tools)]
    named = {tool.name: tool for tool in read}
    if len(named) < len(read):
        raise BadInput("each tool needs a name of its own", field="tools")
    return ToolGraph(named, None if edges is None else _edges(edges))


def _edges(said: Any) -> frozenset[tuple[str, str]]:
    if not isinstance(said, list) or not all(
        isinstance(one, list) and len(one) == 2 and all(isinstance(name, str) for name in one) for one in said
    ):
        raise BadInput("the edges are a list of [from, to], each a tool's name", field="edges")
    return frozenset((first, then) for first, then in said)


def _tool(said: Any, where: str) -> PlanTool:
    if isinstance(said, Mapping) and isinstance(said.get("function"), Mapping):
        said = said["function"]
    if not isinstance(said, Mapping) or not isinstance(said.get("name"), str):
        raise BadInput('a tool is an object with "name", "inputs" and "outputs"', field=where)
    schema = said.get("parameters", said.get("inputSchema"))
    if "inputs" not in said and isinstance(schema, Mapping):
        inputs = _types(list(schema.get("properties") or ()), f"{where}.parameters")
        required = _types(list(schema.get("required") or ()), f"{where}.parameters")
        optional = frozenset(inputs.keys() - required.keys())
    else:
        inputs = _types(said.get("inputs", []), f"{where}.inputs")
        optional = frozenset(_types(said.get("optional", []), f"{where}.optional"))
    outputs = None if said.get("outputs") is None else _types(said["outputs"], f"{where}.outputs")
    return PlanTool(said["name"], inputs, outputs, optional, str(said.get("description") or ""))


def _types(said: Any, where: str) -> Types:
    if isinstance(said, Sequence) and not isinstance(said, str) and all(isinstance(one, str) for one in said):
        return dict.fromkeys(said)
    if isinstance(said, Mapping) and all(isinstance(one, str | None) for one in said.values()):
        return {str(name): type for name, type in said.items()}
    raise BadInput("names in a list, or an object of name and type", field=where)
