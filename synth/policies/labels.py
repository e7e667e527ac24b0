"""An action as a label, with what is demanded of it behind: `run tests: 15 minutes at the longest`.

What stands behind the label is said again as a sentence about the action, in the words that readers know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from synth.errors import BadInput
from synth.policies.clausal.matching import Grammar, TooLong
from synth.policies.clausal.parts import Event
from synth.policies.clausal.reader import rules_of
from synth.policies.clausal.spelling import spelled
from synth.policies.kinds.kind import PolicyKind
from synth.policies.names import Names
from synth.policies.numerals import in_digits
from synth.policies.patterns import compiled
from synth.policies.wordings import DURATION

_LABEL = compiled(
    r"^(?P<label>[^:;,.\u2013\u2014]{3,60}?)(?:(?: ?(?P<joint>[:;])| (?P<dash>[-\u2013\u2014\u2192])(?= "
    r")) ?)(?P<rest>\S.*)$"
)
_N = r"(?P<n>\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|a single)"
_FEW = r"(?P<few>[1-9]|one|two|three|four|five|six|seven|eight|nine)"
"""So few are calls, and no amount."""
_MOST = r"(?:at (?:the )?most|max(?:imum|imally)?|no more than|not more than|never more than|up to|only|just)"
_LIMIT = (
    r"(?:(?:(?:is |are )?(?:limited|capped|restricted) (?:to|at)|(?:a |the |rate |call |calls? )*"
    r"(?:limit|cap|maximum|quota|ceiling)(?: (?:of|is|at|to)| ?[:=])?) (?:at most )?)"
)
_TOPS = (
    r"(?:max(?:imum)?|at (?:the )?(?:very )?most|tops|(?:is|are|being) (?:the |our |an? )?(?:(?:absolute"
    r"|upper|hard) )?"
    r"(?:max(?:imum)?|limit|most|cap|ceiling)|(?:is|are) enough|or (?:less|fewer))"
)
_TRIES = r"(?:tries|try|attempts?|calls?|times?|runs?|executions?|invocations?|goes)"
_LASTS = (
    r"(?:it |this )?(?:(?:may|must|can|should|has to) )?(?:only )?(?:takes?|lasts?|runs?|runs for|(?:is "
    r"|be )?(?:done|finished|"
    r"completed|over|through)(?: in| within)?|finish(?:es)?(?: in| within)?|complete(?: in| within)?)"
)
_LONGEST = (
    r"at (?:the )?(?:longest|most)|max(?:imum)?|tops|or less|and no longer|not longer|(?:is|are) "
    r"(?:the )?(?:max(?:imum)?|limit)"
)
_AT_ONCE = r"(?:in parallel|at the same time|at once|concurrently|simultaneously|side by side|overlapping)"
_NO_CALLS = (
    r"(?:nothing|no (?:other |more |further )?(?:tool )?(?:calls?|tools?|actions?)|nothing (?:else|more)"
    r"|no more calls?)"
    r"(?: (?:may|must|can) (?:follow|be called|happen|come))?"
)
_AFTER_IT = r"(?: (?:afterwards?|after(?: (?:it|that|this))?|any ?more|later|then))"
_ON_FAILURE = (
    r"(?:on (?:a |any |every )?failure|on error|if (?:it|this|one|that) (?:fails|failed|has failed)|when "
    r"(?:it|one) fails"
    r"|in case of (?:a )?failure|upon failure|after (?:a |any |each )?failure)"
)
_WAYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"{_LIMIT}(?:{_N} {_TRIES}|{_FEW})(?P<r>(?:,? [a-z].*)?)", ("{a} must happen at most {n} times{r}",)),
    (rf"(?:{_MOST} )?{_N} {_TRIES}(?: {_TOPS})?(?P<r>(?:,? "
     rf"[a-z].*)?)", ("{a} must happen at most {n} times{r}",)),
    (rf"{_FEW} {_TOPS}(?P<r>(?:,? [a-z].*)?)", ("{a} must happen at most {n} times{r}",)),
    (
        rf"(?:{_LASTS} )(?:(?:{_MOST}|no longer than|not longer than|less than|under) "
        rf")?(?P<d>{DURATION})(?: (?:{_LONGEST}))?",
        ("{a} must take at most {d}",),
    ),
    (rf"(?:no|not|never) longer than (?P<d>{DURATION})", ("{a} must take at most {d}",)),
    (
        rf"(?:time ?limit|time ?out|(?:max(?:imum)?|maximal|longest) (?:duration|run ?time|time)|duration"
        rf"|run ?time)"
        rf"(?: of| is| after|:)? (?:(?:{_MOST}) )?(?P<d>{DURATION})(?: (?:{_LONGEST}))?",
        ("{a} must take at most {d}",),
    ),
    (rf"(?P<d>{DURATION}) (?:{_LONGEST})", ("{a} must take at most {d}",)),
    (
        rf"(?:always |keep |leave )?(?:at least |a minimum of |no less than )?(?P<d>{DURATION}) apart(?:,? "
        rf"(?:at least|or more|at a minimum))?",
        ("There must be at least {d} between two calls of {a}",),
    ),
    (
        rf"(?:(?:never|no|not) (?:two |more than one |several )?(?:calls? |runs? )?{_AT_ONCE}|(?:only "
        rf")?one at (?:a|any) time"
        rf"|(?:must|may|can|should) (?:not|never) (?:run|happen) {_AT_ONCE}|(?:must|may) (?:not|never) "
        rf"overlap(?: itself)?|never overlapping)",
        ("{a} must never overlap",),
    ),
    (r"(?P<r>(?:always |directly |immediately |to be |must be )*(?:preceded|followed) "
     r"by .+)", ("{a} must be {r}",)),
    (r"(?P<r>(?:always )?(?:requires?|needs?|takes?|may|can|must|should|has to|is to|are to|is"
     r"|are) .+)", ("{a} {r}",)),
    (r"(?:the )?(?:very )?next (?:call|step|tool|action)(?: is| must be| has to be)? "
     r"(?P<r>.+)", ("{a} must be immediately followed by {r}",)),
    (r"(?:must (?:be|come) |is |comes )?(?:always )?(?:the )?(?:very )?first(?: call| "
     r"step)?", ("The first call must be {a}",)),
    (r"(?:must (?:be|come) |is |comes )?(?:always )?(?:the )?(?:very )?last(?: call| "
     r"step)", ("The last call must be {a}",)),
    (rf"{_NO_CALLS}{_AFTER_IT}", ("After {a}, no other tool may be called",)),
    (rf"{_ON_FAILURE},? (?:then )?(?P<r>.+)", ("If {a} fails, {r}",)),
    (rf"after {_N} (?:failures|failed (?:tries|attempts|calls|times|ones))(?P<in> in a row)?,? "
     rf"(?P<r>.+)", ("After {n} failed {a} calls{in}, {r}", "If {a} fails {n} times{in}, {r}")),
    (r"(?P<l>.*\b(?:before|after)) (?:it|that|this)(?P<r>(?:,| (?:with|within|for"
     r"|on)\b).*)?", ("{l} {a}{r}",)),
)  # fmt: skip


def labelled(sentence: str, names: Names, read: Callable[[str], PolicyKind]) -> PolicyKind | None:
    """The rule about the action that is the label of a sentence; None where it has no such label."""
    body = " ".join(sentence.split()).removesuffix(".").strip()
    for said in _said_in_full(body, names):
        try:
            return read(f"{said[:1].upper()}{said[1:]}")
        except BadInput:
            continue
    return None


def _said_in_full(body: str, names: Names) -> Iterator[str]:
    m = _LABEL.match(body)
    action = labelling(m["label"], names) if m else None
    if m is None or action is None:
        return
    for pattern, ways in _WAYS:
        if found := compiled(rf"^{pattern}$").match(in_digits(m["rest"])):
            parts = {name: said or "" for name, said in found.groupdict().items()}
            parts["n"] = parts.get("n") or parts.get("few", "")
            yield from (way.format(a=action, **parts) for way in ways)
            break
    if m["joint"] != ":" and m["dash"] != "\u2192":
        yield f"{action}: {m['rest']}"


def labelling(label: str, names: Names) -> str | None:
    """The phrase of the one action that a label names, all of it; None where it names none, or says more."""
    for phrase in names.actions:
        if phrase.casefold() == label.casefold():
            return phrase
    rules, actions = rules_of(tuple(names.actions))
    try:
        found = {event.action for event in Grammar(spelled(label), rules).whole("event") if _is_bare(event)}
    except (TooLong, RecursionError):
        return None
    return actions[next(iter(found))].phrase if len(found) == 1 and min(found) >= 0 else None


def _is_bare(event: Event) -> bool:
    """Does it say nothing but which action it is?"""
    return not (event.outcome or event.same or event.about or event.beside or event.later or event.each)
