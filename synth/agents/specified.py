"""Agents that are a behaviour specification: `spec:react`, `spec:FILE`, hybrids such as `spec:direct+pass`.

The decoding monitor keeps the model to the specification (see `decoding`). What the environment writes is
told by the state's prompt: an observation runs the last action, a summary the batch of actions since the last
one, an evaluation and ReWOO's answer ask the same model. Without actions (chain of thought, direct) the
answer is that of most of five tries at temperature 0.7; a hybrid asks its agent where no two of them agree
(Crouse et al., sections 3 and 4).
"""

from __future__ import annotations

import contextvars
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.tools import StructuredTool
from openai import OpenAI

from synth.agents.decoding import Complete, Completion, Piece, Transcript, generate
from synth.agents.mock_tools import as_langchain
from synth.agents.model import Job, Outcome, OutOfIterations, Settings
from synth.agents.react import act, line_of, takes_text
from synth.errors import BadInput
from synth.formal.monitor import SHIPPED, Monitor, monitor_of, shipped

TRIES, WARM = 5, 0.7
"""Of an agent without actions: how often it is asked, and at which temperature."""
ALPHA = 0.6
"""Exponent of the length normalisation (Wu et al., 2016); the paper names no value."""
PARALLEL = 8

PROMPT = """Answer the following question as best you can. You have access to the following tools:

{tools}

Use the following format:

{format}

Begin!

"""


class NotFollowed(Exception):
    """The model did not keep to its specification within the bounds."""


def monitors_of(name: str) -> list[Monitor]:
    """The specifications of `react`, a file, or a hybrid `direct+react`; BadInput where it cannot be used."""
    found = []
    for part in name.split("+"):
        monitor = shipped(part) if part in SHIPPED else monitor_of(_text(part))
        if not monitor.specification.states:
            raise BadInput(f"{part}: an agent needs a specification with :states and prompts")
        found.append(monitor)
    if len(found) > 2 or (len(found) == 2 and _acts(found[0])):
        raise BadInput(f"a hybrid is an agent without actions and one more, as in direct+react, not {name!r}")
    return found


def _text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        known = ", ".join(SHIPPED)
        raise BadInput(
            f"no specification is called {file!r}, nor can such a file be read ({known})"
        ) from problem


def run_with(monitors: Sequence[Monitor], job: Job) -> Outcome:
    """Run the agent of a specification on a job; of two, the second where the first does not agree."""
    with OpenAI(base_url=job.settings.base_url, api_key=job.settings.api_key) as client:
        spent = Outcome("", 0)
        for place, monitor in enumerate(monitors):
            made = [_transcript(monitor, job, client, warm=k > 0) for k in _tries(monitor)]
            calls, tokens = sum(one.calls for one in made), sum(one.tokens for one in made)
            answer, agree = _most(made)
            spent = Outcome(answer, spent.iterations + calls, spent.tokens + tokens)
            if agree or place == len(monitors) - 1:
                break
    if not any(one.reason is None for one in made):
        if made[0].reason and made[0].reason.startswith("not at its end"):
            raise OutOfIterations(spent.iterations)
        raise NotFollowed(str(made[0].reason))
    return spent


def _tries(monitor: Monitor) -> range:
    return range(1) if _acts(monitor) else range(1, TRIES + 1)


def _most(made: Sequence[Transcript]) -> tuple[str, bool]:
    """The answer of most transcripts, of the first of these at a tie; and whether two agree."""
    answers = [one.answer for one in made if one.reason is None]
    counts = Counter(" ".join(answer.casefold().split()) for answer in answers)
    if not counts:
        return "", False
    most, count = counts.most_common(1)[0]
    answer = next(one for one in answers if " ".join(one.casefold().split()) == most)
    return answer, count > 1


def _acts(monitor: Monitor) -> bool:
    return any(state.prompt == "[Action]" for state in monitor.specification.states)


def _transcript(monitor: Monitor, job: Job, client: OpenAI, *, warm: bool) -> Transcript:
    settings = replace(job.settings, temperature=WARM) if warm else job.settings
    complete = endpoint(client, settings)
    tools = [line_of(tool) for tool in job.tools] if _acts(monitor) else ["none"]
    states = monitor.specification.states
    form = "\n".join(f"{state.prompt} {_ABOUT.get(state.prompt, '...')}" for state in states)
    world = _World(monitor, job, client, complete)
    before = PROMPT.format(tools="\n".join(tools), format=form)
    return generate(monitor, job.query, complete, world, before=before, max_calls=job.settings.max_iterations)


_ABOUT: Mapping[str, str] = {
    "[Action]": "the action to take, the name of a tool",
    "[Action Input]": "the input to the action, a JSON object",
    "[Action Label]": "a name for the result of the action: #E1, #E2, ...",
    "[Thought]": "you should always think about what to do",
    "[Answer]": "the final answer to the question",
}


def endpoint(client: OpenAI, settings: Settings) -> Complete:
    """The settings' model as a completion endpoint; chat models are given the text as one message."""

    def complete(prompt: str, *, stop: Sequence[str], max_tokens: int) -> Completion:
        more: dict[str, Any] = {"stop": list(stop)[:4]} if stop else {}
        more |= {"max_tokens": max_tokens, **settings.sampling()}
        if takes_text(settings.model):
            made: Any = client.completions.create(model=settings.model, prompt=prompt, **more)
            text = made.choices[0].text
        else:
            said: Any = [{"role": "user", "content": prompt}]
            made = client.chat.completions.create(model=settings.model, messages=said, **more)
            text = made.choices[0].message.content or ""
        cut = made.choices[0].finish_reason == "length"
        return Completion(text, cut, made.usage.total_tokens if made.usage else 0)

    return complete


@dataclass(slots=True)
class _World:
    """Writes the states of the environment."""

    monitor: Monitor
    job: Job
    client: OpenAI
    complete: Complete

    def __call__(self, state: str, before: Sequence[Piece]) -> str:
        prompts = {one.name: one.prompt for one in self.monitor.specification.states}
        said = [(prompts[piece.state], piece.text) for piece in before]
        match prompts[state]:
            case "[Summary]":
                return self._summary(said)
            case "[Evaluation]":
                return self._ask(said, "Is the proposed answer right? Say why, in one sentence:")
            case "[Answer]":
                return self._solved(said)
            case _:
                return self._run(_actions(said)[-1:])[0]

    def _run(self, actions: Sequence[tuple[str, str]]) -> list[str]:
        """The results of (tool, input), of several at the same time."""
        tools: dict[str, StructuredTool] = {tool.name: as_langchain(tool) for tool in self.job.tools}
        if len(actions) == 1:
            return [act(tools, *actions[0])]
        with ThreadPoolExecutor(PARALLEL) as pool:
            here = [contextvars.copy_context() for _ in actions]
            begun = [
                pool.submit(context.run, partial(act, tools, *one))
                for context, one in zip(here, actions, strict=True)
            ]
            return [one.result() for one in begun]

    def _summary(self, said: Sequence[tuple[str, str]]) -> str:
        """A summary of the results, or the results, whichever the model finds likelier (section 3)."""
        since = max((k for k, (prompt, _) in enumerate(said) if prompt == "[Thought]"), default=0)
        actions = _actions(said[since:])
        raw = (
            "\n".join(f"{k}. {one}" for k, one in enumerate(self._run(actions), 1)) if actions else "nothing"
        )
        if not takes_text(self.job.settings.model):
            return raw
        goal = said[since][1]
        prompt = f"Statements:\n{raw}\nContext: {self.job.query}\nGoal: {goal}\nSummary:"
        made: Any = self.client.completions.create(
            model=self.job.settings.model, prompt=prompt, max_tokens=256, logprobs=1,
            **self.job.settings.sampling(),
        )  # fmt: skip
        summary = made.choices[0].text.strip()
        scores = [self._score(prompt, text) for text in (summary, raw)]
        return summary if None not in scores and scores[0] > scores[1] else raw  # type: ignore[operator]

    def _score(self, prompt: str, text: str) -> float | None:
        """Length-normalised log probability of the text, where the endpoint tells it."""
        made: Any = self.client.completions.create(
            model=self.job.settings.model, prompt=f"{prompt} {text}", max_tokens=0, echo=True, logprobs=1
        )
        told = made.choices[0].logprobs
        if told is None or not told.token_logprobs:
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
            filled = re.sub(r"#E\d+", lambda found: results.get(found[0], found[0]), given)
            results[label] = self._run([(tool, filled)])[0]
        told = "\n".join(f"{label}: {result}" for label, result in results.items())
        return self._ask([("Results:", told)], f"Question: {self.job.query}\nAnswer:")

    def _ask(self, said: Sequence[tuple[str, str]], question: str) -> str:
        text = "\n".join(f"{prompt} {words}" for prompt, words in said)
        return self.complete(f"{text}\n{question}", stop=(), max_tokens=256).text.strip() or "nothing"


def _actions(said: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """(tool, input) of the actions in this part of a transcript."""
    names = [text for prompt, text in said if prompt == "[Action]"]
    return list(zip(names, [text for prompt, text in said if prompt == "[Action Input]"], strict=True))


def normalised(scores: Sequence[float], alpha: float = ALPHA) -> float | None:
    """The sum of log probabilities over ((5 + n) / 6) ** alpha; None for no token."""
    return sum(scores) / ((5 + len(scores)) / 6) ** alpha if scores else None
