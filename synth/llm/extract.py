"""Free text to constraints with a model, and constraints to text: never trusted, always checked.

The model only proposes sentences of our language; the parser reads them, and a second sample and the
conflict search (with Z3 where installed) judge them. Whatever is doubtful is reported as a problem
of the result and never accepted silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from synth.cases.case import Case
from synth.cases.confirm import z3_installed
from synth.cases.generate import Options, generate
from synth.errors import BadInput
from synth.formal.conflict import find_conflict
from synth.formal.constraints import Constraint, outline_of, restated
from synth.formal.model import Spec
from synth.formal.order import transitive_reduction
from synth.language.lexer import Named, Vocabulary
from synth.language.parse import ParsedParagraph, ParseError, must_show_number, read_paragraph
from synth.language.words import spelled
from synth.llm.chat import Message, NoAnswer, ask, assistant, system, user, without_fences

LANGUAGE_RULES = """\
Write only sentences of this controlled English; each ends with a full stop.
- A must precede B.   A must follow B.
- A must happen before B.   A must happen after B.
- Before B, A must happen.   After B, A must happen.
- A must happen before B happens.   Once B happens, A must happen.
- A must happen before 15:00.   After 09:00, A must happen.   (clock times as HH:MM)
- A, which must follow C, must precede B.
A and B stand for names from the list. Names are written exactly as listed, with the quotation marks
where the list has them, optionally after "the". Join several names with "and" only, never with commas.
Begin a new statement with ", and", ", but" or a new sentence. Say nothing else: no introduction, no
numbering."""

_EXTRACT = """\
Rewrite the requirements below as controlled English. State every ordering or time requirement that the text \
contains and none that it does not contain.

{rules}

Names:
{names}

Text:
{text}"""

_WRITE = """\
Write a paragraph that states exactly the following constraints, in natural and varied wording.

{rules}

Names:
{names}

Constraints:
{constraints}"""

_REPAIR = "That cannot be read:\n{error}\nWrite all of the sentences again, corrected, and nothing else."


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of the model."""

    text: str
    parsed: ParsedParagraph | None
    error: str | None = None
    """Why the last answer could not be read."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a free text says, as far as that can be trusted."""

    samples: tuple[Sample, ...]
    constraints: tuple[Constraint, ...]
    """Of the first readable sample; with problems they are a proposal only."""
    problems: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """No doubt was found."""
        return not self.problems

    @property
    def paragraph(self) -> str | None:
        """The sentences that `constraints` come from."""
        return next((sample.text for sample in self.samples if sample.parsed), None)


def extract(
    text: str,
    names: Iterable[Named | Mapping[str, Any]],
    client: Any,
    model: str,
    *,
    samples: int = 2,
    repairs: int = 1,
    temperature: float | None = None,
) -> Extraction:
    """Constraints that a free text states over `names`, proposed by a model and checked.

    `client` is an `openai.OpenAI`-like client. Each of the `samples` independent answers may be
    repaired `repairs` times by sending the parser's message back.
    """
    vocabulary = Vocabulary(names)
    prompt = _EXTRACT.format(rules=LANGUAGE_RULES, names=_listed(vocabulary), text=text)
    drawn = tuple(_sample(prompt, vocabulary, client, model, repairs, temperature) for _ in range(samples))
    readable = [sample.parsed for sample in drawn if sample.parsed is not None]
    constraints = readable[0].constraints if readable else ()
    return Extraction(drawn, constraints, tuple(_problems(drawn, vocabulary)))


def _listed(vocabulary: Vocabulary) -> str:
    return "\n".join(f"- {spelled(phrase)}" for phrase in vocabulary.phrases.values())


def _sample(
    prompt: str, vocabulary: Vocabulary, client: Any, model: str, repairs: int, temperature: float | None
) -> Sample:
    messages: list[Message] = [system("You translate requirements into controlled English."), user(prompt)]
    for _ in range(repairs + 1):
        text = without_fences(ask(client, model, messages, temperature))
        try:
            return Sample(text, must_show_number(read_paragraph(text, vocabulary)))
        except BadInput as error:
            said = error.problem if isinstance(error, ParseError) else error.message
            sample = Sample(text, None, said)
            messages += [assistant(text), user(_REPAIR.format(error=error.message))]
    return sample


def _problems(samples: Sequence[Sample], vocabulary: Vocabulary) -> list[str]:
    name = vocabulary.phrases.__getitem__
    problems = [
        f"sample {number} is not in the language: {sample.error}"
        for number, sample in enumerate(samples, 1)
        if sample.parsed is None
    ]
    readable = [sample.parsed for sample in samples if sample.parsed is not None]
    for parsed in readable:
        conflict = find_conflict(parsed.constraints)
        if conflict is not None:
            problems.append(conflict.explain(name, parsed.text))
            return problems
    ids = tuple(vocabulary.phrases)
    for parsed in readable[1:]:
        problems += _disagreements(ids, readable[0].constraints, parsed.constraints, name)
    return problems


def _disagreements(
    ids: Sequence[str], one: Sequence[Constraint], other: Sequence[Constraint], name: Any
) -> list[str]:
    """What only one of two satisfiable sets demands."""
    first, second = meaning(ids, one), meaning(ids, other)
    said = [f"only one of two samples says that {c.words(name)}" for c in first if c not in second]
    said += [f"only one of two samples says that {c.words(name)}" for c in second if c not in first]
    return said or ([] if _equivalent(ids, one, other) else ["Z3 finds that two samples differ in meaning"])


def meaning(ids: Sequence[str], constraints: Iterable[Constraint]) -> list[Constraint]:
    """The canonical form of a satisfiable set: the reduced order, then the tightest limits."""
    outline = outline_of(ids, constraints)
    return restated(outline, transitive_reduction(outline.order))


def _equivalent(ids: Sequence[str], one: Sequence[Constraint], other: Sequence[Constraint]) -> bool:
    """Z3's opinion, where it is installed."""
    if not z3_installed():
        return True
    from synth.formal.solver import equivalent

    horizon = (0, 24 * 60) if outline_of(ids, (*one, *other)).limited else None
    specs = [Spec(tuple(ids), tuple(constraints), None, horizon) for constraints in (one, other)]
    return equivalent(*specs) is True


# ---------------------------------------------------------------- the reverse experiment


Faithfulness = Literal["faithful", "different", "contradictory", "unreadable"]


@dataclass(frozen=True, slots=True)
class Written:
    """What a model made of one constraint set."""

    actions: int
    case_id: str
    text: str
    outcome: Faithfulness
    detail: str = ""
    """The parser's message, the conflict, or what was lost and added."""
    model: str = ""


def write_and_read(
    client: Any,
    model: str,
    *,
    sizes: Sequence[int] = (2, 3, 4, 5),
    per_size: int = 10,
    seed: int = 0,
    options: Options | None = None,
    temperature: float | None = None,
) -> Iterator[Written]:
    """A model writes the paragraph for a constraint set, our parser judges it (paper, section 7)."""
    base = options or Options()
    for size in sizes:
        for case in generate(per_size, seed, replace(base, actions=(size, size))):
            yield write_one(case, client, model, temperature)


def write_one(case: Case, client: Any, model: str, temperature: float | None = None) -> Written:
    """One constraint set written by the model and judged."""
    vocabulary = Vocabulary(case.actions)
    name = vocabulary.phrases.__getitem__
    ids = tuple(vocabulary.phrases)
    wanted = meaning(ids, case.constraints)
    prompt = _WRITE.format(
        rules=LANGUAGE_RULES,
        names=_listed(vocabulary),
        constraints="\n".join(f"- {constraint.words(name)}" for constraint in wanted),
    )
    write = partial(Written, len(ids), case.id, model=model)
    try:
        text = without_fences(ask(client, model, [user(prompt)], temperature))
    except NoAnswer as nothing:
        return write("", "unreadable", str(nothing))
    try:
        read = read_paragraph(text, vocabulary).constraints
    except BadInput as error:
        return write(text, "unreadable", error.message)
    conflict = find_conflict(read)
    if conflict is not None:
        return write(text, "contradictory", conflict.explain(name, text))
    said = meaning(ids, read)
    lost = [f"lost: {c.words(name)}" for c in wanted if c not in said]
    added = [f"added: {c.words(name)}" for c in said if c not in wanted]
    if lost or added or not _equivalent(ids, case.constraints, read):
        return write(text, "different", "; ".join(lost + added))
    return write(text, "faithful")
