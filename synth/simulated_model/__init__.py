"""A simulated model: an OpenAI-compatible server whose planners read the prompt, with known faults."""

from __future__ import annotations

from synth.simulated_model.brain import Planted, parse_model
from synth.simulated_model.planning import Fault
from synth.simulated_model.profiles import PROFILES, Cause, Profile, profile_named
from synth.simulated_model.replay import AIRLINE, read_records
from synth.simulated_model.server import SimulatedModel

__all__ = [
    "AIRLINE",
    "PROFILES",
    "Cause",
    "Fault",
    "Planted",
    "Profile",
    "SimulatedModel",
    "parse_model",
    "profile_named",
    "read_records",
]
