"""Planning agents of m&m's (section 4): a whole plan at once or step by step, as JSON or as Python, with
feedback of a parser, of the verifier and of the execution, each on or off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from synth.errors import BadInput
from synth.plans.execute import Call, execute
from synth.plans.graph import ToolGraph
from synth.plans.model import Plan, plan_from_text, plan_to_json, unfenced
from synth.plans.python_plan import plan_from_python, plan_to_python
from synth.plans.verify import Problem, verify

Strategy = Literal["multi-step", "step-by-step"]
Form = Literal["json", "code"]
FEEDBACKS = ("none", "P", "PV", "PE", "PVE")
"""Which of parsing, verification and execution answer a planner that was wrong."""
DONE = "DONE"
"""What a planner that goes step by step says when nothing is left to do."""
AGAIN = "Answer again."
"""How every complaint ends."""
NEXT = "Next step."
"""How every answer to an accepted step ends."""
INTRODUCTION = "You plan with these tools, one a line:"
ONE_STEP = "Answer the request with the next step alone"
CODE = "A plan is Python"
"""By which simulated models know such a request."""
MOST_TURNS = 10


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

    text: str
    tokens: int = 0


Message = dict[str, str]
Ask = Callable[[Sequence[Message]], Reply]


@dataclass(frozen=True, slots=True)
class Design:
    """How a planning agent works."""

    strategy: Strategy = "multi-step"
    form: Form = "json"
    feedback: str = "PVE"
    turns: int = MOST_TURNS
    """Model answers at most, for each step of a plan that is made step by step."""

    def __post_init__(self) -> None:
        for value, known in (
            (self.strategy, get_args(Strategy)), (self.form, get_args(Form)), (self.feedback, FEEDBACKS)
        ):  # fmt: skip
            if value not in known:
                raise BadInput(f"{value!r} is none of {', '.join(known)}", field="agent")

    @property
    def name(self) -> str:
        return f"plan-{self.strategy}-{self.form}-{self.feedback}"


DESIGNS = tuple(
    Design(strategy, form, feedback)
    for strategy in get_args(Strategy)
    for form in get_args(Form)
    for feedback in FEEDBACKS
)


@dataclass(frozen=True, slots=True)
class Planned:
    """What a planning agent came to."""

    plan: Plan | None
    """The last one that it meant; None where nothing it said could be read."""
    text: str
    """Its last answer; of a plan made step by step all accepted steps."""
    turns: int
    """Model answers."""
    tokens: int
    complaints: tuple[str, ...] = ()
    """What it was answered, in order."""


def plan_task(query: str, graph: ToolGraph, design: Design, ask: Ask, call: Call) -> Planned:
    """Let a model plan for a query; tools are called through `call` where execution gives feedback."""
    return _Agent(graph, design, ask, call).plan(query)


def instructions(graph: ToolGraph, design: Design) -> str:
    """What the model is told before the query."""
    tools = "\n".join(json.dumps(tool.to_json()) for tool in graph.tools.values())
    return f"{INTRODUCTION}\n{tools}\n\n{_HOW[design.strategy]} {_FORM[design.form]}"


_HOW = {
    "multi-step": "Answer the request with the whole plan.",
    "step-by-step": f"{ONE_STEP}, as a plan of one step with the next id. "
    f"When no step is left to do, answer {DONE}.",
}
_FORM = {
    "json": 'A plan is a JSON list of {"id": 0, "name": TOOL, "args": {NAME: VALUE}}, nothing else; a value '
    "<node-0>.text is the output `text` of the step with id 0.",
    "code": f"{CODE}: output0 = tool_name(argument=value), one line a step, nothing else; a value "
    "output0['text'] is the output `text` of the first step.",
}


class _Agent:
    """One plan being made."""

    def __init__(self, graph: ToolGraph, design: Design, ask: Ask, call: Call) -> None:
        self._graph, self._design, self._ask, self._call = graph, design, ask, call
        self._messages: list[Message] = []
        self._turns = self._tokens = 0
        self._complaints: list[str] = []
        self._results: dict[int, Any] = {}
        """Of accepted steps that ran."""

    def plan(self, query: str) -> Planned:
        self._say("system", instructions(self._graph, self._design))
        self._say("user", query)
        if self._design.strategy == "multi-step":
            plan, text = self._agreed(())
            return self._planned(plan, text)
        return self._step_by_step()

    def _step_by_step(self) -> Planned:
        accepted: Plan = ()
        read = False
        for _ in range(MOST_TURNS):
            step, _ = self._agreed(accepted)
            read = read or step is not None
            if not step:
                break
            accepted = (*accepted, *step[:1])
            self._say("user", self._observation(accepted))
        return self._planned(accepted if read else None, _text_of(accepted, self._design.form))

    def _agreed(self, accepted: Plan) -> tuple[Plan | None, str]:
        """Ask until nothing is wrong, or nobody says so, or the turns are used up: the last answer counts."""
        plan: Plan | None = None
        text = ""
        for turn in range(1, self._design.turns + 1):
            text = self._answer()
            plan, complaint = self._judged(text, accepted)
            if complaint is None or turn == self._design.turns:
                break
            self._complaints.append(complaint)
            self._say("user", complaint)
        return plan, text

    def _judged(self, text: str, accepted: Plan) -> tuple[Plan | None, str | None]:
        """The plan of an answer, and what the agent says against it."""
        feedback = self._design.feedback
        try:
            plan = self._read(text, accepted)
        except BadInput as problem:
            said = f"Parsing error: {problem}. {AGAIN}"
            return None, None if feedback == "none" else said
        if not plan:
            return plan, None
        whole = (*accepted, *plan)
        if "V" in feedback and (wrong := self._problem(plan, whole)):
            return plan, f"Verification error: {wrong.text}. {AGAIN}"
        if "E" in feedback:
            done = execute(plan, self._call, self._results)
            if done.error:
                return plan, f"Execution error: {done.error}. {AGAIN}"
            if self._design.strategy == "step-by-step":
                self._results.update(done.results)
        return plan, None

    def _problem(self, plan: Plan, whole: Plan) -> Problem | None:
        """What the verifier says first against these steps, whatever it says of those accepted before."""
        own = {step.id for step in plan}
        found = verify(whole, self._graph)
        return next((one for one in found if one.step in own or one.kind == "circle"), None)

    def _read(self, text: str, accepted: Plan) -> Plan:
        if self._design.strategy == "step-by-step" and text.strip().strip('."') == DONE:
            return ()
        if self._design.form == "json":
            said = unfenced(text)
            plan = plan_from_text(f"[{said}]" if said.startswith("{") else said)
        else:
            before = plan_to_python(accepted, self._graph).removeprefix("def solve():\n").splitlines()[:-1]
            lines = [*(line.strip() for line in before), unfenced(text)]
            plan = plan_from_python("\n".join(lines), self._graph)[len(accepted) :]
        if self._design.strategy == "multi-step" or not plan:
            return plan
        return (replace(plan[0], id=len(accepted)),)

    def _observation(self, accepted: Plan) -> str:
        if "E" not in self._design.feedback:
            return NEXT
        result = self._results.get(accepted[-1].id, "none, the step failed")
        return f"Result: {json.dumps(result, default=str)}. {NEXT}"

    def _answer(self) -> str:
        reply = self._ask(self._messages)
        self._turns += 1
        self._tokens += reply.tokens
        self._say("assistant", reply.text)
        return reply.text

    def _say(self, role: str, text: str) -> None:
        self._messages.append({"role": role, "content": text})

    def _planned(self, plan: Plan | None, text: str) -> Planned:
        return Planned(plan, text, self._turns, self._tokens, tuple(self._complaints))


def _text_of(plan: Plan, form: Form) -> str:
    if form == "code":
        try:
            return plan_to_python(plan)
        except BadInput:
            return ""
    return json.dumps(plan_to_json(plan))
