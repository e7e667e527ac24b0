"""Words that take back what a sentence seems to ask: each is refused, with what to write.

`Might`, `not only`, `do not have to`, `try to`, `another`, `some`: no rule says anything of them.
"""

from __future__ import annotations

import re

from synth.errors import BadInput
from synth.policies.beside import AT_ONCE, MANY
from synth.policies.clausal.events import actions_of
from synth.policies.composed import quoted
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.between import Between
from synth.policies.kinds.count import Count, number_of
from synth.policies.kinds.duration import Duration
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.overlap import NoOverlap
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.response import Response
from synth.policies.kinds.timetable import Timetable
from synth.policies.kinds.variety import Variety
from synth.policies.kinds.weekdays import Weekdays
from synth.policies.kinds.window import Window
from synth.policies.names import TwoReadings
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of

_TAKEN_BACK = (
    (
        compiled(r"\b(?P<said>might)\b(?! only\b)"),
        "asks for nothing; write 'must' where it is asked for, 'must never' where it is forbidden",
    ),
    (
        compiled(
            r"\b(?P<said>are (?:enough|sufficient|plenty|no problem))\b"
            r"(?!,? (?:and |but )?(?:never|not|no|a) )"
        ),
        "forbids nothing; so many at most is said as 'ACTION must happen at most 2 times'",
    ),
    (
        compiled(r"\b(?P<said>not (?:only|just|merely|solely|simply))\b(?!.*\bbut\b)"),
        "forbids nothing; write 'only' without 'not' where nothing else is allowed",
    ),
    (
        compiled(
            r"\b(?P<said>(?:do|does|did)(?: not|n['\u2019]t) (?:have|need) to|need(?: not|n['\u2019]t)"
            r"|(?:is|are)(?: not|n['\u2019]t) (?:required|obliged|needed) to)\b"
        ),
        "forbids nothing and asks for nothing; what is forbidden is said as 'ACTION must never happen'",
    ),
)
"""Words, and what a sentence with them does not say: `might page somebody`, `3 refunds are enough`."""
_MAY = compiled(
    r"(?<!who )(?<!that )(?<!which )\b(?:may|can|could|(?:is|are) (?:allowed|permitted|free) to)\b"
    r"(?! (?:not|never|only|no)\b)"
)
_BINDS = compiled(
    r"\b(?:only|not|never|no|none|nobody|nothing|neither|nor|unless|until|till|without|cannot|\w+n['\u2019]t"
    r"|must|has to|have to|should|shall|needs?|ought|required|requires?|oblige[ds]?|always|forbidden"
    r"|prohibited)\b"
)
_TRIED_FIRST = compiled(
    r"\b(?P<said>(?:try|tries|attempt|attempts) to) .*\b(?:before|prior to|ahead of|first)\b"
    r"|\b(?:an?|every|each) (?P<told>attempts?) (?:to|at) .*\b(?:before|prior to|ahead of)\b"
    r"|\b(?P<done>attempted|tried)(?: at least once| first)? (?:before|prior to|ahead of)\b"
    r"|^(?P<do>attempt|try) .*\b(?:before|prior to|ahead of)\b"
)
_NO = compiled(r"\b(?:not|never|no|none|nobody|cannot|\w+n['\u2019]t|forbidden|prohibited|banned|only)\b")
_ANOTHER = compiled(
    r"\b(?P<said>(?:another|a further|an additional|every further|each further|any further|no further"
    r"|any additional|no additional) (?P<n>[a-z]+))\b"
)
_IF_ANOTHER = compiled(
    r"\b(?P<said>(?:if|when|whenever|once|after) (?:another|a further|an additional) "
    r"(?!(?:tool|call|action|agent|person|attempt|try|time)\b)[a-z]+)\b"
)
_NO_THING = frozenset(
    [
        "tool", "tools", "call", "calls", "action", "actions", "step", "steps", "agent", "person",
        "human", "one", "colleague", "time", "run", "conversation", "session", "reason", "day", "hour",
        "minute", "way", "word", "words", "try", "attempt",
    ]
)  # fmt: skip
_SOME = compiled(r"\b(?P<said>some [a-z]+)\b")
_EACH = compiled(
    r"\b(?P<said>(?:each|every) "
    r"(?!(?:run|conversation|session|time|call|agent|day|hour|minute|week|single)\b)"
    r"[a-z]+)\b"
)
_NONE_OF_AT_MOST = compiled(
    r"\b(?P<said>at most|up to|no more than|not more than) .*\b(?:is|are)(?: not|n['\u2019]t) "
    r"(?:allowed|permitted|ok|okay"
    r"|tolerated|acceptable|fine)\b"
)
_NOT_AT_MOST = compiled(
    r"\b(?P<said>(?:not|never)) (?:succeed|happen|fail|be [a-z]+|takes?|last|run)s? (?:at most|no "
    r"more than|up to)\b"
)

_NONE_OVER = compiled(
    r"\b(?P<said>(?:without|no|lacking|missing) (?:an? |any |the )?[a-z_]+ (?:that is "
    r")?(?:over|above|under|below"
    r"|exceeding|greater than|more than|less than|higher than|lower than|larger than|smaller than|at least"
    r"|at most|up to|of)(?: (?:more|less|over|under|at least|at most)(?: than)?)?) [$\u20ac\u00a3]?\d"
)
_SO_MANY = compiled(
    r"\b(?P<said>(?:more than|over|at least|at most|up to|less than|fewer than|no more than|exceeding|under"
    r"|below|above|from) (?P<many>\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty) "
    r"(?P<n>[a-z]+s))\b"
)
_FAILURES = compiled(r"\b(?P<said>\d+ (?:failures|failed (?:calls|attempts|tries)|errors))\b")
_IS_SO_MANY = compiled(
    r"^(?!.*\b(?:max|maximum|highest|largest|limit|cap|most)\b).*\b(?P<said>(?:number|count) of .*"
    r"(?:must|should|shall|has to) be) (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)$"
)
_LEAST_TIME = compiled(r"\b(?P<said>(?:minimum|minimal|least|shortest) (?:time|duration))\b")
_FOR_SO_LONG = compiled(
    r"(?<!not )\b(?P<said>for (?:\d+|an?|one|two|three|four|five|ten|thirty) "
    r"(?:seconds?|minutes?|hours?|days?)) "
    r"(?:after|following|once)\b"
)


_ASKS = compiled(
    r"(?<!\bok)(?<!\bokay)(?<!understood)(?<!agreed)(?<!right)(?<!clear)(?<!please)(?<!alright)\?\W*$"
)


def no_question(sentence: str) -> None:
    """BadInput for `Verify before paying?`, which demands nothing."""
    if _ASKS.search(sentence):
        raise BadInput(
            "cannot read a question; a rule is said as 'ACTION must happen before ACTION', without '?'"
        )


def no_weak_words(sentence: str, rule: PolicyKind, actions: tuple[str, ...]) -> None:
    """BadInput where the words of a sentence ask for less than its rule, or for another thing."""
    _takes_nothing_back(sentence)
    _no_calls_given(rule, actions)
    _no_may(sentence, rule)
    _no_try(sentence, rule)
    _no_other_one(sentence, rule)
    _not_some(sentence, rule)
    _not_so_often_each(sentence, rule)
    _not_at_most(sentence)
    _no_missing_size(sentence, rule)
    _no_amount_of_calls(sentence, rule)
    _not_of_failures(sentence, rule)
    _not_for_so_long(sentence, rule)
    _not_just_so_many(sentence, rule)
    _no_least_time(sentence, rule)


def _takes_nothing_back(sentence: str) -> None:
    """BadInput for words that ask for nothing whatever the rule is."""
    for pattern, why in _TAKEN_BACK:
        if found := pattern.search(sentence):
            raise BadInput(f"cannot read {found['said']!r}, which {why}")


def _no_calls_given(rule: PolicyKind, actions: tuple[str, ...]) -> None:
    """`Approval policy: at most 2 deploys` is about deploys: no call is given some."""
    units = {
        one.unit.lower() for tools in rule.tools if "*" in tools.names for one in tools.asked if one.unit
    }
    for one in actions_of(actions) if units else ():
        deeds = compiled("|".join(deeds_of(one.verb))) if one.verb else None
        if deeds and (unit := next(filter(deeds.fullmatch, units), None)):
            raise BadInput(
                f"cannot read {unit!r} as what a call is given; how often something happens is said as "
                "'ACTION must happen at most 2 times'"
            )


def _no_may(sentence: str, rule: PolicyKind) -> None:
    """`After an alarm the agent may page a doctor` asks for no page."""
    asks = isinstance(rule, Response | NextCall) or (isinstance(rule, Variety) and rule.least is not None)
    may = _MAY.search(sentence)
    if may is None or not asks or _BINDS.search(sentence):
        return
    if isinstance(rule, Response | NextCall):
        trigger, answer = (tools.phrase for tools in rule.pairs[0])
        hint = quoted(f"{trigger} must be followed by {answer}")
    else:
        hint = "'must'"
    raise BadInput(f"cannot read {may[0]!r}, which asks for nothing; what is asked for is said as {hint}")


def _no_try(sentence: str, rule: PolicyKind) -> None:
    """`Try to verify before paying` is content with a verification that failed."""
    if not isinstance(rule, Precedence | Adjacency) or _NO.search(sentence):
        return
    if found := _TRIED_FIRST.search(sentence):
        said = next(filter(None, found.groups()))
        first, then = (tools.phrase for tools in rule.pairs[0])
        raise BadInput(
            f"cannot read {said!r} of what comes first, where a failed call may be enough; where it "
            f"must have "
            f"succeeded, write {quoted(f'{first} must happen before {then}')}"
        )


def _no_other_one(sentence: str, rule: PolicyKind) -> None:
    """`Check the license before another deposit` leaves the first deposit free."""
    barred = isinstance(rule, Weekdays | Window | Timetable | Duration | Between)
    if isinstance(rule, Response | AbsenceAfter) and (found := _IF_ANOTHER.search(sentence)):
        raise BadInput(
            f"cannot read {found['said']!r}, which leaves the first one free; write it without 'another'"
        )
    of_two = isinstance(rule, Precedence | NoOverlap | AbsenceAfter | Adjacency | NextCall) and not any(
        set(one.names) & set(other.names) for one, other in rule.pairs
    )
    if not (barred or of_two):
        return
    named = {word for tools in rule.tools for word in re.findall(r"[a-z]+", tools.phrase.lower())}
    for found in _ANOTHER.finditer(sentence):
        further = not found["said"].lower().startswith("another")
        if found["n"].lower() in _NO_THING or (further and not isinstance(rule, Precedence)):
            continue
        if not any(_alike(found["n"].lower(), word) for word in named):
            continue
        raise BadInput(
            f"cannot read {found['said']!r}, which is said of a second one; a rule of every one has no such "
            "word, and one of two calls of an action is said as 'ACTION must never happen after ACTION until "
            "ACTION'"
        )


def _alike(noun: str, word: str) -> bool:
    """Is it the word of a name, or its noun: `refund`, `refunds`, `verification` of `verify`?"""
    return noun[:4] == word[:4]


def _not_some(sentence: str, rule: PolicyKind) -> None:
    """`Rerun some job at most twice` says of which one no word."""
    found = _SOME.search(sentence)
    if found and isinstance(rule, Count | Rate) and rule.most:
        raise BadInput(
            f"cannot read {found['said']!r}, which says not of which one; write 'with the same FIELD' "
            f"where each "
            "is counted by itself"
        )


def _not_so_often_each(sentence: str, rule: PolicyKind) -> None:
    """`Rerun each job at least twice` asks it of each job, and not of all together."""
    if not isinstance(rule, Count) or not rule.least or rule.least == 1:
        return
    if found := _EACH.search(sentence):
        raise BadInput(
            f"cannot read {found['said']!r} of what must happen at least {rule.least} times, which is "
            f"counted "
            f"over all calls; write "
            f"{quoted(f'{rule.what[0].phrase} must happen at least {rule.least} times')} "
            "where all of them are meant"
        )


def _not_at_most(sentence: str) -> None:
    """`At most two are not permitted`, `may not succeed at most once`."""
    if found := _NONE_OF_AT_MOST.search(sentence) or _NOT_AT_MOST.search(sentence):
        raise BadInput(
            f"cannot read {found['said']!r} together with what forbids it; write 'must happen at most "
            f"2 times', "
            "or 'must happen at least 3 times'"
        )


def _no_missing_size(sentence: str, rule: PolicyKind) -> None:
    """`An inspection without a fee over 300` has a smaller one, or none."""
    ops = {one.op for tools in rule.tools for one in tools.asked}
    if "missing" in ops and (found := _NONE_OVER.search(sentence)):
        raise BadInput(
            f"cannot read {found['said']!r} together with a number; write 'with FIELD of at most 300' "
            f"or 'with "
            "FIELD over 300'"
        )


def _no_amount_of_calls(sentence: str, rule: PolicyKind) -> None:
    """`More than two refunds need an approval` counts refunds; `at most 10 nodes in one call` are so many."""
    found = _SO_MANY.search(sentence)
    if found is None or compiled(AT_ONCE).search(sentence) or _HOLDS.search(sentence):
        return
    number = number_of(found["many"])
    for tools in rule.tools:
        words = [word for word in tools.phrase.partition(" with ")[0].lower().split() if len(word) > 3]
        sizes = [value for one in tools.asked if one.op in _ORDERED for value in one.values]
        many = number is not None and number > MANY and found["n"].lower() in words
        if number in sizes and not many and any(_alike(found["n"].lower(), word) for word in words):
            raise BadInput(
                f"cannot read {found['said']!r} of what is to be asked only then; how often something "
                f"happens "
                "is limited as 'ACTION must happen at most 2 times', and an amount is said as 'ACTION with "
                "amount over 2'"
            )


_ORDERED = ("<", "<=", ">", ">=")
_HOLDS = compiled(r"\b(?:may|must|can|should|shall|does|do)(?: not|n['\u2019]t| never)? (?:have|hold|carry) ")
"""`A loading may not have more than 33 pallets`: what a call has is no number of calls."""


def _not_of_failures(sentence: str, rule: PolicyKind) -> None:
    """`Refunds are limited to 3 failures` counts no successes."""
    found = _FAILURES.search(sentence)
    if found and isinstance(rule, Count | Rate) and rule.ended is None and rule.most:
        raise BadInput(
            f"cannot read {found['said']!r}; write "
            + quoted(f"{rule.what[0].phrase} must fail at most {rule.most} times")
        )


def _not_for_so_long(sentence: str, rule: PolicyKind) -> None:
    """`Issue refunds for two hours after the check` is no duty to issue one within them."""
    if isinstance(rule, Response) and rule.within is not None and (found := _FOR_SO_LONG.search(sentence)):
        trigger, answer = (tools.phrase for tools in rule.pairs[0])
        long = found["said"].removeprefix("for ")
        raise BadInput(
            f"cannot read {found['said']!r} of what must happen; write "
            f"{quoted(f'{answer} must happen within {long} after {trigger}')} where it may happen only then"
        )


def _not_just_so_many(sentence: str, rule: PolicyKind) -> None:
    """`The number of refunds must be 3` is not content with two."""
    body = sentence.removesuffix(".").rstrip()
    if isinstance(rule, Count) and not rule.least and rule.most and (found := _IS_SO_MANY.search(body)):
        a = rule.what[0].phrase
        raise TwoReadings(
            f"cannot read {found['said']!r}; write {quoted(f'{a} must happen exactly {rule.most} times')} or "
            f"{quoted(f'{a} must happen at most {rule.most} times')}"
        )


def _no_least_time(sentence: str, rule: PolicyKind) -> None:
    """`The minimum time for weighing is 45 seconds` is said of no argument."""
    found = _LEAST_TIME.search(sentence)
    if found and any(one.path[-1:] in (("time",), ("duration",)) for t in rule.tools for one in t.asked):
        raise BadInput(
            f"cannot read {found['said']!r}; how long a call takes at most is said as 'ACTION must "
            f"take at most "
            "45 seconds', and that it takes at least so long is not in the language"
        )
