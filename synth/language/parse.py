"""From English to trees and constraints, with errors that point at the words.

The grammar is LALR(1) without a conflict, which `strict=True` proves each time it is built; so on
tokens every text has at most one reading. Two decisions make that possible: lists are joined by
"and" alone, and ", which" is one token. Shared beginnings (`A must happen before B ...`) are
factored by hand; whether a linking word may stand there (`once B` is not English) is checked when
the rule is reduced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lark import Lark, Token, UnexpectedInput
from lark.lexer import Lexer

from synth.errors import BadInput
from synth.formal.constraints import Constraint
from synth.language.derive import constraints_of
from synth.language.grammar import Form, Moment, Names, Relative, Sentence, Span, SubSentence, Target
from synth.language.lexer import Named, Vocabulary, tokenize
from synth.language.parse_errors import ParseError, explain_unexpected, unclear_clause, wrong_link
from synth.language.words import MODALS, Relation

__all__ = ["ParseError", "ParsedParagraph", "must_show_number", "parse", "read_paragraph"]

GRAMMAR = """
paragraph: sentence+
sentence: part (_JOIN part)* STOP
part: head VERB target                              -> verb
    | head DO LINK target                           -> adverb
    | LINK TIME _COMMA head DO                      -> fronted_time
    | LINK list _COMMA head DO                      -> fronted
    | LINK list relative _COMMA head DO             -> fronted
    | head DO LINK list DO                          -> clause
    | head DO LINK list relative _COMMA DO          -> clause
    | LINK list DO _COMMA head DO                   -> led
    | LINK list relative _COMMA DO _COMMA head DO   -> led
?head: list
     | list relative _COMMA                         -> described
?target: list
       | list relative                              -> described
       | TIME                                       -> moment
relative: WHICH VERB target                         -> relative_verb
        | WHICH DO LINK target                      -> relative_adverb
list: NAME                                          -> one
    | list _AND NAME                                -> more
%declare NAME TIME VERB DO LINK WHICH STOP _AND _COMMA _JOIN
"""


@dataclass(frozen=True, slots=True)
class ParsedParagraph:
    """What a paragraph says."""

    text: str
    sentences: tuple[Sentence, ...]
    constraints: tuple[Constraint, ...]
    """In reading order, each with its sentence and the span of its smallest clause."""
    mentions: tuple[tuple[str, Span], ...]
    """(action id, where it is named), in reading order."""


def parse(paragraph: str, names: Iterable[Named | Mapping[str, Any]]) -> ParsedParagraph:
    """Read a paragraph; `names` are actions or `{"id", "phrase", "tool"}`.

    Raises ParseError (a BadInput) for text outside the language, BadInput for unusable names.
    """
    return read_paragraph(paragraph, Vocabulary(names))


def read_paragraph(paragraph: str, vocabulary: Vocabulary) -> ParsedParagraph:
    """`parse` with a vocabulary made before, for many texts over the same names."""
    tokens = tokenize(paragraph, vocabulary)
    if not tokens:
        raise BadInput("the paragraph is empty; write at least one sentence", field="paragraph")
    try:
        sentences: tuple[Sentence, ...] = _lark().parse(tokens)  # type: ignore[assignment]
    except UnexpectedInput as error:
        raise explain_unexpected(
            error, tokens, paragraph, vocabulary, lambda text: _reached(text, vocabulary)
        ) from None
    except _WrongLink as error:
        raise wrong_link(error.token, paragraph) from None
    mentions = tuple((token.value, _span(token)) for token in tokens if token.type == "NAME")
    return ParsedParagraph(paragraph, sentences, constraints_of(sentences), mentions)


def must_show_number(read: ParsedParagraph) -> ParsedParagraph:
    """The same, where every clause after a list says that it speaks of the whole list.

    Raises ParseError for the first that does not: of `A and B, which must ...` some readers take B alone. For
    texts that somebody writes today; the paragraph of a stored case is read as it was meant.
    """
    for sentence in read.sentences:
        for part in sentence.parts:
            for names in (part.subject, part.target):
                _must_show_number(names, read.text)
    return read


def _must_show_number(names: Target, text: str) -> None:
    if not isinstance(names, Names) or names.relative is None:
        return
    clause = names.relative
    assert clause.span is not None, "a clause that was read has a place"
    words = " ".join(text[slice(*clause.span)].lower().split()[1:3])
    if len(names.actions) > 1 and words not in _PLURALS:
        raise unclear_clause(words, text, clause.span)
    _must_show_number(clause.target, text)


_PLURALS = frozenset(modal.plural for modal in MODALS if modal.shows_number)


def _reached(text: str, vocabulary: Vocabulary) -> int:
    """The code point at which reading stops; beyond the end if all of it can be read."""
    tokens = tokenize(text, vocabulary)
    try:
        _lark().parse(tokens)
    except UnexpectedInput as error:
        return next((_span(t)[0] for t in tokens if t is getattr(error, "token", None)), len(text))
    except _WrongLink as error:
        return _span(error.token)[0]
    return len(text) + 10


class _WrongLink(Exception):
    """A preposition where a clause follows, or a conjunction before a bare name."""

    def __init__(self, token: Token) -> None:
        super().__init__(str(token))
        self.token = token


class _GivenTokens(Lexer):
    """Lark's view of a list of tokens that we made ourselves."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, tokens: Sequence[Token]) -> Iterator[Token]:  # type: ignore[override]
        return iter(tokens)


@dataclass(slots=True)
class _Placed:
    """A list of names and where it begins and ends."""

    names: Names
    begin: int
    end: int


class _Builder:
    """Makes the trees while Lark reduces; each method takes the children of one rule."""

    def paragraph(self, sentences: list[Sentence]) -> tuple[Sentence, ...]:
        return tuple(sentences)

    def sentence(self, children: list[Any]) -> Sentence:
        *parts, stop = children
        return Sentence(tuple(parts), (parts[0].span[0], stop.end_pos))

    def one(self, children: list[Token]) -> _Placed:
        (name,) = children
        return _Placed(Names((name.value,)), name.start_pos or 0, name.end_pos or 0)

    def more(self, children: list[Any]) -> _Placed:
        names, name = children
        return _Placed(Names((*names.names.actions, name.value)), names.begin, name.end_pos)

    def described(self, children: list[Any]) -> _Placed:
        names, relative = children
        return _Placed(Names(names.names.actions, relative), names.begin, relative.span[1])

    def moment(self, children: list[Token]) -> Token:
        return children[0]

    def relative_verb(self, children: list[Any]) -> Relative:
        which, verb, target = children
        return self._relative(Form.VERB, which, Relation(verb.value), target)

    def relative_adverb(self, children: list[Any]) -> Relative:
        which, _do, link, target = children
        return self._relative(Form.ADVERB, which, _relation(link, clausal=False), target)

    def _relative(self, form: Form, which: Token, relation: Relation, target: _Placed | Token) -> Relative:
        # The token begins at its comma, the clause at its word.
        begin = (which.end_pos or 0) - len("which")
        return Relative(form, relation, _target(target), (begin, _end(target)))

    def verb(self, children: list[Any]) -> SubSentence:
        subject, verb, target = children
        span = (subject.begin, _end(target))
        return SubSentence(Form.VERB, Relation(verb.value), subject.names, _target(target), span)

    def adverb(self, children: list[Any]) -> SubSentence:
        subject, _do, link, target = children
        relation = _relation(link, clausal=False)
        return SubSentence(
            Form.ADVERB, relation, subject.names, _target(target), (subject.begin, _end(target))
        )

    def fronted_time(self, children: list[Any]) -> SubSentence:
        link, time, subject, do = children
        relation = _relation(link, clausal=False)
        return SubSentence(Form.FRONTED, relation, subject.names, _target(time), _from_to(link, do))

    def fronted(self, children: list[Any]) -> SubSentence:
        link, target, *relative, subject, do = children
        relation = _relation(link, clausal=False)
        return SubSentence(Form.FRONTED, relation, subject.names, _with(target, relative), _from_to(link, do))

    def clause(self, children: list[Any]) -> SubSentence:
        subject, _do, link, target, *relative, do = children
        relation = _relation(link, clausal=True)
        span = (subject.begin, do.end_pos)
        return SubSentence(Form.CLAUSE, relation, subject.names, _with(target, relative), span)

    def led(self, children: list[Any]) -> SubSentence:
        link, target, *relative, _do, subject, do = children
        relation = _relation(link, clausal=True)
        return SubSentence(Form.LED, relation, subject.names, _with(target, relative), _from_to(link, do))


def _relation(link: Token, *, clausal: bool) -> Relation:
    relation, use = link.value
    if use == ("p" if clausal else "c"):
        raise _WrongLink(link)
    return Relation(relation)


def _target(target: _Placed | Token) -> Target:
    return Moment(int(target.value)) if isinstance(target, Token) else target.names


def _with(target: _Placed, relative: list[Relative]) -> Names:
    return Names(target.names.actions, relative[0]) if relative else target.names


def _end(target: _Placed | Token) -> int:
    return (target.end_pos or 0) if isinstance(target, Token) else target.end


def _span(token: Token) -> Span:
    return (token.start_pos or 0, token.end_pos or 0)


def _from_to(first: Token, last: Token) -> Span:
    return (first.start_pos or 0, last.end_pos or 0)


@cache
def _lark() -> Lark:
    return Lark(
        GRAMMAR, start="paragraph", parser="lalr", lexer=_GivenTokens, strict=True, transformer=_Builder()
    )
