"""Games that a player can play step by step, with progress and repetition of each (AgentQuest, section 3)."""

from synth.games.model import NOTHING, Action, Driver, Observation, Player, Strategy, Supplies, Turn
from synth.games.play import (
    GAMES,
    STEPS,
    Played,
    Table,
    Variant,
    play,
    played,
    table,
    tables,
    variant_named,
)
from synth.games.players import STRATEGIES, Reference, as_player, game_in, reference
from synth.games.sitting import Move, Sitting, move_from_json

__all__ = [
    "GAMES", "NOTHING", "STEPS", "STRATEGIES", "Action", "Driver", "Move", "Observation", "Played", "Player",
    "Reference", "Sitting", "Strategy", "Supplies", "Table", "Turn", "Variant", "as_player", "game_in",
    "move_from_json", "play", "played", "reference", "table", "tables", "variant_named",
]  # fmt: skip
