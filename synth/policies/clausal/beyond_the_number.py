"""What is said behind a number of what lies beyond it: `two per order, never a third`."""

from __future__ import annotations

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Fact
from synth.policies.clausal.words import BANNED, HAPPEN, NO

_ONE = "one|call|try|attempt|time|of_them|of_those|of_these"
_NOT = "never|not|no|but_never|but_not|and_never|and_not|and_no|but_no|not_even|never_ever"
_FOLLOW = f"{HAPPEN}|follow|be_allowed|be_permitted|be_given|be_issued|be_sent"


def _no_more(p: Parts) -> Adjunct:
    """So many are too many; of what, where that is said again."""
    number, fact = p["x"]
    return Adjunct("no more", fact, number=number)


BEYOND_THE_NUMBER: dict[str, Rule] = {
    "one beyond": [
        (f"[a|an|any|the] {{k:nth}} [{_ONE}]", lambda p: (p["k"], None)),
        ("[a|an|any|the] {k:nth} {e:event}", lambda p: (p["k"], Fact((p["e"],), "noun"))),
    ],
    "too many": [
        ("{x:one beyond}", lambda p: p["x"]),
        (f"{{n:number}} [{_ONE}|times]", lambda p: (p["n"], None) if p["n"] > 1 else None),
        (f"more_than {{n:number}} [{_ONE}|times]", lambda p: (p["n"] + 1, None)),
        ("another|another_one|a_further_one|any_others|further_ones|more_than_that", lambda p: (0, None)),
    ],
    "adjunct": [
        (f"[,] {_NOT} {{x:too many}}", _no_more),
        ("[,] [and] then_stop|and_stop|then_no_more|then_none|after_that_none|after_that_no_more|stop_there",
         lambda p: Adjunct("no more")),
        ("[,] counted|counting|summed|added_up|taken|measured|calculated|altogether|in_total {r:scope}",
         lambda p: Adjunct("run", said=p["r"])),
        ("[,] [and|but] {x:one beyond} is|are not|never", _no_more),
        ("[,] [and|but] no|without duplicates|duplicate|doubles|repeats|repetition|repetitions",
         lambda p: Adjunct("no more", number=2)),
        (f"[,] [and|but] {{x:one beyond}} {NO} [ever] {_FOLLOW}", _no_more),
        (f"[,] [and|but] {{n:number}} is|are [already|strictly] not|too_many|too_much|{BANNED}",
         lambda p: _no_more({"x": (p["n"], None)}) if p["n"] > 1 else None),
    ],
}  # fmt: skip
