"""The clauses of sentences: main ones, what they depend on, and what says the same in more words.

Actions stand in them by their numbers, `«3»`; a word that no clause has leaves the sentence unread.
"""

from __future__ import annotations

from synth.policies.kinds.kind import HAPPEN
from synth.policies.phrasing import Reword
from synth.policies.wordings import (
    AGAIN,
    AGENT,
    BANNED,
    DURATION,
    FAILING,
    LATER,
    MAY,
    NO,
    NUMBER,
    SHOULD,
    WHEN,
)  # fmt: skip

_ONE = "«\\d+»"
_WHICH = r"(?:(?:the|an?|any|every|each|all|both|either) )*"
_LIST = rf"{_WHICH}(?:{_ONE}(?: and {_WHICH}{_ONE})*|{_ONE}(?: or {_WHICH}{_ONE})+)"
_IS_OVER = r"(?:happened|succeeded|been done|been successful)"
_FIRST = r"(?: (?:first|before|already|beforehand|earlier|before that))?"
_PERFECT = rf" (?:has|have|had) (?:already |successfully )?{_IS_OVER}{_FIRST}"
_PRESENT = (
    r" (?:happens?|succeeds?|happened|succeeded|(?:may|can|must|could) happen|(?:is|are|was) (?:done"
    r"|over|successful)"
    rf"|takes? place|took place){_FIRST}"
)
_RUNS = r"(?: (?:runs|(?:is|are)(?: still)? (?:running|happening|in progress|going on|under way)))?"
_NOT_YET = (
    rf" (?:has|have|had|was|were|did|is|are) not (?:yet )?(?:happen|{_IS_OVER}|done)(?: (?:first"
    rf"|before|yet))?"
)
_E = rf"(?P<b>{_LIST})(?:(?P<perfect>{_PERFECT})|(?P<present>{_PRESENT}))?"
_TIME = rf"(?P<d>{DURATION})"
_FAILED = rf"(?:an? |any |the |every |each )?(?:failed|failing|unsuccessful) (?P<b>{_LIST})"

CONDITIONS: tuple[tuple[str, str], ...] = (
    ("adjacent", rf"(?:immediately|directly|right|just|straight) before {_E}"),
    ("before", rf"(?:any ?time )?(?:before|prior to|ahead of) {_E}"),
    ("failed within", rf"within {_TIME} (?:after|of) (?:(?P<b>{_LIST}) {FAILING}"
                      rf"|{_FAILED.replace('<b>', '<c>')})"),
    ("within", rf"within {_TIME} after {_E}"),
    ("around", rf"within {_TIME} (?P<said>of) {_E}"),
    ("earliest", rf"(?P<said>(?:no |not )?(?:sooner|earlier|less) than) {_TIME} after {_E}"),
    ("later", rf"(?:at least {_TIME}|{_TIME.replace('<d>', '<x>')} or more) after {_E}"),
    ("failed", rf"{WHEN} (?:(?P<b>{_LIST}) {FAILING}|{_FAILED.replace('<b>', '<c>')})"),
    ("absent", rf"(?:if|when|while|as long as|where) (?P<b>{_LIST}){_NOT_YET}"),
    ("needed", rf"(?:unless|except after|except once|unless after) (?:first )?{_E}"),
    ("until", rf"(?:until|till) (?:after )?{_E}"),
    ("needed", rf"without (?:first|(?:an? )?(?:prior|earlier|previous|preceding)) {_E}"
               r"(?: first| beforehand| before that)?"),
    ("needed", rf"without (?:an? |the )?completed (?P<b>{_LIST})"),
    ("needed", rf"without (?P<b>{_LIST}) (?:first|beforehand|before that)"),
    ("while", rf"(?P<said>while|during|whilst|as long as|so long as) (?P<b>{_LIST})"
              rf"(?P<present> happens| has happened)?{_RUNS}"),
    ("between", rf"between (?P<b>{_WHICH}{_ONE}(?:{_PERFECT}|{_PRESENT})?) and (?P<c>{_WHICH}{_ONE})"
                rf"(?:{_PERFECT}|{_PRESENT})?"),
    ("each", rf"(?:after|following) (?:each|every) {_E}"),
    ("after", rf"(?P<said>after|once|as soon as|following) {_E}"),
    ("every", rf"(?P<said>whenever|every time|each time|any ?time) {_E}"),
    ("if", rf"(?P<said>if|when|in case|provided that|provided) {_E}"),
    ("for it", rf"(?:in order )?to (?P<b>{_LIST})"),
    ("time", rf"within {_TIME}"),
    ("lasting", rf"for {_TIME}"),
)  # fmt: skip
WISH = (
    r"(?:(?:please|always|also|then|make sure(?: that)?|ensure(?: that)?|see to it(?: that)?|be sure(?:"
    r" that| to)?"
    r"|take care(?: that)?|note that|remember to|(?:never|do not|don['\u2019]t) (?:fail|forget) to|it"
    r" is (?:important|required|mandatory|necessary|obligatory|essential)"
    r"(?: that| to)?) )*"
)
_DONT = r"(?:never|do not|don['\u2019]t|must not|must never)(?: ever)?"
_WILL = rf"(?:always |also |both |first |eventually |then )*{HAPPEN}"
_OFTEN = (
    rf"(?P<how>at most|no more than|not more than|up to|a maximum of|at least|exactly)"
    rf" (?P<n>{NUMBER})(?: times?)?"
)
_BEYOND = rf"(?:more (?:often )?than|over) (?P<n>{NUMBER})(?: times?)?"
_A = rf"(?P<a>{_LIST})"

_TWO = rf"(?P<b>{_WHICH}{_ONE}) and (?:then )?(?P<a>{_WHICH}{_ONE})"
_PASS = r"(?:pass|elapse|lie|be|go by|expire|have passed|have elapsed)"
_LEAST = rf"(?:at least |a minimum of |no less than )(?P<d>{DURATION})"

MAIN: tuple[tuple[str, str], ...] = (
    ("apart", rf"{_LEAST} (?:{SHOULD}) (?:always )?{_PASS} between {_TWO}"),
    ("apart", rf"between {_TWO},? {_LEAST} {SHOULD} (?:always )?{_PASS}"),
    ("apart", rf"between {_TWO},? there {SHOULD} (?:always )?be {_LEAST}"),
    ("apart", rf"(?:there {SHOULD} (?:always )?be|leave|allow|keep|wait(?: for)?) {_LEAST} between {_TWO}"),
    ("apart", rf"(?:(?:{AGENT} {SHOULD} )?wait)(?: for)?(?: at least| a minimum of)? (?P<d>{DURATION}) after"
              rf" (?P<b>{_LIST})(?:{_PERFECT}|{_PRESENT})? before (?P<a>{_LIST})"),
    ("apart", rf"after (?P<b>{_LIST})(?:{_PERFECT}|{_PRESENT})?,? (?:{AGENT} {SHOULD} )?wait(?: for)?"
              rf"(?: at least| a minimum of)? (?P<d>{DURATION}) before (?P<a>{_LIST})"),
    ("never", rf"{_A} (?:{NO}) (?:ever )?{HAPPEN}{AGAIN}"),
    ("never", rf"{_A} (?:{NO}) (?:ever )?(?:be )?(?:allowed|permitted){AGAIN}"),
    ("never", rf"(?:{AGENT} )?{_DONT} (?:call |use )?{_A}{AGAIN}"),
    ("never", rf"{AGENT} (?:{NO}) (?:ever )?(?:call |use )?{_A}{AGAIN}"),
    ("never", rf"{_A} {BANNED}{AGAIN}"),
    ("never", rf"it {BANNED} (?:to|that) {_A}(?: happens)?{AGAIN}"),
    ("never", rf"{AGENT} {BANNED} to {_A}{AGAIN}"),
    ("never", rf"no (?:more |further |other )?{_A}(?: (?:{MAY}|{SHOULD}) (?:ever )?{HAPPEN})?{AGAIN}"),
    ("never", rf"(?:{AGENT} (?:{MAY}|{SHOULD}) )?neither (?P<a>{_ONE} nor {_ONE})(?: (?:{MAY}|{SHOULD})"
              rf" {HAPPEN})?"),
    ("never", rf"neither (?P<a>{_ONE} nor {_WHICH}{_ONE}) (?:is|are) (?:allowed|permitted)"),
    ("nothing", rf"(?:nothing(?: else| more)?|no (?:other |further |more )?(?:tools?|calls?|actions?))"
                rf" (?:{MAY}|{SHOULD}) (?:ever )?(?:{HAPPEN}|follow|run|be (?:made|used|invoked))"),
    ("nothing", rf"(?:{AGENT} )?(?:{_DONT}|{NO}) (?:call|use|do|run) (?:any (?:other |further |more"
                rf" )?tools?|anything(?: else)?)"),
    ("only", rf"{_A} (?:{SHOULD}|{MAY}|is|are|will|happens|happen)(?: only)?"
             rf"(?: {HAPPEN}| happened)?(?: only| allowed only| only allowed|"
             rf" permitted)?(?P<only>(?<=only)|(?<=only allowed))"),
    ("only", rf"only {_A}"),
    ("only", rf"{_A} (?:is|are) only (?:allowed|permitted)"),
    ("only", rf"{_A} only"),
    ("only", rf"{AGENT} (?:{MAY}|{SHOULD}) only (?:call |use )?{_A}"),
    ("later", rf"{_A} {SHOULD} (?:{_WILL}|follow) {LATER}"),
    ("later", rf"{_A} {SHOULD} follow"),
    ("later", rf"{_A} {LATER}"),
    ("later", rf"{AGENT} {SHOULD} (?:also )?{_A} {LATER}"),
    ("must", rf"{_A} {SHOULD} {_WILL}"),
    ("comes", rf"{_A} {SHOULD} (?:always )?(?:come|go)"),
    ("must", rf"{_A} (?:happens|has happened)"),
    ("must", rf"{AGENT} {SHOULD} (?:always |also |first )?(?:call |use )?{_A}"),
    ("must", rf"{_A} (?:is|are) (?:always )?(?:required|mandatory|necessary|needed)"),
    ("do", rf"{_A}"),
    ("first", rf"{_A} {SHOULD} (?:{_WILL}|have happened) (?:first|beforehand)"),
    ("first", rf"{_A} {SHOULD} have (?:happened|succeeded)(?: (?:first|before|already))?"),
    ("first", rf"(?:{AGENT} {SHOULD} )?{_A} first"),
    ("may", rf"{_A} {MAY} {HAPPEN}"),
    ("may", rf"{AGENT} {MAY} {_A}"),
    ("may", rf"{_A} (?:is|are) (?:allowed|permitted)"),
    ("count", rf"{_A} (?:{SHOULD}|{MAY}) (?:{HAPPEN} )?{_OFTEN}"),
    ("count", rf"{AGENT} (?:{SHOULD}|{MAY}) {_A} {_OFTEN}"),
    ("count", rf"{AGENT} (?:{SHOULD}|{MAY}) {_OFTEN} {_A}"),
    ("count", rf"{_A} {_OFTEN}"),
    ("count", rf"{_OFTEN} {_A}(?: (?:(?:{SHOULD}|{MAY}) {HAPPEN}|(?:is|are) (?:allowed|permitted)))?"),
    ("beyond", rf"{_A} (?:{NO}) (?:ever )?{HAPPEN} {_BEYOND}"),
    ("beyond", rf"(?:{AGENT} )?{_DONT} {_A} {_BEYOND}"),
    ("beyond", rf"{AGENT} (?:{NO}) (?:ever )?{_A} {_BEYOND}"),
    ("beyond", rf"{_A} {_BEYOND} {BANNED}"),
    ("answer", rf"(?P<failed>failed )?{_A} {SHOULD} (?:always |eventually |later )?be (?:always "
               rf"|eventually |later )?"
               rf"followed(?: later| eventually| at some point)? by (?P<e>{_LIST})(?: happening)?"),
    ("order", rf"{_A} {SHOULD} (?:always )?be preceded by (?:an? )?(?:prior |earlier )?(?P<e>{_LIST})"),
    ("order", rf"{_A} (?:requires?|needs?|presupposes?|calls? for) (?:an? |the )?(?:prior|previous|earlier"
              rf"|preceding|completed) (?P<e>{_LIST})"),
    ("order", rf"{_A} (?:requires?|presupposes?)(?: that)? (?P<e>{_LIST})(?:{_PERFECT}"
              rf"|{_PRESENT.removesuffix(_FIRST)} (?:first|before|already|beforehand|earlier))"),
    ("order", rf"{_A} (?:requires?|needs?|presupposes?) (?P<e>{_LIST}) (?:first|beforehand|to happen first)"),
)  # fmt: skip

ONCE: tuple[tuple[str, Reword], ...] = (
    (rf"(?P<a>{_ONE})(?P<has> (?:has|have) happened) (?P<and>and|or) (?P<b>{_ONE})(?P=has)",
     r"\g<a> \g<and> \g<b>\g<has>"),
    (rf"^(?P<without>without (?:first|(?:an? )?(?:prior|earlier|previous|preceding)) {_ONE})"
     rf" (?=(?:{AGENT}|no|never|{_ONE}) )",
     r"\g<without>, "),
    (rf"\b(?:an?|the) completed (?={_ONE} {SHOULD} (?:\w+ )?be )", ""),
    (rf"(?:either (?P<a>{_ONE}) {SHOULD} {HAPPEN} or|(?P<c>{_ONE}) {SHOULD} {HAPPEN} and) (?P<b>{_ONE})"
     rf" {SHOULD} {HAPPEN}",
     lambda m: f"{m['a'] or m['c']} {'or' if m['a'] else 'and'} {m['b']} must happen"),
    (rf"(?:either )?(?P<a>{_ONE}) {SHOULD} {HAPPEN} (?P<or>or) (?P<b>{_ONE})(?: happens| happened)?(?="
     rf" before)",
     r"\g<a> \g<or> \g<b> must happen"),
    (rf"^(?P<when>(?:only )?(?:before|after|once|when|if|whenever|as soon as|unless|until|while|after (?:each"
     rf"|every)) {_LIST}(?: has happened| has not happened| happens| is running| {FAILING})?) (?=(?:no |never"
     rf" |neither )?{_WHICH}{_ONE}(?: {SHOULD} | {MAY} | {NO} | within |$))",
     r"\g<when>, "),
    (rf"\b(?P<while>while|as long as|when) {AGENT} (?:is|are)(?: still)? (?={_ONE})", r"\g<while> "),
    (r"^either (?=.+ or )", ""),
    (rf"^(?P<when>only (?:after|once|if|when) {_LIST}(?:{_PERFECT}|{_PRESENT})?),? (?:{MAY}|{SHOULD})"
     rf" (?P<a>{_LIST}) happen$",
     r"\g<a> may happen \g<when>"),
    (rf"^(?:under no circumstances|in no case|at no time) (?:{MAY}|{SHOULD}) (?P<a>{_LIST}) {HAPPEN}",
     r"\g<a> must never happen"),
)  # fmt: skip
