"""What an agent did: runs, and the instants of their calls."""

from synth.formal.partly import Why
from synth.observed.clocks import ANY_TIME, CLOCKS_DIFFER
from synth.observed.fields import kind_of, text_in
from synth.observed.lines import MAX_DEPTH, deeper_than, parse_json
from synth.observed.marks import ends_early, has_marks, is_left_out
from synth.observed.run import (
    FIELDS_LOST,
    SESSION_FIELDS,
    USAGE,
    VERSIONS,
    Interval,
    Run,
    Status,
    ToolCall,
    Unseen,
    read_runs,
    run_from_json,
)

__all__ = [
    "ANY_TIME", "CLOCKS_DIFFER", "FIELDS_LOST", "MAX_DEPTH", "SESSION_FIELDS", "USAGE", "VERSIONS",
    "Interval", "Run", "Status", "ToolCall", "Unseen", "Why", "deeper_than", "ends_early", "has_marks",
    "is_left_out", "kind_of", "parse_json", "read_runs", "run_from_json", "text_in",
]  # fmt: skip
