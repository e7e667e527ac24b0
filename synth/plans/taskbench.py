"""TaskBench's metrics of tool graphs, as its evaluator counts them.

A sample has nodes (tools with arguments) and links. With `temporal` dependency the links are given; with
`resource` they are read from `<node-i>` in the arguments, i being a position. Deviation: what refers to a
node that is not there has no label, where the evaluator takes over what it read before, the gold plan's last
argument at first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from synth.errors import BadInput
from synth.plans.scores import averaged, edit_distance, pooled

Dependency = Literal["temporal", "resource"]

_NODE = re.compile(r"<node-([0-9]{1,9})>")
_MEDIA = {
    "image": ("jpg", "png", "jpeg", "gif", "bmp", "tiff", "svg", "ico"),
    "audio": ("mp3", "wav", "wma", "ogg", "aac", "flac", "aiff", "au"),
    "video": ("mp4", "avi", "mov", "flv", "wmv", "mkv", "webm", "m4v", "mpg", "mpeg"),
}
UNKNOWN = 0
"""In the edit distance all tools that are not listed are equal."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a domain, with what each gives first."""

    outputs: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.outputs)


@dataclass(frozen=True, slots=True)
class Sample:
    """What is compared of a gold plan or of a prediction."""

    tools: tuple[str, ...]
    argnames: frozenset[Hashable]
    """(tool, name) of every argument."""
    argvalues: frozenset[Hashable]
    links: frozenset[Hashable]


def tools_from_json(said: Any) -> Tools:
    """From a list of `{"id", "output-type"?}`. BadInput where it is not that."""
    if not isinstance(said, list) or not all(isinstance(one, Mapping) and "id" in one for one in said):
        raise BadInput('the tools are a list of objects with "id"', field="tools")
    return Tools({str(one["id"]): str((one.get("output-type") or ["none"])[0]) for one in said})


def sample_of(said: Any, dependency: Dependency, tools: Tools) -> Sample:
    """From `{"task_nodes", "task_links"}`; what cannot be read of it is left out."""
    nodes = [node for node in _listed(said, "task_nodes") if isinstance(node, Mapping)]
    if dependency == "temporal":
        found = {
            (str(link.get("source")), str(link.get("target")))
            for link in _listed(said, "task_links")
            if isinstance(link, Mapping)
        }
        named = [(str(node.get("task")), _given(node)) for node in nodes]
        return _sample([(tool, one) for tool, given in named for one in given], [n for n, _ in named], found)
    return _of_resources(nodes, tools)


def corpus_scores(pairs: Sequence[tuple[Sample, Sample]], tools: Collection[str]) -> dict[str, float]:
    """The evaluator's numbers over (gold, prediction) samples, under its names; each from 0 to 1."""
    known = frozenset(tools)
    names = [(known.intersection(gold.tools), known.intersection(said.tools)) for gold, said in pairs]
    micro, macro = pooled(names), averaged(names, list(tools))
    said: dict[str, float] = {"all_samples": len(pairs), "node_supports": len(pairs)}
    for kind, found in (("micro", micro), ("macro", macro)):
        for part in ("precision", "recall", "f1"):
            said[f"node_{kind}_{part}_no_matching"] = getattr(found, part)
    argument = "argument_task_argname{}_binary_f1_no_matching"
    said[argument.format("")] = pooled((g.argnames, p.argnames) for g, p in pairs).f1
    said[argument.format("_value")] = pooled((g.argvalues, p.argvalues) for g, p in pairs).f1
    distances = [edit_distance(_known(gold, known), _known(one, known)) for gold, one in pairs]
    said["edit_distance"] = sum(distances) / len(pairs) if pairs else 0.0
    said["link_binary_f1"] = pooled((gold.links, one.links) for gold, one in pairs).f1
    return said


def media_type(value: str) -> str:
    """Guessed from a file's ending anywhere in the value; text where there is none."""
    return next((kind for kind, ends in _MEDIA.items() if any(f".{end}" in value for end in ends)), "text")


def _known(sample: Sample, tools: frozenset[str]) -> list[Hashable]:
    return [tool if tool in tools else UNKNOWN for tool in sample.tools]


def _of_resources(nodes: Sequence[Mapping[str, Any]], tools: Tools) -> Sample:
    names = [str(node.get("task")).replace("_", " ") for node in nodes]
    given: list[tuple[str, tuple[str, str]]] = []
    links = set()
    for at, node in enumerate(nodes):
        for value in _resource_values(node):
            reference = _NODE.search(value)
            if reference is None:
                given.append((names[at], (media_type(value), value)))
            elif at != int(reference[1]) < len(nodes):
                source = names[int(reference[1])]
                links.add((source, str(node.get("task"))))
                given.append((names[at], (tools.outputs.get(source, "other"), source)))
    return _sample(given, names, links)


def _sample(
    given: Sequence[tuple[str, tuple[str, str]]], tools: Sequence[str], links: Collection[Hashable]
) -> Sample:
    return Sample(
        tuple(tools),
        frozenset((tool, name) for tool, (name, _) in given),
        frozenset((tool, name, value) for tool, (name, value) in given),
        frozenset(links),
    )


def _given(node: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (str(one.get("name")), str(one.get("value")))
        for one in _listed(node, "arguments")
        if isinstance(one, Mapping)
    ]


def _resource_values(node: Mapping[str, Any]) -> list[str]:
    values = (
        next(iter(one.values()), "") if isinstance(one, Mapping) else one
        for one in _listed(node, "arguments")
    )
    return [" ".join(map(str, one)) if isinstance(one, list) else str(one) for one in values]


def _listed(said: Any, name: str) -> list[Any]:
    found = said.get(name) if isinstance(said, Mapping) else None
    return found if isinstance(found, list) else []
