"""Agent `react`: text ReAct (Thought, Action, Action Input, Observation) over text completions.

Its tools run as LangChain tools; an action that is no tool runs a stand-in that refuses, so that the
request is visible as a tool call that failed. A text with neither an action nor a final answer is answered as
LangChain's agent does: the model is asked again, and a second such text in a row ends the run with an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import StructuredTool, ToolException
from openai import OpenAI

from synth.agents.mock_tools import MockTool, as_langchain
from synth.agents.model import Job, Outcome, OutOfIterations
from synth.agents.openai_client import client_of

PROMPT = """Answer the following question as best you can. You have access to the following tools:

{tools}

Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, one of [{names}]
Action Input: the input to the action, a JSON object
Observation: the result of the action
... (this Thought/Action/Action Input/Observation can repeat N times)
Thought: I now know the final answer
Final Answer: the final answer to the original input question

Here is how it looks for another question, with other tools:

Question: The watering must happen after the weeding. Do both.
Thought: The weeding comes first.
Action: weeding
Action Input: {{}}
Observation: The weeding has been carried out.
Thought: The watering is left.
Action: watering
Action Input: {{}}
Observation: The watering has been carried out.
Thought: I now know the final answer
Final Answer: The weeding and the watering are done.

Begin!

Question: {question}
Thought:"""

STOP = ["\nObservation:"]
FINAL = "Final Answer:"
NO_ACTION = "Invalid Format: Missing 'Action:' after 'Thought:'"
"""What the model is told, as LangChain's agent tells it, where it wrote neither an action nor an answer."""
_ACTION = re.compile(r"Action: *(.*?) *\nAction Input:(.*)", re.DOTALL)
_COMPLETION_MODELS = ("simulated-", "davinci-", "babbage-")


SLIPS = 1
"""So many times in a row the model is asked again."""


class FormatSlip(Exception):
    """The model wrote, again, what is neither an action nor a final answer."""

    def __init__(self, thought: str) -> None:
        super().__init__(f"could not parse what the model wrote: {thought.strip()!r}")


def run(job: Job) -> Outcome:
    tools = {tool.name: as_langchain(tool) for tool in job.tools}
    asked = PROMPT.format(
        tools="\n".join(line_of(tool) for tool in job.tools), names=", ".join(tools), question=job.query
    )
    prompt = f"{job.settings.preface}{asked}"
    slips = 0
    client = client_of(job.settings)
    for iteration in range(1, job.settings.max_iterations + 1):
        thought = complete(client, job, prompt)
        action = _ACTION.search(thought)
        if action is None and FINAL in thought:
            return Outcome(thought.rpartition(FINAL)[2].strip(), iteration)
        if action is None:
            slips += 1
            if slips > SLIPS:
                raise FormatSlip(thought)
            observation = NO_ACTION
        else:
            slips = 0
            observation = act(tools, action[1], action[2])
        prompt = f"{prompt}{thought}\nObservation: {observation}\nThought:"
    raise OutOfIterations(job.settings.max_iterations)


def line_of(tool: MockTool) -> str:
    """What the prompt says of a tool."""
    return f"{tool.name}: {tool.description} Arguments: {json.dumps(tool.parameters['properties'])}"


def complete(client: OpenAI, job: Job, prompt: str) -> str:
    """The next thought; models without text completions are asked by chat."""
    settings = job.settings
    if takes_text(settings.model):
        completion = client.completions.create(
            model=settings.model, prompt=prompt, stop=STOP, max_tokens=512, **settings.sampling()
        )
        job.answers.told(completion)
        return str(completion.choices[0].text)
    chat: Any = client.chat.completions.create(
        model=settings.model,
        messages=[{"role": "user", "content": prompt}],
        stop=STOP,
        **settings.sampling(),
    )
    job.answers.told(chat)
    return str(chat.choices[0].message.content or "")


def takes_text(model: str) -> bool:
    """Is it asked by text completions?"""
    return model.startswith(_COMPLETION_MODELS) or model.endswith("-instruct")


def act(tools: Mapping[str, StructuredTool], name: str, text: str) -> str:
    """Do what the thought says; what the model wrote wrongly becomes a call that failed."""
    try:
        arguments = json.loads(text.strip() or "{}")
        wrong = None if isinstance(arguments, dict) else "they are not a JSON object"
    except ValueError as error:
        arguments, wrong = {"input": text.strip()}, str(error)
    if name not in tools:
        return _invoke(_refusal(name, f"{name} is not a valid tool, try one of [{', '.join(tools)}]."), {})
    if wrong is not None:
        return _invoke(_refusal(name, f"The arguments of {name} cannot be used: {wrong}."), {})
    return _invoke(tools[name], arguments)


def _invoke(tool: StructuredTool, arguments: dict[str, Any]) -> str:
    try:
        return str(tool.invoke(arguments))
    except ToolException as error:
        return f"Error: {error}"


def _refusal(name: str, why: str) -> StructuredTool:
    def refuse() -> str:
        raise ToolException(why)

    return StructuredTool.from_function(func=refuse, name=name or "unnamed", description="Refuses.")
