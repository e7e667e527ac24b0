"""Sentences that cannot be read, and how the language says what they mean.

What is suggested is a sentence that reads, filled in with the words of the refused one; where none does,
the reader's own message stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from synth.errors import BadInput
from synth.policies import clausal
from synth.policies.adverbials import at_times
from synth.policies.amount_or_count import may_be_an_amount
from synth.policies.asides import with_asides
from synth.policies.bans_of_two import (
    is_ban_of_several,
    needed_first,
    no_ban_after_both,
    no_ban_after_each,
    no_ban_of_both,
)
from synth.policies.begun import as_ban
from synth.policies.compared import of_one_thing
from synth.policies.composed import actions_in, composed, quoted
from synth.policies.conditions_aside import without_brackets
from synth.policies.courtesies import without_courtesies
from synth.policies.everyday import MODAL
from synth.policies.fewer_words import in_fewer_words
from synth.policies.filled import LEFT, RIGHT, filled_hints
from synth.policies.granted import granted, said_of_some
from synth.policies.hints import hints, is_known, reasons, synonym
from synth.policies.in_place import Again, InPlace, with_arguments
from synth.policies.inflected import inflected
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.candidates import is_besides
from synth.policies.kinds.gap import Gap
from synth.policies.kinds.kind import HAPPEN, MUST, Form, PolicyKind
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.response import Response
from synth.policies.misread import no_freedom, not_an_action, not_misread
from synth.policies.names import Names, OneThing, Tools, TwoReadings
from synth.policies.ones import of_a_new_one, without_ones
from synth.policies.open_counts import no_open_count
from synth.policies.open_words import no_two_meanings
from synth.policies.phrasing import in_our_words
from synth.policies.rewording import plainly, reworded
from synth.policies.said_why import without_reason
from synth.policies.sentences import read_sentence
from synth.policies.short_signs import in_full, in_small_letters
from synth.policies.sounds_alike import not_another_meaning
from synth.policies.tool_names import with_phrases
from synth.policies.two_in_one import two_limits
from synth.policies.two_rules import two_rules
from synth.policies.weak_words import no_question, no_weak_words
from synth.policies.wholes import in_short, of_a_run, sum_of
from synth.policies.whose_numbers import no_foreign_number

Hint = tuple[str, str]
"""(the refused words, what to write instead): the sentences stand in braces; `!` begins a mere reason."""

_JOINT = re.compile(r"(?:;|,? (?:and|but|while|whereas|yet)) ")
_LED = re.compile(
    r"(?:^|[.;] |, (?:and|but|yet|while|whereas) )"
    r"(?P<said>after|once|following|subsequent to|sometime after|at some point after) (?!\d\d?:\d)",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r" (?:that|which|who) (?:has|have|had|is|are|was|were)\b(?:(?! (?:must|may|can|should)\b)[^,])*",
    re.IGNORECASE,
)
_ONE_OF_THEM = re.compile(
    r"\b(?:that|this|those|these|the same|its|their|his|her) (?!same\b|runs?\b|conversations?\b"
    r"|sessions?\b|calls?\b)[a-z]+",
    re.IGNORECASE,
)
_ITSELF = re.compile(
    r"\b(?:before being [a-z]+|while (?:its|that) |(?<!econd )(?<!econds )(?<!nute )(?<!nutes )(?<!hour )"
    r"(?<!hours )(?<!day )(?<!days )of (?:each|every|any given|any single|any one|a given) "
    r"(?!run\b|conversation\b|session\b))",
    re.IGNORECASE,
)
"""What is done to one and the same thing: `inspected before being lent`, `two restarts of each service`."""
_SAME = re.compile(r" with the same ", re.IGNORECASE)
_AFTER_EACH = re.compile(r"\b(?:after|following) (?:each|every|any) ", re.IGNORECASE)
"""What is to happen after each of them is left out after none."""
_FIRST_FAILED = re.compile(r"\bthe (?:first|original)\b.*\bfail", re.IGNORECASE)
"""What is tried a second time then may have happened as often as it failed."""
MAX_HINTED = 400
"""Code points: what is longer is no slip of one sentence, and the search for one would last."""


def read_rule(sentence: str, names: Names, forms: Sequence[Form]) -> PolicyKind:
    """The rule that one sentence states. BadInput says how the language says it, where that is known."""
    no_question(sentence)
    said = in_full(in_small_letters(sentence), names.actions)
    no_foreign_number(said)
    bare = without_brackets(needed_first(as_ban(without_courtesies(said, names.actions), names)), names)
    told = next(without_reason(bare, names), None)
    ways = (*_ways_to_read(bare, names), *((told,) if told else ()))

    def read(said: str, again: Again) -> PolicyKind:
        return (_read_whole if said in ways else _rule_as_said)(said, names, forms, again)

    reader, first = InPlace(read), BadInput("an empty sentence")
    for said in ways:
        try:
            rule = reader.rule(said)
        except BadInput as bad:
            first = bad if said in (bare, told) else first
        else:
            return rule if said == sentence else _without_clauses(of_a_new_one(sentence, rule))
    known = isinstance(first, TwoReadings) or "two policies" in first.message
    if not known and (both := _two_rules(bare, names, forms)) is not None:
        return both
    raise first


def _two_rules(bare: str, names: Names, forms: Sequence[Form]) -> PolicyKind | None:
    """The rule of a sentence that states two of one kind; BadInput names both where they are not."""

    def alone(said: str) -> PolicyKind:
        ways = tuple(_ways_to_read(said, names))

        def read(one: str, again: Again) -> PolicyKind:
            return (_read_whole if one in ways else _rule_as_said)(one, names, forms, again)

        reader, last = InPlace(read), BadInput("an empty sentence")
        for way in ways:
            try:
                return reader.rule(way)
            except BadInput as bad:
                last = bad
        raise last

    body = " ".join(bare.split()).removesuffix(".").strip()
    return two_rules(body, alone) if len(body) <= MAX_HINTED else None


def _ways_to_read(bare: str, names: Names) -> Iterator[str]:
    """With its actions by their phrases, then as it stands, then with what `one` stands for."""
    ones = without_ones(" ".join(bare.split()), tuple(names.actions))
    yield from dict.fromkeys((with_phrases(" ".join(bare.split()), names), bare, *ones))


def _read_whole(sentence: str, names: Names, forms: Sequence[Form], again: Again) -> PolicyKind:
    """The rule of a sentence; `again` reads one that says the same in other words."""
    return with_asides(sentence, names, lambda said: _rule_as_said(said, names, forms, again))


def _rule_as_said(sentence: str, names: Names, forms: Sequence[Form], again: Again) -> PolicyKind:
    try:
        rule = _read(sentence, names, forms)
    except BadInput:
        asked = granted(sentence, names)
        if asked is None:
            asked = _of_some_calls(sentence, names, again)
        if asked is None:
            asked = with_arguments(sentence, names, lambda said, known: _read(said, known, forms), again)
        if asked is None:
            raise
        rule = asked
    if may_be_an_amount(sentence, rule):
        rule = _of_each_amount(sentence, rule, names)
    if is_ban_of_several(rule):
        rule = _of_both_together(sentence, names, forms) or rule
    no_ban_after_each(sentence, rule)
    no_ban_of_both(sentence, rule)
    no_ban_after_both(sentence, rule)
    no_freedom(sentence)
    no_two_meanings(sentence, rule)
    no_open_count(sentence, rule, names.actions)
    not_another_meaning(sentence, rule)
    not_misread(sentence, rule)
    no_weak_words(sentence, rule, tuple(names.actions))
    not_an_action(rule, names)
    return of_one_thing(sentence, rule)


def _of_both_together(sentence: str, names: Names, forms: Sequence[Form]) -> PolicyKind | None:
    """`Do not pay and refund the same claim_id`, which forbids neither by itself."""
    rules = [rule for _, rule in _clauses(" ".join(sentence.split()).removesuffix("."), names, forms)]
    together = len(rules) == 1 and isinstance(rules[0], AbsenceAfter) and len(rules[0].pairs) > 1
    return _without_clauses(rules[0]) if together else None


def _of_some_calls(sentence: str, names: Names, again: Again) -> PolicyKind | None:
    """The rule of a sentence about calls with certain arguments; TwoReadings where it says two things."""
    said = said_of_some(sentence, names)
    rules = {again(one): one for one in said}
    if len(rules) > 1:
        ways = " or ".join(map(quoted, list(rules.values())[:2]))
        raise TwoReadings(f"cannot read this sentence in one way; write {ways}")
    return next(iter(rules), None)


def _of_each_amount(sentence: str, rule: PolicyKind, names: Names) -> PolicyKind:
    """The ban of a larger amount, where a single call is spoken of; else TwoReadings."""
    if (asked := granted(sentence, names)) is not None:
        return asked
    most, phrase = getattr(rule, "most", 0), rule.tools[0].phrase
    raise TwoReadings(
        f"cannot read '{most}', which may be calls or an amount; write "
        f"{quoted(f'{phrase} must happen at most {most} times')}, "
        f"{quoted(f'{phrase} with amount over {most} must never happen')} or "
        f"{quoted(f'The sum of args.amount of {phrase} must be at most {most}')}"
    )


def _read(sentence: str, names: Names, forms: Sequence[Form]) -> PolicyKind:
    """The rule of a sentence that asks for no arguments."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    try:
        rule = read_sentence(sentence, names, forms)
    except TwoReadings:
        raise
    except BadInput as bad:
        if _ITSELF.search(body) and (other := _by_clauses(body, names, forms)) is not None:
            return other
        wider = names.with_exceptions(body) or names.with_agents(body) or names.with_alternatives(body)
        if wider is not None:
            return _read(sentence, wider, forms)
        try:
            fewer = in_fewer_words(body, names)
            compares = " with the same " in fewer and " the same " not in body
            for said in (fewer,) if compares else dict.fromkeys((body, fewer)):
                if (other := _otherwise(said, names, forms)) is not None:
                    return other
        except BadInput as two:
            told = isinstance(two, OneThing) or _AFTER_EACH.search(body) or _FIRST_FAILED.search(body)
            if told and (other := _by_clauses(body, names, forms)) is not None:
                return other
            if not isinstance(two, TwoReadings):
                raise
            raise next(_filled(body, names, forms), two) from None
        if (other := _by_clauses(body, names, forms)) is not None:
            return other
        ways = (
            _two_limits(body, names, forms),
            _whole(body, names, forms),
            _filled(body, names, forms),
            _said_better(body, names, forms),
        )
        better = chain.from_iterable(ways)
        raise next(better, _known_actions(body, names, bad)) from None
    if (led := _LED.search(body)) and isinstance(rule, Precedence):
        if (other := _phrased(body, names, forms)) is not None:
            return other
        either = BadInput(
            f"cannot read '{led['said']}'; write which is meant, 'must be followed by' or "
            "'must happen before'"
        )
        raise next(_said_better(body, names, forms, whole=False), either)
    return rule


def _otherwise(body: str, names: Names, forms: Sequence[Form]) -> PolicyKind | None:
    """The rule of a sentence that the language says in other words; None where there is none."""
    rule = _said_otherwise(body, names, forms)
    return _phrased(body, names, forms) if rule is None else rule


def _clauses(body: str, names: Names, forms: Sequence[Form]) -> Iterator[tuple[str, PolicyKind]]:
    """The ways to read a sentence by the grammar of clauses: what the language says, and its rule."""
    for said in clausal.read(body, tuple(names.actions)):
        rule = _rule_of(said, names.with_alternatives(said) or names, forms)
        if rule is None and (wider := names.with_exceptions(said)) is not None:
            rule = _phrased(said, wider, forms)
        if rule is not None:
            yield said, rule


def _by_clauses(body: str, names: Names, forms: Sequence[Form]) -> PolicyKind | None:
    """The rule of a sentence by the grammar of clauses; TwoReadings where it has two meanings."""
    rules = {rule: said for said, rule in _clauses(body, names, forms)}
    if len(rules) > 1:
        ways = " or ".join(map(quoted, list(rules.values())[:2]))
        raise TwoReadings(f"cannot read this sentence in one way; write {ways}")
    return next(map(_without_clauses, rules), None)


def _two_limits(body: str, names: Names, forms: Sequence[Form]) -> Iterator[BadInput]:
    """The error of two limits in one sentence, which are two policies."""
    if len(body) <= MAX_HINTED and (two := two_limits(body, lambda said: _clauses(said, names, forms))):
        yield BadInput(f"cannot read two limits in one sentence; write two policies: {two}")


def _whole(body: str, names: Names, forms: Sequence[Form]) -> Iterator[BadInput]:
    """The errors of what is said of runs as wholes, and of sums."""
    if len(body) <= MAX_HINTED:
        plain = in_short(inflected(body, names), names)
        yield from _shown(chain(of_a_run(plain, names), sum_of(body, names)), names, forms)


def _filled(body: str, names: Names, forms: Sequence[Form]) -> Iterator[BadInput]:
    """The errors that fill in all that is known of the sentence, the best first."""
    if len(body) > MAX_HINTED:
        return

    def reads(sentence: str) -> PolicyKind | None:
        try:
            return _otherwise(in_fewer_words(sentence, names), names, forms)
        except BadInput:
            return None

    yield from _shown(filled_hints(body, names, reads), names, forms)


def _said_otherwise(body: str, names: Names, forms: Sequence[Form]) -> PolicyKind | None:
    """The rule of a sentence that says in other words what the language says, and nothing else; or None.

    Where another reading is possible, or an action is named in passing, there is a hint instead.
    """
    if len(body) > MAX_HINTED:
        return None
    text = body if is_known(body, names) else plainly(body, names)
    names = names.with_alternatives(text) or names
    rule = _rule_of(text, names, forms)
    if rule is None and (said := synonym(text, names)) is not None:
        rule = _rule_of(said, names, forms)
    if rule is None or not all(_is_named(tools, body) for tools in rule.tools):
        return None
    return _without_clauses(rule)


def _phrased(body: str, names: Names, forms: Sequence[Form]) -> PolicyKind | None:
    """The rule of a sentence that inflects its actions, or says the rest in words of its own; or None.

    TwoReadings where what it says of time or arguments can be meant in two ways.
    """
    if len(body) > MAX_HINTED:
        return None
    known = inflected(body, names)
    plain = in_short(known, names)
    try:
        clauses = composed(plain, names)
    except TwoReadings as two:
        raise next(_said_better(body, names, forms, whole=False), two) from None
    rule = _rule_of(clauses, names.with_alternatives(clauses) or names, forms) if clauses else None
    one = _ONE_OF_THEM.search(body) if plain != known else None
    if rule is not None and clauses and one and not _SAME.search(clauses):
        said = quoted(f"{clauses} with the same FIELD")
        raise OneThing(f"cannot read {one[0]!r}, as no field says which one it is; write {said}")
    if rule is not None:
        return _without_clauses(rule)
    text = in_our_words(plain, names)
    for said in dict.fromkeys((plain, text)):
        wider = names.with_alternatives(said) or names
        rule = _rule_of(said, wider, forms)
        if rule is None and said != body:
            rule = _said_otherwise(said, wider, forms)
        if rule is not None:
            return _without_clauses(rule)
    timed = at_times(body, names)
    rule = _rule_of(timed, names.with_alternatives(timed) or names, forms) if timed else None
    return _without_clauses(rule) if rule is not None else None


def _is_named(tools: Tools, body: str) -> bool:
    """Is the action named in the sentence as in the file, by its phrase or by its tool?"""
    phrases = tools.phrase.split(" or ") if tools.either else [tools.phrase]
    alone = tools.names[0] if len(tools.names) == 1 else ""
    return alone == "*" or all(_stands(p, body) for p in phrases) or bool(alone and _stands(alone, body))


def _stands(words: str, body: str) -> bool:
    return re.search(rf"\b{re.escape(words)}\b", body, re.IGNORECASE) is not None


def _without_clauses(rule: PolicyKind) -> PolicyKind:
    """Which words say what is not known of a sentence that was read in other words."""
    return replace(rule, clauses=()) if getattr(rule, "clauses", ()) else rule  # type: ignore[type-var]


def _said_better(body: str, names: Names, forms: Sequence[Form], whole: bool = True) -> Iterator[BadInput]:
    """The errors that say more than the reader's own, the best first."""
    if len(body) > MAX_HINTED:
        return
    if whole and (who := _who_acts(body, names, forms)) is not None:
        yield who
    ways = [_any_other, _relative, _reworded, _parts] if whole else []
    others = (way(body, names, forms) for way in ways)
    plain = inflected(body, names)
    again = chain(hints(plain, names), hints(plainly(plain, names), names)) if plain != body else ()
    why = chain(reasons(body, names), reasons(plain, names)) if whole else ()
    yield from _shown(chain(hints(body, names), *others, again, why), names, forms)


def _shown(found: Iterator[Hint], names: Names, forms: Sequence[Form]) -> Iterator[BadInput]:
    """Each hint as the error of who reads the sentence, if all rules that it names are rules."""
    for said, hint in found:
        if all(_reads(one, names, forms) for one in re.findall(r"{(.+?)}", hint)):
            shown = re.sub(r"{(.)(.*?)}", lambda m: f"'{m[1].upper()}{m[2]}'", hint)
            shown = shown.replace(LEFT, "{").replace(RIGHT, "}")
            yield BadInput(f"cannot read '{said}'; " + (shown[1:] if shown[0] == "!" else f"write {shown}"))


_WHO = re.compile(
    rf"(?P<who>(?:the |an? |our |all |any )?[a-z]+(?: [a-z]+)?) (?={MODAL} |(?:is|are) (?:not |only )?"
    r"(?:allowed|permitted) to )",
    re.IGNORECASE,
)


def _who_acts(body: str, names: Names, forms: Sequence[Form]) -> BadInput | None:
    """Of a sentence that would be read if its subject were the agent."""
    who = _WHO.match(body)
    if who is None or who["who"].lower() in ("you", "any tool"):
        return None
    said = f"You {body[who.end() :]}"
    try:
        if _phrased(said, names, forms) is None:
            return None
    except BadInput:
        return None
    return BadInput(f"cannot read {who['who']!r}; write {said!r} where the agent itself is meant")


def _known_actions(body: str, names: Names, bad: BadInput) -> BadInput:
    """Where the actions of a sentence are known, what is said of them is what cannot be read."""
    known = actions_in(inflected(body, names), names) if len(body) <= MAX_HINTED else ()
    inflects = len(known) > len(actions_in(body, names))
    unread = bad.message.startswith(("unknown name", "no action is called")) or "an order says" in bad.message
    relative = _RELATIVE.search(body) if unread else None
    if relative and (inflects or not known):
        then = known[-1] if known else "ACTION"
        return BadInput(
            f"cannot read {relative[0].strip()!r}; what must have happened to the same thing before is said "
            f"as {quoted(f'ACTION must happen before {then} with the same FIELD')}, what must happen to it "
            f"later as {quoted(f'{then} must be followed by ACTION with the same FIELD')}"
        )
    if not (inflects and unread):
        return bad
    a, b = known[0], known[-1] if len(known) > 1 else "ACTION"
    forms = (f"{a} must happen before {b}", f"{a} must be followed by {b}",
             f"{a} must never happen after {b}", f"{a} must happen at most 3 times")  # fmt: skip
    return BadInput(
        f"cannot read what this sentence says of {' and '.join(map(repr, known))}; it is said as "
        f"{', '.join(map(quoted, forms[:-1]))} or {quoted(forms[-1])}, and so on"
    )


def _reads(sentence: str, names: Names, forms: Sequence[Form]) -> bool:
    return _rule_of(sentence, names, forms) is not None


def _rule_of(sentence: str, names: Names, forms: Sequence[Form]) -> PolicyKind | None:
    """The rule of a sentence as the language has it; None where it is not read, or two may be meant."""
    try:
        rule = read_sentence(sentence, names, forms)
    except BadInput:
        return None
    return None if _LED.search(sentence) and isinstance(rule, Precedence) else rule


def _reworded(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """What the language says in other words, whole or before another hint."""
    found = reworded(body, names)
    if found is None:
        return
    first, text = found
    yield first, f"{{{text}}}"
    for said, hint in chain(_any_other(text, names, forms), hints(text, names), _parts(text, names, forms)):
        yield said if said in body else first, hint


def _any_other(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """`any tool` means the others only where it stands beside a named action."""
    other = re.search(r"\bany other tool\b", body, re.IGNORECASE)
    if other is None:
        return
    plain = re.sub(r"\bany other tool\b", "any tool", body, flags=re.IGNORECASE)
    if (rule := _rule_of(plain, names, forms)) is not None:
        others = _means_others(rule)
        yield other[0], f"{{{plain}}}, which means {'any other' if others else 'every'} tool here"


def _means_others(rule: PolicyKind) -> bool:
    if isinstance(rule, Response | NextCall):
        return all(is_besides(trigger, answer) for trigger, answer in rule.pairs)
    return isinstance(rule, Precedence | Adjacency | Gap) and all(
        is_besides(then, first) for first, then in rule.pairs
    )


def _relative(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """A clause with `which`, which only plain order takes: two sentences say the same."""
    said = re.search(r", (which .+?)(?:,|$)", body, re.IGNORECASE)
    if said is None:
        return
    head, inner, rest = body[: said.start()], said[1][len("which ") :], body[said.end() :].strip()
    about = head if rest else _last_action(head, names)
    main = f"{head} {rest}".strip()
    if re.match(MUST, inner, re.IGNORECASE) is None:
        yield said[1], f"!a clause that demands nothing is left out: {{{main}}}"
    elif about is not None:
        yield said[1], f"two policies: {{{about} {inner}}} and {{{main}}}"


def _last_action(text: str, names: Names) -> str | None:
    """The longest action at the end of a text."""
    ends = [phrase for phrase in names.actions if text.casefold().endswith(f" {phrase.casefold()}")]
    return max(ends, key=len, default=None)


def _parts(body: str, names: Names, forms: Sequence[Form]) -> Iterator[Hint]:
    """Two rules in one sentence, each of which reads alone."""
    begin = re.match(rf"(?P<a>.+?) (?P<do>{MUST}(?: never| not)?(?: {HAPPEN})?)", body, re.IGNORECASE)
    if begin is None:
        return
    for joint in _JOINT.finditer(body):
        first, then = body[: joint.start()], body[joint.end() :]
        for second in (then, f"{begin['a']} {then}", f"{begin[0]} {then}"):
            if _reads(first, names, forms) and _reads(second, names, forms):
                yield joint[0].strip(), f"two policies: {{{first}}} and {{{second}}}"
