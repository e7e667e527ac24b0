"""Sentences in many words, in the fewer words of the language: what has one meaning is read, nothing else.

`in_our_words` takes a sentence whose actions are named as the file names them (see `inflected`). Each line of
a table says one thing in the language's words; what then does not read is refused, with what is known of the
sentence as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from synth.policies.kinds.count import NUMBERS, number_of
from synth.policies.kinds.kind import HAPPEN
from synth.policies.kinds.times import DAY
from synth.policies.names import Names, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.wordings import (
    AGAIN,
    AGENT,
    BANNED,
    DO,
    DURATION,
    FAILING,
    HAPPENED,
    LATER,
    MAY,
    NO,
    NUMBER,
    SHOULD,
    UNIT,
    WHEN,
)  # fmt: skip

Reword = str | Callable[[re.Match[str]], str]

_ONE = (
    r"(?:second(?=$|[,.;]| (?:after|before|of|from|at|in|later|or|and|with|for|per|must|may|can|should|passes"
    r")\b)"
    r"|minute|hour)"
)
"""A `second` is a time where no noun comes after it: `a second signature` is another one."""
_EVER = (
    r"(?:whenever|every time|each time|any time|anytime|if|when|once|as soon as"
    r"|after(?: (?:every|each|any))?)"
)
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays?)"
_F = r"[a-z_][\w.]*"
_NOT_A_FIELD = (
    rf"(?!(?:{_ONE}|(?:calendar )?(?:day|week|month)|year|conversation|session|run|time|call|turn|message"
    r"|rolling|any)s?\b)"
)

_TABLE: tuple[tuple[str, Reword], ...] = (
    # --- who and how
    (r"^(?:please |make sure(?: that)? |ensure(?: that)? |see to it that |it is (?:important|required|ma"
     r"ndatory)"
     r" that |we require that |note that )", ""),
    (r"^(?:under no circumstances|in no case|at no time) (?:may|must|should|can|shall|is|are) "
     rf"(?P<a>.+?) (?P<do>{HAPPEN})\b", r"\g<a> must never \g<do>"),
    (rf"^it (?:{BANNED[len('(?:is|are) '):]}|is) (?:to|that) (?P<a>.+?)(?P<rest> (?:after|once|before|"
     rf"within|between|until|unless|without|on|more|while|during) .+)?$", r"\g<a> must never happen\g<rest>"),
    (rf"(?P<lead>^|, ){AGENT} {BANNED} to (?=\S)", r"\g<lead>you must not "),
    (r"\bmust never happen(?P<rest> .+)? must never happen$", r"must never happen\g<rest>"),
    (rf"(?P<lead>^|, ){AGENT} (?:{NO}) (?:ever )?(?:call |use |invoke )?"
     r"(?P<a>.+?)(?P<rest>(?:,? (?:after|once|before|within|between|until|unless|without|on|more|twice|i"
     r"f|when"
     r"|again|for|while|during|with|outside|at) .+|,? (?:twice|again))?)$",
     r"\g<lead>\g<a> must never happen\g<rest>"),
    (r"(?P<lead>^|, )(?:then )?(?:never|do not|don['\u2019]t|must not) (?:ever )?(?:call |use |invoke )?"
     r"(?P<a>.+?)(?P<rest>(?:,? (?:after|once|before|within|between|until|unless|without|on|more|twice|i"
     r"f|when"
     r"|again|for|while|during|with|outside|at) .+|,? (?:twice|again))?)$",
     r"\g<lead>\g<a> must never happen\g<rest>"),
    (rf"(?P<lead>^|, ){AGENT} (?:{SHOULD}|{MAY}) only (?:call |use |invoke )?(?P<a>.+?)"
     r"(?P<rest> (?:after|once|when|if|on|between|within|at|from|during|for) .+)$",
     r"\g<lead>\g<a> must happen only\g<rest>"),
    (rf"(?P<lead>^|, ){AGENT} (?:{SHOULD}|{MAY}) (?:always |also |then )?(?!always)(?:call |use |invoke )?"
     r"(?P<a>.+?)(?P<rest> (?:before|after|within|at (?:most|least)|no more|not more|exactly|only|up to|"
     r"for|per"
     r"|until|with|on|between|immediately|directly|right|in|first|once|twice|afterwards?) .*)$",
     r"\g<lead>\g<a> must happen\g<rest>"),
    (rf"(?P<lead>^|, ){AGENT} {SHOULD} (?:always |also |then )?(?P<a>[^,]+?)(?P<rest> {LATER})?$",
     r"\g<lead>\g<a> must happen\g<rest>"),
    # --- modality
    (r"\bno (?:other |further |more )?(?:tools?|calls?|actions?) (?:must|may|can|should|shall|is|are)"
     r"(?: allowed to)? (?:ever )?(?:be (?:called|used|invoked|made)|happen|run|allowed|permitted)",
     "any tool must never happen"),
    (r"\bnothing(?: else| more)? (?:must|may|can|should|shall|is allowed to) (?:ever )?(?:happen|run|follow"
     r"|be (?:called|done))", "any tool must never happen"),
    (r"\b(?:call |use )?any tools? must never happen", "any tool must never happen"),
    (rf"\b(?:{NO}) (?!(?:start|begin) (?:while|during)){DO}\b", "must never happen"),
    (rf" {BANNED}(?: to happen)?\b", " must never happen"),
    (r"^(?P<a>.+?) (?P<rest>(?:after|before|between|without|on|within|while|during) .+?) must never happen$",
     r"\g<a> must never happen \g<rest>"),
    (rf"\b(?:{SHOULD}|{MAY}|is|are) only (?:{DO}|allowed(?: to happen)?|permitted)\b", "must happen only"),
    (rf"\b(?:{SHOULD}|{MAY}) {DO} only\b", "must happen only"),
    (rf"\b{SHOULD} (?:always |also |both |first |eventually |then )*{DO}\b", "must happen"),
    (rf"\b{SHOULD} (?:always |eventually |also )+(?=precede|follow|be )", "must "),
    (rf"\b{MAY} (?:also )?{DO}(?= (?:at most|no more|not more|up to|exactly|at least|only|between|on |from|"
     r"a maximum|less|fewer))", "must happen"),
    (rf"\b{MAY} {DO}(?= (?:once|twice|{NUMBER} times) (?:per|every|in|for|within|an?|with)\b)",
     "must happen at most"),
    (rf"\b{MAY} {DO} (?P<n>{NUMBER}) times? at (?:the )?most", r"must happen at most \g<n> times"),
    (r"\bmust happen (?:a maximum of|maximally|not more than|no more than|no more often than|up to) ",
     "must happen at most "),
    (rf"\bmust never happen (?:more (?:often )?than|over) (?P<n>{NUMBER})(?: times?)?",
     lambda m: f"must happen at most {number_of(m['n'])} times"),
    (rf"^(?P<a>[^,]+?) (?:must never happen )?(?:more (?:often )?than) (?P<n>{NUMBER})(?: times?)?"
     r"(?P<rest>.*) must never happen$",
     lambda m: f"{m['a']} must happen at most {number_of(m['n'])} times{m['rest']}"),
    (r"\bmust never happen (?:twice|a second time|two times)", "must happen at most 1 time"),
    (r"\bmust never happen again (?P<same>with the same|for the same)",
     r"must happen at most 1 time \g<same>"),
    (rf"^(?P<a>.+?) (?P<how>at most|no more than|not more than) (?P<n>{NUMBER}) times must happen",
     r"\g<a> must happen at most \g<n> times"),
    (rf"^(?P<a>(?:(?! must |the sum|the total)[^,])+?) (?P<how>at most|no more than|not more than|exactly"
     rf"|at least) (?P<n>{NUMBER})(?: times?)?"
     rf"(?P<rest> (?:per|an|a|every|within|in|for|with) .+)?$",
     r"\g<a> must happen \g<how> \g<n> times\g<rest>"),
    (rf"^(?P<how>at most|no more than|not more than|at least|exactly) (?P<n>{NUMBER}) (?P<a>.+?)"
     rf"(?: must happen| (?:is|are) (?:allowed|permitted))?(?P<rest> (?:per|an|a|every|within|in|for|wit"
     rf"h) .+?)?"
     r"(?: must happen| (?:is|are) (?:allowed|permitted))?$",
     lambda m: f"{m['a']} must happen {m['how']} {m['n']} times{m['rest'] or ''}"),
    (r"\b(?:no more than|not more than)\b(?= (?:\d{1,6}|\w+) times?\b)", "at most"),
    (r"\b(?P<n>once|twice) times\b", r"\g<n>"),
    (r"\b(?:at most|no more than) one times\b", "at most 1 time"),
    (rf"^(?P<run>(?:each|every|the|a|any) (?:conversation|session|run)) (?:must|should|has to|needs to) "
     rf"(?:contain|have|include) (?P<how>exactly|at most|at least|no more than) (?P<n>{NUMBER}) (?P<a>.+)$",
     lambda m: f"{m['a']} must happen {m['how']} {m['n']} times per {m['run'].split()[1]}"),
    (r"^(?P<a>.+?) must never (?:be )?(?:retried|repeated|attempted again|happen again) (?:after|once|if"
     r"|when) "
     r"(?:it|they|one) (?:has |have )?fail(?:s|ed)?$", r"\g<a> must never happen after \g<a> fails"),
    (r"\b(?:is|are) (?:only )?(?:allowed|permitted) (?P<rest>(?:on|between|from) .+?) only$",
     r"must happen only \g<rest>"),
    (r"\b(?:is|are) (?:allowed|permitted) only\b", "must happen only"),
    (r"^outside(?: of)? (?P<t>\d\d?:\d\d) (?:to|and|until|-) (?P<u>\d\d?:\d\d), (?P<a>.+?) "
     r"must never happen$", r"\g<a> must happen between \g<t> and \g<u>"),
    (r"^(?P<a>.+?) (?:is|are) (?:required|needed|mandatory|necessary)(?: first)? before (?P<b>[^,]+)$",
     r"\g<a> must happen before \g<b>"),
    (r"^(?P<a>.+?) (?:is|are) an? (?:prerequisite|precondition|requirement) (?:of|for) (?P<b>[^,]+)$",
     r"\g<a> must happen before \g<b>"),
    (r"^(?P<a>.+?) must have (?:an? )?(?:matching |prior |earlier |preceding |previous )+(?P<b>.+?)"
     r"(?: before it| beforehand| first)$", r"\g<b> must happen before \g<a>"),
    (r"^(?P<a>.+?) must have (?:an? )?(?:prior|earlier|preceding|previous) (?P<b>.+)$",
     r"\g<b> must happen before \g<a>"),
    (rf"^while (?P<a>.+?) (?:is|are)(?: still)? (?:running|in progress), (?P<b>.+?) (?:{NO}) "
     r"(?:happen|run|be called)$", r"\g<b> must not overlap \g<a>"),
    # --- when it failed
    (r"\b(?P<if>after|once|when|if|whenever|as soon as) (?:every |each |any |a |an |the )?(?:failed|failing|"
     r"unsuccessful) (?P<b>(?:(?! (?:must|may|can|should)\b)[^,])+)", r"\g<if> \g<b> fails"),
    (rf"\b(?P<of>within {DURATION}) of (?:every |each |any |a |an |the )?(?:failed|unsuccessful)"
     rf" (?P<b>[^,]+)$",
     r"\g<of> after \g<b> fails"),
    (r"\b(?:a|the) failure of (?P<b>[^,]+?)(?=,| must| $|$)", r"failed \g<b>"),
    (rf" {FAILING}(?=,|$| (?:with|within|for) )", " fails"),
    (r"^(?:every |each |any |a |the )?failed (?P<a>.+?) must (?:always )?be followed",
     r"failed \g<a> must be followed"),
    (r"^(?:as soon as|every time|each time|in case|any time|where|once|whenever|when|after) "
     r"(?P<b>.+? fails)(?:,| then) ", r"if \g<b>, "),
    (rf"^if (?P<b>.+?) fails,? (?:then )?(?P<a>.+?) must never happen{AGAIN}(?P<rest> (?:within|for) "
     rf"{DURATION})?$",
     lambda m: f"{m['a']} must never happen{(m['rest'] or '').replace('for', 'within')} after {m['b']} f"
     f"ails"),
    (r"^if (?P<b>.+?) fails,? (?:then )?(?P<a>[^,]+?) must (?P<do>happen|follow)(?P<rest>.*)$",
     lambda m: f"if {m['b']} fails, {m['a']} must {m['do']}{m['rest']}"),
    (rf"^if (?P<b>.+?) fails,? (?:then )?(?P<a>(?:(?! must\b)[^,])+?)(?P<rest>(?: within {DURATION})?)$",
     r"if \g<b> fails, \g<a> must happen\g<rest>"),
    (r"^(?P<a>.+?) must never happen (?:once|if|when|whenever|as soon as) (?P<b>.+? fails)",
     r"\g<a> must never happen after \g<b>"),
    (rf"^(?P<a>.+?) must (?:happen|follow)(?: (?P<w>within {DURATION}))?(?: (?:after|if|when|whenever"
     rf"|once|as "
     rf"soon as|"
     rf"every time|each time))? (?P<b>[^,]+?) fails(?: (?P<x>within {DURATION}))?$",
     lambda m: f"if {m['b']} fails, {m['a']} must happen {m['w'] or m['x'] or 'afterwards'}"),
    (r"^(?P<a>(?:(?! must |never )[^,])+?) (?:if|when|whenever|in case|as soon as|every time|each time) "
     r"(?P<b>[^,]+?) fails$", r"if \g<b> fails, \g<a> must happen"),
    (r"^if (?P<b>[^,]+?) fails, (?:retry|repeat|call) (?:it|them)(?: again)? must never happen(?: again)?$",
     r"\g<b> must never happen after \g<b> fails"),
    (r"^if (?P<b>[^,]+?) fails, (?:it|they) must never (?:happen again|be retried|be repeated)$",
     r"\g<b> must never happen after \g<b> fails"),
    # --- between
    (r"^between (?P<b>(?!\d).+? and .+?), (?P<a>.+?) must never happen(?P<same> with the same .+)?$",
     r"\g<a> must never happen between \g<b>\g<same>"),
    (r"^between (?P<b>(?!\d).+? and .+?) (?P<same>with the same [^,]+), (?P<a>.+?) must never happen$",
     r"\g<a> must never happen between \g<b> \g<same>"),
    (rf"^(?P<a>.+?) (?P<do>must never happen) (?:after|from) (?P<b>.+?){HAPPENED}?(?:,? and| on)? (?:un"
     rf"til|till|and "
     r"before|"
     rf"but before|before) (?P<c>.+?){HAPPENED}?$", r"\g<a> must never happen after \g<b> until \g<c>"),
    (r"^(?:after|from|once|when|if) (?P<b>[^,]+?)(?:,? and| on)? (?:until|till|and before) (?P<c>[^,]+?), "
     r"(?P<a>.+?) must never happen$", r"\g<a> must never happen after \g<b> until \g<c>"),
    # --- after, afterwards
    (rf"^{WHEN} (?P<b>(?!.* fails)[^,]+?){HAPPENED}?, (?P<a>.+?) must never happen{AGAIN}"
     rf"(?: until (?P<c>.+?){HAPPENED}?)?$",
     lambda m: _after(m)),
    (rf"^{WHEN} (?P<b>(?!.* fails)[^,]+?){HAPPENED}?, (?P<a>.+?) must never happen{AGAIN} "
     rf"(?P<w>within {DURATION}|for {DURATION})$",
     lambda m: f"{m['a']} must never happen {m['w'].replace('for', 'within')} after {m['b']}"),
    (rf"^(?P<a>.+?) must never happen{AGAIN}(?P<w> within {DURATION})? (?:once|as soon as|after) "
     rf"(?P<b>(?!.* (?:fails|until))[^,]+?){HAPPENED}?$", r"\g<a> must never happen\g<w> after \g<b>"),
    (rf"^{_EVER} (?P<b>(?!.* fails)[^,]+?){HAPPENED}?, (?P<a>.+?) must (?:happen|follow) {LATER}"
     rf"(?P<w>(?: within {DURATION})?)$", r"\g<b> must be followed by \g<a>\g<w>"),
    (rf"^{_EVER} (?P<b>(?!.* fails)[^,]+?){HAPPENED}?, (?P<a>.+?) must (?:happen|follow) (?P<w>within"
     rf" {DURATION})"
     rf"(?: {LATER})?$", r"\g<b> must be followed by \g<a> \g<w>"),
    (rf"^(?:after|following) (?:each|every) (?P<b>(?!.* fails)[^,]+?){HAPPENED}?, (?P<a>.+?) "
     r"must (?:happen|follow)$", r"\g<b> must be followed by \g<a>"),
    (rf"^(?:every time|each time|whenever) (?P<b>(?!.* fails)[^,]+?){HAPPENED}?, (?P<a>.+?) must follow$",
     r"\g<b> must be followed by \g<a>"),
    (rf"^(?P<a>.+?) must (?:happen|follow) (?P<w>within {DURATION} )?after (?:each|every) (?P<b>[^,]+?)"
     rf"{HAPPENED}?$",
     lambda m: f"{m['b']} must be followed by {m['a']} {m['w'] or ''}".strip()),
    (r"\bbe (?:eventually |always |later )*followed (?:at some point |eventually |later )?by (?:an? )?",
     "be followed by "),
    # --- before
    (r"^(?P<a>.+?) must happen and (?P<b>.+?) must happen(?P<rest> before .+)$",
     r"\g<a> and \g<b> must happen\g<rest>"),
    (rf"^(?P<lead>before .+?){HAPPENED}?, (?P<a>.+?) must happen,? and (?P<b>.+?) must happen$",
     r"\g<lead>, \g<a> and \g<b> must happen"),
    (rf"^before (?P<b>[^,]+?){HAPPENED}?, (?:always |first )?(?P<a>(?:(?!must|any tool)[^,])+?)$",
     r"\g<a> must happen before \g<b>"),
    (rf"^before (?P<b>[^,]+?){HAPPENED}?, (?P<a>.+?) must (?:happen|have happened)(?: first| beforehand)?$",
     r"\g<a> must happen before \g<b>"),
    (rf"^(?:always |first )?(?P<a>(?:(?! must |never)[^,])+?) (?P<how>(?:immediately |directly |right |j"
     rf"ust )?"
     rf"before) (?P<b>(?:(?! must )[^,])+?){HAPPENED}?(?P<same> with the same .+)?$",
     lambda m: f"{m['a']} must happen {_near(m['how'])} {m['b']}{m['same'] or ''}"),
    (rf"^(?P<a>.+?) must happen(?: first)? (?P<how>(?:immediately |directly |right |just )?before) "
     rf"(?P<b>[^,]+?){HAPPENED}(?P<same> with the same .+)?$",
     lambda m: f"{m['a']} must happen {_near(m['how'])} {m['b']}{m['same'] or ''}"),
    (rf"^(?P<a>.+?) must happen only (?:after|once|if|when|as soon as) (?P<b>[^,]+?)(?:{HAPPENED}|"
     r" has happened first)?(?P<same> with the same .+)?$", r"\g<b> must happen before \g<a>\g<same>"),
    (rf"^(?P<a>(?:(?! must )[^,])+?) only (?:after|once) (?P<b>[^,]+?){HAPPENED}?$",
     r"\g<b> must happen before \g<a>"),
    (rf"^(?P<a>.+?) must never happen (?:unless|until|without|except after) (?:first |an? (?:prior|earlier|"
     rf"previous|preceding) |prior )?(?P<b>[^,]+?)(?P<d>{HAPPENED}| first| beforehand| before that)?"
     r"(?P<same> with the same .+)?$",
     lambda m: _needed(m)),
    (r"^(?P<a>.+?) must never happen if (?P<b>[^,]+?) (?:has|have|did|was|were) (?:not|never)(?: yet)? ("
     r"?:been )?"
     r"(?:happen(?:ed)?|succeed(?:ed)?|done|called|performed|completed?)(?: (?:first|before|yet))?$",
     r"\g<b> must happen before \g<a>"),
    (rf"^(?:unless|until) (?P<b>[^,]+?){HAPPENED}?, (?P<a>.+?) must never happen$",
     r"\g<b> must happen before \g<a>"),
    (r"^(?P<a>.+?) (?:both |all |each )?(?:requires?|needs?) (?:both )?(?:an? )?(?:(?:prior|earlier|prev"
     r"ious|preceding) )?(?P"
     r"<b>.+?) "
     r"(?:first|beforehand|to happen first)(?P<same> with the same .+)?$",
     r"\g<b> must happen before \g<a>\g<same>"),
    (r"^(?P<a>.+?) must be preceded (?:immediately|directly) by (?P<b>.+)$",
     r"\g<b> must happen immediately before \g<a>"),
    (r"^(?P<a>.+?) must be (?:immediately|directly) preceded by (?P<b>.+)$",
     r"\g<b> must happen immediately before \g<a>"),
    (r"^(?P<a>.+?) must wait (?:for )?at least (?P<d>.+?) after (?P<b>.+)$",
     r"\g<a> must happen at least \g<d> after \g<b>"),
    # --- days and clock
    (rf"^(?P<when>(?:on|at|over) (?:an? |any |the )?{_DAY}(?:(?:,| and| or|, and|, or) (?:on )?{_DAY})*),"
     r" (?P<a>.+?) (?P<must>must never happen)$", r"\g<a> \g<must> \g<when>"),
    (r"^only (?P<when>(?:on|between|from|during) .+?) (?:may|can|must|should) (?P<a>.+?) happen$",
     r"\g<a> must happen only \g<when>"),
    (r"\b(?:may|can|must|should) happen (?P<when>(?:from|between) \d\d?:\d\d .+?) only$", r"must happen"
                                                                                          r" \g<when>"),
    (r"\bon weekdays only\b|\bonly on weekdays\b", "only on weekdays"),
    (r"\bmust never happen (?:at|over|during) (?:the )?weekends?\b", "must never happen on weekends"),
    (r"\bon (?:a|any|the) (?=(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|weekday)", "on "),
    (r"\bmust happen(?P<only> only)? (?P<days>(?:mon|tues|wednes|thurs|fri|satur|sun)days? (?:to|through) )",
     r"must happen\g<only> on \g<days>"),
    (r"^(?P<a>(?:(?! must )[^,])+?) (?P<rest>only on .+)$", r"\g<a> must happen \g<rest>"),
    (rf"\b(?:may|can|must|should) happen(?P<o> only)? (?:from|between) (?P<d>{_DAY}) (?:to|and|through|until)"
     rf" (?P<e>{_DAY})(?P<only> only)?$",
     lambda m: f"must happen{m['o'] or m['only'] or ''} on {m['d']} to {m['e']}"),
    (r"\bhappens (?=only (?:between|from|on)\b)", "must happen "),
    (r"\bhappens (?P<when>(?:between|from|on) .+?),? only$", r"must happen only \g<when>"),
    (r"\bmust happen only (?=between|from|after \d|before \d)", "must happen "),
    (r"^no (?P<a>(?:(?! must )[^,])+?) (?P<rest>(?:after|before|between|on|within|during) .+)$",
     r"\g<a> must never happen \g<rest>"),
    (r"\bmust never happen outside(?: of)? (?P<a>\d\d?:\d\d) (?:to|and|until|-) (?P<b>\d\d?:\d\d)",
     r"must happen between \g<a> and \g<b>"),
)  # fmt: skip

_WINDOWS: tuple[tuple[str, Reword], ...] = (
    (rf"\b{DAY}\b", "per calendar day"),
    (rf"\b(?:per|an?|every|each|in (?:any|an?|one|each|every|a single|any one)|within (?:any|an?|one|eac"
     rf"h)|in any given) "
     rf"(?P<u>{_ONE})\b",
     r"within 1 \g<u>"),
    (r"\bhourly\b", "within 1 hour"),
    (rf"\b(?:per|every|each|in(?: any| every| a)?|within (?:any|every|each|a)|during any|over(?: any)?|in a "
     rf"(?:rolling|sliding) window of|within a (?:period|window) of|in any (?:rolling|sliding))"
     rf" (?:period of |window of )?(?P<d>\d+(?:\.\d+)?|{'|'.join(NUMBERS)})[ -](?P<u>{UNIT})(?: (?:wind"
     rf"ow|period))?\b",
     r"within \g<d> \g<u>"),
    (rf"\b(?P<w>within) (?P<n>{'|'.join(NUMBERS)}) (?P<u>{UNIT})",
     lambda m: f"within {number_of(m['n'])} {m['u']}"),
    (rf"\b(?P<n>{'|'.join(NUMBERS)}) (?P<u>{UNIT})", lambda m: f"{number_of(m['n'])} {m['u']}"),
    (rf"\ban? (?P<u>{_ONE})\b", r"1 \g<u>"),
)  # fmt: skip

_SAME = (
    rf",? (?:per|for (?:each|every|any)|for one and the same|with an equal|with equal|for the same|of th"
    rf"e same"
    rf"|on the same|using the same|in the same|with the same|with identical|to the same|from the same) "
    rf"{_NOT_A_FIELD}(?P<f>{_F}(?:(?: and|,) (?!must|has|have|needs?)(?:the same )?{_F})*)"
)
_SAME_AHEAD = (
    rf"^(?:for|per) (?:each|every|the same|any|one) {_NOT_A_FIELD}(?P<f>{_F}(?=,)|\w+[_.][\w.]+),? "
    r"(?P<rest>.+)$"
)


def in_our_words(text: str, names: Names) -> str:
    """The sentence in words of the language, as near as the table comes; TwoReadings where two are meant."""
    text = " ".join(text.split()).rstrip(".")
    text = text[:1].lower() + text[1:]
    _no_calendar(text)
    text, same = same_at_the_end(text, names)
    text = in_windows(text)
    for _ in range(2):
        text = _applied(_TABLE, text)
    text = _sum(text)
    return f"{text}{same}"


def in_windows(text: str) -> str:
    """Stretches of time as the language has them: `per hour` is `within 1 hour`."""
    return _applied(_WINDOWS, text)


def _applied(table: tuple[tuple[str, Reword], ...], text: str) -> str:
    for pattern, said in table:
        text = compiled(pattern).sub(said, text).strip()
    return re.sub(" +", " ", text)


def _after(m: re.Match[str]) -> str:
    until = f" until {m['c']}" if m["c"] else ""
    return f"{m['a']} must never happen after {m['b']}{until}"


def _near(how: str) -> str:
    return "before" if how.strip().lower() == "before" else "immediately before"


def _needed(m: re.Match[str]) -> str:
    """`unless B has happened`, `until B`, `without first B`; a mere `without B` may mean one beside it."""
    said = m[0].lower()
    if " without " in said and not m["d"] and not re.search(r"without (?:first|an? |prior)", said):
        return f"{m['a']} must never happen without {m['b']}{m['same'] or ''}"
    return f"{m['b']} must happen before {m['a']}{m['same'] or ''}"


def _no_calendar(text: str) -> None:
    """A day is 24 hours or one of the calendar; weeks and months of the calendar are not in the language."""
    found = re.search(
        r"\b(?P<said>(?:(?:per|an?|each|every|in (?:an?|any|one)|(?:on|in) the same|on (?:any|one|any one)) "
        r"(?P<u>day|(?:calendar )?(?:week|month)))|(?P<v>daily|weekly|monthly))\b"
        r"(?! (?:of|but|except|other than|apart from|save)\b)",
        text,
        re.IGNORECASE,
    )
    counts = re.search(
        r"\b(?:at most|more than|exceed|once|twice|times?|maximum|sum|total|limit)\b", text, re.I
    )
    if found and counts and not re.search(r"\bon (?:an?|each|every) ", text):
        said = found["u"] or {"daily": "day", "weekly": "week", "monthly": "month"}[found["v"].lower()]
        unit = said.lower().removeprefix("calendar ")
        hours = {"day": "24 hours", "week": "7 days", "month": "30 days"}[unit]
        calendar = (
            "write 'per calendar day' where one local date is meant"
            if unit == "day"
            else f"a {unit} of the calendar is not in the language"
        )
        raise TwoReadings(
            f"cannot read '{found['said']}'; write 'within {hours}' where any {hours} are meant; {calendar}"
        )


def same_at_the_end(text: str, names: Names) -> tuple[str, str]:
    """The sentence without what must be the same, and that."""
    if ahead := compiled(_SAME_AHEAD).match(text):
        return ahead["rest"], f" with the same {ahead['f']}"
    found = [m for m in compiled(_SAME).finditer(text) if not _names_action(m["f"], names)]
    if len(found) != 1:
        return text, ""
    one = found[0]
    fields = re.sub(r"(?: and|,) (?:the same )?", " and ", one["f"])
    rest = f"{text[: one.start()]}{text[one.end() :]}"
    return rest, f" with the same {fields}"


def _names_action(words: str, names: Names) -> bool:
    """Is it the begin of an action rather than a field?"""
    return any(re.match(rf"{re.escape(words)}\b", phrase, re.IGNORECASE) for phrase in names.actions)


_FIELD = r"(?:args\.)?[a-z_][\w]*(?:\.\w+)*"
_SUM = (
    rf"^(?P<per>(?:in|over|within) (?P<w>(?:any )?{DURATION}), )?the (?:(?:sum|total|combined"
    rf"|cumulative|overa"
    rf"ll|summed|"
    rf"accumulated|aggregate) (?:of )?(?:the |all )?)+(?P<f>{_FIELD}) (?:of|over|across|for|in) (?:all )"
    rf"?(?:the )?"
    rf"(?:calls (?:of|to) )?(?P<a>.+?)(?: calls?)?(?P<x> within {DURATION})? (?:{SHOULD}|{MAY}|is|are|will|c"
    rf"annot)"
    r"(?P<no> (?:not|never))?(?: ever)? "
    r"(?P<how>be at most|be no more than|be no (?:higher|greater|larger) than|be not more than|exceed|be"
    r" more than|"
    r"be (?:above|over)|go (?:above|over|beyond)|be greater than|be higher than|be limited to|"
    r"(?:stay|remain|be|be kept) (?:at or below|within|at most|up to)|add up to more than|come to more than) "
    r"(?P<most>\d+(?:\.\d+)?)(?P<y>(?: within (?:any )?.+)?)$"
)
_MORE = ("exceed", "above", "over", "beyond", "more than", "greater", "higher", "larger")


def _sum(text: str) -> str:
    """A sum in the words of the language."""
    m = compiled(_SUM).match(text)
    if m is None:
        return text
    how = m["how"].lower()
    if (several := m["f"].lower()).endswith("s") and f"the {several} of" in m[0].lower():
        one = several.removesuffix("s")
        raise TwoReadings(
            f"cannot read 'the {several}'; write 'The sum of {one} of {m['a']} ...' where each call has"
            f" an argument "
            f"{one}, or 'The sum of args.{several} of {m['a']} ...' where it is called {several}"
        )
    beyond = any(word in how for word in _MORE) and not how.startswith(("be no ", "be not "))
    if beyond is not bool(m["no"]) and "cannot" not in text:
        return text
    within = m["x"] or m["y"] or (f" within {m['w']}" if m["w"] else "")
    return f"the sum of {m['f']} of {m['a']} must be at most {m['most']}{within}"
