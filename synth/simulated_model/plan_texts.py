"""Plans as text, as planning agents ask for them: which request it is, and what the model writes.

The first message says the tools, one a line, and how a plan is written; every complaint and every answer to
an accepted step is a message of its own (`synth.plans.planning`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.plans.planning import AGAIN, CODE, DONE, INTRODUCTION, NEXT, ONE_STEP
from synth.simulated_model.dialogue import Asked, OfferedTool, text_of
from synth.simulated_model.planning import Move, Plan

MOST_STEPS = 50


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a request for a plan says beyond its task."""

    one_step: bool
    code: bool
    answers: tuple[str, ...]
    """To the steps accepted so far."""
    complaints: int
    """So far, about whatever it planned."""


def plan_request(messages: Sequence[Mapping[str, Any]]) -> tuple[PlanRequest, tuple[OfferedTool, ...]] | None:
    """The request and its tools; None where the messages ask for no plan."""
    told = (text_of(one.get("content")) for one in messages if one["role"] == "system")
    first = next((text for text in told if text.startswith(INTRODUCTION)), None)
    if first is None:
        return None
    tools, _, how = first.removeprefix(INTRODUCTION).strip().partition("\n\n")
    said = [text_of(one.get("content")) for one in messages if one["role"] == "user"][1:]
    answers = tuple(text for text in said if text.endswith(NEXT))
    complaints = sum(text.endswith(AGAIN) for text in said)
    request = PlanRequest(ONE_STEP in how, CODE in how, answers, complaints)
    return request, tuple(_tool(line) for line in tools.splitlines())


def plan_text(plan: Plan, request: PlanRequest) -> str:
    """What the model writes: the whole plan, the next step of it, or that it is done."""
    moves = _moves(plan, request.answers, len(request.answers) + 1 if request.one_step else MOST_STEPS)
    if request.one_step and len(moves) <= len(request.answers):
        return DONE
    shown = list(enumerate(moves))[len(request.answers) if request.one_step else 0 :]
    if request.code:
        return "\n".join(f"output{at} = {move.tool}({_given(move.arguments)})" for at, move in shown)
    steps = (
        f'{{"id": {at}, "name": {json.dumps(move.tool)}, "args": {move.arguments}}}' for at, move in shown
    )
    return f"[{', '.join(steps)}]"


def _moves(plan: Plan, answers: Sequence[str], most: int) -> list[Move]:
    """The moves of a plan, as far as answers are known or none are needed."""
    found: list[Move] = []
    asked: list[Asked] = []
    while len(found) < most and (moves := plan.next(asked)):
        for move in moves:
            answer = answers[len(found)] if len(found) < len(answers) else ""
            found.append(move)
            asked.append(Asked("", move.tool, move.arguments, answer))
    return found[:most]


def _given(arguments: str) -> str:
    """Arguments as Python has them; malformed ones stay so."""
    try:
        return ", ".join(f"{name}={value!r}" for name, value in json.loads(arguments).items())
    except ValueError:
        return arguments


def _tool(line: str) -> OfferedTool:
    said = json.loads(line)
    return OfferedTool(said["name"], said.get("description", ""))
