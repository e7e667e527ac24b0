"""Sentences whose actions ask for certain arguments: `A refund of more than 500 must be approved first`.

A condition is taken out of the sentence, and the word that it stands behind is marked: what is left says the
same of an action of its own, and is read as all sentences are. It counts only where the sentence without its
conditions says that, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import islice, product
from typing import Any, TypeVar

from synth.errors import BadInput
from synth.policies.action_forms import PARTICLES
from synth.policies.asked import AMOUNT, Asked, asked_at, field_named, fields_at, said_at, said_of, sizes
from synth.policies.composed import actions_in
from synth.policies.everyday import MODAL
from synth.policies.given import said_with_fields
from synth.policies.inflected import inflected
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.limited import limited
from synth.policies.marks import OF_THE_SAME, Place, in_text, mark_of, marked, places_of, says_an_action
from synth.policies.names import Names, Tools, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.where import Comparison, Where

T = TypeVar("T")
Read = Callable[[str, Names], PolicyKind]
"""Reads a sentence without conditions; BadInput where it cannot."""

MAX_READ = 400
"""Code points of a sentence in which conditions are looked for."""
MOST_CONDITIONS = 4
MOST_WAYS = 16
"""In which marked words may be of one action each."""


def conditioned(sentence: str, names: Names, read: Read) -> PolicyKind | None:
    """The rule of a sentence with conditions; None where it has none.

    BadInput where it has some and is no rule.
    """
    body = " ".join(sentence.split()).removesuffix(".").strip()
    if len(body) > MAX_READ or not re.search(r"\w", body):
        return None
    try:
        found = _as_it_stands(body, names, read)
    except TwoReadings:
        raise
    except BadInput:
        if (other := _in_other_words(body, names, read)) is not None:
            return other
        raise
    if found is None:
        found = _in_other_words(body, names, read)
    if found is not None:
        return found
    if (unnamed := _unnamed(body, names, read)) is not None:
        raise unnamed
    return None


def _as_it_stands(body: str, names: Names, read: Read) -> PolicyKind | None:
    for said in (limited(body, names), body):
        taken = None if said is None else _taken(said, names)
        if taken is not None and taken.every:
            return (_allowed_alone(taken, body, read) or taken).read(read)
    return None


def _in_other_words(body: str, names: Names, read: Read) -> PolicyKind | None:
    """The rule of a sentence that says in other words what calls are given; None where none is."""
    for said in said_with_fields(body, names):
        try:
            found = _as_it_stands(said, names, read)
        except BadInput:
            continue
        if found is not None:
            return found
    return None


_UNNAMED = re.compile(
    r" (?P<said>(?P<how>to|in|into|on|for|at|from|with) "
    r"(?P<v>\"[^\"]+\"|\u201c[^\u201d]+\u201d|[A-Z][A-Z0-9_-]+"
    r"|(?:production|prod|staging|test|testing|development|live|sandbox|preview|beta|public|private)))"
    r"(?=[ ,]|$)"
)


def _allowed_alone(taken: _Taken, body: str, read: Read) -> _Taken | None:
    """Of `may only be suspended for reason "fraud"`, what is forbidden: the contrary at the end of it."""
    only = compiled(rf"(?:{MODAL}) only (?P<be>be|happen)\b").search(taken.text)
    if only is None or len(taken.every) != 1 or not body.startswith(taken.text):
        return None
    [mention] = taken.every
    try:
        read(taken.text, taken.names)
    except BadInput:
        ban = f"{taken.text[: only.start()]}must never {only['be']}{taken.text[only.end() :]}"
        if mention.end > only.start() and mention.start >= only.end():
            shift = len(ban) - len(taken.text)
            mention = replace(mention, start=mention.start + shift, end=mention.end + shift)
        if len(mention.where.every) > 1:
            return None
        return replace(
            taken, text=ban, every=(replace(mention, where=Where((mention.where.every[0].contrary,))),)
        )
    return None


def _unnamed(body: str, names: Names, read: Read) -> BadInput | None:
    """`Do not deploy to "production"`: the value is said, and not which argument has it."""
    m = _UNNAMED.search(body)
    if m is None:
        return None
    with_name = f"{body[: m.start()]} {m['how']} FIELD {m['v']}{body[m.end() :]}"
    try:
        plain = f'{body[: m.start()]} with field "{m["v"].strip(chr(34))}"{body[m.end() :]}'
        taken = _taken(plain, names)
        if taken is None or not taken.every:
            return None
        taken.read(read)
    except BadInput:
        return None
    return BadInput(
        f"cannot read {m['said']!r}, as it names no argument; write {with_name!r} with its name for FIELD"
    )


# ---------------------------------------------------------------- a sentence taken apart


@dataclass(frozen=True, slots=True)
class _Mention:
    """A word of an action with a condition."""

    start: int
    end: int
    places: tuple[Place, ...]
    where: Where


@dataclass(frozen=True, slots=True)
class _Taken:
    """A sentence without its conditions."""

    text: str
    every: tuple[_Mention, ...]
    names: Names
    by_clause: bool = False
    """Does `if`, `when` or `unless` state the condition? It says which calls the rule is about."""

    def read(self, read: Read) -> PolicyKind:
        text, own, shown = self._with_marks()
        first: BadInput | None = None
        for actions in self._ways(own):
            try:
                rule = read(text, Names(actions))
            except BadInput as bad:
                first = first or bad
                continue
            found = _mapped(rule, lambda tools: _shown(tools, shown))
            _no_least(found, "" if self.by_clause else self.text, self.every)
            if (self.by_clause or self._speaks_of_it()) and _asks_of_what_is_needed(found):
                continue
            if self._asks_each_once(found) and self._says_the_same(found, read):
                return found
        raise self._refused(first, shown, read)

    def _speaks_of_it(self) -> bool:
        """`Approve a refund over 500 before you pay it`: is a size told of what something else is done to?"""
        sized = all(
            one.op in ("<", "<=", ">", ">=", "inside", "outside") for m in self.every for one in m.where.every
        )
        return sized and compiled(r"\bbefore\b[^,]*\b(?:it|they|them|being)\b").search(self.text) is not None

    def _with_marks(self) -> tuple[str, dict[str, Tools], dict[str, str]]:
        """(the sentence with marked words, the marked actions, marked phrase -> how it is shown)."""
        text, own, shown = self.text, {}, {}
        for number, mention in reversed([*enumerate(self.every)]):
            mark = mark_of(number)
            text = f"{text[: mention.start]}{in_text(mention.places[0], mark)}{text[mention.end :]}"
            for place in mention.places:
                phrase = marked(place, mark)
                tools = self.names.actions[place.phrase]
                both = (
                    mention.where
                    if tools.where is None
                    else Where((*tools.where.every, *mention.where.every))
                )
                own[phrase] = replace(tools, phrase=phrase, where=both)
                shown[phrase] = f"{place.phrase} {mention.where.words}"
                shown[in_text(place, mark)] = (
                    f"{self.text[mention.start : mention.end]} {mention.where.words}"
                )
        return text, own, shown

    def _ways(self, own: Mapping[str, Tools]) -> Iterator[dict[str, Tools]]:
        """The actions that the marked words may be of: all that have the word, or one of them each."""
        actions = self.names.actions
        asked = {place.phrase for mention in self.every for place in mention.places}
        yield {**{phrase: tools for phrase, tools in actions.items() if phrase not in asked}, **own}
        yield {**actions, **own}
        if any(len(mention.places) > 1 for mention in self.every):
            for places in islice(product(*(mention.places for mention in self.every)), MOST_WAYS):
                marks = [marked(place, mark_of(number)) for number, place in enumerate(places)]
                others = {p: t for p, t in actions.items() if p not in {place.phrase for place in places}}
                yield {**others, **{phrase: own[phrase] for phrase in marks}}

    def _asks_each_once(self, rule: PolicyKind) -> bool:
        """Is each condition one of the rule, and of no more actions than it is said of?"""
        asked: dict[Where, set[tuple[str, ...]]] = {}
        for tools in rule.tools:
            if tools.where is not None:
                asked.setdefault(tools.where, set()).add(tools.names)
        said = Counter(mention.where for mention in self.every)
        return all(1 <= len(asked.get(where, ())) <= times for where, times in said.items())

    def _says_the_same(self, rule: PolicyKind, read: Read) -> bool:
        """Does the sentence without its conditions state the rule without them?"""
        try:
            plain = read(self.text, self.names)
        except BadInput:
            return len(self.every) > 1  # `refunds over 500 ... refunds under 100` are one action without them
        bare = _mapped(rule, self._bare)
        same: bool = _compared(bare) == _compared(_mapped(plain, self._bare))
        return same

    def _bare(self, tools: Tools) -> Tools:
        return Tools("", tools.names, tools.agent)

    def _refused(self, bad: BadInput | None, shown: Mapping[str, str], read: Read) -> BadInput:
        """Why it is not read: what is left without the conditions says it."""
        asked = " and ".join(f"'{mention.where.words}'" for mention in self.every)
        rest = _upper(self.text)
        try:
            read(self.text, self.names)
        except BadInput as plain:
            said = [one.message.splitlines()[0] for one in (bad, plain) if one is not None]
            known = next((_unmarked(one, shown) for one in said if one.startswith("cannot read")), None)
            if known is None:
                return BadInput(f"cannot read {rest!r}, which is left of this sentence without {asked}")
            kind = TwoReadings if isinstance(bad, TwoReadings) else BadInput
            return kind(f"{known}; {asked} was understood")
        return BadInput(
            f"cannot read {asked} in this sentence; without it, {rest!r} is a rule about all calls"
        )


def _asks_of_what_is_needed(rule: PolicyKind) -> bool:
    """`If the review's level is 2, review must happen before refund` does not say which refunds are meant."""
    side = {"precedence": 0, "adjacency": 0, "gap": 0, "response": 1, "next_call": 1}.get(rule.kind)
    pairs: Sequence[tuple[Tools, Tools]] = getattr(rule, "pairs", ())
    return side is not None and any(pair[side].where is not None for pair in pairs)


def _no_least(rule: PolicyKind, text: str, every: Sequence[_Mention]) -> None:
    """`Refunds over 500 must be approved` asks for something of each, not for one in every run."""
    if (
        not isinstance(rule, Count)
        or not rule.least
        or re.search(r"\b(?:least|exactly|once|\d+|every run|each run)\b", text, re.I)
    ):
        return
    action = next(tools.phrase for tools in rule.what if tools.where is not None)
    where = every[0].where
    contrary = where.every[0].contrary.words if len(where.every) == 1 else "with what is not allowed"
    plain = action.removesuffix(where.words).rstrip()
    raise BadInput(
        f"cannot read what must happen {where.words}; write '{_upper(plain)} {contrary} must never happen' "
        f"where no other call is allowed, or '{_upper(action)} must happen at least 1 time' where every run "
        f"needs one; what such a call needs is said as 'ACTION must happen before {action}'"
    )


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _unmarked(text: str, shown: Mapping[str, str]) -> str:
    for phrase in sorted(shown, key=len, reverse=True):
        text = text.replace(phrase, shown[phrase])
        text = text.replace(_upper(phrase), _upper(shown[phrase]))
    return re.sub(r"q[a-h]x(?:s|ed|ing)?\b", "", text)


def _shown(tools: Tools, shown: Mapping[str, str]) -> Tools:
    return replace(tools, phrase=_unmarked(tools.phrase, shown)) if tools.where else tools


def _mapped(value: T, change: Callable[[Tools], Tools]) -> T:
    """A rule with other actions in the place of its own."""
    if isinstance(value, Tools):
        return change(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(_mapped(one, change) for one in value)  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type) and _holds_tools(value):
        own = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return replace(value, **{name: _mapped(one, change) for name, one in own.items()})
    return value


def _holds_tools(value: Any) -> bool:
    return hasattr(value, "tools")


def _compared(rule: PolicyKind) -> Any:
    """Without the places of its words, which conditions move."""
    return replace(rule, clauses=()) if hasattr(rule, "clauses") else rule  # type: ignore[type-var]


# ---------------------------------------------------------------- conditions behind a word


_BEHIND = re.compile(r"(?<=[\w\"\u201d])(?=,? )")
_DOES = (
    rf"(?: (?:{MODAL})(?: not| never| only| ever| also)*)?(?: (?:happens?|happen|take place|occurs?"
    r"|be (?:called|done|made|used|performed|executed|run|carried out)"
    r"|(?:is|are) (?:called|done|made|used|performed|executed|run)))"
    r"(?: (?:at most|no more than|more than|exactly|at least))?(?: (?:once|twice|\w+ times))?$"
)
_JOINED = re.compile(r"\b(?:and|or|nor)(?: (?:the|an?|any|every|each|all))*$", re.IGNORECASE)


def _taken(body: str, names: Names) -> _Taken | None:
    """The sentence without its conditions; None where one of them is of no action."""
    clause = _of_a_clause(body, names)
    if clause is not None:
        return clause
    text, mentions = body, list[_Mention]()
    at = 0
    while len(mentions) < MOST_CONDITIONS and (behind := _BEHIND.search(text, at)):
        at = behind.start() + 1
        asked = asked_at(text, behind.start())
        owner = None if asked is None else _owner(text[: asked.start], names)
        if asked is None or owner is None or says_an_action(asked.every, names):
            continue
        start, end, places = owner
        _no_other_action(asked, text, names)
        _no_list(text[:start], asked, text, names, mentions)
        mentions.append(_Mention(start, end, places, asked.where))
        text = _without(text, asked)
        at = asked.start
    return _Taken(text, tuple(mentions), names)


def _no_other_action(asked: Asked, text: str, names: Names) -> None:
    """`Refund over 500 and a credit over 300` may speak of two actions. TwoReadings where it may."""
    first, *more = asked.every
    if any(one.path != first.path and places_of(one.path[0], names) for one in more):
        said = text[asked.start : asked.end].strip(" ,")
        raise TwoReadings(
            f"cannot read {said!r}, as {more[-1].path[0]!r} may be an argument or an action; "
            "say it first where it is an argument, or write two policies"
        )


def _without(text: str, asked: Asked) -> str:
    return f"{text[: asked.start]}{text[asked.end :]}"


def _owner(head: str, names: Names) -> tuple[int, int, tuple[Place, ...]] | None:
    """(start, end, places) of the word that a condition after `head` is said of."""
    head = compiled(OF_THE_SAME).sub("", head)
    bare = compiled(_DOES).sub("", head)
    if bare != head:
        known = actions_in(inflected(f"{bare} must happen", names), names)
        if not known:
            return None
    word = re.search(r"(?P<w>[\w-]+)[\"\u201d]?$", bare)
    if word and word["w"].casefold() in ("call", "calls"):
        bare = bare[: word.start()].rstrip()
        word = re.search(r"(?P<w>[\w-]+)$", bare)
    if word and word["w"].casefold() in PARTICLES:
        verb = re.search(r"(?P<w>[\w-]+) [\w-]+$", bare)
        places = places_of(verb["w"], names) if verb else []
        own = [p for p in places if p.phrase.casefold().split()[1:] == [word["w"].casefold()]]
        return (verb.start("w"), verb.end("w"), tuple(own)) if verb and own else None
    places = places_of(word["w"], names) if word else []
    return (word.start("w"), word.end("w"), tuple(places)) if word and places else None


def _no_list(head: str, asked: Asked, text: str, names: Names, had: Sequence[_Mention]) -> None:
    """`pay and refund over 500` may be both over 500, or the last. TwoReadings where it is such a list."""
    joined = _JOINED.search(head.rstrip())
    before = head[: joined.start()].rstrip() if joined else ""
    word = re.search(r"(?P<w>[\w-]+)$", before)
    if joined is None or word is None or not places_of(word["w"], names):
        return
    between = re.search(r"\bbetween [^,]*$", head, re.IGNORECASE)
    if (between and joined[0].lower().startswith("and")) or any(m.end == word.end() for m in had):
        return
    said = text[asked.start : asked.end].strip(" ,")
    raise TwoReadings(
        f"cannot read {said!r} after a list; write two policies, or {said!r} after each of "
        "the actions that it is said of"
    )


# ---------------------------------------------------------------- conditions of their own clause


_TRAILS = re.compile(r",? (?P<only>only )?(?P<how>if|when|whenever|where|unless) (?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Clause:
    """`the refund's amount exceeds 500`."""

    end: int
    every: tuple[Comparison, ...]
    owner: str
    """The word of the action that it names; empty where it names none."""


def _of_a_clause(body: str, names: Names) -> _Taken | None:
    if m := re.match(r"(?:if|when|whenever|where) ", body, re.IGNORECASE):
        clause = _clause(body, m.end(), names)
        then = clause and re.match(r",(?: then)? (?=\S)", body[clause.end :])
        if clause and then:
            rest = body[clause.end + then.end() :]
            return _belongs(clause, _upper(rest), body[: clause.end], names)
    for m in _TRAILS.finditer(body):
        clause = _clause(body, m.end(), names)
        if clause is None or clause.end != len(body) or _is_behind_an_action(m, body, names):
            continue
        rest, said = body[: m.start()], body[m.start() :].strip(" ,")
        if m["how"].lower() == "unless" or m["only"]:
            if len(clause.every) != 1:
                raise BadInput(
                    f"cannot read {said!r}: of several conditions, write which calls the rule is about"
                )
            clause = replace(clause, every=(clause.every[0].contrary,))
        if m["only"]:
            if len(actions_in(inflected(rest, names), names)) > 1:
                return None
            rest = _forbidden(rest)
        return _belongs(clause, rest, said, names)
    return None


def _is_behind_an_action(m: re.Match[str], body: str, names: Names) -> bool:
    """`before refund where the amount is over 500` says whose amount it is."""
    asked = asked_at(body, m.start())
    return asked is not None and not m["only"] and _owner(body[: asked.start], names) is not None


def _forbidden(rest: str) -> str:
    """What may be done only under a condition must not be done under its contrary."""
    said = compiled(r"\b(?:may|can|must|should|shall)\b(?! not| never)").sub("must never", rest, count=1)
    return said if said != rest else f"Never {rest[:1].lower()}{rest[1:]}"


_DONE = re.compile(r" [a-z]+(?:ed|en|id|ld|nt|pt|un|ne|ft|ut|wn)$")
"""`When the hold is lifted` says what happens, not what is given."""
_WORD = r"[a-z][\w-]*"
_OWNER = rf"(?P<o>{_WORD}(?: {_WORD})??)"


def _clause(text: str, at: int, names: Names) -> _Clause | None:
    """What is said of an argument, from a place on."""
    m = compiled(rf"(?:the|an?|any|that) {_OWNER}(?:'s?|\u2019s?) ").match(text, at)
    found = said_at(text, m.end()) if m else None
    if m and found:
        return _owned(m["o"], found, names)
    the = compiled(r"(?:(?:the|its|their|an?) |args\.)?").match(text, at)
    begin = the.end() if the else at
    for path, end in fields_at(text, begin):
        of = compiled(rf" of (?:the|an?|any|that) {_OWNER} ").match(text, end)
        found = said_of(text, of.end() if of else end + 1, path, bare=bool(the and the[0]))
        if found and not of and (_DONE.search(text[: found[1]]) or _speaks_of(text[at:end], names)):
            return None
        if found:
            return _owned(of["o"], found, names) if of else _Clause(found[1], found[0], "")
    m = compiled(
        rf"(?:(?:the|an?|any|that) {_OWNER}|it|they) (?:is|are|was|were)(?: for| of| worth)? "
    ).match(text, at)
    found = sizes(text, m.end(), (AMOUNT,)) if m else None
    if m and found:
        return _owned(m["o"], found, names) if m["o"] else _Clause(found[1], found[0], "")
    m = compiled(
        rf"(?:(?:the|an?|any|that) {_OWNER}|it|they) (?:has|have) an? (?P<f>{_WORD}) (?:of )?"
    ).match(text, at)
    found = sizes(text, m.end(), field_named(m["f"])) if m else None
    if m and found:
        return _owned(m["o"], found, names) if m["o"] else _Clause(found[1], found[0], "")
    return None


def _speaks_of(words: str, names: Names) -> bool:
    """Do they name what an action is done to, or any thing, rather than an argument?"""
    return bool(re.match("an? ", words, re.IGNORECASE)) or any(
        places_of(word, names) for word in words.split()
    )


def _owned(owner: str, found: tuple[tuple[Comparison, ...], int], names: Names) -> _Clause | None:
    word = owner.split()[-1]
    return _Clause(found[1], found[0], word) if places_of(word, names) else None


def _belongs(clause: _Clause, rest: str, text: str, names: Names) -> _Taken | None:
    """The rest of the sentence, with the word that a clause is said of."""
    known = actions_in(inflected(rest, names), names)
    if not known:
        return None
    meant = {p.phrase.casefold() for p in places_of(clause.owner, names)} if clause.owner else {*known}
    meant &= {*known}
    words = [(m, places_of(m[0], names)) for m in re.finditer(r"[\w-]+", rest)]
    of_it = [(m, p) for m, places in words for p in places if p.phrase.casefold() in meant]
    last = max((p.word for _, p in of_it), default=0)
    found = {m.span(): p for m, p in of_it if p.word == last}
    if len(meant) != 1 or len(found) != 1:
        raise _whose(clause, text, known)
    [((start, end), place)] = found.items()
    return _Taken(rest, (_Mention(start, end, (place,), Where(clause.every)),), names, by_clause=True)


def _whose(clause: _Clause, text: str, known: Sequence[str]) -> BadInput:
    where = Where(clause.every).words
    ways = " or ".join(f"'{phrase} {where}'" for phrase in known[:2])
    return TwoReadings(
        f"cannot read {text!r}, as it leaves open whose argument is meant; say {ways} in its place"
    )
