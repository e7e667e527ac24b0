"""What is forbidden and what is free, whoever says so: the frames to which times and conditions are added."""

from __future__ import annotations

from synth.policies.clausal.demands import demanding, none_of
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event
from synth.policies.clausal.words import AGENT, HAPPEN, MAY_ONLY, NO, SHOULD

_LET = "allow|permit|let|accept|tolerate"
_FORBID = "forbid|prohibit|block|ban|disallow|bar|deny|reject|suspend|prevent|disable|halt|refuse"
_REFUSE = "refuse|decline"
_FROM = (
    "is_forbidden_from|is_prohibited_from|is_banned_from|is_barred_from|are_forbidden_from|are_prohibited_from"
    "|are_banned_from|are_barred_from|is_not_allowed|are_not_allowed|must_refrain_from|has_to_refrain_from"
)
_SHUT = "blocked|barred|suspended|closed|shut|locked|frozen|stopped|disabled|switched_off|off|denied"
_STAYS = "is|are|stays|stay|remains|remain|must_stay|must_remain|has_to_stay|should_stay|has_to_remain"
_FREE = "allowed|permitted|possible|ok|okay|fine|acceptable|open|available|permissible|accepted|on"
_HAPPENS = "happens|happen|takes_place|take_place|occurs|occur|is_done|are_done|is_made|are_made|runs|run"


def _deed(p: Parts) -> Demand:
    """What is said of one action alone: of `never pays and ships` both may be meant together."""
    event: Event = p["e"]
    return Demand("never", (event,))


MOODS: dict[str, Rule] = {
    "demand": [
        # bans
        (
            f"do_not|never {_LET} {{t:object}} [to_be|be|being|getting] {{d:past}}",
            demanding("never", make=passive),
        ),
        (f"do_not|never {_LET} {{e:events}}", demanding("never")),
        (f"do_not|never {_LET} {AGENT} [to] {{e:acts}}", none_of),
        (f"{AGENT} {NO} {_LET} {{t:object}} [to_be|be|being] {{d:past}}", demanding("never", make=passive)),
        (f"{AGENT} {NO} {_LET} {{e:events}}", demanding("never")),
        (f"[{AGENT}] [{SHOULD}] {_FORBID} {{e:events}}", demanding("never")),
        (f"[{AGENT}] [{SHOULD}] {_REFUSE} to {{e:acts}}", none_of),
        (f"{AGENT} {_FROM} {{e:events}}", demanding("never")),
        (f"{AGENT} never {{e:does}}", _deed),
        (f"{{e:events}} never {_HAPPENS}", demanding("never")),
        (f"{{e:deeds}} {_STAYS} {_SHUT}", demanding("never")),
        # permissions
        (f"{{t:object}} {MAY_ONLY} be|get {{d:past}}", demanding("only", make=passive)),
        (f"{AGENT} {MAY_ONLY} {{e:acts}}", demanding("only")),
        (f"{{e:events}} {MAY_ONLY} {HAPPEN}", demanding("only")),
        (f"{AGENT} only {{e:acts}}", demanding("only")),
        (f"{AGENT} only {{e:does}}", demanding("only")),
        (f"{AGENT} {{e:does}} only", demanding("only")),
        (f"only {_LET} {{t:object}} to_be|be {{d:past}}", demanding("only", make=passive)),
        (f"only {_LET} {{e:events}}", demanding("only")),
        (f"{_LET} {{e:events}} only", demanding("only")),
        (f"{_LET} {{t:object}} to_be|be {{d:past}} only", demanding("only", make=passive)),
        (f"{_LET} {{e:events}}", demanding("may")),
        (f"{{e:events}} only {_HAPPENS}", demanding("only")),
        (f"{{e:events}} {_HAPPENS} only", demanding("only")),
        (f"{{e:events}} {_HAPPENS}", demanding("may")),
        (f"{{e:events}} {_STAYS} {_FREE}", demanding("may")),
        (f"{{e:events}} {_STAYS} only {_FREE}", demanding("only")),
        (f"{{e:events}} {_STAYS} {_FREE} only", demanding("only")),
        (f"it is only {_FREE} to {{e:acts}}", demanding("only")),
        (f"it is {_FREE} to {{e:acts}} only", demanding("only")),
    ],
}
