"""The simulated model plays: `perfect` well, `loops` the same again and again, `forgets` without memory."""

from __future__ import annotations

import json
from typing import Any

from synth.agents.game_tool import ABOUT, OVER, TOOL, action_in
from synth.games import STRATEGIES, Turn, game_in
from synth.simulated_model.dialogue import Answer, Ask, Asked, Dialogue, call_id, digest

STYLES = {"perfect": "good", "loops": "repeating", "forgets": "forgetting"}
"""Profile -> the reference player that it plays like."""


def is_game(dialogue: Dialogue) -> bool:
    """Is this a game, played through the proxy tool?"""
    return any(tool.name == TOOL and tool.description == ABOUT for tool in dialogue.tools)


def next_action(dialogue: Dialogue, profile: str, seed: int, attempt: int) -> Answer:
    """The next step of the game that the request tells the rules of."""
    game, style = game_in(dialogue.text), STYLES.get(profile)
    if game is None or style is None:
        able = ", ".join(f"simulated-{name}" for name in STYLES)
        return Answer(f"I cannot play this game; {able} play {', '.join(STRATEGIES)}.")
    turns = [_turn(call) for call in dialogue.asked]
    if turns and OVER in turns[-1].seen:
        return Answer(OVER)
    action = STRATEGIES[game][style](seed, dialogue.text, turns)
    id = call_id(digest(dialogue.model, dialogue.text), attempt, len(turns))
    return Answer(None, (Ask(id, TOOL, json.dumps({"action": action})),))


def _turn(call: Asked) -> Turn:
    return Turn(action_in(_arguments(call)), call.answer or "")


def _arguments(call: Asked) -> dict[str, Any]:
    try:
        said = json.loads(call.arguments)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
