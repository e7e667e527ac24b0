"""The loop of docs/finetuning.md: test, export, train, test on fresh cases. Its train step is a stand-in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from test_command_line import pdoctor

from synth.simulated_model import SimulatedModel
from synth.simulated_model.chat import Event

pytestmark = pytest.mark.heavy

BASE = "simulated-swaps"


class Tuned(SimulatedModel):
    """Serves `by-heart`, which repeats the chats it was trained on and else is as its base model."""

    def __init__(self) -> None:
        super().__init__()
        self.learned: dict[str, list[Mapping[str, Any]]] = {}

    def train(self, chats: Path) -> None:
        for line in chats.read_text().splitlines():
            messages = json.loads(line)["messages"]
            self.learned[messages[0]["content"]] = [m for m in messages if m["role"] == "assistant"]

    def chat(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any] | Iterable[Event]:
        if body["model"] != "by-heart":
            return super().chat(body, key)
        learned = self.learned.get(body["messages"][0]["content"])
        if learned is None:
            return super().chat({**body, "model": BASE}, key)
        said = sum(message["role"] == "assistant" for message in body["messages"])
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": None, **learned[said]}}
        return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def test_training_shows_on_the_cases_it_was_made_of_and_fresh_cases_show_what_was_learned(
    tmp_path: Path,
) -> None:
    train, fresh, chats = (tmp_path / name for name in ("train.jsonl", "held-out.jsonl", "chats.jsonl"))
    with Tuned() as server:

        def tested(model: str, seed: int, *more: object) -> str:
            options = ("--model", model, "--base-url", server.base_url, "--cases", 3, "--seed", seed, "--yes")
            done = pdoctor("test", "raw-loop", *options, *more)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        for seed, journal in ((1, train), (2, fresh)):
            tested(BASE, seed, "--journal", journal, "--min-pass-rate", 0)
        exported = pdoctor("export", train, "--finetune", "--chat", "-o", chats)
        assert exported.returncode == 0, exported.stderr
        server.train(chats)
        assert len(server.learned) == 3

        seen = tested("by-heart", 1, "--baseline", train)
        assert f"raw-loop on by-heart (before: {BASE}): 0.0% before, 100.0% after on 3 shared cases" in seen
        by_heart = tested("by-heart", 2, "--baseline", fresh)
        assert "(0 worse, 0 better, p = 1.000): not shown to be worse" in by_heart
