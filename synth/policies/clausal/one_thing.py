"""What is done to one and the same thing: `pay the same claim_id`, `scaling one deployment`, `one claim`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from synth.policies.action_forms import singular
from synth.policies.clausal.events import Action
from synth.policies.clausal.matching import Found, Grammar, Rule
from synth.policies.clausal.parts import Event
from synth.policies.clausal.words import NOT_A_THING
from synth.policies.patterns import compiled
from synth.policies.verbs import gerund_of, past_of, third_of


def by_one_thing(actions: Sequence[Action]) -> dict[str, Rule]:
    """The rules that find what is done to one thing: `pay the same claim_id`, `scaling one deployment`."""
    return {
        "deed_one": _finder(actions, str),
        "doing_one": _finder(actions, gerund_of),
        "done_to": _done_to(actions),
        "given": _said_of(actions, past_of),
        "does_alone": _said_of(actions, third_of),
        "done_alone": _done_alone(actions),
        "one_thing": _one_thing(actions),
    }


def _done_to(actions: Sequence[Action]) -> Rule:
    """`charged a fee`, of `charge fee`: what is done, behind whom it is done to."""
    named = [
        (one, rf" *{past_of(one.verb)}{one.up} (?:(?:an?|the|any) )?{one.objects}{one.behind}(?![\w'-])")
        for one in actions
        if one.nouns and not one.particle
    ]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        found = {m.end(): one for one, pattern in named if (m := compiled(pattern).match(grammar.text, at))}
        if len(found) == 1:
            [(end, one)] = found.items()
            yield Event(one.number, noun=one.nouns), end

    return find


def _done_alone(actions: Sequence[Action]) -> Rule:
    """`paged`, where no other action has the verb: behind whom it is done to."""
    named = [
        (one, rf" *{past_of(one.verb)}{one.up}{one.behind}(?![\w'-])")
        for one in actions
        if one.nouns and one.verb_alone
    ]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for one, pattern in named:
            if m := compiled(pattern).match(grammar.text, at):
                yield Event(one.number, noun=one.nouns), m.end()

    return find


def _finder(actions: Sequence[Action], form: Callable[[str], str]) -> Rule:
    named = [(one, _done_to_one(one, form)) for one in actions if one.nouns]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        longest: dict[int, list[Event]] = {}
        for one, pattern in named:
            if (m := compiled(pattern).match(grammar.text, at)) and (same := _same_of(m, one)):
                event = Event(one.number, same=same, noun=one.nouns)
                longest.setdefault(m.end(), []).append(event)
        for end, found in sorted(longest.items(), reverse=True):
            if len({event.action for event in found}) == 1:
                yield found[0], end

    return find


def _one_thing(actions: Sequence[Action]) -> Rule:
    """`one claim`, of what is done to it: each action that is done to such a thing."""
    named = [(one, rf" *{_SAME} (?P<o>{one.objects})(?![\w'-])") for one in actions if one.nouns]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for one, pattern in named:
            if m := compiled(pattern).match(grammar.text, at):
                same = frozenset({singular(m["o"].split()[-1])})
                yield Event(one.number, same=same, noun=one.nouns), m.end()

    return find


def _said_of(actions: Sequence[Action], form: Callable[[str], str]) -> Rule:
    """The actions that a verb in a form may be of."""

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        ends: dict[int, set[int]] = {}
        for one in actions:
            if m := compiled(rf" *{form(one.verb)}{one.up}(?![\w'-])").match(grammar.text, at):
                ends.setdefault(m.end(), set()).add(one.number)
        for end, numbers in ends.items():
            yield frozenset(numbers), end

    return find


_SAME = r"(?:one and the same|the very same|the same|one single|any one|any single|a single|one)"
_ANY_ID = r"(?:an?|any|each|every) "
_DET = r"(?:(?:the|an?|any|our|your|their) )?"


def _done_to_one(one: Action, form: Callable[[str], str]) -> str:
    some_id = r"[a-z]+(?:_[a-z]+)+|[a-z]+ (?:id|number|code|ref|reference)"
    ways = (
        rf"{_SAME} (?P<o>{one.objects})(?!_| (?:id|number|code|ref|reference)\b)",
        rf"(?:{_SAME} |{_ANY_ID})(?P<id>{some_id})",
        rf"the same (?P<f>[a-z][a-z_]*) (?:of|in|on|for) {_DET}(?:{one.objects})",
        r"(?:one and )?the same (?P<any>[a-z]+)(?! (?:of|in|on|for|id|number|code|ref|reference)\b)",
    )
    return rf" *{form(one.verb)}{one.up} (?:{'|'.join(ways)}){one.behind}(?![\w'-])"


def _same_of(m: re.Match[str], one: Action) -> frozenset[str]:
    """What must be the same; none where it is the argument of another action's thing."""
    if m["any"]:
        other = m["any"].lower()
        return frozenset({other} - NOT_A_THING if one.verb_alone else ())
    if m["o"]:
        return frozenset({singular(m["o"].split()[-1])})
    if m["f"]:
        return frozenset({m["f"]} - NOT_A_THING | ({m["f"]} & {"kind", "type", "reason"}))
    words = m["id"].replace(" ", "_").split("_")
    return frozenset({"_".join(words)} if one.verb_alone or words[0] == singular(one.nouns[-1]) else ())
