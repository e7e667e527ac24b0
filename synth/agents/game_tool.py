"""The proxy tool: any agent plays a game by calling one tool (AgentQuest, appendix B)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.agents import tracer
from synth.agents.mock_tools import MockTool, ToolLog
from synth.agents.usage import Usage, usage_of
from synth.errors import SynthError
from synth.games import Move, Sitting, Supplies, variant_named

TOOL = "act"
"""Name of the tool."""
ABOUT = "Takes one action in the game and tells what came of it."
PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"action": {"type": "string", "description": "The action, in the words of the rules."}},
    "required": ["action"],
}
OVER = "The game is over."
ROUNDS = 10
"""Model answers that an agent has beyond the steps of a game, for talk and for its last word."""
JUDGE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Judge:
    """The language model that judges, where a game can use one."""

    model: str
    base_url: str | None = None
    """None: OPENAI_BASE_URL, else OpenAI itself."""


def game_tool(sitting: Sitting, log: ToolLog) -> MockTool:
    """The tool through which an agent plays."""

    def answer(arguments: Mapping[str, Any]) -> str:
        if not sitting.act(action_in(arguments)):
            return f"{OVER} {sitting.trouble}" if sitting.trouble else OVER
        tracer.stated({"progress": sitting.moves[-1].progress, "game": sitting.state})
        return f"{sitting.seen.text}\n{OVER}" if sitting.is_over else sitting.seen.text

    return MockTool(TOOL, ABOUT, PARAMETERS, answer, log)


def action_in(arguments: Mapping[str, Any]) -> str:
    """The action of a call; what is no text is taken as JSON says it, and nothing as an empty text."""
    action = arguments.get("action", "")
    return action if isinstance(action, str) else json.dumps(action, default=repr)


def task_of(sitting: Sitting, steps: int) -> str:
    """The game in words, for an agent that is to play it."""
    return (
        f"{sitting.first.text}\n\nPlay with the tool {TOOL}, one action a call, until it says that the game "
        f"is over. You have {steps} actions."
    )


def sitting_of(said: Mapping[str, Any], log: Path | None) -> Sitting:
    """The game of a request `{"variant", "seed", "data", "judge"}`; its moves go to `log` as JSON lines."""
    judge = said.get("judge")

    def told(usage: Usage) -> None:
        if log is not None:
            with judged_in(log).open("a", encoding="utf-8") as file:
                file.write(json.dumps(usage.to_json()) + "\n")

    asks = None if judge is None else asking(Judge(**judge), told)
    supplies = Supplies(Path(said["data"]) if said.get("data") else None, asks)
    variant = variant_named(said["variant"])
    return Sitting(variant.driver(said["seed"], supplies), variant.steps, _writing(log))


def judged_in(log: Path) -> Path:
    """Where the judge of a game with this log says what each of its answers took, as JSON lines."""
    return log.with_name(f"{log.name}.judged")


def _writing(log: Path | None) -> Callable[[Move], None]:
    def tell(move: Move) -> None:
        if log is not None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(move.to_json()) + "\n")

    return tell


class NoJudge(SynthError):
    """The model that judges did not answer."""


def asking(judge: Judge, told: Callable[[Usage], None] = lambda usage: None) -> Callable[[str], str]:
    """A function from a prompt to the model's answer; `told` hears what each took.

    Asked without an SDK: who watches the agent's model calls must not see the judge's among them.
    """
    import httpx  # who only reads what the tool is called does without

    base = judge.base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    key = os.environ.get("OPENAI_API_KEY") or "none"

    def ask(prompt: str) -> str:
        body = {"model": judge.model, "messages": [{"role": "user", "content": prompt}]}
        try:
            answer = httpx.post(
                f"{base.rstrip('/')}/chat/completions",
                json=body, headers={"Authorization": f"Bearer {key}"}, timeout=JUDGE_SECONDS,
            )  # fmt: skip
            answer.raise_for_status()
            said = answer.json()
            text = str(said["choices"][0]["message"]["content"])
            told(usage_of(said))
            return text
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as problem:
            raise NoJudge(f"the judge {judge.model!r} at {base} gave no answer: {problem!r}") from problem

    return ask
