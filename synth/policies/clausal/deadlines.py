"""No sooner, and no later, than so long after something: `2 minutes after the charge at the earliest`.

How long before something it must have been done (`at most 5 minutes before a payment`), and how recent what
is needed must be (`a check from the last 5 minutes`).
"""

from __future__ import annotations

from collections.abc import Callable

from synth.policies.clausal.facts import by_it, passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Fact

_SINCE = "after|following|since"
_AT_LEAST = "at_least|a_minimum_of|a_full|min|minimum"
_NO_SOONER = (
    "no_sooner_than|not_sooner_than|never_sooner_than|no_earlier_than|not_earlier_than|never_earlier_than"
    "|not_before|at_the_earliest|at_the_soonest|not_until|earliest"
)
_EARLIEST = (
    "at_the_earliest|at_the_very_earliest|at_the_soonest|or_later|and_no_sooner|and_not_sooner|but_no_sooner"
    "|but_not_sooner|no_sooner|not_sooner|no_earlier|not_earlier|but_not_earlier|and_not_earlier|at_least"
)
_NO_LATER = (
    "at_most|no_later_than|not_later_than|never_later_than|no_more_than|not_more_than|up_to|until"
    "|at_the_latest|latest|not_longer_than|no_longer_than|a_maximum_of|max|maximum|not_after"
)
_LATEST = (
    "at_the_latest|at_the_very_latest|and_no_later|and_not_later|but_no_later|but_not_later|no_later"
    "|not_later|at_most|at_the_most|but_not_after_that|not_after_that"
)
_BEFORE = "before|ahead_of|prior_to"
_LAST = "last|past|previous|preceding|most_recent"


def _so_long(kind: str) -> Callable[[Parts], Adjunct | None]:
    """Of what has happened: `after the charge`, `after it was approved`."""

    def made(p: Parts) -> Adjunct | None:
        fact: Fact = p["f"]
        if fact.aspect in ("not", "running", "fails") or any(e.outcome for e in fact.events):
            return None
        return Adjunct(kind, fact, time=p["d"])

    return made


def _being(p: Parts) -> Fact | None:
    event = passive(p) if "t" in p else by_it({"d": p["d"]})
    return None if event is None else Fact((event,), "noun")


DEADLINES: dict[str, Rule] = {
    "done before": [
        ("{f:what}", lambda p: p["f"]),
        ("being|having_been {d:past}", _being),
        ("{t:object} being|having_been {d:past}", _being),
    ],
    "adjunct": [
        (f"{_NO_SOONER} {{d:time}} {_SINCE} {{f:done before}}", _so_long("no sooner")),
        (f"{{d:time}} {_SINCE} {{f:done before}} [,] {_EARLIEST}", _so_long("no sooner")),
        (f"[{_AT_LEAST}] {{d:time}} or_more|or_longer {_SINCE} {{f:done before}}", _so_long("no sooner")),
        (f"{_AT_LEAST} {{d:time}} {_SINCE} {{f:done before}}", _so_long("no sooner")),
        (f"{_NO_LATER} {{d:time}} {_SINCE} {{f:done before}}", _so_long("no later")),
        (f"{{d:time}} {_SINCE} {{f:done before}} [,] {_LATEST}", _so_long("no later")),
        (
            f"at_most|no_more_than|not_more_than|less_than [the] [{_LAST}] {{d:time}} {_BEFORE} {{f:what}}",
            _so_long("lately before"),
        ),
        (f"in|during the [{_LAST}] {{d:time}} {_BEFORE} {{f:what}}", _so_long("lately before")),
        (f"from|of the {_LAST} {{d:time}}", lambda p: Adjunct("ago", time=p["d"])),
        (
            "that|which is|are|was|were [made|done|run] [not_older_than|no_older_than|not_more_than"
            "|no_more_than|at_most|less_than|younger_than] {d:time} [old|ago|earlier|before]",
            lambda p: Adjunct("ago", time=p["d"]),
        ),
    ],
}
