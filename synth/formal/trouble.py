"""What kept an agent from being tested: trouble that is not its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from synth.errors import BadInput

TroubleKind = Literal["endpoint", "unreachable", "crash_before_start", "worker", "collector", "no_verdict"]
"""The model's endpoint failed or hung; the agent could not be reached or imported; its program crashed before
its first model request and tool call; our own worker or collector failed; no verdict came in time."""
TROUBLES: tuple[TroubleKind, ...] = get_args(TroubleKind)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a run says nothing about its agent's planning."""

    kind: TroubleKind
    status: int | None = None
    """HTTP status code, where there was one."""
    message: str = ""
    """The provider's own words first."""

    def __str__(self) -> str:
        """`endpoint 429: Rate limit reached`, as far as it is known."""
        what = self.kind if self.status is None else f"{self.kind} {self.status}"
        return f"{what}: {self.message}" if self.message else what

    def to_json(self) -> dict[str, Any]:
        """The public spelling, see "Verdict" in `docs/formats.md`."""
        return {"kind": self.kind, "status": self.status, "message": self.message}


def trouble_from_json(said: Any, field: str = "trouble") -> Trouble | None:
    """The reverse of `Trouble.to_json`; null is None, BadInput for what is no trouble."""
    if said is None:
        return None
    if not isinstance(said, Mapping):
        raise BadInput(f"expected an object, got {said!r:.60}", field=field)
    kind, status, message = said.get("kind"), said.get("status"), said.get("message")
    if kind not in TROUBLES:
        raise BadInput(f"expected one of {', '.join(TROUBLES)}, got {kind!r:.60}", field=f"{field}.kind")
    if status is not None and type(status) is not int:
        raise BadInput(f"expected a status code or null, got {status!r:.60}", field=f"{field}.status")
    if message is not None and not isinstance(message, str):
        raise BadInput(f"expected text, got {message!r:.60}", field=f"{field}.message")
    return Trouble(kind, status, message or "")
