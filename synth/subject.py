"""What a run is judged against, without the language layers of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synth.explain import Wording
from synth.model import Spec


@dataclass(frozen=True, slots=True)
class Subject:
    """A spec, the tools that fulfil its actions, and the words for both."""

    case_id: str
    spec: Spec
    actions: Mapping[str, str]
    """Tool name -> action id."""
    say: Wording
