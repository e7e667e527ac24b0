"""From a sentence to what it says in the language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from synth.policies.action_forms import PARTICLES
from synth.policies.clausal.actions_together import ACTIONS_TOGETHER
from synth.policies.clausal.adjuncts import ADJUNCTS
from synth.policies.clausal.aftermath import AFTERMATH
from synth.policies.clausal.amounts import AMOUNTS
from synth.policies.clausal.as_often import AS_OFTEN
from synth.policies.clausal.at_least import LEAST
from synth.policies.clausal.attempts import ATTEMPTS
from synth.policies.clausal.between import BETWEEN
from synth.policies.clausal.beyond_the_number import BEYOND_THE_NUMBER
from synth.policies.clausal.brief import BRIEF
from synth.policies.clausal.ceilings import CEILINGS
from synth.policies.clausal.clock import CLOCK
from synth.policies.clausal.conditions_first import CONDITIONS_FIRST
from synth.policies.clausal.counts import COUNTS
from synth.policies.clausal.deadlines import DEADLINES
from synth.policies.clausal.demands import DEMANDS
from synth.policies.clausal.durations import DURATIONS
from synth.policies.clausal.events import Action, actions_of, by_name
from synth.policies.clausal.exclusion import EXCLUSION
from synth.policies.clausal.facts import FACTS
from synth.policies.clausal.failed_first import FAILED_FIRST
from synth.policies.clausal.failing import FAILING
from synth.policies.clausal.following import FOLLOWING
from synth.policies.clausal.for_whom import FOR_WHOM
from synth.policies.clausal.frames import FRAMES
from synth.policies.clausal.joined import JOINED
from synth.policies.clausal.just_before import JUST_BEFORE
from synth.policies.clausal.kinds_of_things import KINDS_OF_THINGS
from synth.policies.clausal.kinds_of_verbs import MONEY
from synth.policies.clausal.limits_of_tries import LIMITS_OF_TRIES
from synth.policies.clausal.matching import Grammar, Rule, TooLong
from synth.policies.clausal.meaning import Meaning
from synth.policies.clausal.moods import MOODS
from synth.policies.clausal.never_both import NEVER_BOTH
from synth.policies.clausal.next_calls import NEXT_CALLS
from synth.policies.clausal.nobody import as_bans
from synth.policies.clausal.nothing_but import NOTHING_BUT
from synth.policies.clausal.once_done import ONCE_DONE
from synth.policies.clausal.one_for_one import ONE_FOR_ONE
from synth.policies.clausal.one_thing import by_one_thing
from synth.policies.clausal.openings import OPENINGS
from synth.policies.clausal.order import ORDER
from synth.policies.clausal.parts import Adjunct, Demand
from synth.policies.clausal.people import PEOPLE
from synth.policies.clausal.prerequisites import PREREQUISITES, by_forbidding
from synth.policies.clausal.quotas import QUOTAS
from synth.policies.clausal.recoveries import RECOVERIES
from synth.policies.clausal.retries import RETRIES
from synth.policies.clausal.said import in_words
from synth.policies.clausal.same_things import SAME_THINGS
from synth.policies.clausal.setbacks import SETBACKS
from synth.policies.clausal.shared_verbs import by_shared_verb
from synth.policies.clausal.small import SMALL
from synth.policies.clausal.so_many_first import SO_MANY_FIRST
from synth.policies.clausal.spans import SPANS
from synth.policies.clausal.spelling import spelled
from synth.policies.clausal.spenders import SPENDERS
from synth.policies.clausal.sums import SUMS
from synth.policies.clausal.together import TOGETHER
from synth.policies.clausal.totals import TOTALS
from synth.policies.clausal.trying_again import TRYING_AGAIN
from synth.policies.clausal.varieties import VARIETIES
from synth.policies.clausal.waiting import WAITING
from synth.policies.fewer_words import SAID_BEFORE, said_scope
from synth.policies.patterns import compiled

_MAY = re.compile(
    r"(?<!no run )(?<!\bnot )\b(?:may|can|could|might|allowed|permitted)\b(?! (?:not|never|only)\b|not\b)",
    re.IGNORECASE,
)
"""What is allowed is never asked for."""
_STARTS = re.compile(r"\b(?:start|begin)", re.IGNORECASE)
"""What must not start while something runs may still run when that starts."""
_WHILE = ("while", "while none", "beside")
"""Adjuncts of what runs at that time."""
_OF_ITSELF = (
    "count", "sum", "apart", "overlap itself", "variety", "both", "both of one", "rules out", "no second",
    "second", "no two", "two", "in a row", "fail", "succeed",
)  # fmt: skip
"""Demands that compare calls of an action with one another, or name two."""
_RELATIVE = r"\b(?:(?:every|each|any|an?|the|no|all) (?:[a-z-]+ ){1,2}|runs )$"
"""What stands before a `that` which begins a clause: `every truck that checks in`."""
TIMES = (CLOCK, SPANS, DEADLINES, DURATIONS, TOGETHER, JUST_BEFORE)
_ANYBODY_COUNTS = 9
"""Up to this number, where no money is spoken of, it is a number of calls and no amount."""
_NOBODY_COUNTS = 50
"""A greater number, where amounts are added, is no number of calls."""
MAX_LENGTH = 300
"""Code points of a sentence that is taken apart."""


def read(sentence: str, phrases: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences of the language that a sentence may mean, each once; () where it is no such one."""
    found = _read(sentence, phrases)
    if found or said_scope(sentence) != "session":
        return found
    runs = compiled(r"\b(?:conversation|session)(?=s?\b)").sub("run", sentence)
    found = _read(runs, phrases)
    if compiled(r"\b(?:per|an?|the|one|each|every|any|same|no) runs?\b").search(sentence):
        return tuple(way for way in found if " per run" not in way)
    return tuple(way.replace(" per run", " per conversation") for way in found)


def _read(sentence: str, phrases: tuple[str, ...]) -> tuple[str, ...]:
    if len(sentence) > MAX_LENGTH:
        return ()
    rules, actions = rules_of(phrases)
    grammar = Grammar(as_bans(spelled(sentence), tuple(actions.values())), rules)
    try:
        ways = [
            Meaning.of_parts(_as_start(demand, adjuncts, sentence), adjuncts, actions, phrases)
            for demand, adjuncts in grammar.whole("sentence")
            if demand.kind in _OF_ITSELF or not _begins_with_the_same(sentence)
            if demand.how != "at least" or not _MAY.search(sentence)
        ]
    except (TooLong, RecursionError):
        return ()
    scoped = said_scope(sentence) is not None
    said = dict.fromkeys(filter(None, (in_words(way, scoped) for way in ways)))
    said = _of_each(sentence, _not_so_often(sentence, said))
    fuller = {one.replace(" per run", "", 1) for one in said if " per run" in one}
    return tuple(one for one in said if one not in fuller)


def _as_start(demand: Demand, adjuncts: Sequence[Adjunct], sentence: str) -> Demand:
    """`It may not be started while a backup runs`, of what may run already when the backup begins."""
    kinds = {"never": "never start", "only": "only start"}
    if demand.kind not in kinds or not any(one.kind in _WHILE for one in adjuncts):
        return demand
    return replace(demand, kind=kinds[demand.kind]) if _STARTS.search(sentence) else demand


_AFTER_EACH = r"\b(?:immediately|directly|right|straight) after (?:each|every|any)\b"


def _of_each(sentence: str, said: dict[str, None]) -> dict[str, None]:
    """`A comes immediately after each B` asks it of each B, and not of each A."""
    if not compiled(_AFTER_EACH).search(sentence):
        return said
    turned = compiled(r"^(.+) must happen immediately before (.+?)( with the same .+)?$")
    return dict.fromkeys(turned.sub(r"\1 must be immediately followed by \2\3", one) for one in said)


def _not_so_often(sentence: str, said: dict[str, None]) -> dict[str, None]:
    """So many calls, or so much in all: `no more than 400 in total` is no 400 times, `total labels: 3` is."""
    sums = [one for one in said if one.startswith("The sum of")]
    if not sums or compiled(r"\btimes\b").search(sentence):
        return said
    found = {one: compiled(r" happen at most (\d+) times").search(one) for one in said}
    counts = [int(m[1]) for m in found.values() if m]
    few = any(number <= _ANYBODY_COUNTS for number in counts) and not compiled(MONEY).search(sentence)
    return {
        one: None
        for one, m in found.items()
        if (m is None or int(m[1]) <= _NOBODY_COUNTS)
        if not (few and one in sums and one.startswith("The sum of amount of"))
    }


def _begins_with_the_same(sentence: str) -> bool:
    """Is something the same before anything is said? `The balance of the same account must be checked`."""
    up = rf"[a-z]+ (?:{'|'.join(PARTICLES)})\b"
    determiner = (
        r"(?:the|an?|any|every|each|all|no|neither|either|both|only|nothing|everything"
        r"|anything|after|before|once|if|when|whenever|never|between|within|during|unless|until)\b"
    )
    wish = "".join(rf"(?<!\b{word} )" for word in ("sure", "ensure", "to it", "care", "certain", "note"))
    that = rf"{wish}that (?!has|have|had|is|are|was|were|you|we|they|it|{determiner}|{up})"
    no_thing = r"(?!(?:run|conversation|session|time|moment|instant)\b)"
    found = compiled(rf"\b(?:the same {no_thing}|{that})[a-z]+\b(?!_)").finditer(sentence)
    return any(
        not compiled(SAID_BEFORE).search(sentence[: m.start()])
        and not (m[0].startswith("that ") and compiled(_RELATIVE).search(sentence[: m.start()]))
        for m in found
    )


@lru_cache(maxsize=16)
def rules_of(phrases: tuple[str, ...]) -> tuple[dict[str, Rule], dict[int, Action]]:
    """The rules of a grammar over the actions of a file, and those by number."""
    actions = actions_of(phrases)
    tables = (SMALL, FACTS, JOINED, ADJUNCTS, SUMS, DEMANDS, ATTEMPTS, FRAMES, PEOPLE, FAILING, WAITING)
    more = (
        COUNTS,
        BEYOND_THE_NUMBER,
        QUOTAS,
        ACTIONS_TOGETHER,
        CEILINGS,
        LEAST,
        VARIETIES,
        KINDS_OF_THINGS,
        AMOUNTS,
        TOTALS,
        SPENDERS,
        ORDER,
        EXCLUSION,
        NEVER_BOTH,
        ONCE_DONE,
        FOR_WHOM,
        BRIEF,
    )
    failures = (
        SETBACKS,
        AFTERMATH,
        RECOVERIES,
        LIMITS_OF_TRIES,
        RETRIES,
        TRYING_AGAIN,
        ONE_FOR_ONE,
        AS_OFTEN,
        FAILED_FIRST,
    )
    orders = (
        FOLLOWING,
        NOTHING_BUT,
        OPENINGS,
        BETWEEN,
        PREREQUISITES,
        NEXT_CALLS,
        SO_MANY_FIRST,
        CONDITIONS_FIRST,
    )
    own = (
        by_one_thing(actions),
        by_shared_verb(actions),
        by_forbidding(actions),
        by_name(actions, phrases),
    )
    rules = together(*tables, *more, MOODS, SAME_THINGS, *orders, *failures, *TIMES, *own)
    return rules, {one.number: one for one in reversed(actions)}


def together(*tables: Mapping[str, Rule]) -> dict[str, Rule]:
    """One table of all; what several have of one name is joined.

    Raises ValueError where a function has the name of something else, which it would silently replace.
    """
    found: dict[str, Rule] = {}
    for table in tables:
        for name, rule in table.items():
            before = found.get(name, ())
            if before and (callable(rule) or callable(before)):
                raise ValueError(f"two rules have the name {name!r}, and one of them is a function")
            found[name] = rule if callable(rule) or callable(before) else (*before, *rule)
    return found
