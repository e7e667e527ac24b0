"""Who is meant: `everyone who was checked in`, `one approver`, `no guest gets two vouchers`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event, Fact, with_same
from synth.policies.clausal.words import (
    AGAIN,
    AGENT,
    ALREADY,
    BEFORE,
    HAS_BEEN,
    HAVE,
    HAVE_NOT,
    MAY,
    NO,
    SHOULD,
)

_EVERYBODY = "everyone|everybody|anyone|anybody|all_those|those"
_ONE = "one|any_one|a_single|any_single|each|every|the_same|a_given|any_given"
_MORE = "more_than|over {n:number}"
_NO_MORE = "at_most|at_the_most|and_no_more|and_not_more"
_RUN = "per_run|in_a_run|in_one_run|in_the_same_run|in_a_single_run|in_any_run"


def _whoever(kind: str, receives: bool = False) -> Callable[[Parts], Demand | None]:
    """`Everyone who has been checked out must be messaged`, of one and the same guest."""

    def made(p: Parts) -> Demand | None:
        first, then = p["e"], p["d"]
        if first.action == then.action or first.role or then.role or len(then.noun) != 1:
            return None
        if not receives and first.noun[-1:] != then.noun:
            return None
        return Demand(kind, (with_same(first, frozenset(then.noun)),), (then,))

    return made


def _for_one(p: Parts) -> Demand | None:
    """So many calls for each of those that are named: `one approver can approve at most two claims`."""
    event: Event | None = p["e"] if "e" in p else _of_verb(p)
    if event is None:
        return None
    how, number = p.get("c") or ("at most", p["n"])
    event = with_same(replace(event, single=False), frozenset({p["w"]}))
    return Demand("count", (event,), how=how, number=number)


def _of_verb(p: Parts) -> Event | None:
    verb, thing = p["v"], p["t"]
    return thing if verb.action == thing.action and not thing.role else None


def _none_gets(p: Parts) -> Demand | None:
    """`No guest gets two vouchers` allows one."""
    return _for_one({**p, "c": ("at most", p["n"] - 1)}) if p["n"] > 1 else None


def _by_itself(aspect: str) -> Callable[[Parts], Fact | None]:
    """`Once a guest has checked in`."""

    def made(p: Parts) -> Fact | None:
        event = passive(p)
        return None if event is None else Fact((event,), aspect)

    return made


PEOPLE: dict[str, Rule] = {
    "that": [
        (
            f"[that|which|who|whom] {AGENT} [{HAVE}] [{ALREADY}] {{e:gapped}} [{BEFORE}]",
            lambda p: Fact((p["e"],), "perfect"),
        ),
    ],
    "one_fact": [
        (f"{{t:object}} {HAVE} [{ALREADY}] {{d:self}} [{BEFORE}]", _by_itself("perfect")),
        (f"{{t:object}} {HAVE_NOT} {{d:self}} [{BEFORE}|yet]", _by_itself("not")),
        ("{t:object} {d:self}", _by_itself("present")),
    ],
    "demand": [
        (
            f"{_EVERYBODY} who {HAS_BEEN}|was|were|is|are {{e:past}} {SHOULD} be {{d:past}}",
            _whoever("answer"),
        ),
        (
            f"{_EVERYBODY} who {HAS_BEEN}|was|were|is|are {{e:past}} {NO} [ever] be {{d:past}} [{AGAIN}]",
            _whoever("no answer"),
        ),
        (
            f"{_EVERYBODY}|whoever [who] receives|receive|gets|get|is_given|was_given {{e:noun}} {SHOULD} "
            f"be {{d:past}}",
            _whoever("answer", receives=True),
        ),
        (
            f"nobody|no_one {MAY}|{SHOULD}|is_to [ever] be {{d:past}} {AGAIN}",
            lambda p: None if p["d"].role else Demand("never", (p["d"],)),
        ),
        (f"{_ONE} {{w:thing_behind}} {MAY} {{v:verb}} {{c:count}} {{t:thing}}", _for_one),
        (
            f"{_ONE} {{w:thing_behind}} {MAY} {{v:verb}} {{n:number}} {{t:thing}} [{_RUN}] {_NO_MORE}",
            _for_one,
        ),
        (f"{_ONE} {{w:thing_behind}} {NO} {{v:verb}} {_MORE} {{t:thing}}", _for_one),
        (f"never|do_not {{v:verb}} {_ONE} {{w:thing_behind}} {_MORE} {{t:thing}}", _for_one),
        (f"never|do_not give|send|grant {_ONE} {{w:thing_behind}} {_MORE} {{e:noun}}", _for_one),
        (
            f"no {{w:thing_behind}} {MAY} get|receive|be_given {_MORE} {{e:noun}}",
            _for_one,
        ),
        (f"no {{w:thing_behind}} gets|receives|is_given {_MORE} {{e:noun}}", _for_one),
        ("no {w:thing_behind} gets|receives|is_given {n:number} {e:noun}", _none_gets),
        (f"no {{w:thing_behind}} {MAY} get|receive|be_given {{n:number}} {{e:noun}}", _none_gets),
    ],
}
