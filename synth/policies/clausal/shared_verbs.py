"""Several actions whose verb is said once: `delete a namespace or a volume`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from synth.policies.clausal.events import Action
from synth.policies.clausal.matching import Found, Grammar, Own
from synth.policies.clausal.parts import Event
from synth.policies.patterns import compiled
from synth.policies.verbs import third_of


def by_shared_verb(actions: Sequence[Action]) -> dict[str, Own]:
    """`Deletes a namespace or a volume`: several actions whose verb is said once."""
    return {"does_any": _of_one_verb(actions, third_of), "do_any": _of_one_verb(actions, str)}


def _of_one_verb(actions: Sequence[Action], form: Callable[[str], str]) -> Own:
    alike: dict[str, list[Action]] = {}
    for one in actions:
        if one.nouns and not one.tail:
            alike.setdefault(f"{form(one.verb)}{one.up}", []).append(one)
    several = {verb: found for verb, found in alike.items() if len({one.number for one in found}) > 1}

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        for verb, found in several.items():
            if said := compiled(rf" *{verb}(?![\w'-])").match(grammar.text, at):
                yield from _objects(grammar, said.end(), found)

    return find


def _objects(grammar: Grammar, at: int, actions: Sequence[Action]) -> Iterator[Found]:
    """`A namespace or a volume`, each of another action; two objects at least."""
    events: list[Event] = []
    joint = ""
    while True:
        ways = (
            (one, compiled(rf" *{_ANY_OF}(?:{one.objects})(?![\w'-])").match(grammar.text, at))
            for one in actions
        )
        said = [(one, m.end()) for one, m in ways if m is not None]
        if len({one.number for one, _ in said}) != 1:
            return
        one, at = said[0]
        events.append(Event(one.number, noun=one.nouns))
        if len(events) > 1 and joint:
            yield (tuple(events), joint), at
        more = compiled(r" *,? *(?P<j>or|and|nor)(?![\w'-])| *,").match(grammar.text, at)
        if more is None:
            return
        own = {"nor": "or"}.get(more["j"] or "", more["j"] or "")
        if joint and own not in ("", joint):
            return
        joint, at = joint or own, more.end()


_ANY_OF = "(?:(?:the|an?|any|every|each|all|all the|another) )*"
