"""Policy sentences: the forms that only policies have, and the language of the queries.

A sentence that no form of our kinds matches is read by the grammar of the queries (`synth.language.parse`):
order and clock times. What that cannot read either is left to the kinds of other distributions: whatever
their forms match, no sentence of ours changes its meaning. In policies `must be followed by` demands an
answer to every trigger, which the queries' language does not say; there it is plain order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from synth.errors import BadInput
from synth.formal.constraints import Constraint
from synth.policies.evidence import Noun
from synth.policies.kinds import KINDS
from synth.policies.kinds.kind import Form, Paths, PolicyKind, Relation, Sentence
from synth.policies.names import Names, Span

_SAME = re.compile(r"^(?P<rest>.+?),? with the same (?P<fields>[^\s,;]+(?: and [^\s,;]+)*)$", re.I)


OURS: tuple[Form, ...] = tuple(form for kind in KINDS for form in kind.forms)


def read_sentence(sentence: str, names: Names, forms: Sequence[Form] = OURS) -> PolicyKind:
    """The rule that one sentence states. BadInput says what cannot be read, and lists the forms."""
    text = " ".join(sentence.split())
    if not text:
        raise BadInput("the sentence is empty")
    body = text.removesuffix(".").strip()
    same: Paths = ()
    if with_same := _SAME.match(body):
        body, same = with_same["rest"], same_fields(with_same["fields"])
    ours = [form for form in forms if form in OURS]
    rule = _by_form(body, names, same, ours)
    if rule is not None:
        return rule
    try:
        return _by_grammar(f"{body}.", names, same, forms)
    except BadInput:
        rule = _by_form(body, names, same, [form for form in forms if form not in ours])
        if rule is None:
            raise
        return rule


def whole(sentence: str) -> Span:
    """The words of a sentence without its full stop."""
    return 0, len(sentence.removesuffix(".").rstrip())


def _by_form(body: str, names: Names, same: Paths, forms: Sequence[Form]) -> PolicyKind | None:
    """By the first of the forms that matches all of it."""
    refused = False
    for form in forms:
        if not isinstance(form, Sentence) or (form.only_same and not same):
            continue
        if match := form.match(body):
            if form.same or not same:
                return form.build(match, names, same)
            refused = True
    _no_other(same, not refused)
    return None


def same_fields(text: str) -> Paths:
    if text.lower() in ("arguments", "parameters", "args", "inputs"):
        raise BadInput(
            f"cannot read 'the same {text}' of a call, which are all of them; name those that must be the "
            "same, as in 'with the same order_id', or limit equal calls of a tool by `limits: {same_call: 1}`"
        )
    fields = re.split(r" and ", text)
    if strange := next((field for field in fields if field.lower() in _NO_FIELD), None):
        raise BadInput(f"cannot read {strange!r} as the name of an argument")
    return tuple((path, path) for path in map(_path, fields))


_NO_FIELD = frozenset(
    ["never", "not", "no", "nor", "or", "only", "always", "then", "also", "but", "than", "without", "of"]
)
"""Words that no argument is called by."""


def _path(field: str) -> tuple[str, ...]:
    """`order_id`, `user.name`; one plain word may also be what an `_id` is of."""
    return (Noun(field),) if re.fullmatch(r"[a-z]+", field) else tuple(field.split("."))


def _no_other(same: Paths, allowed: bool) -> None:
    if same and not allowed:
        raise BadInput("only order (`before`), `followed by` and `at most` can ask for the same arguments")


def _by_grammar(sentence: str, names: Names, same: Paths, forms: Sequence[Form]) -> PolicyKind:
    from synth.language.parse import read_paragraph  # the language half, only for files that have sentences

    said = read_paragraph(sentence, names.vocabulary).constraints
    form = _relation(said, forms)
    _no_other(same, form.same)
    return form.build(said, names, same)


def _relation(said: Sequence[Constraint], forms: Sequence[Form]) -> Relation:
    for form in forms:
        if isinstance(form, Relation) and all(isinstance(c, form.constraints) for c in said):
            return form
    raise BadInput("one sentence states an order and a clock time; write two policies")
