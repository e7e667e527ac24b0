"""CEL conditions in policy files, and their troubles in plain words."""

from __future__ import annotations

import re

from synth.formal.careful import NOT_KNOWN

_CEL_SAYS = (
    (
        r"NOT_FOUND: |INVALID_ARGUMENT: (Applying SELECT|Invalid container)|UNKNOWN: Index error",
        "the condition needs a value that the call or the earlier results do not have",
    ),
    (
        "UNKNOWN: No matching overload",
        "the condition compares or computes with values that are missing or of another type than it expects",
    ),
    ("[A-Z_]+: ", "the condition cannot be computed from these values"),
)


def in_plain_words(problem: str) -> str:
    """What CEL could not do, for someone who does not know CEL; its own words follow in brackets."""
    if NOT_KNOWN in problem:
        return problem.partition(NOT_KNOWN)[2]
    for pattern, words in _CEL_SAYS:
        if re.match(pattern, problem):
            return f"{words} (CEL: {problem.split(': ', 1)[1]})"
    return problem
