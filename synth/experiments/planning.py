"""Planning agents over tasks with gold plans: m&m's tables of feedback, strategy, format and model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any

from synth.llm import chat
from synth.observed.lines import parse_json
from synth.plans.code import code_scores
from synth.plans.execute import Executed, SimulatedTools, execute
from synth.plans.graph import ToolGraph, graph_from_json
from synth.plans.mnms import Pair, PlanScores, corpus_scores, corpus_with_alternatives, nearest, plan_scores
from synth.plans.model import Plan, plan_to_json
from synth.plans.planning import Ask, Design, Message, Planned, Reply, plan_task
from synth.plans.python_plan import plan_to_python
from synth.plans.raters import pearson, spearman
from synth.plans.simulated import FAULTS, HEEDS, Fault, Heeds, SimulatedPlanner
from synth.plans.tasks import PlanTask, Words, template

Planner = Callable[[PlanTask, Design], Ask]
"""Who plans: a model for a task and a design."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one planner came to at one task."""

    planner: str
    design: Design
    task: PlanTask
    planned: Planned
    executed: Executed
    """Of the final plan; a plan that could not be read did not run."""
    right_answer: bool
    """It ran, and its last step gave what that of a right plan gives (execution accuracy)."""

    @property
    def pair(self) -> Pair:
        return Pair(self.task.plan, self.planned.plan, self.task.alternatives)

    @property
    def scores(self) -> PlanScores:
        """By the gold plan alone."""
        return plan_scores(self.task.plan, self.planned.plan)

    @property
    def passed(self) -> bool:
        """Did all steps run? No steps do not."""
        return bool(self.planned.plan) and self.executed.passed

    def to_json(self) -> dict[str, Any]:
        return {
            "planner": self.planner, "design": self.design.name, "task": self.task.id,
            "plan": None if self.planned.plan is None else plan_to_json(self.planned.plan),
            "text": self.planned.text, "passed": self.passed, "error": self.executed.error,
            "right_answer": self.right_answer, "turns": self.planned.turns, "tokens": self.planned.tokens,
            "complaints": list(self.planned.complaints), "scores": self.scores.to_json(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """Attempts of one planner in one design, together. Shares are from 0 to 1."""

    planner: str
    design: Design
    attempts: int
    scores: Mapping[str, float]
    """As m&m's evaluator has them, in percent."""
    with_alternatives: Mapping[str, float]
    pass_rate: float
    execution_accuracy: float
    turns: float
    """Model answers, on average."""
    tokens: float
    code: Mapping[str, float] | None
    """AST accuracy and CodeBLEU of plans in Python, in percent."""

    def to_json(self) -> dict[str, Any]:
        return {
            "planner": self.planner, "strategy": self.design.strategy, "format": self.design.form,
            "feedback": self.design.feedback, "attempts": self.attempts, "scores": dict(self.scores),
            "with_alternatives": dict(self.with_alternatives), "pass_rate": self.pass_rate,
            "execution_accuracy": self.execution_accuracy, "turns": self.turns, "tokens": self.tokens,
            "code": None if self.code is None else dict(self.code),
        }  # fmt: skip


def attempts(
    tasks: Sequence[PlanTask], graph: ToolGraph, designs: Sequence[Design], planners: Mapping[str, Planner]
) -> Iterator[Attempt]:
    """Every planner in every design at every task, on simulated tools."""
    for name, planner in planners.items():
        for design in designs:
            for task in tasks:
                yield attempt(name, planner, design, task, graph)


def attempt(name: str, planner: Planner, design: Design, task: PlanTask, graph: ToolGraph) -> Attempt:
    """One planner at one task."""
    tools = SimulatedTools(graph, task.files)
    planned = plan_task(task.query, graph, design, planner(task, design), tools)
    done = execute(planned.plan or (), tools)
    answer = execute(nearest(Pair(task.plan, planned.plan, task.alternatives)), tools).answer
    right = bool(planned.plan) and done.passed and done.answer == answer
    return Attempt(name, design, task, planned, done, right)


def rows(made: Sequence[Attempt], graph: ToolGraph) -> list[Row]:
    """One for each planner and design, in the order of the attempts."""
    groups: dict[tuple[str, Design], list[Attempt]] = {}
    for one in made:
        groups.setdefault((one.planner, one.design), []).append(one)
    return [_row(planner, design, group, graph) for (planner, design), group in groups.items()]


def _row(planner: str, design: Design, group: Sequence[Attempt], graph: ToolGraph) -> Row:
    pairs = [one.pair for one in group]
    tools = sorted({step.tool for pair in pairs for step in pair.gold} & graph.tools.keys())
    return Row(
        planner, design, len(group), corpus_scores(pairs, tools), corpus_with_alternatives(pairs, tools),
        _mean(one.passed for one in group), _mean(one.right_answer for one in group),
        _mean(one.planned.turns for one in group), _mean(one.planned.tokens for one in group),
        code_scores([_code(one) for one in group]) if design.form == "code" else None,
    )  # fmt: skip


def _code(one: Attempt) -> tuple[str, str]:
    """Gold and predicted plan as Python, written alike; what could not be read as it was."""
    plan = one.planned.plan
    return plan_to_python(one.task.plan), one.planned.text if plan is None else plan_to_python(plan)


def _mean(values: Iterator[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


def correlations(made: Sequence[Attempt]) -> dict[str, dict[str, float | None]]:
    """How far each score of a plan goes together with a right answer, over attempts (m&m's, appendix E).

    Pearson's and Spearman's coefficient by score; None where one of both does not vary.
    """
    answers = [float(one.right_answer) for one in made]
    scores = [one.scores.to_json() | {"passed": one.passed} for one in made]
    columns = {name: [float(one[name]) for one in scores] for name in (scores[0] if scores else ())}
    return {
        name: {"pearson": pearson(values, answers), "spearman": spearman(values, answers)}
        for name, values in columns.items()
    }


def built_in_tools() -> ToolGraph:
    """Fifteen tools for pictures, sound, text and look-ups, whose types say what connects."""
    said = resources.files("synth.data").joinpath("plan_tools.json").read_bytes()
    return graph_from_json(parse_json(said))


def simulated_planners(graph: ToolGraph, seed: int = 0) -> dict[str, Planner]:
    """`simulated-FAULT-HEEDS`: every fault that fits the format, heeding always, half of the time, never."""
    return {
        f"simulated-{fault}-{heeds}": partial(_simulated, graph, fault, heeds, seed)
        for fault in FAULTS
        for heeds in HEEDS
    }


def _simulated(
    graph: ToolGraph, fault: Fault, heeds: Heeds, seed: int, task: PlanTask, design: Design
) -> Ask:
    return SimulatedPlanner(task, graph, design, fault, heeds, seed)


def model_planner(client: Any, model: str, temperature: float | None = None) -> Planner:
    """A language model; `client` is an `openai.OpenAI` or anything with its chat interface."""
    sampling = {} if temperature is None else {"temperature": temperature}

    def ask(messages: Sequence[Message]) -> Reply:
        answer = client.chat.completions.create(model=model, messages=list(messages), **sampling)
        text = answer.choices[0].message.content if answer.choices else None
        return Reply(text or "", answer.usage.total_tokens if answer.usage else 0)

    return lambda task, design: ask


def model_words(client: Any, model: str) -> Words:
    """Queries in the words of a language model, which is told the plan."""

    def words(plan: Plan, graph: ToolGraph) -> str:
        wanted = template(plan, graph)
        return chat.ask(client, model, [chat.user(f"{_REWORD}\n\n{wanted}")]).strip()

    return words


_REWORD = (
    "Say in one or two sentences what a user would ask for who wants the following done. Keep every name in "
    "quotes as it is, and do not name the tools."
)
