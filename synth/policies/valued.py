"""Values that stand where a thing does: `deploy version "latest"`, `role admin may be granted`.

The verb says what is done, and so to what: each function gives sentences that mean the same and say the value
behind the thing, as in `deploy service with version "latest"`, where every reader finds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from synth.policies.action_forms import noun_of, singular
from synth.policies.asked import CODES, KINDS, asked_at
from synth.policies.clausal.events import Action, actions_of
from synth.policies.composed import actions_in
from synth.policies.everyday import MODAL
from synth.policies.inflected import inflected
from synth.policies.marks import places_of
from synth.policies.names import Names
from synth.policies.nouns import words_of
from synth.policies.patterns import compiled
from synth.policies.verbs import deeds_of, gerund_of, past_of, third_of

_FIELD = r"(?P<f>[a-z][a-z_]*)"
_NO_FIELD = compiled(
    r"(?:with|without|for|to|in|on|at|of|by|from|as|and|or|nor|not|never|only|if|when|unless|until|before"
    r"|after|more|less|over|under|any|every|each|all|no|the|an?|same|different|other|than|both|either"
    r"|neither|it|them|that|which|who|this|these|those|one|is|are|must|may|can|should|exactly|between"
    r"|twice|once|times?|within|per|up|at|again|first|last|next)"
)
_WORD = rf"(?!(?:{_NO_FIELD.pattern[3:-1]})\b)[A-Za-z0-9][\w.-]*"
_NO_NAME = compiled(
    rf"(?i:{CODES})|.*(?:s|ed|ing|able|ly|ive|ful|ous)|others?|nothing|nobody|humans?|agents?|once|twice|here"
)
"""What names no single thing: places, several of a kind, and what a thing is like."""
_SPLIT = re.compile(r", or |, and |, | or | and ")
_VALUE = r"(?:\"[^\"]+\"|[A-Za-z0-9][\w.-]*)"
_OTHER = r"other than|except(?: for)?|but|apart from"


def valued(body: str, names: Names) -> Iterator[str]:
    """Sentences with the same meaning, each once."""
    ways: tuple[Callable[[str, Names], Iterator[str]], ...] = (
        _done_to_a_value, _value_done, _by_its_name, _named_alone, _both_values, _value_before, _sized_first,
        _no_self, _one_of_several,
        _so_much_done, _people_behind, _to_a_value, _of_two_words,
    )  # fmt: skip
    for way in ways:
        yield from way(body, names)


def _alone(names: Names) -> list[Action]:
    """The actions that their verb alone names."""
    return [one for one in actions_of(tuple(names.actions)) if one.nouns and one.verb_alone]


def _object(one: Action) -> str:
    return " ".join(one.nouns)


def _is_field(word: str, one: Action, names: Names) -> bool:
    """Is it the name of an argument, and not of what something is done to?"""
    if _NO_FIELD.fullmatch(word):
        return False
    return word == singular(one.nouns[-1]) or not places_of(word, names)


def _said(text: str, field: str) -> str | None:
    """What such a text says of an argument at its beginning; None where it says no value of it."""
    if m := compiled(r"[a-z_]+ (?P<v>\d+[A-Za-z]\w*)(?= |$)").match(text):
        return m[0]
    asked = asked_at(f" with {text}", 0)
    if asked is None or len(asked.every) != 1:
        return None
    [one] = asked.every
    named = one.op in ("in", "not in") and str(one.path[-1]) == field and one.type != "number"
    return text[: asked.end - len(" with ")] if named else None


def _done_to_a_value(text: str, names: Names) -> Iterator[str]:
    """`Deploy version "latest"`, `granting role admin`."""
    for one in _alone(names):
        forms = "|".join((one.verb, gerund_of(one.verb), third_of(one.verb)))
        pattern = (
            rf"\b(?P<v>(?:{forms}){one.up})(?: (?:the |an? )?{one.objects})?(?P<only> only)? (?:the |an? )?"
            rf"(?={_FIELD} )"
        )
        for m in compiled(pattern).finditer(text):
            said = _said(text[m.end() :], m["f"]) if _is_field(m["f"], one, names) else None
            if said is not None and f" {m['f']}" not in m[0]:
                rest = text[m.end() + len(said) :]
                yield f"{text[: m.end('v')]} {_object(one)}{m['only'] or ''} with {said}{rest}"


def _value_done(text: str, names: Names) -> Iterator[str]:
    """`Role admin may be granted only if ...`, `no service other than checkout may be restarted`."""
    m = compiled(
        r"(?P<lead>(?:(?:if|when|whenever|once|after|before|unless|until) )?)(?P<no>(?:no|only|any|the) )?"
        rf"(?={_FIELD} )"
    ).match(text)
    done = _done_behind(text, names)
    if m is None or done is None or m["f"] is None:
        return
    begin, field = text[m.end() :], m["f"].lower()
    begin = f"{begin[:1].lower()}{begin[1:]}"
    one = done
    if not _is_field(field, one, names):
        return
    found = _said(begin, field)
    said, end = (found, len(found)) if found else _other_than(begin, field)
    if end and compiled(rf" (?:{MODAL}|is|are|was|has been|gets?)\b").match(begin, end):
        yield f"{m['lead']}{m['no'] or 'the '}{_object(one)} with {said}{begin[end:]}"


def _done_behind(text: str, names: Names) -> Action | None:
    """The only action of which the first clause says that it is done."""
    found = [
        one
        for one in _alone(names)
        if compiled(
            rf"(?:{MODAL}|is|are|was|has been|gets?)(?: (?:be|get|never|not|only|ever|always|also))* "
            rf"{past_of(one.verb)}{one.up}(?![\w-])"
        ).search(text)
    ]
    return found[0] if len(found) == 1 else None


def _other_than(text: str, field: str) -> tuple[str, int]:
    """(`service other than "checkout"`, where it ends), of what is called so; (empty, 0) where it is none."""
    m = compiled(
        rf"{field} (?P<but>{_OTHER}) (?P<v>{_VALUE}(?:(?:, or |, | or | and ){_VALUE})*)(?= )"
    ).match(text)
    values = _SPLIT.split(m["v"]) if m else []
    if m is None or any(_NO_FIELD.fullmatch(one) or one.isdigit() for one in values):
        return "", 0
    return f"{field} {m['but']} {' or '.join(map(_quoted, values))}", m.end()


def _quoted(value: str) -> str:
    return value if value[0] == '"' else f'"{value}"'


def _by_its_name(text: str, names: Names) -> Iterator[str]:
    """`Only checkout and search may be restarted`, `restart only checkout or search`."""
    values = rf"(?P<v>{_VALUE}(?:(?:, or |, and |, | or | and ){_VALUE})*)"
    if m := compiled(rf"only {values} (?P<may>{MODAL}|is|are) (?P<rest>.+)").fullmatch(text):
        one = _done_behind(text, names)
        if one is not None and (said := _names_of(m["v"], names)):
            yield f"Only a {_object(one)} with {singular(one.nouns[-1])} {said} {m['may']} {m['rest']}"
    for one in _alone(names):
        verb = f"(?P<verb>{one.verb}{one.up})"
        for pattern in (rf"{verb} only {values}", rf"{verb} {values} only", rf"only {verb} {values}"):
            m = compiled(pattern).fullmatch(text)
            if m and (said := _names_of(m["v"], names)):
                yield f"Only {m['verb']} {_object(one)} with {singular(one.nouns[-1])} {said}"
        if m := compiled(rf"(?P<never>never|do not|don['\u2019]t) {verb} (?P<v>\"[^\"]+\")").fullmatch(text):
            yield f"{m['never']} {m['verb']} {_object(one)} with an argument {m['v']}"


def _names_of(values: str, names: Names) -> str | None:
    """Names of single things, as values; None where they say what kind of things is meant."""
    every = _SPLIT.split(values)
    words = [one for one in every if one[0] != '"']
    if any(_NO_FIELD.fullmatch(one) or places_of(one, names) or one in KINDS for one in words):
        return None
    if any(_NO_NAME.fullmatch(one) for one in words) or (len(every) == 1 and words and words[0].islower()):
        return None
    return " or ".join(map(_quoted, every))


def _named_alone(text: str, names: Names) -> Iterator[str]:
    """`A new_limit over 3000 only after ...`, of what changes limits."""
    m = compiled(r"(?:an? |any |every |the )?(?P<f>[a-z]+(?:_[a-z]+)+) (?P<rest>.+)").fullmatch(text)
    if m is None:
        return
    asked = asked_at(f" with {m['f']} {m['rest']}", 0)
    own = [
        one
        for one in actions_of(tuple(names.actions))
        if one.nouns and one.phrase in names.actions and singular(one.nouns[-1]) in words_of(m["f"])
    ]
    if asked is None or len({one.number for one in own}) != 1 or places_of(m["f"], names):
        return
    yield f"{own[0].phrase} with {m['f']} {m['rest']}"


def _value_before(text: str, names: Names) -> Iterator[str]:
    """`Severity critical pages go to team sre only`."""
    kinds = "|".join(KINDS)
    m = compiled(
        rf"(?P<d>(?:no|all|any|every|each|after|before) (?:an? |the )?)?(?P<f>{kinds}) "
        rf"(?P<v>{_WORD}|\"[^\"]+\") "
        r"(?P<n>[a-z]+)(?P<rest> .+)"
    ).fullmatch(text)
    if m and places_of(m["n"], names) and not places_of(m["f"], names) and not _NO_FIELD.fullmatch(m["v"]):
        yield f"{m['d'] or ''}{m['n']} with {m['f'].lower()} {_quoted(m['v'])}{m['rest']}"


def _sized_first(text: str, names: Names) -> Iterator[str]:
    """`Exports of over 10000 rows: approve the change first`: that is what they need."""
    size = r"(?:of|with|to|by) (?:over|more than|at least) \d[^:,]*"
    m = compiled(rf"(?P<a>[^:,]+ {size})[:,] (?P<b>.+? first)(?P<more>,? .+)?").fullmatch(text)
    if m:
        first = m["b"].removesuffix(" first")
        yield f"{m['a']} need {first} first{m['more'] or ''}"


_SELF = (
    r"(?:to |for |by |from |into |with )?(?:him|her|it|them|one)sel(?:f|ves)|h(?:is|er) own|their own|its own"
)
_ALIKE = (
    r"[a-z_]+ and [a-z_]+ (?:must|should|have to|may|can|are|is)\b.+"
    r"|[a-z_]+ (?:must|may|can|should|is|has to)"
    r"(?: not| never| always)? (?:be )?(?:equal|the same|differ|different|match|other)\b.+"
)


def _no_self(text: str, names: Names) -> Iterator[str]:
    """`Nobody grants access to himself: granted_by and user must differ`: the arguments say what is meant."""
    m = compiled(
        rf"(?P<a>(?:never|no|nobody|do not|don['\u2019]t|no one)\b[^:;]+)[:;] (?P<b>{_ALIKE})"
    ).fullmatch(text)
    if m is None or not compiled(rf"\b(?:{_SELF}|comes? from|the same)\b").search(m["a"]):
        return
    found = actions_in(inflected(m["a"], names), names)
    if len(found) == 1:
        yield f"{found[0]}: {m['b']}"


def _one_of_several(text: str, names: Names) -> Iterator[str]:
    """`Invoices over 5000 need two approvals`: it is the payment that needs them."""
    m = compiled(
        r"(?P<d>(?:every|each|an?|all|any) )?(?P<o>[a-z]+)"
        r"(?P<c>(?: (?:over|above|of|with|from|to|under) [^,]+?)?) "
        r"(?P<n>needs?|requires?|calls? for|demands?|must have) (?P<rest>.+)"
    ).fullmatch(text)
    if m is None:
        return
    of_it = [
        one
        for one in actions_of(tuple(names.actions))
        if one.nouns and not one.tail and compiled(noun_of(one.nouns[-1])).fullmatch(m["o"])
    ]
    own = [one for one in of_it if not one.is_check and _as_in_the_file(one)]
    checks = [one for one in of_it if one.is_check and _as_in_the_file(one)]
    if len({one.number for one in own}) == 1 and len(checks) == 1:
        verb = gerund_of(own[0].verb)
        deeds = "|".join(deeds_of(checks[0].verb))
        needed = compiled(rf"(?<!{checks[0].nouns[-1]} )\b(?P<d>{deeds})\b").sub(
            rf"{_object(checks[0])} \g<d>", m["rest"], count=1
        )
        for rest in (needed, m["rest"]):
            yield f"{verb[:1].upper()}{verb[1:]}{own[0].up} {m['o'].lower()}{m['c']} {m['n']} {rest}"


def _so_much_done(text: str, names: Names) -> Iterator[str]:
    """`Paying out more than 20000 needs ...`: of what is paid out."""
    size = r"(?:over|above|more than|at least|upwards of) \d[\d,.]*\d*"
    for one in _alone(names):
        m = compiled(
            rf"(?P<l>(?:never |do not |before |no )?)(?P<v>(?:{gerund_of(one.verb)}|{one.verb}){one.up}) "
            rf"(?P<s>{size})(?P<rest>,? (?:needs?|requires?|only|unless|without|calls? for|must|has to|takes?"
            r"|is only|[a-z]+ .+)\b.*)"
        ).fullmatch(text)
        if m and compiled(r",? (?:needs?|requires?|only|unless|without|calls? for|is only)\b").match(
            m["rest"]
        ):
            yield f"{m['l']}{m['v']} {_object(one)} with amount {m['s']}{m['rest']}"


def _people_behind(text: str, names: Names) -> Iterator[str]:
    """`Before a refund above 500 two different approvers must have approved`: a comma before who they are."""
    m = compiled(
        r"(?P<a>(?:before|after|for|with) [^,]+? \d[\d.]*) (?P<b>(?:at least )?(?:two|three|four|\d+) "
        r"(?:different|distinct|separate) .+)"
    ).fullmatch(text)
    if m:
        yield f"{m['a']}, {m['b']}"


def _of_two_words(text: str, names: Names) -> Iterator[str]:
    """`Payouts over 20000`, `a rollback to version 3`: of what is paid out, or rolled back."""
    for one in _alone(names):
        if not one.particle:
            continue
        noun = rf"\b(?:(?:an?|the|every|each|any|all) )?{one.verb}-?{one.particle}s?"
        said = compiled(
            rf"{noun} (?=(?:over|above|under|below|more|less|at least|with|to|of|in|from)\b)"
        ).sub(f"{gerund_of(one.verb)} {one.particle} {_object(one)} ", text)
        if said != text:
            yield said


_TO = r"(?!(?:date|order|scale|plan|spec|speed|completion|everybody|anybody|nobody|somebody|it|them)\b)"
_SOMEONE = compiled(r".*(?:er|or|ee|ist|ant|ent|ian|body|one)")
_DEPENDS = r"(?:unless|only|needs?|requires?|without|must|may|can|until|before|after|is|are|at most|has to)"


def _to_a_value(text: str, names: Names) -> Iterator[str]:
    """`No discharge to home unless ...`: some argument says where to."""
    m = compiled(rf"(?P<a>(?:\S+ ){{1,3}})to (?P<v>{_TO}[a-z]+)(?P<rest>,? {_DEPENDS}\b.+)").fullmatch(text)
    if m is None or _NO_FIELD.fullmatch(m["v"]) or _NO_NAME.fullmatch(m["v"]) or _SOMEONE.fullmatch(m["v"]):
        return
    last = m["a"].split()[-1]
    if places_of(last, names) and not places_of(m["v"], names):
        yield f'{m["a"]}with an argument "{m["v"]}"{m["rest"]}'


def _as_in_the_file(one: Action) -> bool:
    """Is it named by the verb of the file, and no other one?"""
    return one.phrase.split()[0].casefold() == one.verb


def _both_values(text: str, names: Names) -> Iterator[str]:
    """`Never prescribe both warfarin and ibuprofen to one patient`."""
    whom = (
        r"(?:to|for|on|in|at|of) (?:one|the same|one and the same|a single|any one|any single) "
        r"(?P<same>[a-z_]+(?: (?:id|number|code))?)"
    )
    value = rf"(?:\"[^\"]+\"|{_WORD}|[a-z_]+ {_VALUE})"
    for one in _alone(names):
        of = rf"(?:(?:an?|the) )?(?:{one.objects} )?"
        m = compiled(
            rf"(?:never|do not|don['\u2019]t) {one.verb}{one.up}(?P<both> both)? {of}(?P<a>{value}) and "
            rf"{of}(?P<b>{value})(?: {one.objects})?(?: {whom})?"
        ).fullmatch(text)
        if m is None or not (m["both"] or m["same"]):
            continue
        first, second = _either(m["a"], one, names), _either(m["b"], one, names)
        scoped = (m["same"] or "") in ("run", "conversation", "session")
        if first and second and (m["both"] or not scoped):
            same = f" with the same {m['same'].replace(' ', '_')}" if m["same"] and not scoped else ""
            yield f"{one.phrase} {first} and {one.phrase} {second} must never both happen{same}"


def _either(said: str, one: Action, names: Names) -> str | None:
    """`with version "latest"`, `with an argument "warfarin"`."""
    *field, value = said.split(" ") if said[0] != '"' else [said]
    if field:
        return f"with {field[0]} {_quoted(value)}" if _is_field(field[0], one, names) else None
    plain = value[0] != '"'
    if places_of(value, names) or (plain and (_NO_FIELD.fullmatch(value) or _NO_NAME.fullmatch(value))):
        return None
    return f"with an argument {_quoted(value)}"
