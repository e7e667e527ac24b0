"""Mutants of a case that keep its meaning (paper, Alg. 2): wording, topic, structure.

A case has four layers: meaning, structure (the trees), wording, topic. Each function here replaces
one of the last three and keeps the others; the ids of the actions stay, so a mutant is judged by
the same constraints. Where z3 is installed, it proves the equivalence of every new structure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from synth.cases.case import Action, Case
from synth.cases.confirm import ConfirmationFailed, z3_installed
from synth.cases.pools import Pool, pool_of_topic
from synth.cases.restructure import equivalent_sentences
from synth.cases.topics import Topic, shipped_topics
from synth.errors import BadInput
from synth.formal.constraints import Before, Constraint, outline_of
from synth.formal.day import day_of, find_schedule
from synth.formal.order import Closure, topological_order
from synth.language.expansion import pick, sample
from synth.language.parse import ParsedParagraph, parse
from synth.language.query import paragraph_of, query_text
from synth.language.render import capitalized, render
from synth.language.words import spelled

Layer = Literal["terminal", "topic", "structure"]
"""What a mutant changes, under the name of the root cause it tests."""

_ATTEMPTS = 200


def mutants(case: Case, layer: Layer, count: int, seed: int = 0) -> list[Case]:
    """`count` mutants of one layer, different from the case; the same seed gives the same mutants."""
    outline_of([action.id for action in case.actions], case.constraints).must_be_exact()
    change: Callable[[Case, int], Case] = _CHANGES[layer]
    return [
        replace(change(case, seed * 1_000_003 + number), id=f"{case.id}-{layer}-{seed}-{number}")
        for number in range(count)
    ]


def reword(case: Case, seed: int, *, activities: bool = True) -> Case:
    """Other keywords and, within the topic, other activities with their tools; the trees stay."""
    rng = Random(f"terminal:{case.id}:{seed}")
    read = parse(case.paragraph, case.actions)
    topics = _topics_of(case) if activities else []
    actions = _recast(case, _pool(topics, len(case.actions)), rng) if topics else case.actions
    phrases = {action.id: action.phrase for action in actions}
    text = case.paragraph
    for _ in range(_ATTEMPTS):
        text, _ = render(read.sentences, phrases, rng)
        if text != case.paragraph:
            break
    return _with_text(case, text, actions)


def retopic(case: Case, seed: int, topic: Topic | None = None) -> Case:
    """Another job with its activities and tools; every other word of the paragraph stays."""
    rng = Random(f"topic:{case.id}:{seed}")
    if topic is None:
        own = {t.job for t in _topics_of(case)}
        others = [t for t in shipped_topics() if t.job not in own]
        others = [t for t in others if len(_pool([t], len(case.actions)).phrases) >= len(case.actions)]
        topic = pick(rng, others)
    pool = _pool([topic], len(case.actions))
    if len(pool.phrases) < len(case.actions):
        raise BadInput(f"the topic {topic.job!r} has too few activities for this case", field="topic")
    actions = _recast(case, pool, rng)
    text = _renamed(parse(case.paragraph, case.actions), {a.id: a.phrase for a in actions})
    mutant = _with_text(case, text, actions)
    if paragraph_of(case.query) == case.paragraph:
        mutant = replace(mutant, query=query_text(text, pool.role, len(actions), case.horizon))
    return replace(mutant, topic=pool.name)


def restructure(case: Case, seed: int) -> Case:
    """Other sentences with an equivalent set of constraints; topic and actions stay."""
    rng = Random(f"structure:{case.id}:{seed}")
    before = parse(case.paragraph, case.actions).sentences
    ids = [action.id for action in case.actions]
    for _ in range(_ATTEMPTS):
        sentences = equivalent_sentences(rng, ids, case.constraints)
        if sentences != before:
            break
    text, _ = render(sentences, {action.id: action.phrase for action in case.actions}, rng)
    mutant = _with_text(case, text, case.actions, same_constraints=False)
    _prove_equivalent(case, mutant)
    return mutant


_CHANGES: Mapping[Layer, Callable[[Case, int], Case]] = {
    "terminal": reword,
    "topic": retopic,
    "structure": restructure,
}


def _with_text(case: Case, text: str, actions: Sequence[Action], *, same_constraints: bool = True) -> Case:
    """The case with another paragraph, whose reading is checked."""
    read = parse(text, actions).constraints
    if same_constraints and _bare(read) != _bare(case.constraints):
        raise ConfirmationFailed(f"case {case.id}: the mutant says {read}, not {case.constraints}")
    if case.query.count(case.paragraph) != 1:
        raise BadInput(
            f"case {case.id}: the query does not contain the paragraph exactly once", field="query"
        )
    return replace(
        case,
        query=case.query.replace(case.paragraph, text),
        paragraph=text,
        actions=tuple(actions),
        constraints=read,
    )


def _bare(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Without spans: reading order and sentences stay."""
    return [replace(constraint, span=None) for constraint in constraints]


def _prove_equivalent(case: Case, mutant: Case) -> None:
    if not z3_installed():
        return
    from synth.formal.solver import equivalent

    if equivalent(case.spec, mutant.spec) is not True:
        raise ConfirmationFailed(f"case {case.id}: the new structure {mutant.paragraph!r} is not equivalent")


# ---------------------------------------------------------------- other activities


def _topics_of(case: Case) -> list[Topic]:
    """The topics a case was drawn from; none for a user's own tools."""
    jobs = [job.strip() for job in case.topic.split(",")]
    return [topic for topic in shipped_topics() if topic.job in jobs]


def _pool(topics: Sequence[Topic], size: int) -> Pool:
    return pool_of_topic(topics[0], size)


def _recast(case: Case, pool: Pool, rng: Random) -> tuple[Action, ...]:
    """Other activities for the same action ids, so that the case does not contradict common sense."""
    size = len(case.actions)
    for _ in range(_ATTEMPTS):
        chosen = sample(rng, len(pool.phrases), size)
        if _sensible(case, pool, chosen):
            break
    else:
        chosen = _in_one_order(case, pool, rng)
    renamed = pool.actions(chosen)
    return tuple(replace(new, id=old.id) for new, old in zip(renamed, case.actions, strict=True))


def _sensible(case: Case, pool: Pool, chosen: Sequence[int]) -> bool:
    ids = [action.id for action in case.actions]
    natural = [Before(ids[a], ids[b]) for a, b in pool.natural_order(chosen)]
    horizon = case.horizon or (0, 24 * 60)
    day = day_of(ids, [*case.constraints, *natural], horizon)
    if day is None or case.durations is None:
        return day is not None
    return find_schedule(day, [case.durations[action] for action in ids]) is not None


def _in_one_order(case: Case, pool: Pool, rng: Random) -> list[int]:
    """Activities in their natural order, given to the actions in an order that the case allows.

    The last resort for tight cases: both orders then hold in one plan.
    """
    size = len(case.actions)
    some = sample(rng, len(pool.phrases), size)
    natural = Closure(size, pool.natural_order(some))
    activities = [some[at] for at in topological_order(natural, sample(rng, size, size))]
    stated = outline_of([action.id for action in case.actions], case.constraints).order
    ranks = sample(rng, size, size)
    if case.witness is not None:
        ranks = [case.witness[action.id] for action in case.actions]
    chosen = [0] * size
    for activity, at in zip(activities, topological_order(stated, ranks), strict=True):
        chosen[at] = activity
    return chosen


def _renamed(read: ParsedParagraph, phrases: Mapping[str, str]) -> str:
    """The paragraph with every name replaced, and nothing else."""
    starts = {sentence.span[0] for sentence in read.sentences if sentence.span}
    pieces: list[str] = []
    done = 0
    for action, (begin, end) in read.mentions:
        name = spelled(phrases[action])
        pieces += [read.text[done:begin], capitalized(name) if begin in starts else name]
        done = end
    return "".join([*pieces, read.text[done:]])
