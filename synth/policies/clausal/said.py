"""From what a clause and its adjuncts mean to the sentence of the language that says it."""

from __future__ import annotations

from collections.abc import Sequence

from synth.policies.clausal.meaning import COUNTED, OF_COUNTS, Meaning
from synth.policies.clausal.parts import Adjunct
from synth.policies.clausal.ways import WAYS
from synth.policies.clausal.ways_of_times import is_said_of_the_next

_BESIDE = ("same", "run", "first", "later", "from then", "always", "different", *OF_COUNTS)
"""Adjuncts that change no kind of rule."""


def _with_the_same(fields: Sequence[str], different: str = "") -> str:
    same = f" with the same {' and '.join(fields)}" if fields else ""
    if not different:
        return same
    return f"{same} and different {different}" if same else f" with different {different}"


def _is_so_often(m: Meaning) -> bool:
    """Is something needed so many times before?"""
    told = m.has("so many") or m.has("after so many")
    return told or m.demand.kind in ("so many before", "so many needed")


def _of_different(m: Meaning) -> str | None:
    """Of which field the values differ of what is needed so often; None where the language cannot say it."""
    found = {a.said for a in m.adjuncts if a.kind in ("different", "so many", "after so many") and a.said}
    one = len(found) < 2 and (_is_so_often(m) or not found) and (not found or len(m.same_fields() or ()) < 2)
    return next(iter(found), "") if one else None


def _only_this(m: Meaning) -> bool:
    """`After B only A` forbids what is not A; `on Fridays, A only before noon` says nothing of other days."""
    before = any(a.leads and not a.only and a.kind not in (*_BESIDE, "failed") for a in m.adjuncts)
    return before and (m.demand.kind == "only" or any(a.only for a in m.adjuncts))


def _is_torn(m: Meaning) -> bool:
    """`For each card freeze, ...` is no `for each card: freeze, ...`."""
    return m.has("headline") and any(a.kind == "same" and a.leads for a in m.adjuncts)


def _of_all_of_them(m: Meaning) -> bool:
    """`Once A and B are done` is after both; the language says that alone of what is needed first."""

    def is_said(a: Adjunct) -> bool:
        if a.kind in ("unless", "until", "without later"):
            return True
        if a.kind in ("after", "if", "state"):
            return a.only or m.demand.kind == "only"
        return a.kind == "before" and m.demand.kind == "never"

    facts = [a for a in m.adjuncts if a.fact is not None and a.fact.clauses and a.fact.joint == "and"]
    return all(map(is_said, facts))


_OF_RUNS = ("first", "last", "do first")
"""Demands on each run, of which that may be said again: `in every run the first call must be`."""
_NONE = ("never", "stop", "blocked")
"""Bans, which `A must not come first` is not: it may come later."""
_BEFORE_IT = (
    "needs",
    "needs lately",
    "own",
    "have",
    "do first",
    "comes",
    "pass",
    "adjacent",
    "so many before",
    "so many needed",
)
"""Demands on what comes first: `needs the gate opened afterwards` is none."""


def in_words(m: Meaning, scoped: bool = False) -> str | None:
    """The sentence of the language that says it; `scoped`: whoever reads the file asks for its scope."""
    same = m.same_fields()
    if same is None or not m.is_plain() or not m.is_said_of_counts():
        return None
    kinds = tuple(sorted(a.kind for a in m.adjuncts if a.kind not in _BESIDE))
    if len(set(kinds)) < len(kinds):
        return None
    only = m.demand.kind == "only" or any(a.only for a in m.adjuncts)
    if not is_said_of_the_next(m) or _is_torn(m):
        return None
    if any(a.contrary for a in m.adjuncts) and m.has("days") and m.has("hours"):
        return None
    if only and m.demand.kind not in ("only", "may", "must", "do", "headed"):
        return None
    if only and (m.later or _only_this(m)):
        return None
    if not _of_all_of_them(m):
        return None
    if m.has("from then") and m.demand.kind not in ("never", "never but", "only these", "then only", "stop"):
        return None
    if (
        m.demand.kind == "may"
        and not only
        and not (m.has("no sooner") or m.has("no later") or m.has("nothing else"))
    ):
        return None
    if m.later and m.demand.kind in _BEFORE_IT:
        return None
    if m.has("run") and m.demand.kind not in (*COUNTED, *_OF_RUNS) and not scoped:
        return None
    if m.has("first") and not kinds and m.demand.kind in _NONE:
        return None
    if m.demand.how == "again" and not kinds:
        return None
    way = WAYS.get("only" if only else m.demand.kind, {}).get(kinds)
    said, different = way(m) if way is not None else None, _of_different(m)
    if (m.is_of_it_alone and _is_so_often(m)) or m.of_failures_alone:
        same = ()
    return None if said is None or different is None else f"{said}{_with_the_same(same, different)}"
