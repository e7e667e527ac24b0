"""From dialogue to answer: picks the profile, makes the plan, records the planted fault.

Everything said is a function of the request (text, tools, earlier calls), of the profile and seed in the
model's name, and, for profiles with luck, of how often this text was asked before.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from synth.errors import BadInput, SynthError
from synth.questions import Question, is_right
from synth.simulated_model import answering, brackets, playing, replay
from synth.simulated_model.dialogue import Answer, Ask, Asked, Dialogue, call_id, digest
from synth.simulated_model.heeding import heeding, is_refused
from synth.simulated_model.newest import Newest
from synth.simulated_model.plan_texts import plan_text
from synth.simulated_model.planning import Fault, Plan, perfect
from synth.simulated_model.profiles import PROFILES, Profile, profile_named
from synth.simulated_model.task import understand

_MODEL = re.compile(
    r"simulated-(?P<profile>[a-z-]+)(?P<parallel>\+parallel)?(?:\+(?P<heeds>always|half|never))?"
    r"(?::(?P<seed>\d+))?\Z"
)

REMEMBERED = 100_000
"""Conversations of which counts and planted faults are known."""
DONE = "All tasks are done."


@dataclass(frozen=True, slots=True)
class Planted:
    """One conversation that began, and the mistake it is going to contain."""

    key: str
    """The API key presented; the harness presents the trace id."""
    model: str
    profile: str
    query: str
    """Digest of the text asked."""
    attempt: int
    fault: Fault | None
    """None: this plan is right."""

    def to_json(self) -> dict[str, Any]:
        fault = None if self.fault is None else self.fault.to_json()
        shown = {"key": self.key, "model": self.model, "profile": self.profile, "query": self.query}
        return {**shown, "attempt": self.attempt, "fault": fault}


def parse_model(name: str) -> tuple[Profile, int]:
    """`simulated-<profile>` or `simulated-<profile>:<seed>`.

    `+always`, `+half` or `+never` after the profile: how often it heeds what it is told, of a plan that it
    wrote as text or of a call that a guard refused. `+parallel` before that: calls in no stated order are
    asked for in one message.
    """
    match = _MODEL.match(name)
    profile = profile_named(match["profile"]) if match else None
    if match is None or profile is None:
        known = ", ".join(f"simulated-{profile.name}" for profile in PROFILES)
        wanted = f"expected one of {known}, each with an optional :SEED, or replay:RUN_ID"
        raise BadInput(f"unknown model {name!r}; {wanted}", field="model")
    return profile, int(match["seed"] or 0)


class Brain:
    """Thinks up answers; holds only counters and the record of planted faults."""

    def __init__(self, records: Sequence[replay.Record] = (), questions: Sequence[Question] = ()) -> None:
        self._records = records
        self._questions = answering.by_text(questions)
        self._lock = threading.Lock()
        self._conversations: Newest[int] = Newest(REMEMBERED)
        self._planted: deque[Planted] = deque(maxlen=REMEMBERED)
        self._by_key: Newest[Planted] = Newest(REMEMBERED)

    @property
    def planted(self) -> tuple[Planted, ...]:
        """The newest conversations in the order in which they began."""
        with self._lock:
            return tuple(self._planted)

    def planted_for(self, key: str) -> Planted | None:
        """The last conversation that began with this API key."""
        with self._lock:
            return self._by_key.get(key)

    def models(self) -> list[str]:
        simulated = [f"simulated-{profile.name}" for profile in PROFILES]
        return simulated + [f"{replay.PREFIX}{record['run_id']}" for record in self._records]

    def think(self, dialogue: Dialogue) -> tuple[Answer, int]:
        """The next answer, and which conversation about this text it belongs to."""
        if dialogue.model.startswith(replay.PREFIX):
            return replay.answer(dialogue, self._records), 0
        profile, seed = parse_model(dialogue.model)
        attempt = self._attempt(dialogue)
        if playing.is_game(dialogue):
            return playing.next_action(dialogue, profile.name, seed, attempt), attempt
        if question := self._questions.get(dialogue.text.strip()):
            return answering.next_step(question, dialogue, profile.name, seed, attempt), attempt
        try:
            task = replace(understand(dialogue), parallel="+parallel" in dialogue.model)
        except SynthError as error:
            return Answer(f"I cannot read this task: {error}"), attempt
        plan = profile.plan(task, _randomness(profile, seed, dialogue, attempt))
        if dialogue.planning is None and not dialogue.turns:
            self._plant(dialogue, profile, attempt, plan.fault)
        if dialogue.planning is not None:  # whether its fault comes to a call is up to the feedback
            if _heeds(dialogue):
                plan = Plan(perfect(task, _randomness(profile, seed, dialogue, attempt)))
            return Answer(plan_text(plan, dialogue.planning), delay=plan.delay), attempt
        if any(map(is_refused, dialogue.asked)):
            plan = replace(plan, next=heeding(plan.next, task, partial(_listens, dialogue)))
        return _answer(plan, dialogue, attempt), attempt

    def aside(self, asked: brackets.Aside, model: str) -> str:
        """What it says where an agent's environment asks it (see `brackets`)."""
        if asked.kind == "summary":
            return brackets.summary_of(asked.text)
        profile, seed = parse_model(model)
        question = self._questions.get(asked.question.strip())
        if asked.kind == "evaluation":
            right = question is None or is_right(asked.text, question)
            return "Yes, it is right." if right else "No, it is wrong."
        if question is None:
            return DONE
        told = [Asked("", "", "", line) for line in asked.text.split("\n")]
        return answering.answer_of(question, told, profile.name, seed, len(asked.text))

    def _attempt(self, dialogue: Dialogue) -> int:
        if dialogue.attempt is not None:
            return dialogue.attempt
        with self._lock:
            key = digest(dialogue.model, dialogue.text)
            attempt = self._conversations.get(key) or 0
            self._conversations[key] = attempt + 1
            return attempt

    def _plant(self, dialogue: Dialogue, profile: Profile, attempt: int, fault: Fault | None) -> None:
        query = digest(dialogue.text)
        planted = Planted(dialogue.key, dialogue.model, profile.name, query, attempt, fault)
        with self._lock:
            self._planted.append(planted)
            self._by_key[planted.key] = planted


def _heeds(dialogue: Dialogue) -> bool:
    """Has it been told that what it planned is wrong, and listened?"""
    return any(_listens(dialogue, at) for at in range(dialogue.planning.complaints))


def _listens(dialogue: Dialogue, at: int) -> bool:
    """Does it heed what it is told the `at`-th time?"""
    match = _MODEL.match(dialogue.model)
    heeds = match and match["heeds"]
    if heeds == "half":
        return int(digest(dialogue.model, dialogue.text, at), 16) % 2 == 1
    return heeds == "always"


def _randomness(profile: Profile, seed: int, dialogue: Dialogue, attempt: int) -> Random:
    return Random(digest(profile.name, seed, dialogue.text, attempt if profile.luck else 0))


def _answer(plan: Plan, dialogue: Dialogue, attempt: int) -> Answer:
    moves = plan.next(dialogue.asked)
    if not moves:
        return Answer(DONE, delay=plan.delay)
    begun = len(dialogue.asked)
    fingerprint = digest(dialogue.model, dialogue.text)
    ids = (call_id(fingerprint, attempt, begun + k) for k in range(len(moves)))
    asks = tuple(Ask(id, move.tool, move.arguments) for id, move in zip(ids, moves, strict=True))
    return Answer(None, asks, plan.delay, slips=begun == plan.slips_at)
