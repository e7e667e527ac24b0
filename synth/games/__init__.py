"""Games that a player can play step by step, with progress and repetition of each (AgentQuest, section 3)."""

from synth.games.model import Action, Driver, Observation
from synth.games.play import GAMES, REFERENCES, Played, Table, play, reference, table
from synth.games.players import Player

__all__ = [
    "GAMES", "REFERENCES", "Action", "Driver", "Observation", "Played", "Player", "Table", "play",
    "reference", "table",
]  # fmt: skip
