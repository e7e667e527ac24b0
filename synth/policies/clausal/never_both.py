"""That of two deeds only one may be done: to the same thing, for the same customer, or in one run.

What the two are (`pairs`), of whom (`owner`), and the frames that forbid both; without `both` it must be said
of what is the same, as `never pay and refund` may forbid each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.kinds_of_verbs import SOMEBODY
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import ANYTHING, IT, Adjunct, Demand, Event, with_same
from synth.policies.clausal.relative import are_of_one_thing, thing_of
from synth.policies.clausal.words import AGAIN, AGENT, ALLOWED, BANNED, HAPPEN, MAY, NO, NOT_A_THING, SHOULD
from synth.policies.patterns import compiled

Pair = tuple[Event, Event, bool]
"""Two events, and whether it is said that both are meant."""


def _two(*, clear: bool) -> Callable[[Parts], Pair | None]:
    def made(p: Parts) -> Pair | None:
        one, other = p["a"], p["b"]
        if one.action == other.action:
            return None
        plain = [replace(e, single=e.single and not clear) for e in (one, other)]
        return plain[0], plain[1], clear

    return made


def _of_one_object(*, clear: bool) -> Callable[[Parts], Pair | None]:
    """`Cancel and reschedule the same appointment`: what both are done to is said once."""

    def made(p: Parts) -> Pair | None:
        one, other = p["a"], p["b"]
        if one.noun[-1:] != other.noun[-1:] or one.action == other.action or not other.noun:
            return None
        return replace(one, same=other.same, about=other.about), other, clear

    return made


def _plainly_two(p: Parts) -> Demand | None:
    """`A run takes backups or restores them, never both`: two actions, whatever `them` are."""
    one, other = (replace(e, same=e.same - {IT}, itself=False, single=False) for e in (p["a"], p["b"]))
    return Demand("both", (one,), (other,)) if one.action != other.action else None


def _forbidden(p: Parts) -> Demand:
    one, other, clear = p["x"]
    return Demand("both" if clear else "both of one", (one,), (other,))


def _not_both(p: Parts) -> Demand:
    """Of two of which one is allowed: `per order_id a refund or a voucher, never both`."""
    one, other, _ = p["x"]
    same = one.about | other.about
    plain = [replace(e, same=e.same | same, about=frozenset()) for e in (one, other)]
    return Demand("both", (plain[0],), (plain[1],))


def _of_owner(p: Parts) -> Demand:
    """`No customer gets both a refund and a voucher`; beside a field that is the same, people are anybody."""
    one, other, _ = p["x"]
    same: frozenset[str] = p["w"]
    about = one.about | other.about
    plain = [replace(e, same=e.same | same | (about - same), about=frozenset()) for e in (one, other)]
    return Demand("both", (plain[0],), (plain[1],), how="anybody" if same & frozenset(SOMEBODY) else "")


def _done_to_one(p: Parts) -> Demand | None:
    """`No job may be both paused and cancelled`."""
    thing, (one, other) = p["t"], p["y"]
    things = (one, other) if thing.action == ANYTHING else (one, other, thing)
    if one.action == other.action or not are_of_one_thing(*things):
        return None
    same = thing.same | one.same | other.same or thing_of(*things)
    return Demand("both", (with_same(replace(one, beside=()), same),), (other,)) if same else None


def _done_to_the_same(p: Parts) -> Demand | None:
    """`The same job must not be paused and cancelled`; of `a job` each may be forbidden."""
    return _done_to_one(p) if p["t"].same else None


def _crossed(p: Parts) -> Demand | None:
    """`Paused jobs must not be cancelled and cancelled jobs must not be paused`."""
    first, then, last, back = p["s"], p["d"], p["u"], p["e"]
    if (first.action, then.action) != (back.action, last.action) or first.action == then.action:
        return None
    if not are_of_one_thing(first, then):
        return None
    return Demand("both", (with_same(first, thing_of(first, then)),), (replace(then, beside=()),))


def _both_of(p: Parts) -> Demand | None:
    """`Do not combine a refund with a voucher`."""
    pair = _two(clear=True)(p)
    return None if pair is None else _not_both({"x": pair})


def _rules_out(p: Parts) -> Demand | None:
    one, other = p["a"], p["b"]
    return Demand("rules out", (one,), (other,)) if one.action != other.action else None


def _other_one(p: Parts) -> Demand:
    """`Once an order has had a refund or a voucher, the other one is off limits`."""
    return _of_owner(p) if "w" in p else _not_both(p)


def owner(grammar: Grammar, at: int) -> Iterator[Found]:
    """`The same order_id`, `each customer`, `orders`: of what only one of two is allowed."""
    lead = (
        r"(?:the (?:very )?same|one and the same|an?|each|every|any(?: one)?|one|a single|any single"
        r"|any given|a given)"
    )
    m = compiled(rf" *(?:(?P<d>{lead}) )?(?P<f>[a-z][a-z_]*)(?![\w'-])").match(grammar.text, at)
    if m:
        yield from _named(m["f"].lower(), m.end(), plural=not m["d"])


def no_owner(grammar: Grammar, at: int) -> Iterator[Found]:
    """`No customer`, `no single order_id`."""
    if m := compiled(r" *no (?:single |one )?(?P<f>[a-z][a-z_]*)(?![\w'-])").match(grammar.text, at):
        yield from _named(m["f"].lower(), m.end())


def _named(noun: str, end: int, *, plural: bool = False) -> Iterator[Found]:
    one = singular(noun)
    if one in NOT_A_THING or noun in AGENT.split("|") or (plural and one == noun and "_" not in noun):
        return
    yield frozenset({one}), end


_BOTH = "[ever] both|do_both"
_ALSO = "and_also|as_well_as|and_additionally|and_at_the_same_time_also|together_with|in_addition_to|plus"
_TOO = "as_well|too|in_addition|both"
_NOT_BOTH = (
    "not_both|but_not_both|never_both|but_never_both|and_not_both|and_never_both|not_both_of_them"
    "|but_not_both_of_them|never_both_of_them|but_never_both_of_them|but_never_do_both|never_do_both"
    "|but_do_not_do_both|do_not_do_both|not_the_two_of_them|never_the_two|but_not_the_two_together"
    "|never_the_two_together|only_one_of_them|but_only_one_of_them|only_one_of_the_two|one_of_them_only"
)
_EXCLUSIVE = (
    "are_mutually_exclusive|mutually_exclusive|are_exclusive|exclude_each_other|exclude_one_another"
    "|rule_each_other_out|are_alternatives|can_not_be_combined|are_not_to_be_combined"
    "|are_incompatible|incompatible|must_exclude_each_other|should_exclude_each_other|must_be_exclusive"
)
_EXCLUDES = (
    "excludes|exclude|rules_out|rule_out|precludes|preclude|forbids|forbid|prevents|prevent|bars|bar"
    "|prohibits|prohibit|blocks|block"
)
_COMBINE = "combine|mix|pair|use_together|go_together"
_ONE_OF = (
    "only one_of|at_most one_of|no_more_than one_of|not_more_than one_of|at_most 1 of|only 1 of|just one_of"
    "|exactly_one_of|max one_of|maximum one_of|a_maximum_of one_of|never more_than one_of|only either_of"
)
_LET = "allow|permit|let|have|call|use|do|run|perform|accept"
_CALLED = "called|done|made|used|run|allowed|carried_out|executed|tried"
_ARE_DONE = "is|are done|called|made|used|run|carried_out|executed"
_GET = (
    "be_used_for|be_subject_to|be_target_of|get|receive|have|see|be_given|be_granted|undergo"
    "|go_through|be_issued|be_sent|have_had|have_received"
)
_GETS = (
    "gets|get|receives|receive|has|have|sees|see|is_given|are_given|is_granted|is_sent|undergoes|goes_through"
)
_VICE = (
    "vice_versa|the_other_way_round|the_other_way_around|conversely|the_reverse|other_way_round|inversely"
    "|likewise_the_other_way_round|the_same_the_other_way_round|in_the_other_order|in_either_order"
    "|the_other_way_about|vice-versa|nor_the_other_way_round|the_reverse_holds_too|the_same_in_reverse"
)
_ONE_RUN = (
    "one_run|the_same_run|a_single_run|one_and_the_same_run|any_run|a_run|any_one_run|one_single_run|the_run"
)
_EACH_RUN = (
    "a_run|one_run|each_run|every_run|any_run|the_run|a_single_run|any_one_run|runs|a_conversation"
    "|one_conversation|each_conversation|every_conversation|any_conversation|a_session|one_session|each_session"
)
_DONE_WITH = "happen|occur|take_place|be_made|be_done|be_called|be_used|run|be_executed|be_carried_out"
_HAD = "has_had|have_had|had|has_got|got|gets|has_received|received|receives|has|was_given|has_been_given"


NEVER_BOTH: dict[str, Rule] = {
    "owner": owner,
    "no owner": no_owner,
    "two acts": [
        ("{a:act} and {b:act}", _two(clear=False)),
        (f"{{a:act}} {_ALSO} {{b:act}}", _two(clear=True)),
        ("{a:act} and also {b:act}", _two(clear=True)),
        (f"{{a:act}} and {{b:act}} {_TOO}", _two(clear=True)),
        ("{a:verb} and {b:act}", _of_one_object(clear=False)),
        (f"{{a:verb}} {_ALSO} {{b:act}}", _of_one_object(clear=True)),
    ],
    "two events": [
        ("{a:event} and|plus|& {b:event}", _two(clear=False)),
        (f"{{a:event}} {_ALSO} {{b:event}}", _two(clear=True)),
        ("{a:verbing} and {b:event}", _of_one_object(clear=False)),
        (f"{{a:verbing}} {_ALSO} {{b:event}}", _of_one_object(clear=True)),
    ],
    "two others": [
        ("{a:event} and|or {b:event}", _two(clear=False)),
        ("{a:act} and|or {b:act}", _two(clear=False)),
        ("{a:verb} and|or {b:act}", _of_one_object(clear=False)),
    ],
    "deed or does": [
        ("{e:does}", lambda p: p["e"]),
        ("{e:act}", lambda p: p["e"]),
    ],
    "one of two": [
        ("[either] {a:event} or|/ {b:event}", _two(clear=True)),
        ("[either] {a:act} or|/ {b:act}", _two(clear=True)),
        ("[either] {a:verb} or {b:act}", _of_one_object(clear=True)),
    ],
    "only one of two": [
        *((f"{one} {{x:two others}}", lambda p: p["x"]) for one in _ONE_OF.split("|")),
        (f"one_of {{x:two others}} [,] {_NOT_BOTH}", lambda p: p["x"]),
    ],
    "two done": [
        ("both {a:done} and {b:done}", lambda p: (p["a"], p["b"])),
        (f"{{a:done}} {_ALSO} {{b:done}}", lambda p: (p["a"], p["b"])),
        ("{a:done} and also {b:done}", lambda p: (p["a"], p["b"])),
        (f"{{a:done}} and {{b:done}} {_TOO}", lambda p: (p["a"], p["b"])),
    ],
    "two done or not": [("{a:done} and {b:done}", lambda p: (p["a"], p["b"]))],
    "leading": [
        ("for|per|with {s:identifier} ,", lambda p: (Adjunct("same", same=p["s"], leads=True),)),
    ],
    "adjunct": [(f"[and] {_VICE} [too|as_well|either]", lambda p: Adjunct("vice versa"))],
    "demand": [
        # what somebody does
        ("never|do_not {x:two acts}", _forbidden),
        (f"never|do_not {_BOTH} {{x:two acts}}", _not_both),
        (f"{AGENT} {NO} [ever] {{x:two acts}}", _forbidden),
        (f"{AGENT} {NO} {_BOTH} {{x:two acts}}", _not_both),
        (f"it is [strictly] {BANNED} to {{x:two acts}}", _forbidden),
        (f"it is [strictly] {BANNED} to {_BOTH} {{x:two acts}}", _not_both),
        (f"never|do_not {_BOTH} {{x:two events}}", _not_both),
        ("never|do_not do {x:two events}", _forbidden),
        (f"{AGENT} {NO} {_BOTH} {{x:two events}}", _not_both),
        (f"[{AGENT}] [{MAY}|{SHOULD}] {{x:one of two}} [,] {_NOT_BOTH}", _not_both),
        (f"{AGENT} {MAY}|{SHOULD} do|perform|call|use|make {{x:one of two}} [,] {_NOT_BOTH}", _not_both),
        (f"[{AGENT}] [{SHOULD}] choose|pick|decide [between|for] [either] {{x:two others}}", _not_both),
        (f"[{AGENT}] [{SHOULD}] choose|pick [for] [either] {{x:two others}} [,] {_NOT_BOTH}", _not_both),
        (f"[{AGENT}] [{MAY}|{SHOULD}] choose|pick {{x:one of two}} [,] {_NOT_BOTH}", _not_both),
        (f"never|do_not {_COMBINE} {{a:event}} with|and {{b:event}}", _both_of),
        (f"{AGENT} {NO} [ever] {_COMBINE} {{a:event}} with|and {{b:event}}", _both_of),
        # what happens
        (f"{{x:two events}} {NO} [ever] {_DONE_WITH}", _forbidden),
        (f"[both] {{x:two events}} {NO} [ever] both|be_both {_DONE_WITH}|done|made|called|used", _not_both),
        (f"both {{x:two events}} {NO} [ever] {_DONE_WITH}", _forbidden),
        (f"{{x:two events}} {NO} [ever] be combined|mixed|paired|done_together|used_together", _not_both),
        (f"{{x:two events}} {NO} [ever] go_together|happen_together|coincide|both_happen", _not_both),
        (f"{{x:two events}} never both {_DONE_WITH}|done|made|called|used|happens|occur", _not_both),
        (f"{{a:event}} {NO} [ever] be combined|mixed|paired|done_together with {{b:event}}", _both_of),
        (f"{{x:two events}} is|are [strictly] {BANNED}", _forbidden),
        (f"both {{x:two events}} is|are [strictly] {BANNED}", _forbidden),
        (f"{{x:two events}} [,] {_NOT_BOTH}", _not_both),
        (f"[it|there] [is] {{x:one of two}} [,] {_NOT_BOTH}", _not_both),
        (f"not both {{x:two events}} [{MAY}] [{_DONE_WITH}]", _not_both),
        ("no|never {x:two events}", _forbidden),
        (f"{{x:two events}} {_EXCLUSIVE}", _not_both),
        (f"there {NO} [ever] be both {{x:two events}}", _not_both),
        (f"there {NO} [ever] be {{x:two events}}", _forbidden),
        ("there is|are never both {x:two events}", _not_both),
        (f"there {MAY}|is|are [be] {{x:one of two}} [,] {_NOT_BOTH}", _not_both),
        (f"{{a:event}} {_EXCLUDES} [any] {{b:event}}", _rules_out),
        ("{x:only one of two}", _not_both),
        (f"{{x:only one of two}} {MAY}|{SHOULD} [ever] {HAPPEN}|be_used", _not_both),
        ("{x:only one of two} is|are allowed|permitted|possible|ok", _not_both),
        (f"[{AGENT}] [{MAY}|{SHOULD}] do|call|use|run|make|perform {{x:only one of two}}", _not_both),
        (f"{AGENT} {MAY}|{SHOULD} only do|call|use|run|make|perform one_of {{x:two others}}", _not_both),
        (f"there {MAY}|{SHOULD} be {{x:only one of two}}", _not_both),
        (f"{{w:owner}} {_GETS} {{x:only one of two}}", _of_owner),
        (f"{{w:owner}} {MAY}|{SHOULD} {_GET} {{x:only one of two}}", _of_owner),
        ("{a:event} , {b:event} [,] only one_of them|these|the_two", _both_of),
        ("{a:event} xor {b:event}", _both_of),
        (f"only {{x:one of two}} [,] {_NOT_BOTH}", _not_both),
        (f"{{x:one of two}} {MAY} {HAPPEN} [,] {_NOT_BOTH}", _not_both),
        # together
        (f"never|do_not {_LET} both {{x:two events}} [to_happen|happen]", _not_both),
        (f"never|do_not {_LET} {{x:two events}} both [to_happen|happen]", _not_both),
        (f"never|do_not {_LET} {{x:two events}}", _forbidden),
        ("never both , {x:two events}", _not_both),
        (f"it {NO} [ever] happen that both {{x:two events}} {_ARE_DONE}", _not_both),
        (f"{{x:two events}} does_not|do_not both {_DONE_WITH}", _not_both),
        (f"{{x:two events}} is|are never both {_CALLED}", _not_both),
        (f"{{x:two events}} {NO} [ever] {_DONE_WITH} together", _not_both),
        ("{x:two events} , never", _forbidden),
        (f"{{x:two events}} [,] never|not in|within|during {_ONE_RUN}", _not_both),
        (f"{{x:two acts}} [,] never|not in|within|during {_ONE_RUN}", _not_both),
        (f"never {{x:two acts}} in|within|during {_ONE_RUN}", _not_both),
        (
            f"{_EACH_RUN}|{AGENT} [{MAY}|{SHOULD}] [either] {{a:deed or does}} or {{b:deed or does}} [,]"
            f" {_NOT_BOTH}",
            _plainly_two,
        ),
        (f"in {_EACH_RUN} [,] [either] {{a:act}} or {{b:act}} [,] {_NOT_BOTH}", _plainly_two),
        (f"[either] {{a:act}} or {{b:act}} in {_ONE_RUN} [,] {_NOT_BOTH}", _plainly_two),
        # to one thing
        (f"{{t:object}} {NO} [ever] be {{y:two done}}", _done_to_one),
        (f"{{t:object}} {NO} [ever] be {{y:two done or not}}", _done_to_the_same),
        (f"no {{t:object}} {ALLOWED} [ever] be {{y:two done}}", _done_to_one),
        ("no {t:object} is|are|gets [ever] {y:two done}", _done_to_one),
        ("{t:object} is|are|gets never|not [ever] {y:two done}", _done_to_one),
        ("{t:object} is|are|gets never|not [ever] {y:two done or not}", _done_to_the_same),
        (
            f"{{s:state}} {NO} [ever] be {{d:done}} [,] and|or|nor {{u:state}} [{NO}|{MAY}] [ever] [be] "
            "{e:done}",
            _crossed,
        ),
        # of somebody, of something
        (f"{{w:no owner}} {ALLOWED} [ever] {_GET} [both] {{x:two events}}", _of_owner),
        (f"{{w:no owner}} {_GETS} [ever] [both] {{x:two events}}", _of_owner),
        (f"{{w:owner}} {NO} [ever] {_GET} [both] {{x:two events}}", _of_owner),
        (f"{{w:owner}} never {_GETS} [both] {{x:two events}}", _of_owner),
        (f"{{w:owner}} {MAY}|{SHOULD} {_GET} {{x:one of two}} [,] {_NOT_BOTH}", _of_owner),
        (f"{{w:owner}} {_GETS} {{x:one of two}} [,] {_NOT_BOTH}", _of_owner),
        # the other one
        (
            f"if|once|when|after|where {{w:owner}} {_HAD} {{x:one of two}} [,] {{n:other is banned}}",
            _other_one,
        ),
        ("after|once {x:one of two} [has_happened|has_been_done] [,] {n:other is banned}", _other_one),
    ],
    "other is banned": [
        (f"the_other [one|of_them] is|are {BANNED}|no_longer_allowed|not_allowed [{AGAIN}]", lambda p: True),
        (f"the_other [one|of_them] {NO} [ever] {HAPPEN}|follow [{AGAIN}]", lambda p: True),
        ("no|never the_other [one] [may_follow|may_happen]", lambda p: True),
    ],
}
