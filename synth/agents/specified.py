"""Agents that are a behaviour specification: `spec:react`, `spec:FILE`, hybrids such as `spec:direct+pass`.

The decoding monitor keeps the model to the specification (see `decoding`). What the environment writes is
told by the state's prompt: an observation runs the last action, a summary the batch of actions since the last
one (results: the same as they are), an evaluation and ReWOO's answer ask the same model. Without actions
(chain of thought, direct) the answer is that of most of five tries at temperature 0.7. A hybrid
`direct+react` asks its agent where no two tries agree (Crouse et al., sections 3 and 4), `react+direct` the
tries where the agent comes to no answer (Yao et al., section 3.2).
"""

from __future__ import annotations

import contextvars
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langchain_core.tools import StructuredTool
from openai import BadRequestError, OpenAI, UnprocessableEntityError

from synth.agents.decoding import Complete, Completion, Piece, Transcript, generate
from synth.agents.examples import numbered, texts_of
from synth.agents.mock_tools import as_langchain
from synth.agents.model import Job, Outcome, OutOfIterations, Settings, Unreachable
from synth.agents.openai_client import client_of
from synth.agents.react import act, line_of, takes_text
from synth.agents.specifications import acts
from synth.agents.usage import Answers
from synth.formal.monitor import Monitor

TRIES, WARM = 5, 0.7
"""Of an agent without actions: how often it is asked, and at which temperature."""
ALPHA = 0.6
"""Exponent of the length normalisation (Wu et al., 2016); the paper names no value."""
PARALLEL = 8
LONGEST_INPUT = 20_000
"""Characters of an action's input with results put in."""

PROMPT = """Answer the following question as best you can. You have access to the following tools:

{tools}

Use the following format:

{format}

{examples}Begin!

"""
EXAMPLES = "Here is how it looks for other questions:\n\n{}\n\n"


class NotFollowed(Exception):
    """The model did not keep to its specification within the bounds."""


def run_with(monitors: Sequence[Monitor], job: Job) -> Outcome:
    """Run the agent of a specification on a job; of two, the second where the first does not agree."""
    client = client_of(job.settings)
    spent = Outcome("", 0)
    for monitor in monitors:
        made = [_transcript(monitor, job, client, warm=k > 0) for k in _tries(monitor)]
        calls = sum(one.calls for one in made)
        answer, agree = _most(made)
        kept = spent.answer if monitor is not monitors[0] and not _answered(made) else answer
        spent = Outcome(kept, spent.iterations + calls)
        if agree or (acts(monitor) and _answered(made)):
            break
    if not (spent.answer or _answered(made)):
        if made[0].reason and made[0].reason.startswith("not at its end"):
            raise OutOfIterations(spent.iterations)
        raise NotFollowed(str(made[0].reason))
    return spent


def _answered(made: Sequence[Transcript]) -> bool:
    return any(one.reason is None for one in made)


def _tries(monitor: Monitor) -> range:
    return range(1) if acts(monitor) else range(1, TRIES + 1)


def _most(made: Sequence[Transcript]) -> tuple[str, bool]:
    """The answer of most transcripts, of the first of these at a tie; and whether two agree."""
    answers = [one.answer for one in made if one.reason is None]
    counts = Counter(" ".join(answer.casefold().split()) for answer in answers)
    if not counts:
        return "", False
    most, count = counts.most_common(1)[0]
    answer = next(one for one in answers if " ".join(one.casefold().split()) == most)
    return answer, count > 1


def _transcript(monitor: Monitor, job: Job, client: OpenAI, *, warm: bool) -> Transcript:
    is_told = job.settings.temperature is not None
    settings = replace(job.settings, temperature=WARM) if warm and is_told else job.settings
    complete = endpoint(client, settings, job.answers)
    tools = [line_of(tool) for tool in job.tools] if acts(monitor) else ["none"]
    states = monitor.specification.states
    form = "\n".join(f"{state.prompt} {_ABOUT.get(state.prompt, '...')}" for state in states)
    world = _World(monitor, job, client, complete)
    worked = texts_of(job.examples, monitor)
    examples = EXAMPLES.format("\n\n".join(worked)) if worked else ""
    asked = PROMPT.format(tools="\n".join(tools), format=form, examples=examples)
    before = f"{job.settings.preface}{asked}"
    made = generate(monitor, job.query, complete, world, before=before, max_calls=job.settings.max_iterations)
    made.calls, made.tokens = made.calls + world.calls, made.tokens + world.tokens
    return made


_ABOUT: Mapping[str, str] = {
    "[Action]": "the action to take, the name of a tool",
    "[Action Input]": "the input to the action, a JSON object, or the text of its one argument",
    "[Action Label]": "a name for the result of the action: #E1, #E2, ...",
    "[Thought]": "you should always think about what to do",
    "[Answer]": "the final answer to the question",
}


def endpoint(client: OpenAI, settings: Settings, answers: Answers | None = None) -> Complete:
    """The settings' model as a completion endpoint; chat models are given the text as one message."""
    answers = answers or Answers()

    def complete(prompt: str, *, stop: Sequence[str], max_tokens: int) -> Completion:
        more: dict[str, Any] = {"stop": list(stop)[:4]} if stop else {}
        more |= {"max_tokens": max_tokens, **settings.sampling()}
        if takes_text(settings.model):
            made: Any = client.completions.create(model=settings.model, prompt=prompt, **more)
        else:
            said: Any = [{"role": "user", "content": prompt}]
            made = client.chat.completions.create(model=settings.model, messages=said, **more)
        if not made.choices:
            raise Unreachable(f"the endpoint of {settings.model} answered without choices: {str(made)[:200]}")
        answers.told(made)
        choice = made.choices[0]
        text = choice.text if takes_text(settings.model) else choice.message.content
        tokens = made.usage.total_tokens if made.usage else 0
        return Completion(text or "", choice.finish_reason == "length", tokens)

    return complete


@dataclass(slots=True)
class _World:
    """Writes the states of the environment."""

    monitor: Monitor
    job: Job
    client: OpenAI
    complete: Complete
    calls: int = 0
    """Answers of the model to what it asked."""
    tokens: int = 0

    def __call__(self, state: str, before: Sequence[Piece]) -> str:
        prompts = {one.name: one.prompt for one in self.monitor.specification.states}
        said = [(prompts[piece.state], piece.text) for piece in before]
        match prompts[state]:
            case "[Summary]":
                return self._summary(said)
            case "[Results]":
                return self._results(said)
            case "[Evaluation]":
                return self._ask(said, "Is the proposed answer right? Say why, in one sentence:")
            case "[Answer]":
                return self._solved(said)
            case _:
                return (self._run(_actions(said)[-1:]) or ["nothing"])[0]

    def _run(self, actions: Sequence[tuple[str, str]]) -> list[str]:
        """The results of (tool, input), of several at the same time."""
        tools: dict[str, StructuredTool] = {tool.name: as_langchain(tool) for tool in self.job.tools}
        given = [(name, self._arguments(name, text)) for name, text in actions]
        if len(given) < 2:
            return [act(tools, *one) for one in given]
        with ThreadPoolExecutor(PARALLEL) as pool:
            here = [contextvars.copy_context() for _ in given]
            begun = [
                pool.submit(context.run, partial(act, tools, *one))
                for context, one in zip(here, given, strict=True)
            ]
            return [one.result() for one in begun]

    def _arguments(self, name: str, text: str) -> str:
        """The input of an action as JSON; a tool may take bare text (Crouse et al., figure 8)."""
        taken = next((tool.text_is for tool in self.job.tools if tool.name == name), None)
        return text if taken is None or text.lstrip().startswith("{") else json.dumps({taken: text.strip()})

    def _results(self, said: Sequence[tuple[str, str]]) -> str:
        """The results of the actions since the last thought, numbered."""
        since = max((k for k, (prompt, _) in enumerate(said) if prompt == "[Thought]"), default=0)
        results = self._run(_actions(said[since:]))
        return numbered(results) or "nothing"

    def _summary(self, said: Sequence[tuple[str, str]]) -> str:
        """A summary of the results, or the results, whichever the model finds likelier (section 3)."""
        raw = self._results(said)
        if raw == "nothing" or not takes_text(self.job.settings.model):
            return raw
        goal = next((text for prompt, text in reversed(said) if prompt == "[Thought]"), self.job.query)
        prompt = f"Statements:\n{raw}\nContext: {self.job.query}\nGoal: {goal}\nSummary:"
        summary = self._told(self.complete(prompt, stop=(), max_tokens=256))
        scores = [self._score(prompt, text) for text in (summary, raw)] if summary else [None]
        return summary if None not in scores and scores[0] > scores[1] else raw  # type: ignore[operator]

    def _score(self, prompt: str, text: str) -> float | None:
        """Length-normalised log probability of the text, where the endpoint tells it."""
        try:
            made: Any = self.client.completions.create(
                model=self.job.settings.model, prompt=f"{prompt} {text}", max_tokens=0, echo=True, logprobs=1
            )
        except (BadRequestError, UnprocessableEntityError):
            return None  # it does not echo, or tells no log probabilities
        self.job.answers.told(made)
        told = made.choices[0].logprobs if made.choices else None
        if told is None or not told.token_logprobs or not told.text_offset:
            return None
        own = [
            score
            for score, at in zip(told.token_logprobs, told.text_offset, strict=False)
            if score is not None and at >= len(prompt)
        ]
        return normalised(own)

    def _solved(self, said: Sequence[tuple[str, str]]) -> str:
        """ReWOO: run the actions with the results of earlier ones put in, and ask the model."""
        results: dict[str, str] = {}
        labels = [text for prompt, text in said if prompt == "[Action Label]"]
        for label, (tool, given) in zip(labels, _actions(said), strict=False):
            results[label] = self._run([(tool, _filled(given, results))])[0]
        told = "\n".join(f"{label}: {result}" for label, result in results.items())
        return self._ask([("Results:", told)], f"Question: {self.job.query}\nAnswer:")

    def _ask(self, said: Sequence[tuple[str, str]], question: str) -> str:
        text = "\n".join(f"{prompt} {words}" for prompt, words in said)
        return self._told(self.complete(f"{text}\n{question}", stop=(), max_tokens=256)) or "nothing"

    def _told(self, made: Completion) -> str:
        self.calls, self.tokens = self.calls + 1, self.tokens + made.tokens
        return made.text.strip()


def _filled(given: str, results: Mapping[str, str]) -> str:
    """The input of an action with results in the place of their labels; a JSON object stays one."""

    def put(text: str) -> str:
        return re.sub(r"#E\d+", lambda found: results.get(found[0], found[0]), text)[:LONGEST_INPUT]

    try:
        said = json.loads(given)
    except (ValueError, RecursionError):
        return put(given)
    if not isinstance(said, dict):
        return put(given)
    return json.dumps({key: put(value) if isinstance(value, str) else value for key, value in said.items()})


def _actions(said: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """(tool, input) of the actions in this part of a transcript; the input is empty where none follows."""
    following = [*said[1:], ("", "")]
    return [
        (text, after[1] if after[0] == "[Action Input]" else "")
        for (prompt, text), after in zip(said, following, strict=True)
        if prompt == "[Action]"
    ]


def normalised(scores: Sequence[float], alpha: float = ALPHA) -> float | None:
    """The sum of log probabilities over ((5 + n) / 6) ** alpha; None for no token."""
    return sum(scores) / ((5 + len(scores)) / 6) ** alpha if scores else None
