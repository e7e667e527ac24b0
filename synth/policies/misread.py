"""What the words of a rule that was read mean besides it: each is refused, with what to write for which."""

from __future__ import annotations

import re
from dataclasses import replace

from synth.errors import BadInput
from synth.policies.action_forms import ARTICLES, noun_of, singular
from synth.policies.clausal.kinds_of_verbs import CHECKS, GIVING
from synth.policies.clausal.ways_of_times import LASTING
from synth.policies.composed import quoted
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.count import NUMBERS
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.overlap import NoOverlap
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.response import Response
from synth.policies.kinds.timetable import Timetable
from synth.policies.kinds.weekdays import NAMES, Weekdays
from synth.policies.kinds.window import Window
from synth.policies.names import Names, Tools, TwoReadings
from synth.policies.nouns import Somewhere, words_of
from synth.policies.patterns import compiled
from synth.policies.unsaid import not_left_out
from synth.policies.verbs import deeds_of, past_of
from synth.policies.where import Comparison
from synth.policies.words_behind import nothing_behind

_LOOKING = (*CHECKS, "look", "read", "view", "search", "call", "contact")
"""What is done again to one and the same thing, so that so many things are not so many calls."""
_SO_MANY = rf"(?:\d{{1,6}}|{'|'.join(set(NUMBERS) - {'once', 'twice', 'thrice', 'one'})})"
_ONE_AND_ONE = compiled(
    r"\b(?P<said>(?:after|once|following|when|if) (?:an?|the) [^,]*? and (?:an?|the|its)) (?!same\b)[a-z]"
)
_OTHER = compiled(r"\b(?P<said>(?:another|a different|some other|any other) (?P<n>[a-z]+))\b")
_STATE = compiled(
    r"\b(?P<said>(?:while|whilst|as long as|so long as) [^,]*?\b(?:is|are) (?:not )?(?:yet |still )?"
    r"(?P<done>[a-z]+))\b"
)
_TIMES_ALONE = ("day", "week", "month", "hour", "minute", "second", "run", "conversation", "session")
_SHORT_DAYS = tuple(name[:3].casefold() for name in NAMES)
_DAYS_ALONE = ("day", "days", "weekday", "weekdays", "weekend", "weekends")
_STILL = compiled(r"\b(?P<said>(?:that|which|who) (?:is|are) (?:still |already )?[a-z]+)\b")
_ONLY_THESE = compiled(
    r"^(?P<said>(?:on|at|before|after|between|from|during) (?:[a-z]*days?|weekends?|\d\d?:\d\d)"
    r"(?: (?:and|or|to) (?:[a-z]*days?|\d\d?:\d\d))*,? only) (?!(?:on|at|before|after|between|from|if)\b)"
)
_ONLY_WITH_IF = compiled(r"^only\b.* (?:with|in|for|at|by|to|on|of) .*\b(?P<said>if|when|where)\b")
_ALL_FAIL = compiled(
    r"\b(?P<said>(?:(?:if|when|once|after|where) (?:all|both)|(?:if|when|where) (?:every|each)(?! time\b))"
    r" (?:of )?(?:the )?(?:(?!that\b|which\b)[a-z]+ ){1,5}?(?:fails?|failed|have failed|has failed))\b"
)
_IS_DONE = r"(?:is|gets?|may|must|should|shall|can|will|has to|needs to)\b"
_DAYS_AND_HOURS = compiled(
    r"\b(?:[a-z]+days?|weekends?) (?P<said>and) (?:also )?(?:after|before|between|from|outside) \d"
)
_IN_ONE_RUN = compiled(
    r" and .*\b(?:not|never|no|cannot|\w+n['\u2019]t|forbidden|prohibited|banned)\b.* "
    r"(?P<said>in (?:the same|one|a single|any one|one and the same) (?:run|conversation|session))\b"
)
_DAYS_ONLY_HOURS = compiled(
    r"\bon (?:[a-z]+days?|weekends?)(?:,? (?:and|or|to) (?:[a-z]+days?|weekends?))*,? (?P<said>only) "
    r"(?:after|before|between|from|until) \d"
)
_FROM_TO = compiled(
    r"\b(?P<said>(?:from|between) (?P<a>\d{1,2}) (?:to|until|till|and) (?P<b>\d{1,2}))\b(?![:.]?\d| ?[ap]m)"
)
_BEGINS = ("hold", "lock", "block", "reserve", "freeze", "suspend", "pause", "mute", "ban")
"""Verbs whose noun lasts longer than the call: `during a freeze`."""
_AGAIN_BEFORE = compiled(
    r"\b(?:not|never|no|cannot|\w+n['\u2019]t)\b.* "
    r"(?P<said>again|another|a second|any more) (?:[a-z]+ ){0,3}?(?:before|until|till|unless|prior to)\b"
)


def not_misread(sentence: str, rule: PolicyKind) -> None:
    """BadInput, or TwoReadings, where the words of a sentence say more than its rule, or another thing."""
    _not_so_many_things(sentence, rule)
    _not_one_of_two_things(sentence, rule)
    _not_after_one_of_them(sentence, rule)
    _not_the_same_one(sentence, rule)
    _not_a_state(sentence, rule)
    _not_two_nouns(sentence, rule)
    _not_of_the_last_alone(sentence, rule)
    _not_one_of_all(sentence, rule)
    _not_again_before(sentence, rule)
    _not_both_days_and_hours(sentence, rule)
    _not_during_what_it_began(sentence, rule)
    _not_neither_in_one_run(sentence, rule)
    _not_only_on_days(sentence, rule)
    _not_amounts_for_hours(sentence, rule)
    _not_each_of_all(sentence, rule)
    _not_only_with_if(sentence, rule)
    _no_bare_number(sentence, rule)
    _no_day_as_argument(sentence, rule)
    _no_limit_as_argument(sentence, rule)
    _not_only_these_then(sentence, rule)
    _not_for_ever(sentence, rule)
    not_left_out(sentence, rule)
    nothing_behind(sentence, rule)


_FREE = compiled(
    r"\b(?P<said>(?:no|nobody|nothing|none)(?: (?!(?:must|may|can|should|shall|will|is|are|was|were|before"
    r"|after|if|until|unless|without|when|once|while)\b)[\w'-]+){0,5} (?:has to|have to|needs? to|need"
    r"|(?:is|are) (?:required|obliged|needed) to))\b(?! not\b)",
)


def no_freedom(sentence: str) -> None:
    """BadInput for `no receipt has to be sent`, which forbids nothing."""
    if found := _FREE.search(sentence):
        raise BadInput(
            f"cannot read '{found['said']}', which forbids nothing and asks for nothing; what is forbidden "
            "is said as 'ACTION must never happen'"
        )


def not_an_action(rule: PolicyKind, names: Names) -> None:
    """`Lending needs verification after 18:00` asks for an action of the file, and for no argument."""
    for tools in rule.tools:
        for one in tools.asked:
            noun = str(one.path[-1]).lower()
            phrase = next((own for own in names.actions if _is_deed(noun, own)), None)
            if phrase and one.op not in ("in", "not in"):
                first = quoted(f"{phrase} must happen before {_bare(tools)}")
                raise BadInput(
                    f"cannot read {noun!r}, which may be the action {phrase!r}; what must happen first is "
                    f"said as {first}, an argument as 'args.{noun}'"
                )
            other = _amount_of_another(one, rule, names)
            if other:
                raise BadInput(
                    f"cannot read {noun!r} as what {_bare(tools)!r} is given, as {other!r} is an action; an "
                    f"amount of that is said as 'ACTION with amount over 500', an argument as 'args.{noun}'"
                )


def _amount_of_another(one: Comparison, rule: PolicyKind, names: Names) -> str | None:
    """The action of the file that is compared with a number: `a transfer over 500`, of what approves it."""
    if one.op not in ("<", "<=", ">", ">="):
        return None
    noun, own = str(one.path[-1]).lower(), {tools.names for tools in rule.tools}
    others = (phrase for phrase, tools in names.actions.items() if tools.names not in own)
    return next((phrase for phrase in others if phrase.casefold().split()[:1] == [noun]), None)


def _is_deed(noun: str, phrase: str) -> bool:
    """Is it what an action is called, by a noun other than its verb: `verification`?"""
    verb = (phrase.casefold().split() or [""])[0]
    return bool(verb) and singular(noun) != verb and bool(re.fullmatch("|".join(deeds_of(verb)), noun))


def _bare(tools: Tools) -> str:
    return tools.phrase.partition(" with ")[0].partition(" whose ")[0]


def _object(tools: Tools) -> tuple[str, str]:
    """The verb of an action, and the last noun that it is done to."""
    verb, *rest = tools.phrase.casefold().partition(" with ")[0].split() or [""]
    nouns = [word for word in rest if word not in ARTICLES]
    return verb, nouns[-1] if nouns else ""


def _not_so_many_things(sentence: str, rule: PolicyKind) -> None:
    """`At most two customers may be verified`, each again; `board at most 300 passengers`, all at once."""
    if rule.kind not in ("count", "rate") or getattr(rule, "same", None) or not getattr(rule, "most", None):
        return
    for tools in rule.tools:
        verb, noun = _object(tools)
        said = (
            compiled(rf"\b(?P<said>{_SO_MANY} (?P<n>{noun_of(noun)}))\b").search(sentence) if noun else None
        )
        if said is None or singular(said["n"].lower()) == said["n"].lower():
            continue
        most, one = getattr(rule, "most", 0), singular(noun)
        is_plural = one != noun and compiled(r"[aeiou].*[a-z]|[a-z].*[aeiou]").search(one) and noun != "news"
        several = f"{tools.phrase} with {noun} over {most} must never happen" if is_plural else ""
        if verb in _LOOKING and not several:
            several = f"{tools.phrase} must happen with at most {most} different {one}"
        if several:
            raise TwoReadings(
                f"cannot read {said['said']!r}, which may be other than so many calls; write "
                f"{quoted(several)} or {quoted(f'{tools.phrase} must happen at most {most} times')}"
            )


def _not_one_of_two_things(sentence: str, rule: PolicyKind) -> None:
    """`No course is dropped twice for the same student` may compare students alone, or courses as well."""
    if not isinstance(rule, Rate) or not rule.same or rule.time is not None:
        return
    same = [words_of(str(first[-1])) for first, _ in rule.same]
    for tools in rule.tools:
        verb, noun = _object(tools)
        one = rf"\b(?P<said>(?:no|any|each|every) {re.escape(singular(noun))}) {_IS_DONE}"
        said = compiled(one).search(sentence) if noun and verb not in GIVING else None
        if said and not any(singular(noun) in words for words in same):
            most, field = rule.most, " ".join(same[0])
            rest = f"{tools.phrase} must happen at most {most} times with the same"
            raise TwoReadings(
                f"cannot read {said['said']!r} beside 'the same {field}'; write "
                f"{quoted(f'{rest} {singular(noun)}')}, "
                f"with ' and {field}' behind it where both must be the same, or " + quoted(f"{rest} {field}")
            )


def _not_after_one_of_them(sentence: str, rule: PolicyKind) -> None:
    """`After a refund and a cancellation` asks for nothing where there was one of them."""
    if not isinstance(rule, Response) or len({trigger.key for trigger, _ in rule.pairs}) < 2:
        return
    if found := _ONE_AND_ONE.search(sentence):
        trigger, answer = (tools.phrase for tools in rule.pairs[0])
        raise TwoReadings(
            f"cannot read {found['said']!r}; what must come after each of them is said as "
            f"{quoted(f'{trigger} must be followed by {answer}')}, one rule for each; what only both "
            "together ask for is not in the language"
        )


def _not_the_same_one(sentence: str, rule: PolicyKind) -> None:
    """`Never cancel another order after a refund` allows that of the same order."""
    if not isinstance(rule, AbsenceAfter):
        return
    for found in _OTHER.finditer(sentence):
        for trigger, what in rule.pairs:
            verb, noun = _object(what)
            alike = noun and singular(found["n"].lower()) == singular(noun)
            if (
                alike
                and "*" not in what.names
                and verb not in GIVING
                and set(trigger.names).isdisjoint(what.names)
            ):
                raise BadInput(
                    f"cannot read {found['said']!r}, as rules compare calls about the same thing only; where "
                    f"any {singular(noun)} is meant, write "
                    f"{quoted(f'{what.phrase} must never happen after {trigger.phrase}')}"
                )


def _not_two_nouns(sentence: str, rule: PolicyKind) -> None:
    """`To the service desk` and `of policy violations` say what a thing is, and no value of an argument."""
    for tools in rule.tools:
        for one in tools.asked:
            if one.op not in ("in", "not in") or len(one.values) != 1 or not _is_word(one.values[0]):
                continue
            field, value = str(one.path[-1]).replace("_", " "), str(one.values[0])
            lead = "(?:the|of)" if value.endswith("s") and not value.endswith("ss") else "the"
            noun = rf"{lead} {re.escape(field)} {re.escape(value)}"
            if found := compiled(
                rf"\b(?<!with )(?<!using )(?<!has )(?<!have )(?<!giving )(?P<said>{noun})(?![\w\"-])"
            ).search(sentence):
                raise BadInput(
                    f"cannot read {found['said']!r}, which may be one thing of two words; where calls have "
                    f"{value!r} as their {field}, write 'with {field} \"{value}\"'"
                )


def _not_of_the_last_alone(sentence: str, rule: PolicyKind) -> None:
    """`Don't rotate secrets or run migrations in production` may forbid the first of them everywhere."""
    if "with an argument" in sentence.lower():
        return
    for tools in rule.tools:
        one = next((one for one in tools.asked if one.path and isinstance(one.path[-1], Somewhere)), None)
        if one is not None and tools.either:
            raise TwoReadings(
                f"cannot read {one.values[0]!r}, which may be said of the last action alone; write one "
                f"policy for each, with 'with an argument \"{one.values[0]}\"' where it is said of it"
            )


def _is_word(value: object) -> bool:
    return isinstance(value, str) and value.islower() and value.isalpha()


def _not_a_state(sentence: str, rule: PolicyKind) -> None:
    """`While the card is not frozen` asks how it is then, and not what was done at some time before."""
    found = _STATE.search(sentence)
    if found is None or not isinstance(rule, Precedence):
        return
    for first, then in rule.pairs:
        verb, _ = _object(first)
        if verb in LASTING and re.fullmatch(past_of(verb), found["done"].lower()):
            raise BadInput(
                f"cannot read {found['said']!r}, which may have been undone since; where it is enough that "
                f"it was done before, write {quoted(f'{first.phrase} must happen before {then.phrase}')}"
            )


def _not_one_of_all(sentence: str, rule: PolicyKind) -> None:
    """`Run all tests before deploying` asks for all of them, whichever they are."""
    if not isinstance(rule, Precedence):
        return
    for first, then in rule.pairs:
        verb, noun = _object(first)
        words = {singular(word) for word in then.phrase.casefold().split()}
        if not noun or singular(noun) in words or " all " in f" {first.phrase} ":
            continue
        every = r"(?:all|both)(?: of)?(?: the| our| its| their)? "
        every += rf"(?:(?!{re.escape(verb)}\b)[a-z]+ )?"
        pattern = rf"\b(?P<said>{every}(?P<n>{noun_of(noun)}))\b"
        said = compiled(pattern).search(sentence)
        if said and said["said"].casefold().endswith(first.phrase.casefold()):
            continue  # `both run tests and ...`
        if said and singular(said["n"].lower()) != said["n"].lower():
            raise BadInput(
                f"cannot read {said['said']!r}, as nobody knows how many there are; where one success is "
                f"enough, write {quoted(f'{first.phrase} must happen before {then.phrase}')}"
            )


def _not_again_before(sentence: str, rule: PolicyKind) -> None:
    """`Do not run the tests again before deploying` forbids it between a run of them and the deployment."""
    found = _AGAIN_BEFORE.search(sentence)
    if found is None or not (isinstance(rule, Precedence) or getattr(rule, "most", None) == "begun"):
        return
    one, other = rule.tools[0].phrase, rule.tools[1].phrase
    what, then = (other, one) if isinstance(rule, Precedence) else (one, other)
    raise TwoReadings(
        f"cannot read {found['said']!r} before another action; write "
        f"{quoted(f'{what} must never happen after {what} until {then}')} where the first is free, or "
        + quoted(
            f"{then} must happen before {what}"
            if isinstance(rule, Precedence)
            else f"{what} must happen at most 1 time before {then}"
        )
    )


def _not_both_days_and_hours(sentence: str, rule: PolicyKind) -> None:
    """`Forbidden on weekends and after 18:00` may be of either, or of the evenings of weekends."""
    found = _DAYS_AND_HOURS.search(sentence)
    if found is None or not isinstance(rule, Timetable) or not rule.banned:
        return
    what = rule.what[0].phrase
    days = " and ".join(f"{name}s" for n, name in enumerate(NAMES) if n in rule.days)
    since, until = (f"{minute // 60:02}:{minute % 60:02}" for minute in (rule.since, rule.until))
    between = f"between {since} and {until}"
    never = f"{what} must never happen"
    raise TwoReadings(
        f"cannot read {found['said']!r} between days and hours of what is forbidden; write "
        f"{quoted(f'{never} on {days} {between}')}, or two rules, "
        f"{quoted(f'{what} must not happen on {days}')} and {quoted(f'{never} {between}')}"
    )


def _not_during_what_it_began(sentence: str, rule: PolicyKind) -> None:
    """`No transfers during a freeze` is not of the moment in which the card is frozen."""
    if not isinstance(rule, NoOverlap) or not compiled(r"\bduring\b").search(sentence):
        return
    for one, other in rule.pairs:
        if _object(other)[0] in _BEGINS:
            raise BadInput(
                "cannot read 'during' of what lasts longer than the call that begins it; write "
                f"{quoted(f'{one.phrase} must never happen after {other.phrase}')}, with 'until' and what "
                "ends it"
            )


def _not_neither_in_one_run(sentence: str, rule: PolicyKind) -> None:
    """`A and B must not happen in the same run` allows one of them."""
    if rule.kind != "count" or getattr(rule, "most", None) != 0 or len(rule.tools) < 2:
        return
    if found := _IN_ONE_RUN.search(sentence):
        one, other = (tools.phrase for tools in rule.tools[:2])
        raise TwoReadings(
            f"cannot read {found['said']!r} of what must not happen; write "
            f"{quoted(f'{one} and {other} must never both happen')} where one of them is allowed, or "
            f"{quoted(f'{one} or {other} must never happen')} where none is"
        )


def _not_only_on_days(sentence: str, rule: PolicyKind) -> None:
    """`Deploy on Mondays only after 10:00` says nothing of other days."""
    found = _DAYS_ONLY_HOURS.search(sentence)
    if found is None or not isinstance(rule, Timetable) or rule.banned:
        return
    raise TwoReadings(
        f"cannot read {found['said']!r} between days and hours; write 'must happen on DAYS HOURS' where it "
        "is allowed at no other time, or 'must never happen on DAYS HOURS' with the hours in which it is not"
    )


def _not_amounts_for_hours(sentence: str, rule: PolicyKind) -> None:
    """`Seats are reserved from 8 to 10 only` may be of hours."""
    found = _FROM_TO.search(sentence)
    asked = {one.path for tools in rule.tools for one in tools.asked}
    if found is None or asked != {("amount",)} or "amount" in sentence.lower() or int(found["b"]) > 24:
        return
    phrase, a, b = rule.tools[0].phrase.partition(" with ")[0], int(found["a"]), int(found["b"])
    must = "must never" if compiled(r"\b(?:never|not|no)\b").search(sentence) else "must"
    hours = quoted(f"{phrase} {must} happen between {a:02}:00 and {b:02}:00")
    raise TwoReadings(
        f"cannot read {found['said']!r}; write {hours} or "
        f"{quoted(f'The amount of {phrase} must be between {a} and {b}')}"
    )


def _not_each_of_all(sentence: str, rule: PolicyKind) -> None:
    """`If all charges fail` asks for nothing where one of them succeeds."""
    if getattr(rule, "failed", False) and (found := _ALL_FAIL.search(sentence)):
        raise BadInput(
            f"cannot read {found['said']!r}; what each failure asks for is said as 'If ACTION fails, ACTION "
            "must follow', what so many do as 'If ACTION fails 3 times, ACTION must follow'"
        )


def _not_only_with_if(sentence: str, rule: PolicyKind) -> None:
    """`Only ship with carrier DHL if the country is DE`: these only then, or then these alone."""
    found, where = _ONLY_WITH_IF.search(sentence), rule.tools[0].where
    if found is None or where is None or len(where.every) != 2 or getattr(rule, "most", None) != 0:
        return
    phrase = rule.tools[0].phrase.partition(" with ")[0]
    ways = (where, replace(where, every=tuple(one.contrary for one in where.every)))
    one, other = (quoted(f"{phrase} {way.words} must never happen") for way in ways)
    raise TwoReadings(f"cannot read 'only' with {found['said']!r}; write {one} or {other}")


def _no_bare_number(sentence: str, rule: PolicyKind) -> None:
    """`Waive no more than 20 per reader` may be 20 calls, or an amount."""
    if rule.kind not in ("count", "rate") or not getattr(rule, "most", None):
        return
    for tools in rule.tools:
        verb, noun = _object(tools)
        most = r"(?:no more than|not more than|at most|up to|a maximum of|more than)"
        said = compiled(
            rf"\b{re.escape(verb)} (?P<said>{most} {_SO_MANY}) "
            r"(?:per|for each|for every|for|to|in|within)\b"
        ).search(sentence)
        if noun and said:
            number = getattr(rule, "most", 0)
            raise TwoReadings(
                f"cannot read {said['said']!r}, which may be calls or an amount; write "
                f"{quoted(f'{tools.phrase} must happen at most {number} times')} or "
                f"{quoted(f'The sum of args.amount of {tools.phrase} must be at most {number}')}"
            )


def _no_day_as_argument(sentence: str, rule: PolicyKind) -> None:
    """`Per reader and day` speaks of a day of the calendar."""
    for first, _ in getattr(rule, "same", ()) or ():
        name = str(first[-1]).lower()
        if (name in _TIMES_ALONE or name.removesuffix("s") in _TIMES_ALONE) and not compiled(
            rf"with the same (?:\w+ and )*{name}\b"
        ).search(sentence):
            raise BadInput(
                f"cannot read {name!r} as an argument; of days of the calendar say 'per calendar day', of "
                "any 24 hours 'within 24 hours'"
            )
    for tools in rule.tools:
        for one in tools.asked:
            name = str(one.path[-1]).lower() if one.path else ""
            days = all(str(value).casefold()[:3] in _SHORT_DAYS for value in one.values)
            several = bool(one.values) and all(
                str(value).rstrip("s").title() in NAMES for value in one.values
            )
            if not (days and several) and (name not in _DAYS_ALONE or not (days or one.type == "clock")):
                continue
            if not compiled(rf"\b(?:with|whose|args\.) ?{name}\b").search(sentence):
                raise BadInput(
                    f"cannot read {name!r} as an argument; days are said as '{_bare(tools)} must happen on "
                    f"weekdays', with hours as '{_bare(tools)} must never happen on Fridays after 18:00', an "
                    f"argument as 'args.{name}'"
                )


_LIMIT = compiled(
    r"(?:rate|upper|lower|time|hard|call)_(?:limit|bound)|limit|cap|ceiling|quota|maximum|minimum"
)


_HOW_LONG = compiled(
    r"[:;\u2013\u2014-] ?(?P<f>time ?out|duration|run ?time)\b(?: of| is| at most)* (?P<d>\d+ ?(?:m|min"
    r"|minutes?|s|sec"
    r"|seconds?|h|hours?))\b"
)


def _no_limit_as_argument(sentence: str, rule: PolicyKind) -> None:
    """`A refund has an upper limit of 500` speaks of a bound, and of no argument that is always 500."""
    long = _HOW_LONG.search(sentence)
    for one in (one for tools in rule.tools for one in tools.asked):
        name = str(one.path[-1]) if one.path else ""
        if long and name == long["f"].lower():
            lasts = quoted(f"{_bare(rule.tools[0])} must take at most {long['d']}")
            raise TwoReadings(
                f"cannot read {long['f']!r}, which may be an argument; write {lasts} or 'args.{name}'"
            )
        if one.op == "not in" and _LIMIT.fullmatch(name) and f"args.{name}" not in sentence:
            raise BadInput(
                f"cannot read {name.replace('_', ' ')!r} as an argument; a limit is said as 'ACTION must "
                f"happen at most 3 times' or 'ACTION with FIELD over 500 must never happen', an argument as "
                f"'args.{name}'"
            )


def _not_only_these_then(sentence: str, rule: PolicyKind) -> None:
    """`On Sundays only books of section A may be lent` forbids the others, and on Sundays."""
    found = _ONLY_THESE.search(sentence)
    if found and isinstance(rule, Timetable | Weekdays | Window):
        raise BadInput(
            f"cannot read {found['said']!r}; which calls are forbidden then is said as 'ACTION with FIELD "
            "other than VALUE must never happen on DAYS'"
        )


def _not_for_ever(sentence: str, rule: PolicyKind) -> None:
    """`Never lend a book that is lent` allows it once it came back."""
    if not isinstance(rule, AbsenceAfter) or rule.failed or not (found := _STILL.search(sentence)):
        return
    for trigger, what in rule.pairs:
        if trigger.names == what.names:
            never = quoted(f"{what.phrase} must never happen after {trigger.phrase}")
            raise BadInput(
                f"cannot read {found['said']!r}, which may be over by then; write {never}, with 'until' and "
                "what ends it"
            )
