"""Why a text is not in the language, said about the words themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lark import Token, UnexpectedInput, UnexpectedToken

from synth.errors import BadInput
from synth.language.grammar import Span
from synth.language.lexer import (
    BAD_TIME,
    BARE_JOINT,
    BARE_WHICH,
    OPEN_QUOTE,
    UNKNOWN,
    Vocabulary,
    closest_phrase,
)
from synth.language.words import (
    ARTICLE,
    HAPPENINGS,
    LIST_WORD,
    RELATIVE_WORD,
    VERBS,
    Relation,
    needs_quotes,
)

_EXPECTED = {
    "NAME": "the name of an action",
    "TIME": "a clock time (HH:MM)",
    "VERB": f"a verb such as 'must {VERBS[Relation.PRECEDES][0].text}'",
    "DO": f"a verb such as 'must {HAPPENINGS[0].infinitive}'",
    "LINK": "a word such as 'before' or 'after'",
    "WHICH": f"', {RELATIVE_WORD}'",
    "STOP": "a full stop",
    "_AND": f"'{LIST_WORD}'",
    "_COMMA": "a comma",
    "_JOIN": "';' or ', and'",
}


class ParseError(BadInput):
    """Text outside the language; `span` is the half-open range of code points that the message is about."""

    def __init__(
        self, message: str, text: str, span: Span, *, file: str | None = None, line: int | None = None
    ) -> None:
        self.text, self.span, self.problem = text, span, message
        row = text.count("\n", 0, span[0]) + 1
        many = file is not None or "\n" in text.strip()
        super().__init__(f"{message}\n{pointer(text, span)}", file=file, line=line or (row if many else None))

    def at(self, *, file: str | None = None, line: int | None = None) -> ParseError:
        """The same error with the place filled in where it was unknown."""
        return ParseError(self.problem, self.text, self.span, file=self.file or file, line=line or self.line)


def pointer(text: str, span: Span, width: int = 100) -> str:
    """The line of `text` around a span, and under it the marked words."""
    begin = text.rfind("\n", 0, span[0]) + 1
    end = text.find("\n", begin)
    line = text[begin : len(text) if end < 0 else end]
    column = span[0] - begin
    length = max(1, min(span[1], begin + len(line)) - span[0])
    cut = max(0, column + length + 10 - width) if len(line) > width else 0
    shown = line[cut : cut + width]
    return f"  {shown}\n  {' ' * (column - cut)}{'^' * min(length, max(1, width - column + cut))}"


def wrong_link(token: Token, text: str) -> ParseError:
    """A linking word of the wrong kind: `once B`, `prior to B happens`."""
    words = text[slice(*_span(token))]
    if token.value[1] == "c":
        problem = f"'{words}' needs a whole clause, as in '{words} NAME happens'"
    else:
        problem = f"'{words}' takes a bare name; for a clause write 'before' or 'after'"
    return ParseError(problem, text, _span(token))


def unclear_clause(words: str, text: str, span: Span) -> ParseError:
    """`A and B, which must ...`: of both, or of B alone?"""
    problem = (
        f"after a list, 'which {words}' can mean the whole list or its last name: write 'which have to' or "
        "'which need to' for the whole list, or a sentence of its own for one name"
    )
    return ParseError(problem, text, span)


def explain_unexpected(
    error: UnexpectedInput,
    tokens: Sequence[Token],
    text: str,
    vocabulary: Vocabulary,
    reached: Callable[[str], int],
) -> ParseError:
    """The helpful form of the parser's error; `reached` says how far into a text reading succeeds."""
    assert isinstance(error, UnexpectedToken), "our lexer never fails"
    position = next((i for i, t in enumerate(tokens) if t is error.token), len(tokens))
    expected = _accepted(error)
    found = _Found(tokens, position, text, vocabulary, expected, reached)
    for explain in _EXPLANATIONS:
        result = explain(found)
        if result is not None:
            return ParseError(result[0], text, result[1])
    return ParseError(f"unexpected {found.shown}; expected {found.wanted}", text, found.span)


def _accepted(error: UnexpectedToken) -> frozenset[str]:
    return frozenset(error.accepts or error.expected)


class _Found:
    """The token at which reading stopped, and what is around it."""

    def __init__(
        self,
        tokens: Sequence[Token],
        position: int,
        text: str,
        vocabulary: Vocabulary,
        expected: frozenset[str],
        reached: Callable[[str], int],
    ) -> None:
        self.tokens, self.position, self.text = tokens, position, text
        self.vocabulary, self.expected, self.reached = vocabulary, expected, reached

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.tokens)

    def kind(self, offset: int = 0) -> str:
        index = self.position + offset
        return self.tokens[index].type if 0 <= index < len(self.tokens) else "$END"

    @property
    def span(self) -> Span:
        if self.at_end:
            end = len(self.text.rstrip())
            return (max(0, end - 1), end)
        return _span(self.tokens[self.position])

    @property
    def run(self) -> Span:
        """The unreadable words from here on, up to something that can be read."""
        last = self.position
        while last + 1 < len(self.tokens) and self.tokens[last + 1].type == UNKNOWN:
            last += 1
        return (self.span[0], _span(self.tokens[last])[1])

    @property
    def shown(self) -> str:
        return "end of the text" if self.at_end else f"'{self.text[slice(*self.span)]}'"

    @property
    def wanted(self) -> str:
        words = [said for kind, said in _EXPECTED.items() if kind in self.expected]
        return " or ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} or {words[-1]}"


Explanation = tuple[str, Span]


def _unclosed_quote(found: _Found) -> Explanation | None:
    if found.kind() != OPEN_QUOTE:
        return None
    return "this quotation mark is not closed; put the whole name between quotes", found.span


def _bad_time(found: _Found) -> Explanation | None:
    if found.kind() != BAD_TIME:
        return None
    return f"{found.shown} is not a time of day; write HH:MM between 00:00 and 24:00", found.span


def _missing_comma_before(found: _Found) -> Explanation | None:
    """`A which must ...`, `A must precede B but C ...`."""
    if found.kind() == BARE_WHICH:
        return f"a comma is missing before '{RELATIVE_WORD}'", found.span
    if found.kind() == BARE_JOINT:
        return f"a comma is missing before {found.shown}", found.span
    return None


def _unknown_words(found: _Found) -> Explanation | None:
    """Words that are neither a name nor part of the language."""
    if found.kind() != UNKNOWN:
        return None
    run = found.run
    words = found.text[slice(*run)]
    if "NAME" in found.expected:
        return _unknown_name(found, words), run
    meant = closest_phrase(words)
    if meant is not None:
        return f"cannot read '{words}'; did you mean '{meant}'?", run
    if found.kind(-1) == "NAME":
        longer = (_span(found.tokens[found.position - 1])[0], run[1])
        return _unknown_name(found, found.text[slice(*longer)]), longer
    return f"cannot read '{words}'; expected {found.wanted}", run


_MUST_NOT = re.compile(r"\b(?:must|should|shall|has to|have to|needs? to) (?:not|never)\b", re.IGNORECASE)


def _forbidden(found: _Found) -> Explanation | None:
    """`A must not precede B`: the nearest phrase would say the opposite."""
    if found.kind() != UNKNOWN:
        return None
    run = found.run
    words = found.text[slice(*run)]
    if not _MUST_NOT.search(words):
        return None
    return f"cannot read '{words}'; an order says what must happen, not what must not", run


def _unknown_name(found: _Found, words: str) -> str:
    near = found.vocabulary.closest(words)
    if near is not None:
        return f"unknown name '{words}'; did you mean '{near}'?"
    if "TIME" in found.expected and any(letter.isdigit() for letter in words):
        return f"cannot read '{words}'; a clock time is written HH:MM"
    known = [f"'{phrase}'" for phrase in found.vocabulary.phrases.values()]
    some = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
    return f"unknown name '{words}'; expected one of {some}"


def _name_without_quotes(found: _Found) -> Explanation | None:
    """A name with a grammar word in it, written without quotes around the place of the error."""
    names = [phrase for phrase in found.vocabulary.phrases.values() if needs_quotes(phrase)]
    for index in range(max(0, found.position - 6), min(len(found.tokens), found.position + 1)):
        begin = _span(found.tokens[index])[0]
        for name in names:
            words = r"\s+".join(map(re.escape, name.split()))
            match = re.compile(rf"(?:{ARTICLE}\s+)?({words})", re.IGNORECASE).match(found.text, begin)
            if match and _helps(found, *match.span(1)):
                return f"the name '{name}' contains a grammar word: write it in quotes", match.span(1)
    return None


def _helps(found: _Found, begin: int, end: int) -> bool:
    """Whether quotes around these words let reading get further."""
    quoted = f'{found.text[:begin]}"{found.text[begin:end]}"{found.text[end:]}'
    return found.reached(quoted) > max(found.span[0], end) + 2


def _comma_list(found: _Found) -> Explanation | None:
    """`A, B and C`: has two readings in the whole language, so it is not in it."""
    if found.kind() != "_COMMA" or found.kind(-1) != "NAME" or found.kind(1) != "NAME":
        return None
    first, last = found.position - 1, found.position + 1
    span = (_span(found.tokens[first])[0], _span(found.tokens[last])[1])
    return f"a list with commas is ambiguous; join its names with '{LIST_WORD}' only", span


def _list_or_statement(found: _Found) -> Explanation | None:
    """`A must precede B, and C.`: a list with a comma, or a statement without a verb."""
    if found.kind(-1) != "NAME" or found.kind(-2) != "_JOIN" or found.kind() not in ("STOP", "$END", "_JOIN"):
        return None
    span = (_span(found.tokens[found.position - 2])[0], found.span[1])
    return (
        f"after ', {LIST_WORD}' a new statement begins, and this one has no verb; "
        f"to join names in a list write '{LIST_WORD}' without a comma",
        span,
    )


def _statement_without_comma(found: _Found) -> Explanation | None:
    """`A must precede B and C must follow D`, `A must happen before 15:00 and B ...`."""
    if found.kind() == "_AND" and "_JOIN" in found.expected:
        return f"a comma is missing before '{LIST_WORD}', where a new statement begins", found.span
    if found.kind() not in ("VERB", "DO") or "_JOIN" not in found.expected or "_AND" not in found.expected:
        return None
    for back in range(1, found.position):
        if found.kind(-back) == "_AND":
            index = found.position - back
            said = f"a comma is missing before '{LIST_WORD}', where a new statement begins"
            return said, _span(found.tokens[index])
        if found.kind(-back) != "NAME":
            return None
    return None


def _missing_comma(found: _Found) -> Explanation | None:
    if "_COMMA" not in found.expected or found.kind() not in ("NAME", "VERB", "DO"):
        return None
    return f"a comma is missing before {found.shown}", found.span


def _missing_stop(found: _Found) -> Explanation | None:
    if not found.at_end or "STOP" not in found.expected:
        return None
    return "the last sentence has no full stop; end it with '.'", found.span


_EXPLANATIONS = (
    _unclosed_quote,
    _bad_time,
    _missing_comma_before,
    _name_without_quotes,
    _forbidden,
    _unknown_words,
    _comma_list,
    _list_or_statement,
    _statement_without_comma,
    _missing_comma,
    _missing_stop,
)


def _span(token: Token) -> Span:
    return (token.start_pos or 0, token.end_pos or 0)
