"""What an agent did: runs, and the instants of their calls."""

from synth.observed.run import (
    MAX_DEPTH,
    Interval,
    Run,
    Status,
    ToolCall,
    Unseen,
    deeper_than,
    read_runs,
    run_from_json,
)

__all__ = [
    "MAX_DEPTH", "Interval", "Run", "Status", "ToolCall", "Unseen", "deeper_than", "read_runs",
    "run_from_json",
]  # fmt: skip
