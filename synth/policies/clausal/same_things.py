"""What was done to the same thing, of which its argument alone is named: `the same version was deployed`."""

from __future__ import annotations

from collections.abc import Iterator

from synth.policies.action_forms import singular
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import Event, Fact, with_same
from synth.policies.clausal.words import ALREADY, BEFORE, HAS_BEEN, NOT_A_THING
from synth.policies.patterns import compiled

_FIELD = r"(?!(?:of|to|in|for|as|and|or)\b)[a-z][a-z_]*(?: (?:id|number|code|ref|reference))?"
_THE_SAME = compiled(
    rf" *(?:the (?:very )?same|that same|one and the same) "
    rf"(?P<f>{_FIELD}(?:(?:, | and )(?:the same )?{_FIELD})*?)"
    r"(?= (?:has|have|had|was|were|is|are)\b)"
)


def the_same(grammar: Grammar, at: int) -> Iterator[Found]:
    """`the same service and version`."""
    m = _THE_SAME.match(grammar.text, at)
    if m is None:
        return
    said = compiled(r", | and ").split(m["f"])
    fields = [one.removeprefix("the same ").replace(" ", "_").lower() for one in said]
    if not any(one in NOT_A_THING or singular(one) in NOT_A_THING for one in fields):
        yield frozenset(fields), m.end()


def _done(p: Parts) -> Fact | None:
    event: Event = p["d"]
    return None if event.role else Fact((with_same(event, p["s"]),), "perfect")


SAME_THINGS: dict[str, Rule] = {
    "the same": the_same,
    "one_fact": [
        (f"{{s:the same}} {HAS_BEEN}|was|were [{ALREADY}] {{d:past}} [{BEFORE}|successfully]", _done)
    ],
}
