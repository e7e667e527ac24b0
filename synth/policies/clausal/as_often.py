"""As many of one as of another in the end: `as many payouts as approvals`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event
from synth.policies.clausal.words import HAPPEN, RUNS, SHOULD

_IS = f"{SHOULD}|is|are"
_EXACTLY = "exactly|just|always|precisely"
_HAPPEN = "happen|occur|take_place|happens|occurs|takes_place"
_HAVE = "have|has|contain|contains|see|sees|make|makes|include|includes"
_EQUALS = (
    "equals|equal|must_equal|should_equal|has_to_equal|must_be_equal_to|must_be_the_same_as|is_the_same_as|is_equal_to"
    "|matches|must_match|should_match|has_to_match|should_be_the_same_as|has_to_be_the_same_as|must_always_equal"
)
_NUMBER = "number_of|count_of|total_number_of"
_OFTEN = "as_often_as|as_many_times_as|as_frequently_as"


def _as_often(p: Parts) -> Demand | None:
    one, other = (_only_one(p[slot]) for slot in ("a", "b"))
    if one is None or other is None or one.action == other.action:
        return None
    return Demand("as often", (one,), (other,))


def _only_one(said: Event | tuple[tuple[Event, ...], str]) -> Event | None:
    """The only action that is spoken of; none of those that failed."""
    events = (said,) if isinstance(said, Event) else said[0]
    if len(events) != 1 or events[0].outcome in ("failed", "tried"):
        return None
    return replace(events[0], single=False, outcome="")


AS_OFTEN: dict[str, Rule] = {
    "as many": [
        ("as_many {a:event} as {b:event}", _as_often),
        ("the_same|an_equal number_of {a:event} and|as {b:event}", _as_often),
    ],
    "demand": [
        (f"there {_IS} [be] [{_EXACTLY}] {{d:as many}}", lambda p: p["d"]),
        (f"{_EXACTLY} {{d:as many}}", lambda p: p["d"]),
        (f"{RUNS} [{SHOULD}] [{_EXACTLY}] {_HAVE} [{_EXACTLY}] {{d:as many}}", lambda p: p["d"]),
        (f"{{a:events}} {SHOULD} {HAPPEN} [{_EXACTLY}] {_OFTEN} {{b:events}}", _as_often),
        (f"{{a:events}} {_HAPPEN} [{_EXACTLY}] {_OFTEN} {{b:events}}", _as_often),
        (f"{{a:events}} , [{_EXACTLY}] {_OFTEN} {{b:events}}", _as_often),
        (f"the {_NUMBER} {{a:event}} {_EQUALS} the {_NUMBER}|that_of {{b:event}}", _as_often),
        (f"{{a:event}} and {{b:event}} {SHOULD} be equal in_number", _as_often),
        (f"{{a:event}} and {{b:event}} {SHOULD} {HAPPEN} equally_often|the_same_number_of_times", _as_often),
    ],
}  # fmt: skip
