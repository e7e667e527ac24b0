"""Refusals with all that is known filled in: a guard for what a call is given, else the nearest rules.

`filled_hints` gives (the refused words, what to write instead), in the manner of `hints`; whoever asks brings
a reader, so that no rule is proposed that is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from synth.counted import counted
from synth.policies.action_forms import forms_of
from synth.policies.composed import actions_in
from synth.policies.everyday import MODAL
from synth.policies.inflected import inflected
from synth.policies.kinds.count import Count, number_of
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.next_call import NextCall
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.response import Response
from synth.policies.names import Names
from synth.policies.patterns import compiled
from synth.policies.wordings import DURATION, NUMBER

LEFT, RIGHT = "\x0e", "\x0f"
"""Braces of YAML in a hint: no sentence stands between them."""

Reads = Callable[[str], PolicyKind | None]

_FIELD = r"(?P<f>[a-z]+(?: [a-z]+)?)"
_THE = r"(?:(?:the|an?|any) )?"
_OVER = (
    r"(?P<more>(?:of |that is |which is )?(?:above|over|more than|greater than|larger than|higher than"
    r"|longer than|beyond))"
)
_UNDER = (
    r"(?P<less>(?:of |that is |which is )?(?:below|under|less than|fewer than|smaller than|lower than"
    r"|shorter than))"
)
_N = r"(?P<n>\d+(?:\.\d+)?)"
_UNIT = (
    r"(?: (?P<u>(?!(?:times?|calls?|runs?|or|and|is|are|may|must|can|should|has|have|needs?|requires?)\b)"
    r"[a-z]+))?"
)
_QUOTED = r"(?P<q>[\"\u201c])(?P<v>[^\"\u201d]+)[\"\u201d]"

_CONDITIONS = (
    rf",? ?\b(?P<with>for|from|on|in|with|of|to|by|at|under) {_THE}{_FIELD}(?: of)? {_QUOTED}",
    rf",? ?\b(?P<with>whose) {_FIELD} (?:is|equals) {_QUOTED}",
    rf" (?:with|having) {_THE}{_FIELD} (?:{_OVER}|{_UNDER}) {_N}{_UNIT}",
    rf" (?P<in>for|of) (?:{_OVER}|{_UNDER}) {_N}{_UNIT}(?: at once)?",
    rf" (?:{_OVER}|{_UNDER}) {_N}{_UNIT} at once",
    rf" (?P<none>without) (?:giving|stating|naming|providing|specifying) {_THE}{_FIELD}(?= (?:is|must|may)\b|"
    rf"$)",
    r" by (?P<how>fax|e-?mail|phone|telephone|letter|text message|sms|post|mail|courier|cash|card|cheque)"
    r"(?= (?:is|must|may|are)\b|$)",
)
_LIMITS = (
    rf"(?:{MODAL}) (?:not|never)(?: ever)? (?:exceed|be (?:more|larger|greater|higher|longer) than|be (?:over"
    rf"|above)) {_N} (?P<u>[a-z]+)(?: each)?$",
    rf"(?:is|are|{MODAL} be) (?:limited|restricted|capped) (?:to|at) (?:at most )?{_N} (?P<u>[a-z]+) each$",
)


def filled_hints(body: str, names: Names, reads: Reads) -> Iterator[tuple[str, str]]:
    """The likeliest first; sentences that must read stand in braces, `!` begins a mere reason."""
    yield from _guards(body, names, reads)
    yield from _nearest(
        inflected(re.sub(r" (?:at all|whatsoever) (?=may |can |must )", " ", body), names), names
    )
    yield from _ordered(body, names)
    yield from _already(body, names)


# ---------------------------------------------------------------- what a call is given


def _guards(body: str, names: Names, reads: Reads) -> Iterator[tuple[str, str]]:
    for pattern in _CONDITIONS:
        m = compiled(pattern).search(body)
        if m is None or _is_time(m):
            continue
        rest = re.sub(r"^[,\s]+", "", f"{body[: m.start()]}{body[m.end() :]}")
        rest = rest[:1].upper() + re.sub(r" +(?=,|$)", "", rest)[1:]
        guard = _guard(m, rest, names, reads(rest))
        if guard is not None:
            yield m[0].strip(" ,"), guard
            return
    for pattern in _LIMITS:
        m = compiled(pattern).search(body)
        if m and not _is_time(m):
            one = re.sub(r"^(?:an?|any|each|every|no) (?:single )?", "", body[: m.start()], flags=re.I)
            known = actions_in(inflected(f"{one.strip()} must happen", names), names)
            field, calls = _field(m["u"]), known[0] if len(known) == 1 else "ACTION"
            check = f"{{calls: {calls}, check: args.{field} <= {m['n']}}}"
            yield m[0], _as_guard(check, f"{field} is the argument that holds it")
            return


def _is_time(m: re.Match[str]) -> bool:
    """Does it say how long something takes, rather than what is given?"""
    return re.match("(?:second|minute|hour)s?$", m.groupdict().get("u") or "") is not None


def _guard(m: re.Match[str], rest: str, names: Names, rule: PolicyKind | None) -> str | None:
    """What to write for a sentence that says `rest` of the calls with what `m` says; None = not known."""
    is_so, is_not, told = _condition(m)
    if isinstance(rule, Count) and rule.most == 0 and len(rule.tools) == 1:
        calls = rule.tools[0].phrase
        said = _as_guard(f"{{calls: {calls}, check: {_yaml(is_not)}}}", told)
        if m.groupdict().get("how"):
            said += f", or '{calls} by {m['how']} must never happen' where {m['how']} is an agent"
        return said
    if isinstance(rule, Precedence) and len(rule.pairs) == 1 and len(rule.same) < 2:
        first, then = rule.pairs[0]
        tools = [f"'{name}'" for name in first.names]
        if first.in_full and all(len(path) == 1 for pair in rule.same for path in pair):
            asked = tools[0] if len(tools) == 1 else f"[{', '.join(tools)}]"
            asked += "".join(f", '{one[0]}', args.{other[0]}" for one, other in rule.same)
            check = _yaml(f"size(earlier({asked})) > 0")
            return _as_guard(f"{{calls: {then.phrase}, when: {_yaml(is_so)}, check: {check}}}", told)
    if isinstance(rule, Response | NextCall):
        return (
            f"!'{rest}' is read, as a rule about every such call; a guard, which knows what a call is given, "
            "is asked before it and cannot demand what follows it"
        )
    said = _as_guard(f"{{calls: ACTION, when: {_yaml(is_so)}, check: CONDITION}}", told)
    return said if rule is None else f"{said}; '{rest}' is read, as a rule about every such call"


def _condition(m: re.Match[str]) -> tuple[str, str, str]:
    """(the condition in CEL, its contrary, what is said of the argument)."""
    slots = {key: value for key, value in m.groupdict().items() if value}
    if "v" in slots:
        field = _field(slots["f"])
        return f'args.{field} == "{slots["v"]}"', f'args.{field} != "{slots["v"]}"', ""
    if "how" in slots:
        return f'args.FIELD == "{slots["how"]}"', f'args.FIELD != "{slots["how"]}"', _FILL
    if "none" in slots:
        field = _field(slots["f"])
        given = f'has(args.{field}) && args.{field} != ""'
        return f'!has(args.{field}) || args.{field} == ""', given, ""
    named = slots.get("f")
    field = _field(named or slots.get("u") or "FIELD")
    over, contrary = (">", "<=") if "more" in slots else ("<", ">=")
    told = "" if named else _FILL if field == "FIELD" else f"{field} is the argument that holds it"
    return f"args.{field} {over} {slots['n']}", f"args.{field} {contrary} {slots['n']}", told


_FILL = "FIELD is the argument that holds it"


def _field(words: str) -> str:
    return words if words == "FIELD" else words.lower().replace(" ", "_")


def _yaml(condition: str) -> str:
    return "'" + condition.replace("'", "''") + "'"


def _as_guard(guard: str, told: str) -> str:
    where = f", where {told}" if told else ""
    written = guard.replace("{", LEFT).replace("}", RIGHT)
    return f"!a guard asks what a call is given: in place of `rule` write `guard: {written}`{where}"


# ---------------------------------------------------------------- what the language has nothing for


def _nearest(text: str, names: Names) -> Iterator[tuple[str, str]]:
    one = "|".join(re.escape(phrase) for phrase in sorted(names.actions, key=len, reverse=True))
    a, b = rf"(?P<a>{one})", rf"(?P<b>{one})"
    before = rf"(?:before (?P<c>{one})(?: happens)?)"
    same = r"(?P<same>(?: (?:with|for) the same [\w.]+)?)"
    table: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
        (rf"(?:{before}, )?(?P<said>either {a}(?: must happen)? or {b}(?: must happen)?(?: "
         rf"{before.replace('<c>', '<d>')})?"
         r",? but (?:not|never) both)(?: of them)?",
         lambda m: (
             f"{{{m['a']} or {m['b']} must happen before {m['c'] or m['d'] or 'ACTION'}}} where one of them "
             f"is "
             f"needed; that not both may, only of a whole run, as {{{m['a']} must never happen after "
             f"{m['b']}}} "
             f"and {{{m['b']} must never happen after {m['a']}}}")),
        (rf"if {a} (?P<said>fails (?P<n>twice|{NUMBER} times)(?: in (?:a|one|the same) (?:run|row))?)\b.*",
         lambda m: _after_failures(m, text, names)),
        (rf"if {a} fails, (?:it|they) (?:may|can|must|should) (?P<said>be (?:tried again|retried|repeated"
         rf"|attempted again) (?:at most|no more than|up to|only) (?P<n>once|twice|{NUMBER} times))(?P<over> "
         rf"in a run)?"
         rf"(?: for (?:that|the same) (?P<f>\w+)|{same})",
         _retries),
        (rf"{a} must (?P<said>be followed by {b} (?:as (?:its |the )?(?:very )?next (?:step|call|action)|imme"
         rf"diately|directly|at once|with nothing in between))",
         lambda m: f"{{{m['a']} must be immediately followed by {m['b']}}}"),
        (rf"no {a} (?:may|must|can) (?:ever )?happen (?P<said>in (?:a|any) (?P<w>run|conversation|session) in"
         rf" which "
         rf"{b} happens)|"
         rf"(?P<x>{one}) must never happen (?P<say>in (?:a|any) (?P<v>run|conversation|session) in "
         rf"which (?P<y>{one}) happens)",
         _both_sides),
        (rf"for (?P<d>{DURATION}|an hour|a minute) after {b} (?:happens|has happened),? .*?(?:must not|must n"
         rf"ever"
         r"|may not|cannot|can not) .*(?P<said>unless .+? (?:in the meantime|in between|meanwhile))",
         lambda m: (
             "!a ban that lasts for a time and ends early is not in the language: it lasts for a time, as in "
             "'ACTION must never happen within 1 hour after ACTION', or until something happens, as in "
             "'ACTION "
             "must never happen after ACTION until ACTION'")),
    )  # fmt: skip
    for pattern, hint in table:
        if m := compiled(pattern).fullmatch(text):
            said = m.groupdict().get("said") or m.groupdict().get("say") or m[0]
            yield said, hint(m)


def _after_failures(m: re.Match[str], text: str, names: Names) -> str:
    a = m["a"]
    later = [other for other in actions_in(text[m.end("said") :], names) if other != a.casefold()]
    then = later[0] if len(later) == 1 else a
    often = m["n"].split()[0]
    rule = f"If {a} fails {number_of(often)} times"
    return (
        f"{{{rule}, {then} must never happen}} or, where that is meant, {{{rule}, {then} must follow}}, with "
        "'in a row' after 'times' where no call of it that succeeds may lie between"
    )


def _retries(m: re.Match[str]) -> str:
    number = number_of(m["n"].split()[0]) + 1
    same = f" with the same {m['f']}" if m["f"] else m["same"].replace(" for ", " with ")
    return f"{{If {m['a']} fails {number} times in a row, {m['a']} must never happen{same}}}"


def _both_sides(m: re.Match[str]) -> str:
    a, b, over = m["a"] or m["x"], m["b"] or m["y"], m["w"] or m["v"]
    scope = "run" if over.lower() == "run" else "session"
    return (
        f"two policies: {{{a} must never happen after {b}}} and {{{b} must never happen after {a}}}, with "
        f"'scope: {scope}' at the head of the file"
    )


def _ordered(body: str, names: Names) -> Iterator[tuple[str, str]]:
    """`For each prescription the order is always the same: verify it, then check, and only then dispense`."""
    m = compiled(
        r"(?P<said>for (?:each|every|any) (?P<f>[a-z]+),? the order is (?:always )?(?:the same|fixed|this)): "
        r"(?P<steps>.+)"
    ).fullmatch(body)
    if m is None:
        return
    forms = forms_of(tuple(names.actions))
    steps: list[str] = []
    for step in re.split(r",? (?:and )?(?:only )?then |, (?:and )?(?:finally |lastly )?", m["steps"]):
        words = step.removeprefix("first ").removeprefix("finally ").strip()
        known = actions_in(inflected(words, names), names)
        verb = words.split()[0].lower() if words else ""
        alone = [one.phrase for one in forms if one.verb == verb]
        if len(known) != 1 and len(alone) != 1:
            return
        steps.append(known[0] if len(known) == 1 else alone[0])
    rules = [f"{{{a} must happen before {b} with the same {m['f']}}}" for a, b in pairwise(steps)]
    if rules:
        yield m["said"], f"{counted(len(rules), 'policy')}: {' and '.join(rules)}"


def _already(body: str, names: Names) -> Iterator[tuple[str, str]]:
    """`Do not cancel a prescription that it has already dispensed` is about one and the same prescription."""
    forms = forms_of(tuple(names.actions))
    m = compiled(
        r"(?P<head>.+? )(?:an?|any|the) (?P<f>[a-z]+) (?P<said>(?:that|which) (?:(?:it|you|they|we|the agent"
        r") (?:has|have) "
        r"|(?:has|have|had) )(?P<not>not )?(?:already |previously |yet )?(?:been )?(?P<done>[a-z]+)(?: [a-z]+"
        r")?)"
    ).fullmatch(body)
    if m is None or not re.search(r"\b(?:not|never|no|forbidden)\b", m["head"], re.I):
        return
    said = inflected(f"the agent must not {re.split(r' to | not | never ', m['head'])[-1]}a {m['f']}", names)
    known = actions_in(said, names)
    firsts = [one.phrase for one in forms if re.fullmatch(one.done, m["done"], re.I)]
    if len(known) == 1 and len(firsts) == 1:
        order = (
            f"{firsts[0]} must happen before {known[0]}"
            if m["not"]
            else f"{known[0]} must never happen after {firsts[0]}"
        )
        yield (
            m["said"],
            f"{{{order} with the same {m['f']}}}, where {m['f']} is the argument that says which one",
        )
