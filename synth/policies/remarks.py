"""What is said beside a rule and demands nothing more: `..., that's the maximum`, `Four eyes: ...`.

A remark is left out where it is true of the rule that the rest of the sentence states: what is called the
maximum must be a greatest number, `a third is too many` goes with two. A label names what the rule is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from synth.errors import BadInput
from synth.policies.action_forms import singular
from synth.policies.clausal.small import NTH
from synth.policies.composed import actions_in
from synth.policies.inflected import inflected
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.count import Count
from synth.policies.kinds.ends import FirstCall, LastCall
from synth.policies.kinds.in_a_row import InARow
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.total import Total
from synth.policies.kinds.variety import Variety
from synth.policies.marks import places_of
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.whose_numbers import is_of

Read = Callable[[str], PolicyKind]
Fitted = Callable[[PolicyKind], PolicyKind | None]
"""The rule with what a remark says of it; None where that is not true of it."""

_LIMITS = (Count, Rate, Total, Variety, InARow)


def _any_rule(rule: PolicyKind) -> PolicyKind | None:
    return rule


def _adjacent(rule: PolicyKind) -> PolicyKind | None:
    return rule if isinstance(rule, Adjacency | NextCall) else None


def _alone(rule: PolicyKind) -> PolicyKind | None:
    """Does it name all that is allowed, so that nothing else is?"""
    if isinstance(rule, FirstCall | LastCall | Adjacency | NextCall):
        return rule
    banned = rule.what if isinstance(rule, Count) and not rule.most else ()
    wheres = [tools.where for tools in banned if tools.where is not None]
    only = any(one.op in ("not in", "outside") for where in wheres for one in where.every)
    others = isinstance(rule, AbsenceAfter) and any(
        then.but or then.names == ("*",) for _, then in rule.pairs
    )
    return rule if only or others else None


def _bounded(rule: PolicyKind) -> PolicyKind | None:
    return rule if isinstance(rule, _LIMITS) and rule.most else None


def _exact(rule: PolicyKind) -> PolicyKind | None:
    return rule if isinstance(rule, Count) and rule.most and rule.most == rule.least else None


def _of_tries(rule: PolicyKind) -> PolicyKind | None:
    """Is it a limit of what is tried, however that ends?"""
    own = isinstance(rule, Total | Variety) or (
        isinstance(rule, Count | Rate) and rule.ended is None and getattr(rule, "least", None) is None
    )
    return _bounded(rule) if own or (isinstance(rule, InARow) and not rule.failed) else None


def _of_successes(rule: PolicyKind) -> PolicyKind | None:
    """The same limit of those that succeed."""
    if not isinstance(rule, Count | Rate) or not rule.most or getattr(rule, "least", None) is not None:
        return None
    return replace(rule, ended="succeeded") if rule.ended in (None, "succeeded") else None


def _next_too_many(said: str) -> Fitted:
    """`A third is too many`, where two are allowed."""
    number = NTH.index(said.lower()) + 1 if said.lower() in NTH else int(said[:-2])

    def fitted(rule: PolicyKind) -> PolicyKind | None:
        most = getattr(rule, "most", None)
        return rule if _bounded(rule) and most == number - 1 else None

    return fitted


_THAT = r"(?:and )?(?:that|this|it)(?:['\u2019]s| is| being)"
_MAXIMUM = (
    r"(?:(?:the|our|a|an) )?(?:(?:absolute|upper|hard|firm|strict) )*"
    r"(?:maximum|max|limit|cap|ceiling|most|uppermost|quota|top)(?: (?:allowed|permitted|possible))?"
)
_MORE = (
    rf"{_THAT} {_MAXIMUM}|(?:and )?(?:no|not) more(?: than (?:that|this|those|these))?"
    rf"|not (?:a single )?one more"
    r"|not any more|never more(?: than (?:that|this))?"
    r"|(?:and )?nothing (?:above|beyond|over)(?: that| this)?"
    r"|tops|at the (?:very )?most|maximum|max|at most|more (?:is|are) (?:not allowed|forbidden|too many)"
    r"|more than that (?:is|are) (?:not allowed|forbidden|too many|too much)"
)
_TO_THE_NUMBER = (
    r"(?:and )?(?:no|not|neither|never) more(?:,| and|,? (?:or|nor))? (?:(?:also|and) )?"
    r"(?:no|not|never)? ?(?:less|fewer)"
    r"|(?:and )?(?:no|not|neither|never) (?:less|fewer)(?:,| and|,? (?:or|nor))? (?:no|not|never)? ?more"
    r"|nothing more,? (?:and )?nothing less|exactly that many"
)
_TRIES = r"(?:(?:failed|unsuccessful|failing) [a-z]+|failures)"
_ARE_COUNTED = (
    r"(?:(?:also )?counts?(?: in)?(?: too| as well| also)?|(?:are )?(?:also )?(?:counted|included|counting)"
    r"(?: in)?(?: too| as well| also)?|too|as well)"
)
_TRIES_COUNT = (
    rf"(?:and )?(?:also )?(?:the )?{_TRIES} {_ARE_COUNTED}"
    rf"|(?:and )?(?:including|counting) (?:the |any |all )?{_TRIES}"
)
_DO_NOT_COUNT = (
    rf"(?:the |and |but )?{_TRIES} (?:do not|don['\u2019]t|are not|aren['\u2019]t) "
    rf"(?:count(?:ed)?(?: in)?|included|matter)"
    rf"|(?:the )?{_TRIES} (?:excluded|left out|aside|not counted|not included)"
    rf"|(?:not counting|without counting|not including|excluding|leaving out) (?:the |any |all )?{_TRIES}"
    r"|only (?:the )?successful (?:ones|[a-z]+) (?:count|are counted)|only successes count"
    r"|counting only successes"
)
_WHOEVER = (
    r"(?:(?:no matter|regardless of|irrespective of|whatever|whoever|whichever|however)"
    r"(?! (?:\w+ ){0,4}(?:(?:fail|succe)\w*|later|sooner|earlier|first|last|greater|higher|lower|smaller"
    r"|longer)\b)"
    r"(?: (?!(?:if|unless|except|but|only|and|or|not|never|before|after"
    r"|until|when|while|per|within|every|each|may|must)\b)[\w'\u2019-]+){1,5})"
)
_EVEN_IF = r"even (?:if|when|though) (?P<even>[^,;:]{3,80})"
_EVEN_THEN = (
    r"(?:and )?(?:even|not even) (?:for|in|on|at|during|under|by) "
    r"(?P<there>(?:(?!(?:if|unless|except|but|only|and|not|never|before|after|until|when|while|per|within"
    r"|each"
    r"|every|may|must|same)\b)[\w'\u2019-]+ ?){1,5})"
)
"""Where it holds as well: `even in an emergency`."""
_NOTHING_BETWEEN = (
    r"(?:and |with )?(?:nothing|no (?:other )?(?:calls?|tools?|tool calls?|steps?|actions?))(?: else| other)?"
    r"(?: (?:may|must) (?:come|happen|be called|be))? (?:in )?between(?: (?:them|the two|both|it))?"
)
_NOTHING_ELSE = (
    r"(?:and )?(?:nothing|nobody|no one|never anything|not anything|none) else|(?:and )?no (?:others?"
    r"|other (?!than\b)[a-z]+)"
    r"|never any other|(?:all )?others? (?:are|is) (?:forbidden|not allowed|refused)|everything else is "
    r"(?:forbidden|not allowed)"
)
_SAYS = (
    r"(?:says|say|wants|ask|asks|demands|requires|insists) "
    r"(?:compliance|legal|finance|audit|security|management|the (?:boss|law|regulator|auditor|team))"
    r"|(?:compliance|legal|finance|audit|security|management) (?:says|said|wants|demands|asked) so"
)
_FIRMLY = (
    rf"really|(?:and )?{_THAT} (?:it|all|final)|and that is that|end of story|simple as that|by all means"
    rf"|{_THAT} (?:a|an|our|the) (?:(?:legal|regulatory|strict|hard|firm|internal|company) )*"
    r"(?:rule|must|requirement|obligation|policy|law|standard)"
)


def _whatever(said: str) -> Fitted:
    """`Regardless of the customer` is true of no rule that compares customers."""
    words = {singular(word.casefold()) for word in compiled(r"[^\W\d]+").findall(said.replace("_", " "))}

    def fitted(rule: PolicyKind) -> PolicyKind | None:
        same = [part for path, _ in getattr(rule, "same", ()) for part in path]
        asked = [part for tools in rule.tools for one in tools.asked for part in one.path]
        named = [*same, *asked, *getattr(rule, "different", ()), *getattr(rule, "path", ())]
        return None if words & {word for part in named for word in str(part).casefold().split("_")} else rule

    return fitted


_ANY_TRIES = frozenset(
    ["tries", "attempts", "calls", "ones", "runs", "requests", "retries", "executions", "operations",
     "actions", "invocations", "try", "attempt", "call", "one", "tool", "jobs", "failures"]
)  # fmt: skip


def _of_them(said: str, fitted: Fitted) -> Fitted:
    """`Failed payments do not count` is said of no limit of refunds."""
    if fitted not in (_of_tries, _of_successes):
        return fitted
    nouns = compiled(r"\b(?:failed|unsuccessful|failing|successful) ([a-z]+)").findall(said)

    for noun in nouns:
        fitted = _of_what(noun, fitted)
    return fitted


def _of_what(noun: str, fitted: Fitted) -> Fitted:
    """`Two deploys, not a third restart` says nothing of deploys."""

    def of_it(rule: PolicyKind) -> PolicyKind | None:
        own = noun.lower() in _ANY_TRIES or any(is_of(noun, tools) for tools in rule.tools)
        return fitted(rule) if own else None

    return of_it


_BEHIND: tuple[tuple[str, Fitted], ...] = (
    (_TO_THE_NUMBER, _exact),
    (_MORE, _bounded),
    (_TRIES_COUNT, _of_tries),
    (_DO_NOT_COUNT, _of_successes),
    (_WHOEVER, _any_rule),
    (_EVEN_IF, _any_rule),
    (_EVEN_THEN, _any_rule),
    (_NOTHING_BETWEEN, _adjacent),
    (_NOTHING_ELSE, _alone),
    (_SAYS, _any_rule),
    (_FIRMLY, _any_rule),
)
_NTH = rf"(?P<{{n}}>{'|'.join(NTH)}|\d{{{{1,2}}}}(?:st|nd|rd|th))(?: (?P<{{n}}_of>[a-z]+))?"
_NEXT = (
    rf"(?:and |but |so )?(?:(?:an?|the|every|any) {_NTH.format(n='a')} (?:is|would be) "
    rf"(?:one )?(?:too many|too much"
    rf"|not allowed|forbidden|prohibited|refused|out of the question|not ok(?:ay)?|never allowed)"
    rf"|(?:no|never an?|not an?|never the) {_NTH.format(n='b')})"
)
_APART = r"(?:[,;.:]| [-\u2013\u2014]) ?"


def remarked(sentence: str, names: Names, read: Read) -> PolicyKind | None:
    """The rule beside what demands nothing more; None where nothing of it stands there."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    for rest, fitted in (*_behind(body, names), *_labelled(body, names), *_explained(body, names)):
        for said in _ways(rest, fitted):
            try:
                found = fitted(read(f"{said[:1].upper()}{said[1:]}"))
            except BadInput:
                continue
            if found is not None:
                return found
    return None


_BARE = (
    r"^(?P<lead>(?:[^:]+: ?)?)(?P<n>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
    r" (?=[a-z])"
)


def _ways(rest: str, fitted: Fitted) -> Iterator[str]:
    """The rest, and with the limit that the remark makes of its number: `2 per guest, that's the maximum`."""
    yield rest
    how = "exactly" if fitted is _exact else "at most"
    bare = compiled(_BARE).sub(rf"\g<lead>{how} \g<n> ", rest)
    if bare != rest and fitted is not _any_rule:
        yield bare


def _behind(body: str, names: Names) -> Iterator[tuple[str, Fitted]]:
    """(the rest, what is true of its rule) by what stands behind it."""
    for pattern, fitted in _BEHIND:
        for around in (rf"{_APART}(?:{pattern})$", rf",? [(\[](?:{pattern})[)\]]$"):
            m = compiled(around).search(body)
            if m and m.start() and not _says_more(m.groupdict(), names):
                told = _whatever(m[0]) if pattern is _WHOEVER else fitted
                yield (
                    body[: m.start()],
                    _of_them(m[0], told) if fitted in (_of_tries, _of_successes) else told,
                )
    nth = compiled(rf"{_APART}{_NEXT}$").search(body)
    if nth and nth.start():
        too_many = _next_too_many(nth["a"] or nth["b"])
        yield body[: nth.start()], _of_what(nth["a_of"] or nth["b_of"] or "one", too_many)


def _says_more(said: Mapping[str, str | None], names: Names) -> bool:
    """May `even if it fails`, `even if it was refunded` or `even for refunds` change what the rule "
    "asks for?"""
    words = said.get("even") or said.get("there") or ""
    if compiled(r"\b(?:fail|succe|error|only|unless|except|until|before|after)\w*").search(words):
        return True
    if said.get("there") and any(
        not place.word for word in words.split() for place in places_of(word, names)
    ):
        return True
    return bool(names.actions) and bool(actions_in(inflected(words, names), names))


_TOPICS = (
    "safety|security|fraud|privacy|compliance|compensation|money|cost|costs|budget|budgets|spending|abuse"
    "|spam|risk|risks|quality|fairness|hygiene|order|sequence|ordering|limit|limits|limitation"
    "|limitations|cap"
    "|caps|quota|quotas|timing|pacing|throttle|throttling|cooldown|deadline|prevention|protection|control"
    "|controls|check|checks|policy|rule|rules|guard|guardrail|guardrails|principle|separation|duties|duty"
    "|eyes|audit|trail|traceability|transparency|courtesy"
    "|discipline|housekeeping|care|common sense|exclusion|consistency|integrity|uniqueness|duplicates|repeats"
    "|repetition|retries|retry|frequency|maximum|minimum"
    "|follow-up|cleanup|clean-up|prerequisite|prerequisites|precondition|preconditions|reminder"
    "|law|requirement|requirements|process|procedure|procedures|workflow|conduct|agents?"
)
"""Words for what a rule is about, none of which says when or of what calls it holds."""
_MOST_OF = r"\b(?:limits?|limitations?|caps?|quotas?|maximum|ceilings?)\b"
"""Labels of what is the most: no least number stands behind them."""
_BESIDE_TOPICS = (
    "four|two|man|person|first|double|triple|basic|general|legal|strict|hard|of|the|our|and|two-man"
)
_LABEL = compiled(
    r"^(?P<label>[A-Za-z][\w'\u2019-]*(?: \w[\w'\u2019-]*){0,5})(?::| [-\u2013\u2014](?= )|\.(?= [A-Z])) *"
    r"(?P<rest>\S.*)$"
)


_WHOSE_OWN = compiled(
    r"^(?P<why>(?:nobody|no one|never|no|(?:do not|don['\u2019]t) (?:ever )?)(?: (?!(?:on|in|for|after"
    r"|before|during|between|over"
    r"|above|below|under|if|when|unless|except|with|without|than|per)\b)[a-z'\u2019-]+){1,7})(?: ?:| "
    r"[\u2013\u2014-]) (?P<rest>\S.*)$"
)
_SELF = compiled(
    r"\b(?:(?:him|her|it|your)self|themselves|(?:his|her|their|its|your) own|doubles?|duplicates?"
    r"|surprises?)\b"
)


def _explained(body: str, names: Names) -> Iterator[tuple[str, Fitted]]:
    """`Nobody approves his own transfers: ...`: what the rule behind it comes to, in other words."""
    m = _WHOSE_OWN.match(body)
    if m is None or not _SELF.search(m["why"]):
        return
    places = [place for word in m["why"].split() for place in places_of(word, names)]
    meant = {names.actions[place.phrase].names for place in places}

    def fitted(rule: PolicyKind) -> PolicyKind | None:
        return rule if not meant or meant & {tools.names for tools in rule.tools} else None

    yield m["rest"], fitted


def _labelled(body: str, names: Names) -> Iterator[tuple[str, Fitted]]:
    """`Payment safety: ...`: a topic, or the action that the rule is about."""
    m = _LABEL.match(body)
    if m is None:
        return
    words = [word.casefold() for word in m["label"].split()]
    topic, beside = compiled(rf"(?:{_TOPICS})"), compiled(rf"(?:{_BESIDE_TOPICS})")
    named = [word for word in words if not beside.fullmatch(word)]
    own = [(word, places_of(word, names)) for word in named if not topic.fullmatch(word)]
    again = {singular(word.casefold()) for word in compiled(r"[\w-]+").findall(m["rest"])}
    if not named or not all(places for _, places in own):
        return
    if len(own) == len(named) and not {singular(word) for word, _ in own} <= again:
        return  # `bookings: at most 3 rooms` may be those of each booking
    meant = {names.actions[place.phrase].names for _, places in own for place in places}

    limits = compiled(_MOST_OF).search(m["label"]) is not None

    def fitted(rule: PolicyKind) -> PolicyKind | None:
        asked = {tools.names for tools in rule.tools}
        if limits and getattr(rule, "least", None) and not getattr(rule, "most", None):
            return None
        return rule if not own or meant & asked else None

    yield m["rest"], fitted
    if own and len(own) < len(named):  # `refund limits: 2 per id` is said of refunds
        yield f"{' '.join(word for word, _ in own)}: {m['rest']}", fitted
