"""Policy files of a project as one set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def load_all(files: Sequence[tuple[str, str]]) -> Any:
    """(name, text) pairs as what `judge_policies` takes; None where there is no file."""
    if not files:
        return None
    from synth.policies import load_policies

    return load_policies(files[0][1])
