"""Sentences of clauses: what is demanded, when, and only if what else has or has not happened.

The actions of a sentence stand as the file names them (see `inflected`). A sentence is taken apart as a
whole: a main clause and what it depends on, each one of a few, with actions of the file, so that no word is
passed over. What has one meaning is said in the language's words; what has two is refused with both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from synth.policies.clauses import CONDITIONS, MAIN, ONCE, WISH
from synth.policies.kinds.count import number_of
from synth.policies.names import Names, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.phrasing import in_windows, same_at_the_end

_NOT_BOTH = r"\b(?:never|not|cannot|don['\u2019]t) (?:ever |happen )?both\b"
"""What forbids two together forbids neither by itself."""


def composed(text: str, names: Names) -> str | None:
    """The sentence in the language's words; None where it is no such one. TwoReadings where two are meant."""
    said = " ".join(text.split()).rstrip(".")
    if "«" in said or compiled(_NOT_BOTH).search(said):
        return None
    said, same = same_at_the_end(said, names)
    phrases = tuple(names.actions)
    marked = _said_once(in_windows(by_number(said, phrases)))
    marked, per = _scope_of(marked)
    for main, conditions in _taken_apart(marked):
        words = _Sentence(main, conditions, phrases, same, per).words()
        if words is not None:
            return words if same in words else None
    return None


@lru_cache(maxsize=16)
def _all_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
    one = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{one})(?!\w)", re.IGNORECASE)


def by_number(text: str, phrases: tuple[str, ...]) -> str:
    """The actions of a text by their numbers."""
    number = {phrase.casefold(): k for k, phrase in enumerate(phrases)}
    return _all_of(phrases).sub(lambda m: f"«{number[m[0].casefold()]}»", text)


def _said_once(text: str) -> str:
    """Without what says the same in more words."""
    for pattern, said in ONCE:
        text = compiled(pattern).sub(said, text).strip()
    return text


_SCOPES = (
    r"(?:per|in (?:a|an|any|each|every|one|a single|the same)|within (?:a|any|each|every|one|the"
    r" same|a single))"
)


def _scope_of(text: str) -> tuple[str, str]:
    """The sentence without what it is counted over, and that."""
    for pattern in (
        rf"^{_SCOPES} (?P<per>conversation|session|run),? ",
        rf",? {_SCOPES} (?P<per>conversation|session|run)\b",
    ):
        if found := compiled(pattern).search(text):
            rest = f"{text[: found.start()]}{text[found.end() :]}"
            return rest, " per run" if found["per"].lower() == "run" else " per conversation"
    return text, ""


@dataclass(frozen=True, slots=True)
class _Clause:
    kind: str
    said: Mapping[str, str | None]
    only: bool = False
    leads: bool = False

    def get(self, slot: str) -> str:
        return self.said.get(slot) or ""


def _taken_apart(text: str) -> Iterator[tuple[_Clause, tuple[_Clause, ...]]]:
    """The main clause of a sentence, and what it depends on, in every way that leaves no word."""
    text = compiled(rf"^{WISH}").sub("", text)
    for leads, rest in _leading(text):
        for main, trails in _trailing(compiled(rf"^{WISH}").sub("", rest)):
            for kind, pattern in MAIN:
                if match := compiled(pattern).fullmatch(main):
                    yield _Clause(kind, match.groupdict()), (*leads, *trails)


def _leading(text: str) -> Iterator[tuple[tuple[_Clause, ...], str]]:
    for kind, pattern in CONDITIONS:
        if match := compiled(rf"(?P<only>only )?{pattern}(?:,(?: then)?|,? then) (?P<rest>.+)").fullmatch(
            text
        ):
            clause = _Clause(kind, match.groupdict(), bool(match["only"]), leads=True)
            for more, rest in _leading(match["rest"]):
                yield (clause, *more), rest
    yield (), text


def _trailing(text: str) -> Iterator[tuple[str, tuple[_Clause, ...]]]:
    for kind, pattern in CONDITIONS:
        for only in ("only ", ""):
            if match := compiled(rf"(?P<rest>.+?),? {only}{pattern}").fullmatch(text):
                clause = _Clause(kind, match.groupdict(), bool(only))
                for rest, more in _trailing(match["rest"]):
                    yield rest, (*more, clause)
    yield text, ()


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One way in which a sentence was taken apart."""

    main: _Clause
    conditions: Sequence[_Clause]
    phrases: Sequence[str]
    same: str
    per: str

    def words(self) -> str | None:
        kinds = " ".join(sorted(clause.kind for clause in self.conditions))
        only = self.main.kind == "only" or any(clause.only for clause in self.conditions)
        if self.per and self.main.kind not in ("count", "beyond"):
            return None
        if only and self.main.kind not in ("only", "may", "must", "do"):
            return None
        if self.main.kind == "only" and any(clause.leads and not clause.only for clause in self.conditions):
            return None
        table = {"only": _ONLY} if only else {"never": _NEVER, "nothing": _NEVER, "do": _MUST, "must": _MUST}
        way = table.get("only" if only else self.main.kind, _OTHERS).get(f"{self.main.kind}: {kinds}")
        way = way or table.get("only" if only else self.main.kind, {}).get(kinds)
        if self.main.kind == "nothing" and kinds == "before":
            return None
        return way(self) if way is not None else None

    @property
    def a(self) -> str:
        return "any tool" if self.main.kind == "nothing" else self.actions(self.main.get("a"))

    @property
    def e(self) -> str:
        return self.actions(self.main.get("e"))

    def of(self, kind: str) -> _Clause:
        return next(clause for clause in self.conditions if clause.kind == kind)

    def b(self, kind: str, slot: str = "b") -> str:
        clause = self.of(kind)
        return self.actions(clause.get(slot) or clause.get("c"))

    def d(self, kind: str) -> str:
        clause = self.of(kind)
        return clause.get("d") or clause.get("x")

    def actions(self, text: str) -> str:
        """`<3> and the <4>` by their names."""
        said = [self.phrases[int(number)] for number in re.findall(r"«(\d+)»", text)]
        return (" or " if " or " in text else " and ").join(map(in_quotes, said))


Way = Callable[[_Sentence], str | None]


def in_quotes(phrase: str) -> str:
    """An action as a sentence names it, in quotes where its words have a meaning of their own."""
    from synth.language.words import needs_quotes  # the language half, only for files that have sentences

    return f'"{phrase}"' if needs_quotes(phrase) else phrase


def quoted(text: str) -> str:
    """A sentence as a message shows it."""
    return f"'{text[0].upper()}{text[1:]}'"


def actions_in(text: str, names: Names) -> tuple[str, ...]:
    """The actions that a sentence names, each once; they stand in it as the file names them."""
    return tuple(dict.fromkeys(m[0].casefold() for m in _all_of(tuple(names.actions)).finditer(text)))


def _needs(kind: str) -> Way:
    return lambda s: f"{s.b(kind)} must happen before {s.a}{s.same}"


def _never_before(s: _Sentence) -> str | None:
    """`Not before B has happened` needs B; a mere `not before B` may forbid B afterwards."""
    a, b, clause = s.a, s.b("before"), s.of("before")
    needed = f"{b} must happen before {a}{s.same}"
    if clause.get("perfect"):
        return needed
    if " nor " not in s.main.get("a"):
        return needed if clause.get("present") else None
    raise TwoReadings(
        f"cannot read 'before'; write {quoted(needed)} where {b} is needed first, or "
        f"{quoted(f'{b} must never happen after {a}{s.same}')} where it is forbidden afterwards"
    )


def _never_while(s: _Sentence) -> str:
    """While a call runs, or in a state that it leaves behind."""
    a, b = s.a, s.b("while")
    if not s.of("while").get("present"):
        return f"{a} must not overlap {b}{s.same}"
    raise TwoReadings(
        f"cannot read '{s.of('while').get('said')}'; write {quoted(f'{a} must not overlap {b}{s.same}')},"
        f" where {b} may "
        f"not start while {a} runs either, or {quoted(f'{a} must never happen after {b}{s.same}')}, with"
        " 'until ACTION' after it where an action ends that"
    )


def _never_around(s: _Sentence) -> str:
    a, b, d = s.a, s.b("around"), s.d("around")
    after = quoted(f"{a} must never happen within {d} after {b}{s.same}")
    raise TwoReadings(
        f"cannot read 'within {d} of'; write {after} where only what comes later is meant, or two policies: "
        f"{after} and {quoted(f'{b} must never happen within {d} after {a}{s.same}')}"
    )


def _never_if(s: _Sentence) -> str | None:
    return f"{s.a} must never happen after {s.b('if')}{s.same}" if s.of("if").get("perfect") else None


def _later_after(s: _Sentence) -> str | None:
    return _answered("after")(s) if s.of("after").leads else None


def _order_or_answer(kind: str) -> Way:
    """`Send a receipt after paying` has two meanings; `after paying, send a receipt` has one."""

    def way(s: _Sentence) -> str:
        a, b, clause = s.a, s.b(kind), s.of(kind)
        told = kind == "after" or (clause.get("perfect") and s.main.kind == "must")
        if clause.leads and told:
            return f"{b} must be followed by {a}{s.same}"
        raise TwoReadings(
            f"cannot read '{s.of(kind).get('said')}'; write"
            f" {quoted(f'{b} must be followed by {a}{s.same}')} "
            f"where {a} may not be left out, or {quoted(f'{b} must happen before {a}{s.same}')} where {b} "
            "is needed first"
        )

    return way


def _every(s: _Sentence) -> str | None:
    """`A whenever B` demands an answer; `whenever B, A` leaves open which comes first."""
    if s.of("every").leads:
        return _order_or_answer("every")(s)
    return f"{s.b('every')} must be followed by {s.a}{s.same}"


def _answered(kind: str) -> Way:
    return lambda s: f"{s.b(kind)} must be followed by {s.a}{s.same}"


def _answered_within(kind: str) -> Way:
    def way(s: _Sentence) -> str:
        return f"{s.b(kind)} must be followed by {s.a} within {s.d('time')}{s.same}"

    return way


def _within_after(s: _Sentence) -> str:
    return f"{s.b('within')} must be followed by {s.a} within {s.d('within')}{s.same}"


def _earliest(s: _Sentence) -> str | None:
    a, b, d = s.a, s.b("earliest"), s.d("earliest")
    if s.main.kind in ("must", "do") and compiled(r"(?:less|earlier|sooner) than").match(
        s.of("earliest").get("said")
    ):
        return None
    raise TwoReadings(
        f"cannot read '{s.of('earliest').get('said')} {d} after'; write "
        f"{quoted(f'{a} must never happen within {d} after {b}{s.same}')}, or "
        f"{quoted(f'{a} must start at least {d} after {b}')} where an earlier {b} is needed too"
    )


def _never_so_soon(s: _Sentence) -> str | None:
    """`Never less than 5 minutes after B` asks for no B; `never sooner than that` may."""
    if s.of("earliest").get("said").lower() != "less than":
        return _earliest(s)
    return f"{s.a} must never happen within {s.d('earliest')} after {s.b('earliest')}{s.same}"


def _around(s: _Sentence) -> str:
    a, b, d = s.a, s.b("around"), s.d("around")
    raise TwoReadings(
        f"cannot read 'within {d} of'; write {quoted(f'{a} must start within {d} of {b}')}, before"
        f" or after, or "
        f"{quoted(f'{a} must start within {d} after {b}')}, or"
        f" {quoted(f'{b} must be followed by {a} within {d}')} "
        f"where {a} may not be left out"
    )


def _counted(s: _Sentence) -> str:
    how = s.main.get("how").lower()
    least = how if how in ("at least", "exactly") else "at most"
    if s.main.kind == "beyond":
        least = "at most"
    number = number_of(s.main.get("n"))
    within = f" within {s.d('time')}" if any(c.kind == "time" for c in s.conditions) else ""
    return f"{s.a} must happen {least} {number} times{s.per}{within}{s.same}"


_NEVER: Mapping[str, Way] = {
    "": lambda s: f"{s.a} must never happen",
    "needed": _needs("needed"),
    "absent": _needs("absent"),
    "until": _needs("until"),
    "before": _never_before,
    "after": lambda s: f"{s.a} must never happen after {s.b('after')}{s.same}",
    "if": _never_if,
    "after until": lambda s: f"{s.a} must never happen after {s.b('after')} until {s.b('until')}{s.same}",
    "failed until": lambda s: (
        f"If {s.b('failed')} fails, {s.a} must never happen until {s.b('until')}{s.same}"
    ),
    "between": lambda s: (
        f"{s.a} must never happen between {s.b('between')} and {s.b('between', 'c')}{s.same}"
    ),
    "failed": lambda s: f"If {s.b('failed')} fails, {s.a} must never happen afterwards{s.same}",
    "failed time": lambda s: (
        f"{s.a} must never happen within {s.d('time')} after {s.b('failed')} fails{s.same}"
    ),
    "failed within": lambda s: (
        f"{s.a} must never happen within {s.d('failed within')} after {s.b('failed within')} fails{s.same}"
    ),
    "within": lambda s: f"{s.a} must never happen within {s.d('within')} after {s.b('within')}{s.same}",
    "after time": lambda s: f"{s.a} must never happen within {s.d('time')} after {s.b('after')}{s.same}",
    "around": _never_around,
    "after lasting": lambda s: (
        f"{s.a} must never happen within {s.d('lasting')} after {s.b('after')}{s.same}"
    ),
    "failed lasting": lambda s: (
        f"{s.a} must never happen within {s.d('lasting')} after {s.b('failed')} fails{s.same}"
    ),
    "while": _never_while,
    "earliest": _never_so_soon,
}
_MUST: Mapping[str, Way] = {
    "before": lambda s: f"{s.a} must happen before {s.b('before')}{s.same}",
    "adjacent": lambda s: f"{s.a} must happen immediately before {s.b('adjacent')}{s.same}",
    "after": _order_or_answer("after"),
    "if": _order_or_answer("if"),
    "every": _every,
    "each": _answered("each"),
    "each time": _answered_within("each"),
    "after time": _answered_within("after"),
    "every time": _answered_within("every"),
    "if time": _answered_within("if"),
    "within": _within_after,
    "earliest": _earliest,
    "around": _around,
    "later": lambda s: f"{s.a} must start at least {s.d('later')} after {s.b('later')}",
    "failed": lambda s: f"If {s.b('failed')} fails, {s.a} must follow{s.same}",
    "failed time": lambda s: f"If {s.b('failed')} fails, {s.a} must follow within {s.d('time')}{s.same}",
    "failed within": lambda s: (
        f"If {s.b('failed within')} fails, {s.a} must follow within {s.d('failed within')}{s.same}"
    ),
}
_ONLY: Mapping[str, Way] = {
    "earliest": _earliest,
    "after": _needs("after"),
    "if": _needs("if"),
    "absent": lambda s: f"{s.a} must never happen after {s.b('absent')}{s.same}",
}
_OTHERS: Mapping[str, Way] = {
    "later: after": _later_after,
    "later: every": _answered("every"),
    "later: each": _answered("each"),
    "later: if": _answered("if"),
    "later: after time": _answered_within("after"),
    "later: every time": _answered_within("every"),
    "later: if time": _answered_within("if"),
    "later: failed": lambda s: f"If {s.b('failed')} fails, {s.a} must follow{s.same}",
    "later: failed time": lambda s: (
        f"If {s.b('failed')} fails, {s.a} must follow within {s.d('time')}{s.same}"
    ),
    "comes: before": lambda s: f"{s.a} must happen before {s.b('before')}{s.same}",
    "comes: adjacent": lambda s: f"{s.a} must happen immediately before {s.b('adjacent')}{s.same}",
    "comes: after": _needs("after"),
    "first: before": lambda s: f"{s.a} must happen before {s.b('before')}{s.same}",
    "first: for it": lambda s: f"{s.a} must happen before {s.b('for it')}{s.same}",
    "count: ": _counted,
    "count: time": _counted,
    "beyond: ": _counted,
    "beyond: time": _counted,
    "answer: ": lambda s: f"{s.main.get('failed')}{s.a} must be followed by {s.e}{s.same}",
    "answer: time": lambda s: (
        f"{s.main.get('failed')}{s.a} must be followed by {s.e} within {s.d('time')}{s.same}"
    ),
    "may: earliest": _earliest,
    "apart: ": lambda s: (
        f"{s.a} must never happen within {s.main.get('d')} after {s.actions(s.main.get('b'))}{s.same}"
    ),
    "order: ": lambda s: f"{s.e} must happen before {s.a}{s.same}",
}
