"""What is done only for what something was done to before: `vouchers only for verified customers`.

The thing, by what was done to it or was not (`such a one`, `no such one`), in each frame; which of them is
the same is told by its own noun.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.facts import passive, with_mods
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.relative import of_another, thing_of
from synth.policies.clausal.words import AGENT, ALLOWED, BEFORE, MAY, NO, SHOULD

Such = tuple[str, Fact]
"""A thing, and what has or has not happened to it."""


def _such(aspect: str) -> Callable[[Parts], Such | None]:
    def made(p: Parts) -> Such | None:
        event: Event = p["s"]
        thing = thing_of(event)
        if event.role or not thing:
            return None
        return next(iter(thing)), Fact((event,), aspect)

    return made


def _behind(p: Parts) -> tuple[str, Such]:
    return "of", p["s"]


def _of_such(kind: str) -> Callable[[Parts], Demand | None]:
    def made(p: Parts) -> Demand | None:
        event: Event = p["e"]
        if event.outcome or (kind == "only") == (p["s"][1].aspect == "not"):
            return None
        return Demand(kind, (of_another(replace(event, single=False), *p["s"], only=kind == "only"),))

    return made


def _only_for(p: Parts) -> Demand | None:
    return _of_such("only")({**p, "s": p["o"][1]}) if p["o"][0] == "of" else None


def _never_for(p: Parts) -> Demand | None:
    return _of_such("never")({**p, "s": p["o"][1]}) if p["o"][0] == "of" else None


def _before_getting(p: Parts) -> Demand | None:
    """`A customer has to be verified before getting a voucher`: the same customer."""
    done = passive(p)
    if done is None or done.role or p["e"].outcome:
        return None
    thing = thing_of(done)
    return Demand("needs", (with_same(p["e"], thing),), (replace(done, single=False),)) if thing else None


def _that_got(p: Parts) -> tuple[str, Such] | None:
    """`For an order that got a refund`."""
    return None if p["e"].outcome else ("of", (p["w"], Fact((p["e"],), "perfect")))


def _success_of(p: Parts) -> Event | None:
    """`A success of the check`."""
    return None if p["e"].outcome else replace(p["e"], outcome="successful", single=False)


def _that_succeeded(p: Parts) -> Event | None:
    """`Successfully cancelled`: no call that failed is counted."""
    event = with_mods(p)
    return None if event.outcome == "failed" else replace(event, outcome="successful")


def _without_having(p: Parts) -> Adjunct | None:
    """`No payout without a successful check of it`."""
    event: Event = p["e"]
    return Adjunct("unless", Fact((event,), "noun")) if event.outcome == "successful" else None


def _needs(p: Parts) -> Demand | None:
    """`Payout: the check must have succeeded first`."""
    (events, joint), (first, other) = p["a"], p["b"]
    return None if joint and other else Demand("needs", events, first, joint or other)


def _has_happened(fact: Fact) -> Demand | None:
    """`Make sure that a check has succeeded before ...`."""
    return Demand("have", fact.events, joint=fact.joint) if fact.aspect == "perfect" else None


def _happened(aspect: str) -> Callable[[Parts], Fact | None]:
    def made(p: Parts) -> Fact | None:
        (events, joint), more = p["es"], p["m"]
        if len(events) != 1 or any(kind not in ("same", "about") for kind, _ in more):
            return None
        event = events[0]
        for kind, value in more:
            event = with_same(event, *((value,) if kind == "same" else (frozenset(), value)))
        return Fact((event,), aspect, joint)

    return made


_A = "a|an|any|the|every|each|no|one"
_THAT_GOT = (
    "that_had|that_has_had|that_got|that_has_got|that_received|that_has_received|which_had|which_got"
    "|who_got|who_had|who_received|who_has_received|that_already_had|that_was_given|who_was_given"
    "|that_was_sent"
)
_FOR = "for|to|on|of|with|at|in"
_GO = (
    "go|go_out|be_given|be_issued|be_sent|be_granted|be_made|happen|be_done|be_paid|be_offered|be_available"
    "|be_allowed|be_used|be_called|be_performed|be_provided|be_handed_out|take_place|be_released"
)
_GOES = (
    "go|goes|go_out|goes_out|is|are|is_given|are_given|is_issued|are_issued|is_sent|are_sent|is_allowed"
    "|are_allowed|is_reserved|are_reserved|is_made|are_made|happens|happen|is_available|are_available"
    "|is_limited|are_limited|is_restricted|are_restricted|is_meant|are_meant|is_possible|are_possible"
    "|is_granted|are_granted|is_permitted|are_permitted"
)
_GET = "get|receive|be_given|be_granted|have|be_sent|be_issued|be_offered|be_paid|obtain"
_GETS = "gets|get|receives|receive|is_given|are_given|is_granted|are_granted|is_sent|are_sent|has|have"
_GETTING = "getting|receiving|being_given|being_granted|being_sent|being_issued|being_offered|being_paid"
_WAS_CALLED = (
    "has_been|have_been|was|were|has_already_been called|used|executed|tried_successfully|performed|completed"
)
_WENT = "has_succeeded|have_succeeded|succeeded|has_happened|happened|has_passed|passed|was_successful"

FOR_WHOM: dict[str, Rule] = {
    "no such one": [("{s:undone}", _such("not"))],
    "such a one": [("{s:state}", _such("perfect"))],
    "any such one": [("{s:such a one}", lambda p: p["s"]), ("{s:no such one}", lambda p: p["s"])],
    "of_which": [
        (f"{_FOR} {{s:any such one}}", _behind),
        (f"{_FOR} {_A} {{w:thing_behind}} with|{_THAT_GOT} {{e:noun}}", _that_got),
    ],
    "that_got": [(f"{_THAT_GOT} {{e:noun}}", lambda p: Fact((p["e"],), "perfect"))],
    "mod": [("{s:that_got}", lambda p: ("got", p["s"]))],
    "event": [
        (
            "[a|an|any|the|every|each] [earlier|prior|previous|later] success|successful_call|successful_run"
            " of {e:event}",
            _success_of,
        ),
    ],
    "past": [
        ("{e:done} successfully", _that_succeeded),
        ("successfully {e:done}", _that_succeeded),
        ("successfully {e:done} {m:mods}", _that_succeeded),
    ],
    "act": [
        ("{e:deed} successfully", _that_succeeded),
        ("{e:deed} {m:mods} successfully", _that_succeeded),
        ("successfully {e:deed}", _that_succeeded),
        ("successfully {e:deed} {m:mods}", _that_succeeded),
    ],
    "one_fact": [
        (f"{{es:events}} {_WENT} {{m:mods}}", _happened("perfect")),
        (f"{{es:events}} {_WAS_CALLED}", lambda p: Fact(p["es"][0], "perfect", p["es"][1])),
        (f"{{es:events}} {_WAS_CALLED} {{m:mods}}", _happened("perfect")),
        (
            f"{AGENT} has|have done|called|made|used|run|performed {{e:noun}}",
            lambda p: Fact((p["e"],), "perfect"),
        ),
        (
            "there was|were|has_been|have_been {es:events}",
            lambda p: Fact(p["es"][0], "perfect", p["es"][1]),
        ),
        (
            "{es:events} has_not|have_not|did_not succeeded|succeed|happened|happen|passed {m:mods}",
            _happened("not"),
        ),
    ],
    "adjunct": [("without {e:event}", _without_having)],
    "demand": [
        # those of whom it is so
        (f"only {{s:such a one}} {MAY}|{SHOULD} [ever] {_GET} {{e:event}}", _of_such("only")),
        (f"only {{s:such a one}} {_GETS} {{e:event}}", _of_such("only")),
        (
            f"{{e:event}} {_GOES} only [given|issued|sent|granted|made|reserved|allowed] {{o:of_which}}",
            _only_for,
        ),
        (f"{{e:event}} only {_GOES} {{o:of_which}}", _only_for),
        (f"{{e:event}} {MAY}|{SHOULD} only {_GO} {{o:of_which}}", _only_for),
        (f"{{e:event}} {MAY}|{SHOULD} {_GO} only {{o:of_which}}", _only_for),
        (
            f"{{e:event}} {SHOULD} be|stay|remain|be_kept limited|restricted|reserved {{o:of_which}}",
            _only_for,
        ),
        ("{e:event} is|are limited|restricted|reserved|exclusively {o:of_which}", _only_for),
        ("{e:event} [,] only {o:of_which}", _only_for),
        # those of whom it is not
        (f"{{s:no such one}} {NO} [ever] {_GET} [any] {{e:event}}", _of_such("never")),
        (f"{{s:no such one}} {_GETS} no {{e:event}}", _of_such("never")),
        (f"no {{s:no such one}} {ALLOWED} [ever] {_GET} {{e:event}}", _of_such("never")),
        (f"no {{s:no such one}} {_GETS} {{e:event}}", _of_such("never")),
        (f"{{e:event}} {NO} [ever] {_GO} {{o:of_which}}", _never_for),
        ("{e:event} is|are never|not [given|issued|sent|granted|made] {o:of_which}", _never_for),
        # of whom it was so
        (f"{{s:such a one}} {NO} [ever] {_GET} [any|any_more] {{e:event}}", _of_such("never")),
        (f"{{s:such a one}} {_GETS} no [more|further] {{e:event}}", _of_such("never")),
        # first
        (
            f"{{t:object}} {SHOULD} [first|always] be {{d:past}} before {_GETTING} {{e:event}}",
            _before_getting,
        ),
        (
            f"{{t:object}} {SHOULD} [first|always] be {{d:past}} before it|they {_GETS} {{e:event}}",
            _before_getting,
        ),
        (
            f"{{t:object}} {SHOULD} [first|always] be {{d:past}} before it|they {MAY} {_GET} {{e:event}}",
            _before_getting,
        ),
        (
            f"{{a:events}} , {{b:events}} {SHOULD} have succeeded|happened|passed|been_made {BEFORE}",
            _needs,
        ),
        (f"{{a:events}} , {{b:events}} [{SHOULD}] [come|happen|succeed|be_done|be_made|run] first", _needs),
        (f"{{a:events}} , {{b:events}} [is|are] required|needed|necessary {BEFORE}", _needs),
        (
            f"{{a:events}} needs|need|requires|require {{b:events}} to_have|to_be succeeded|happened|passed"
            f"|made|done|successful [{BEFORE}]",
            _needs,
        ),
        ("{a:events} presupposes|presuppose|depends_on|depend_on {b:events}", _needs),
    ],
    "ensured": [
        (f"{{t:object}} is|are {{d:past}} before it|they {_GETS} {{e:event}}", _before_getting),
        (f"{{t:object}} is|are {{d:past}} before {_GETTING} {{e:event}}", _before_getting),
        ("{f:one_fact}", lambda p: _has_happened(p["f"])),
    ],
}
