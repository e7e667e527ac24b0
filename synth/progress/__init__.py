"""How far a run came and whether it runs in circles: progress and repetition rates (AgentQuest, 3.2)."""

from synth.progress.evidence import known_progress, known_rate, progress_doubts, repetition_doubts
from synth.progress.milestones import (
    Milestone,
    Step,
    action_text,
    case_milestones,
    check_milestones,
    milestones_from_json,
    progress,
    state_progress,
    steps_of,
)
from synth.progress.repetition import Against, Repetition, repetition
from synth.progress.similarity import SIMILARITIES, Similarity

__all__ = [
    "SIMILARITIES", "Against", "Milestone", "Repetition", "Similarity", "Step", "action_text",
    "case_milestones", "check_milestones", "known_progress", "known_rate", "milestones_from_json", "progress",
    "progress_doubts", "repetition", "repetition_doubts", "state_progress", "steps_of",
]  # fmt: skip
