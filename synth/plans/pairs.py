"""Files of gold plans and predictions, as `pdoctor metrics` reads them.

A line is a pair, `{"gold", "prediction", "alternatives"?}`, or a corpus of its own, `{"case"?, "gold": [...],
"predictions": [...]}`. m&m's plans are lists of `{"id", "name", "args"}`; TaskBench's samples are objects
with `task_nodes` and `task_links`, those of predictions also as `result`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from synth.errors import BadInput
from synth.plans import mnms, taskbench
from synth.plans.graph import ToolGraph
from synth.plans.model import Plan, plan_from_json, plan_from_text, unfenced
from synth.plans.python_plan import plan_from_python, plan_to_python

Spelling = Literal["json", "text", "python"]
"""How predictions are given: as JSON, as a text that is to be JSON, or as one that is to be Python."""


@dataclass(frozen=True, slots=True)
class Line:
    """What is compared on one line: one pair, or all pairs of a corpus."""

    gold: tuple[Any, ...]
    predictions: tuple[Any, ...]
    alternatives: tuple[Sequence[Any], ...]
    name: str | None = None
    """Of the corpus; None = the line belongs to that of the file."""
    domain: str | None = None
    dependency: str | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """Lines that are scored together."""

    name: str
    domain: str | None
    dependency: str | None
    pairs: list[tuple[Any, Any, Sequence[Any]]] = field(default_factory=list)
    """(gold, prediction, alternatives), each as it stands in the file."""


def corpora(lines: Iterable[Line], name: str) -> list[Corpus]:
    """The corpora of a file called `name`, in its order; pairs on lines of their own make one together."""
    found: dict[tuple[str, ...], Corpus] = {}
    for at, line in enumerate(lines):
        key = (name, line.domain or "", line.dependency or "") if line.name is None else (line.name, str(at))
        corpus = found.setdefault(key, Corpus(line.name or name, line.domain, line.dependency))
        corpus.pairs.extend(zip(line.gold, line.predictions, line.alternatives, strict=True))
    return list(found.values())


def line_from_json(said: Any) -> Line:
    """BadInput where it is neither a pair nor a corpus."""
    if not isinstance(said, Mapping) or "gold" not in said or not {"prediction", "predictions"} & set(said):
        raise BadInput(
            'a line is an object with "gold" and "prediction", or with lists of them as "predictions"'
        )
    domain, dependency = (_text(said, name) for name in ("domain", "dependency"))
    if "predictions" not in said:
        alternatives = _list(said.get("alternatives", []), "alternatives")
        return Line((said["gold"],), (said["prediction"],), (alternatives,), None, domain, dependency)
    gold, predictions = _list(said["gold"], "gold"), _list(said["predictions"], "predictions")
    given = _list(said.get("alternatives", [[] for _ in gold]), "alternatives")
    if not len(gold) == len(predictions) == len(given):
        raise BadInput(f"{len(gold)} gold plans for {len(predictions)} predictions", field="predictions")
    alternatives_of = tuple(_list(one, "alternatives") for one in given)
    return Line(
        tuple(gold), tuple(predictions), alternatives_of, str(said.get("case", "")), domain, dependency
    )


def mnms_pairs(
    corpus: Corpus, spelling: Spelling = "json", graph: ToolGraph | None = None
) -> list[mnms.Pair]:
    """The pairs as m&m's has them. BadInput for a gold plan that cannot be read."""
    reads = _READERS[spelling]
    return [
        mnms.Pair(
            plan_of(gold, graph),
            _readable(reads, prediction, graph),
            tuple(plan_of(one, graph) for one in others),
        )
        for gold, prediction, others in corpus.pairs
    ]


def code_pairs(corpus: Corpus) -> list[tuple[str, str]]:
    """(gold, prediction) as Python; what is JSON is written as Python, what is neither is empty."""
    return [(_as_code(gold), _as_code(said)) for gold, said, _ in corpus.pairs]


def _as_code(said: Any) -> str:
    if isinstance(said, str):
        return unfenced(said)
    try:
        return plan_to_python(plan_from_json(said))
    except BadInput:
        return ""


def taskbench_pairs(
    corpus: Corpus, tools: taskbench.Tools, dependency: taskbench.Dependency
) -> Iterator[tuple[taskbench.Sample, taskbench.Sample]]:
    """The samples as TaskBench has them."""
    for gold, said, _ in corpus.pairs:
        result = said["result"] if isinstance(said, Mapping) and "result" in said else said
        yield taskbench.sample_of(gold, dependency, tools), taskbench.sample_of(result, dependency, tools)


def plan_of(said: Any, graph: ToolGraph | None = None) -> Plan:
    """A plan from a JSON value, or from text in JSON or Python. BadInput where it is none."""
    if not isinstance(said, str):
        return plan_from_json(said)
    is_json = unfenced(said).startswith(("[", "{"))
    return plan_from_text(said) if is_json else plan_from_python(said, graph)


def _readable(
    read: Callable[[Any, ToolGraph | None], Plan], said: Any, graph: ToolGraph | None
) -> Plan | None:
    try:
        return read(said, graph)
    except BadInput:
        return None


def _as_text(said: Any) -> str:
    if not isinstance(said, str):
        raise BadInput("the prediction is no text")
    return said


_READERS: dict[Spelling, Callable[[Any, ToolGraph | None], Plan]] = {
    "json": lambda said, graph: plan_from_json(said),
    "text": lambda said, graph: plan_from_text(_as_text(said)),
    "python": lambda said, graph: plan_from_python(_as_text(said), graph),
}


def _list(said: Any, name: str) -> list[Any]:
    if not isinstance(said, list):
        raise BadInput(f"{name} is a list", field=name)
    return said


def _text(said: Mapping[str, Any], name: str) -> str | None:
    value = said.get(name)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{name} is a text", field=name)
    return value
