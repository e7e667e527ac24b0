"""How the language says what a refused sentence says: a table of wordings and what to write instead.

`{...}` is a sentence of the language, `<a>` an action of the refused one. A hint that starts with `!` is
no sentence: it says why there is none. One that starts with `=` says the very same: it is read, not hinted
at, where the actions are named as in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from synth.counted import counted
from synth.policies.kinds.count import NUMBERS
from synth.policies.kinds.kind import HAPPEN, IF, MUST
from synth.policies.loosely import named
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.phrasing import in_windows
from synth.policies.vocabulary import ANYTHING, CLOCK, DO, DONE, FAILED, NOT, SPAN, TIMES, UNITS
from synth.policies.wordings import AFTER_A_SECOND

_D = rf"(?P<d>{SPAN}|(?:{'|'.join(NUMBERS)}|an?) {UNITS})"
_N, _M = (rf"(?P<{slot}>{TIMES})(?: times?)?" for slot in "nm")
_A, _B, _C = (rf"(?P<{slot}>.+?)" for slot in "abc")
_SAME = r"(?P<same>,? with the same .+)?"
_ASIDE = r"(?:run |happen |be (?:called|done|executed) )?"
_TOGETHER = r"(?:in parallel|at the same time|concurrently|simultaneously)"
_SOME_COUNT = (
    "!a count is said as 'ACTION must happen at most 3 times', with 'within 1 hour', 'with the same FIELD', "
    "'per calendar day' or 'per conversation' after it; over another part of a run there is none"
)
_A_SUM = "!a sum is said as 'The sum of args.FIELD of ACTION must be at most NUMBER'"
_A_VALUE = (
    "!what a call is given is said behind its action, as in 'ACTION with FIELD over 500 must never happen'; "
    "more is asked by a `guard` of the policy"
)
_SCOPE = (
    "!what a count is over is the file's `scope`: leave these words out, and write 'scope: session' at the "
    "head of the file for a conversation, 'scope: run' for a run"
)
_A_FAILURE = (
    "!a failure is said as 'If ACTION fails, ACTION must never happen afterwards' or 'If ACTION fails, "
    "ACTION must follow', and so many tries as 'If ACTION fails 3 times in a row, ACTION must never happen'"
)
_NEEDED_OR_FAILED = (
    "{<b> must happen before <a>} where a success of <b> is needed first, or "
    "{if <b> fails, <a> must never happen afterwards} where only its failure forbids <a>"
)
_A_BAN_THAT_ENDS = "!what ends such a ban is said as 'ACTION must never happen after ACTION until ACTION'"
_A_STRETCH = "!it is said as 'ACTION must never happen between ACTION and ACTION'"
_ALLOWED = "!what is allowed demands nothing; a rule says what must or what must not happen"
_BOTH = (
    "{<b> must happen before <a>} where <b> is needed first, or "
    "{<b> must never happen after <a>} where it is forbidden afterwards"
)
_DUTY_OR_NEED = (
    "{<b> must be followed by <a>} where <a> may not be left out, or "
    "{<b> must happen before <a>} where <b> is needed first"
)
_BESIDE = "{<b> must happen before <a>} where <b> is needed first, or {<a> must be followed by <b>}"
_APART = (
    "{<a> must never happen within <d> after <b>}, or {<a> must start at least <d> after <b>} where an "
    "earlier <b> is needed too"
)
_WHO = (
    "!who does something is an argument of its calls: 'The FIELD of ACTION must differ from the FIELD of "
    "ACTION with the same FIELD'"
)
_ALONE = "{<a> must be alone in its turn}, or {<a> must not overlap any tool} where it is about time"
_FIRST = r"(?:approv|authori[sz]|authenticat|identif|verif|validat)"
"""How actions begin that nobody needs afterwards: a check, a permission."""
_CHECK = rf"(?P<b>{_FIRST}(?:(?! and ).)+?)"

_HINTS: tuple[tuple[str, str], ...] = (
    # --- who does what
    (r"(?P<said>(?:whoever|the (?:same )?(?:person|one) (?:who|that)) .+"
     r"|.+ by (?:whoever|the (?:same )?person(?: who| that)?) .+"
     r"|.+ (?:themselves|himself|herself|(?:his|her|their) own .+))", _WHO),
    # --- the clock
    (rf"{_A} (?P<said>{NOT} {DO} (?:after|later than|past) (?P<t>{CLOCK}))",
     "={<a> must happen before <t>}"),
    (rf"{_A} (?P<said>{NOT} {DO} (?:before|earlier than) (?P<t>{CLOCK}))", "={<a> must happen after <t>}"),
    (rf"{_A} (?P<said>(?:{MUST} (?:{DO} |be ))?(?:only )?(?:between|from) (?P<t>{CLOCK}) (?:and|to|until) "
     rf"(?P<u>{CLOCK}))", "={<a> must happen after <t>, and <a> must happen before <u>}"),
    (rf"{_A} (?P<said>{MUST} {DO} after (?P<t>{CLOCK}) (?:and|but) before (?P<u>{CLOCK}))",
     "={<a> must happen after <t>, and <a> must happen before <u>}"),
    (rf"{_A} (?P<said>{MUST} {DO} before (?P<u>{CLOCK}) (?:and|but) after (?P<t>{CLOCK}))",
     "={<a> must happen after <t>, and <a> must happen before <u>}"),
    (rf"{_A} (?P<said>{NOT} {DO} (?:between|after) (?P<t>{CLOCK}) and (?:before )?(?P<u>{CLOCK}))",
     "={<a> must happen after <u>, and <a> must happen before <t>}"),
    (rf"{_A} (?P<said>{NOT} {DO} before (?P<t>{CLOCK}) (?:or|and|nor) after (?P<u>{CLOCK}))",
     "={<a> must happen after <t>, and <a> must happen before <u>}"),
    (rf"{_A} (?P<said>{NOT} {DO} after (?P<u>{CLOCK}) (?:or|nor) before (?P<t>{CLOCK}))",
     "={<a> must happen after <t>, and <a> must happen before <u>}"),
    (rf"{_A} (?P<said>{MUST} {DO} (?:no later than|not later than|not after|by|until|at the latest "
     rf"(?:at|by)) "
     rf"(?P<t>{CLOCK}))", "={<a> must happen before <t>}"),
    (rf"{_A} (?P<said>{MUST} {DO} (?:no earlier than|not earlier than|not before|from) "
     rf"(?P<t>{CLOCK}))(?: on)?",
     "={<a> must happen after <t>}"),
    (rf"{_A} (?P<said>{NOT} {DO} outside(?: of)? (?P<t>{CLOCK}) (?:to|and|until|-) (?P<u>{CLOCK}))",
     "={<a> must happen after <t>, and <a> must happen before <u>}"),
    (rf"{_A} (?P<said>{MUST} {DO} at {CLOCK})",
     "!a policy says before or after which clock time, not at which"),
    (rf"{_A} (?P<said>(?:{MUST} (?:{DO} )?)?(?:only )?(?:between|from) (?P<t>{CLOCK}) (?:and|to|until) "
     rf"(?P<u>{CLOCK}),? on (?P<d>.+))",
     "two policies: {<a> must happen after <t>, and <a> must happen before <u>} and "
     "{<a> must happen on <d>}"),
    # --- time between calls
    (rf"{_A} (?P<said>{MUST} be followed by) {_B} (?P<same>with the same \S+),? within {_D}",
     "={<a> must be followed by <b> within <d><same>}"),
    (rf"{_A} (?P<said>{MUST} be followed by) {_B},? in (?:less than |under |at most )?{_D}",
     "{<a> must be followed by <b> within <d>}"),
    (rf"{_A} (?P<said>{MUST} be followed within {_D} by) {_B}", "={<a> must be followed by <b> within <d>}"),
    (rf"{_A} (?P<said>{MUST} be preceded within {_D} by) {_B}", "={<a> must happen within <d> after <b>}"),
    (rf"{_A} (?P<said>within {_D} (?P<how>after|of|before)) {_B}", "{<a> must happen within <d> <how> <b>}"),
    (rf"{_A} (?P<said>{MUST} {DO} (?:more|later) than {_D} after) {_B}",
     "{<a> must happen at least <d> after <b>}"),
    (rf"{_A} (?P<said>{NOT} {DO} until {_D} after) {_B}", "{<a> must happen at least <d> after <b>}"),
    (rf"{_A} (?P<said>{MUST} (?:{DO} after|be preceded by)) {_B},? within {_D}",
     "={<a> must happen within <d> after <b>}"),
    (rf"{_A} (?P<said>{MUST} follow) {_B},? within {_D}",
     "{<b> must be followed by <a> within <d>} where <a> may not be left out, or {<a> must happen within <d> "
     "after <b>} where <b> is needed first"),
    (rf"{_A} (?P<said>{MUST} {DO} (?:at most|no more than|no earlier than|within) {_D} before) {_B}",
     "{<b> must happen within <d> after <a>}"),
    (rf"{_A} (?P<said>{MUST} {DO} (?:at most|no more than|less than|no later than|not later than|at the "
     rf"latest) {_D} after)"
     rf" {_B}", "{<a> must happen within <d> after <b>}"),
    (rf"{_A} (?P<said>{NOT} {DO} (?:more than|later than) {_D} after) {_B}",
     "{<a> must happen within <d> after <b>}, which needs an earlier <b> too"),
    (rf"{_A} (?P<said>{NOT} {DO} (?:within|sooner than|earlier than|less than) {_D} (?:after|of)) {_B}",
     _APART),
    (rf"(?P<said>(?:there (?:{MUST} be|are|is) )?at least {_D} (?:{MUST} (?:pass|elapse|lie|be) )?between)"
     rf" {_B} and {_A}", _APART),
    (rf"{_A} (?P<said>{MUST} {DO} within {_D})",
     "!the time needs the action that it counts from, as in '<a> must happen within <d> after ACTION'"),
    (rf".+ (?P<said>{MUST} (?:not |never )?(?:take|last|finish within|be finished within) .*{SPAN})",
     "!how long a call may take is said as 'ACTION must take at most 10 minutes'"),
    (rf"(?P<said>wait (?:for )?(?:at least )?{_D} after) {_B}{DONE} before {_A}", _APART),
    # --- what is allowed
    (r".+ (?P<said>(?:is|are) (?:not|never) (?:forbidden|prohibited|banned|disallowed)\b.*)", _ALLOWED),
    (r".+ (?P<said>(?:need not|needn['\u2019]t|(?:do|does) not (?:need|have) to|(?:is|are) not required) .+)",
     _ALLOWED),
    (r"(?!no |neither |only |nothing ).+ (?P<said>(?:may|can) (?:happen|be \w+) without .+)", _ALLOWED),
    # --- sums of what is not named
    (r"(?!.*\bof args\.).*?(?P<said>\b(?:add up to|amount to|come to|total) (?:more|no more|at most|less|over"
     r"|under)\b.*)", _A_SUM),
    # --- counts
    (r".*?(?P<said>\b(?:(?:clock|calendar) (?:hour|minute)s?|hours? of the clock)\b).*",
     "!an hour of the clock (10:00 to 11:00) is not in the language; 'within 1 hour' is any 60 minutes"),
    (rf"(?P<said>.*\b(?:more than|at most|over) {TIMES} .+ (?:at once|at (?:any(?: one)?|a|the same) time))",
     "!how many things are in a state at a time is not in the language; calls that run side by side are "
     "'ACTION must not overlap each other', one for each other call is 'ACTION must not happen more often "
     "than ACTION'"),
    (rf"(?P<said>(?:there {MUST} be|(?:each|every) run {MUST} have) "
     rf"(?P<how>at most|at least|exactly) {_N}) {_A}", "={<a> must happen <how> <n>}"),
    (rf"(?P<said>(?:each|every) conversation {MUST} have (?P<how>at most|at least|exactly) {_N}) {_A}",
     "{<a> must happen <how> <n> per conversation}"),
    (rf"(?P<said>there {NOT} be more than {_N}) {_A}", "={<a> must happen at most <n>}"),
    (rf"{_A} (?P<said>{MUST} {DO} at least (?:once|one time|1 time) before) {_B}",
     "{<a> must happen before <b>}"),
    (r".*?(?P<said>(?:(?:more|less|fewer|higher|lower|larger|greater|smaller) than|over|above|below|under"
     r"|at most) \d[\d.,]*(?: [\w.]+){0,3} (?:in|per|with|at) (?:an?|one|any|each|every) (?:single |one )?"
     r"(?:call|transaction|payment|go|step|operation|time|request)\b.*)",
     _A_VALUE),
    (r".*?(?P<said>\bof (?:more than|less than|over|under|above|below|at least|at most) \d.*)", _A_VALUE),
    (r"(?!.*\b(?:sum|total)\b).+ (?P<said>per (?:conversation|session|run))", _SCOPE),
    (rf"(?!.*\b(?:sum|total)\b)(?!once (?:an?|every) (?:\w+ )+?(?:is|are|was|were|has|have|happens)\b)"
     rf".*?(?P<said>(?:more than )?\b{TIMES}(?: \w+)? (?:within|in|per|an?|every) (?!a row|total).+)",
     _SOME_COUNT),
    (rf".+ (?P<said>{_N} (?:after|before|while|in a row|between)\b.*)", _SOME_COUNT),
    (rf"{_A} (?P<said>{NOT} {HAPPEN} (?:fewer|less) than {_N})", "={<a> must happen at least <n>}"),
    (rf"{_A} (?P<said>{NOT} {HAPPEN} at least {_N})", "{<a> must happen at most <n-1>}"),
    (rf"{_A} (?P<said>{NOT} {HAPPEN} at most {_N})", "{<a> must happen at least <n+1>}"),
    (rf"{_A} (?P<said>{NOT} (?:be repeated|{HAPPEN} again))", "={<a> must happen at most 1 time}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?P<n>{TIMES}) or more times)", "={<a> must happen at least <n>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?P<n>{TIMES}) or (?:fewer|less) times)",
     "={<a> must happen at most <n>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?P<n>\d+)(?:-| to )(?P<m>\d+) times)",
     "two policies: {<a> must happen at least <n>} and {<a> must happen at most <m>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} once and only once)", "={<a> must happen exactly 1 time}"),
    (rf"{_A} (?P<said>(?P<how>at most|at least|exactly) {_N})", "={<a> must happen <how> <n>}"),
    (rf"{_A} (?P<said>{NOT} {HAPPEN} (?:more than|over) {_N})", "={<a> must happen at most <n>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} {_N}(?: or (?:fewer|less)| at (?:the )?most))",
     "={<a> must happen at most <n>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?:up to|not more than|a maximum of) {_N})",
     "={<a> must happen at most <n>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} {_N}(?: or more(?: often)?| at (?:the )?least))",
     "={<a> must happen at least <n>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?:no (?:fewer|less) than|not (?:fewer|less) than|a minimum of) {_N})",
     "={<a> must happen at least <n>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?:more (?:often )?than|over) {_N})",
     "={<a> must happen at least <n+1>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?:fewer|less)(?: often)? than {_N})",
     "{<a> must happen at most <n-1>}"),
    (rf"{_A} (?P<said>{NOT} {HAPPEN} {_N})", "{<a> must happen at most <n-1>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?:(?P<n>0)|zero|no) times)", "={<a> must never happen}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} only {_N})",
     "{<a> must happen at most <n>} where it may be left out, or {<a> must happen exactly <n>}"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} {_N})",
     "{<a> must happen exactly <n>}, or {<a> must happen at least <n>} where more are fine"),
    (rf"{_A} (?P<said>{MUST} {HAPPEN} (?:between|at least) {_N} (?:and|but) (?:at most )?{_M})",
     "two policies: {<a> must happen at least <n>} and {<a> must happen at most <m>}"),
    (rf"(?P<said>(?:at most|no more than|not more than) {_N}) {_A}", "={<a> must happen at most <n>}"),
    (rf"(?P<said>at least {_N}) {_A}", "={<a> must happen at least <n>}"),
    (rf"{_A} (?P<said>{MUST} succeed (?P<how>at least|exactly) {_N})", "={<a> must happen <how> <n>}"),
    (rf"{_A} (?P<said>{MUST} (?:always {DO}|{DO}(?: eventually| in every run)?))",
     "={<a> must happen at least 1 time}"),
    (rf"{_A} (?P<said>{MUST} succeed)",
     "{<a> must happen at least 1 time} where one success is enough, or {<a> must never fail}"),
    # --- side by side
    (rf"{_A} (?P<said>{NOT} {_ASIDE}(?:{_TOGETHER} (?:as|with)|while|during)) "
     rf"{_B}(?: (?:is|are)(?: still)? running| runs?| is in progress)?", "={<a> must not overlap <b>}"),
    (rf"{_A} (?P<said>{NOT} (?:start|begin) (?:while|during)) "
     rf"{_B}(?: (?:is|are)(?: still)? running| runs?| is in progress)?",
     "={<a> must not start while <b> runs}"),
    (rf"{_A} (?P<said>{NOT} overlap(?: with)? (?:itself|themselves))", "={<a> must not overlap}"),
    (rf"two {_A} (?P<said>{NOT} {_ASIDE}(?:{_TOGETHER}|at once))", "={<a> must not overlap}"),
    (rf"(?=.+? and ){_A} (?P<said>{NOT} {_ASIDE}{_TOGETHER})", "={<a> must not overlap}"),
    (rf"{_A} (?P<said>{NOT} {_ASIDE}(?:{_TOGETHER}|at once))",
     "{<a> must not overlap} where two of it are meant, or {<a> must not overlap any tool}"),
    (rf"{_A} (?P<said>{MUST} (?:{DO}|be made|be) alone in (?:its|their|a|one) (?:own )?(?:turn|message))",
     "={<a> must be alone in its turn}"),
    (rf"{_A} (?P<said>{MUST} (?:{DO}|be made|be) alone)", _ALONE),
    (rf"{_A} (?P<said>{MUST} be the only (?:call|tool) (?:in|of) (?:its|their|a|the) (?:turn|message))",
     "={<a> must be alone in its turn}"),
    (rf"(?P<said>while|whilst|during|as long as) [^,]+, (?!.* (?:not|never) )(?!no ).+ {MUST} .+",
     "!what must happen while something else does is not in the language; what must not is said as "
     "'ACTION must not overlap ACTION'"),
    # --- first, last, any tool
    (rf"(?P<said>(?:each|every|the) (?:run|conversation) {MUST} (?:start|begin) with) {_A}",
     "{the first call must be <a>}"),
    (rf"(?P<said>(?:each|every|the) (?:run|conversation) {MUST} end with) {_A}",
     "{the last call must be <a>}"),
    (rf"(?P<said>(?:each|every|the) run {MUST} (?:contain|have)) {_A}",
     "={<a> must happen at least 1 time}"),
    (rf"(?P<said>(?:each|every|the) conversation {MUST} (?:contain|have)) {_A}",
     "={<a> must happen at least 1 time per conversation}"),
    (rf"(?P<said>the (?:very )?first (?:thing|call|tool|action|step)\b.*? (?:{MUST} be|is)(?: to)?) {_A}",
     "{the first call must be <a>}"),
    (rf"(?P<said>the (?:very )?last (?:thing|call|tool|action|step)\b.*? (?:{MUST} be|is)(?: to)?) {_A}",
     "{the last call must be <a>}"),
    (rf"{_A} (?P<said>{MUST} (?:{DO} first|be (?:the )?(?:very )?first\b.*))",
     "{the first call must be <a>}"),
    (rf"{_A} (?P<said>{MUST} (?:{DO} last|be (?:the )?(?:very )?last\b.*))",
     "{the last call must be <a>}"),
    (rf"{_A} (?P<said>(?:{NOT} be followed by|{MUST} be followed by (?=no)) {ANYTHING})",
     "={any tool must never happen after <a>}"),
    # --- next to each other
    (rf"{_A} (?P<said>{MUST} (?:come|go) (?:immediately|directly|right) (?P<how>before|after)) {_B}",
     "={<a> must happen immediately <how> <b>}"),
    (rf"{_A} (?P<said>{MUST} (?:immediately|directly) precede) {_B}",
     "={<a> must happen immediately before <b>}"),
    (rf"{_A} (?P<said>{MUST} (?:immediately|directly) follow) {_B}",
     "={<a> must happen immediately after <b>}"),
    (rf"{_A} (?P<said>{MUST} be (?:(?:immediately|directly) preceded by|preceded (?:immediately|directly) "
     rf"by)) {_B}",
     "={<b> must happen immediately before <a>}"),
    (rf"{_A} (?P<said>{MUST} be (?:directly followed by|followed (?:immediately|directly) by)) {_B}",
     "={<a> must be immediately followed by <b>}"),
    (rf".+ (?P<said>{NOT} .*\b(?:immediately|directly)\b.*)",
     "!which call must not be the next one is not in the language"),
    # --- what failed
    (rf"{_A} (?P<said>{NOT} {DO} (?:unless|until|without)) {_B} {FAILED}",
     "{<b> must fail before <a>}"),
    (rf"{_A} (?P<said>{NOT} {DO} {IF}) {_B} {FAILED}", _NEEDED_OR_FAILED),
    (rf"(?P<said>{IF}) {_B} {FAILED}, {_A} {NOT} {DO}.*", _NEEDED_OR_FAILED),
    (rf"(?:.+ )?(?P<said>{IF} .+? {FAILED}\b.*)", _A_FAILURE),
    (rf".+ (?P<said>{MUST} (?:(?:never|not) )?fail\b.*)",
     "!a failure is counted as in 'ACTION must fail at most 3 times', and needed first as in 'ACTION must "
     "fail before ACTION'"),
    # --- between two others
    (rf".+ (?P<said>{NOT} {DO} after .+ (?:until|unless|and before) .+)",
     _A_BAN_THAT_ENDS),
    (rf".+ (?P<said>{NOT} be \w+ after .+ (?:until|unless) .+)", _A_BAN_THAT_ENDS),
    (rf".+ (?P<said>{NOT} be \w+ between (?!\d).+ and .+)", _A_STRETCH),
    (rf".+ (?P<said>{NOT} be both \w+ and \w+)",
     "!two policies say it: 'ACTION must never happen after ACTION', and the same the other way round"),
    (rf"(?P<said>between .+ and .+), .+ {NOT} .+", _A_STRETCH),
    (rf".+ (?P<said>{NOT} {DO} between .+ and .+)", _A_STRETCH),
    (rf"{_A}, {_B},? and {_C} (?P<said>{MUST} {DO} in (?:this|that) order)",
     "={<a> must happen before <b>, and <b> must happen before <c>}"),
    (rf"{_A} (?P<said>{MUST} {DO} between) {_B} and {_C}",
     "={<b> must happen before <a>, and <a> must happen before <c>}"),
    # --- order
    (rf"{_A} (?P<said>{NOT} (?:precede|come before)) {_B}", _BOTH),
    (rf"{_A} (?P<said>{NOT} be followed by) {_B}", "={<b> must never happen after <a>}"),
    (rf"{_A} (?P<said>{NOT} (?:follow|come after|be preceded by)) {_B}",
     "={<a> must never happen after <b>}"),
    (rf"{_A} (?P<said>{NOT} {DO} later than) {_B}", "={<a> must never happen after <b>}"),
    (rf"{_A} (?P<said>{MUST} {DO} (?:no|not) later than) {_B}", "{<a> must never happen after <b>}"),
    (rf"{_A} (?P<said>{MUST} {DO} (?:(?:no|not) earlier than|not before)) {_B}",
     "{<b> must happen before <a>}"),
    (rf"(?P<a>any tool) (?P<said>{NOT} {DO} before) {_B}{DONE}",
     "{<b> must happen before any tool}, which means any other tool here"),
    (rf"{_A} (?P<said>{NOT} {DO} (?:before|earlier than|prior to)) {_B}{DONE}", _BOTH),
    (rf"(?P<said>before) {_B}{DONE}, {_A} {NOT} {DO}", _BOTH),
    (rf"{_A} (?P<said>{NOT} {DO}(?: unless|,? except) after) {_B}{DONE}{_SAME}",
     "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>{NOT} {DO} (?:unless|until)) {_B}{DONE}{_SAME}",
     "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>{NOT} {DO} without (?:first|an? (?:prior|earlier|previous|preceding)|prior)) "
     rf"{_B}{_SAME}", "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>{NOT} {DO} without) {_CHECK}{_SAME}",
     "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>{NOT} {DO} without) {_B}", _BESIDE),
    (rf"{_A} (?P<said>{NOT} {DO} if) {_B} (?:(?:has|have|was|were) )?(?:not|never) (?:been )?"
     r"(?:happened|occurred|succeeded|done|called|performed|executed)(?: before)?", "={<b> must happen "
     r"before <a>}"),
    (rf"{_A} (?P<said>{MUST} {DO} only (?:if|when|once|after|provided that)) {_B}{DONE}{_SAME}",
     "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>{NOT} {DO} {IF}) {_B}{DONE}", "{<a> must never happen after <b>}"),
    (rf"(?P<said>unless|until) {_B}{DONE}, {_A} {NOT} {DO}", "={<b> must happen before <a>}"),
    (rf"(?P<said>without) {_CHECK}, {_A} {NOT} {DO}", "={<b> must happen before <a>}"),
    (rf"(?P<said>without) {_B}, {_A} {NOT} {DO}", _BESIDE),
    (rf"{_A} (?P<said>only after) {_B}", "={<b> must happen before <a>}"),
    (rf"{_A} (?P<said>depends? on) {_B}{_SAME}", "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>(?:requires?|needs?) an? (?:prior|earlier|previous|preceding)) {_B}{_SAME}",
     "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>requires?|needs?) {_B} (?:first|beforehand|before it){_SAME}",
     "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>requires?|needs?) {_CHECK}{_SAME}", "={<b> must happen before <a><same>}"),
    (rf"{_A} (?P<said>requires?|needs?) (?!to ){_B}", _BESIDE),
    (rf"{_A} (?P<said>{MUST} (?:succeed|pass|finish|end|be finished|{HAPPEN}|"
     rf"have (?:succeeded|passed|happened|"
     rf"been \w+)) before) {_B}(?:{DONE}| starts| begins| can happen)", "={<a> must happen before <b>}"),
    (rf"{_A} (?P<said>{MUST} (?:{DO} (?:eventually |at some point |sometime |later )?after|follow) "
     rf"(?:every|each|any)) {_B}",
     "={<b> must be followed by <a>}"),
    (rf"{_A} (?P<said>{MUST} {DO} (?:eventually|later|at some point) after) {_B}",
     "{<b> must be followed by <a>}"),
    (rf"(?P<said>{IF}) {_B}{DONE}, {_A} {NOT} {DO}(?: again| afterwards| any more| anymore| later)?",
     "{<a> must never happen after <b>}"),
    (rf"(?P<said>{IF}) {_A}{DONE}, {_B} {MUST} (?:{DO}|follow)(?: afterwards| later| eventually)",
     "={<a> must be followed by <b>}"),
    (rf"(?P<said>{IF}) {_A}{DONE}, {_B} {MUST} have (?:happened|succeeded|been \w+)(?: before| first)?",
     "={<b> must happen before <a>}"),
    (rf"(?P<said>if|when|whenever) {_A}{DONE}, {_B} {MUST} (?:{DO}|follow)",
     "{<a> must be followed by <b>} where <b> comes later, or {<b> must happen before <a>} where it comes "
     "first"),
    (rf"(?P<said>{IF}|following|subsequent to|sometime after|at some point after) {_A}{DONE}, {_B} "
     rf"{MUST} (?:{DO}|follow)",
     "{<a> must be followed by <b>} where <b> may not be left out, or {<a> must happen before <b>} where "
     "<a> is "
     "needed first"),
    (rf"{_A} and {_B} (?P<said>{MUST} {DO} in (?:this|that) order)", "={<a> must happen before <b>}"),
    # --- arguments
    (rf"{_A} (?P<said>{MUST} (?:use|have|get|carry|be for|name) the same (?P<f>\S+) as) {_B}",
     "{<b> must happen before <a> with the same <f>}"),
    (rf"{_A} (?P<said>{MUST} use the (?P<f>\S+) (?:from|of)) {_B}",
     "{<b> must happen before <a> with the same <f>} where both take it as an argument; what comes from a "
     "result "
     "is a `provenance` of the policy, not a sentence"),
    # --- what remains
    (rf"{_A} (?P<said>{NOT} {HAPPEN} (?:unless|until|without)) .+",
     "'ACTION must happen before <a>' with an action of the file, or a guard for anything else"),
    (rf"{_A} (?P<said>{MUST} be (?!followed|preceded|alone)\w+ed(?: by .+)?)",
     "'ACTION must happen before <a>' with an action of the file, or a guard for anything else"),
    (rf"{_A} (?P<said>before) {_B}", "={<a> must happen before <b>}"),
    (rf"{_A} (?P<said>after) {_B}", _DUTY_OR_NEED),
)  # fmt: skip

_REASONS: tuple[tuple[str, str], ...] = (
    (r"(?:.*\W)?(?P<said>(?:at night|overnight|after hours|out of hours|in the (?:morning|afternoon|evening)"
     r"|(?:during |outside(?: of)? |within |in |after )?(?:office|working|business|opening|service|school) "
     r"hours|(?:during|by) (?:the )?(?:day|night)(?:time)?|around the clock))\b(?!,? (?:from|between)).*",
     "!which hours these are is not said; write between which, as in 'ACTION must happen between 09:00 and "
     "17:00'"),
    (r"(?:.* )?(?P<said>(?:before|after|until|by|from|between|at|past) \d{1,2}(?: o'clock)?"
     r"(?: (?:and|to|or|until) \d{1,2}(?: o'clock)?)?)(?: (?:on|only|in|any|all|at|sharp)\b.*|,.*)?",
     "!a clock time is written HH:MM, as in 09:00, or 9 am"),
    (rf".+ (?P<said>{MUST} (?:not (?:never|not)|never (?:not|never))) .+",
     "!two negations leave open which is meant; write the sentence with one or none"),
    (rf".+ (?P<said>{NOT} {DO} (?:not|never)) .+",
     "!two negations leave open which is meant; write the sentence with one or none"),
    (r".+ (?P<said>its own) .+",
     "!one call for each other call is said as 'ACTION must not happen more often than ACTION'"),
    (r".*?(?P<said>\b(?:failed|unsuccessful) .+)", _A_FAILURE),
    (rf"(?!.* followed by .* within ).* (?<!before )(?<!after )"
     rf"(?!a second (?!{AFTER_A_SECOND})[a-z])(?P<said>{_D}).*",
     "!a time lies between two actions, as in 'ACTION must happen within <d> after ACTION' or 'ACTION "
     "must happen "
     "at least <d> after ACTION'"),
    (rf"(?P<said>the (?:sum|total) .+ of .+ and .+?) {MUST} .+",
     "!a sum is of one action: write a policy for each, or name one action that stands for all these tools"),
    (r".*?(?P<said>\b(?:sum|total|altogether|combined|adds? up|in all)\b.*)",
     _A_SUM),
    (r"(?!.*\btimes?\b).*?(?P<said>\b(?:above|below|over|under|exceed\w*|\w+ than|at most|equal to) "
     r"\d[\d.,]*(?: \w{1,4})?(?: (?:must|should|shall|has to|have to|needs?|requires?)\b.*)?)",
     _A_VALUE),
    (r".+? (?P<said>or .+?)(?: (?:must|should|shall|has to|have to|needs?|requires?)\b.*)?",
     "!`or` joins actions as the file names them"),
)  # fmt: skip


def hints(body: str, names: Names) -> Iterator[tuple[str, str]]:
    """(the refused words, what to write instead), the likeliest first; sentences stand in braces."""
    return ((said, hint.removeprefix("=")) for said, hint in _found(_HINTS, body, names))


def is_known(body: str, names: Names) -> bool:
    """Is there a hint?"""
    return next(_found(_HINTS, body, names), None) is not None


def synonym(body: str, names: Names) -> str | None:
    """The one sentence of the language that says the very same; None where there is none, or doubt."""
    _, hint = next(_found(_HINTS, body, names), ("", ""))
    same = re.fullmatch(r"={([^{}]+)}", hint)
    return same and same[1]


def reasons(body: str, names: Names) -> Iterator[tuple[str, str]]:
    """(the refused words, why the language has none for them), where nothing else is known."""
    return _found(_REASONS, body, names)


def _found(table: Iterable[tuple[str, str]], body: str, names: Names) -> Iterator[tuple[str, str]]:
    for pattern, hint in table:
        match = compiled(pattern).fullmatch(body)
        if match and (filled := _filled(hint, match, names)) is not None:
            yield match["said"], filled


def _filled(hint: str, match: re.Match[str], names: Names) -> str | None:
    """The hint with the words of the sentence; None where it does not name actions of the file."""
    slots = {slot: _slot(slot, text, names) for slot, text in match.groupdict().items() if slot != "said"}
    for slot in ("n", "m"):
        if match.groupdict().get(slot):
            count = _count(match[slot])
            slots |= {f"{slot}{sign}1": counted(count + add, "time") for sign, add in (("+", 1), ("-", -1))}
    used = re.findall(r"<([a-z][+-]?1?|same|how)>", hint)
    if any(slots.get(slot) is None for slot in used):
        return None
    return re.sub(
        r"(^|{)?<([a-z][+-]?1?|same|how)>", lambda m: (m[1] or "") + _in_place(slots[m[2]], m[1]), hint
    )


def _slot(slot: str, text: str | None, names: Names) -> str | None:
    if slot in "abc":
        return None if text is None else named(text, names)
    if text is None:
        return ""
    if slot in "tu":
        return text.zfill(5)
    if slot in "nm":
        return counted(_count(text), "time")
    if slot == "d":
        return in_windows(text).removeprefix("within ")
    return text if slot != "same" or text.startswith((" ", ",")) else f" {text}"


def _count(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS[text.lower()]


def _in_place(text: str | None, first: str | None) -> str:
    """A name inside a sentence, without the capital of its begin."""
    text = text or ""
    return text if first is not None or text[1:2].isupper() else text[:1].lower() + text[1:]
