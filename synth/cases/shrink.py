"""A smaller case that still fails: fewer sentences, fewer actions.

Leaving sentences or actions out of a satisfiable case leaves it satisfiable, so no proof is needed. A
greedy search: of the candidates, the largest cuts first, the first that still fails replaces the case.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from synth.cases.case import Action, Case
from synth.cases.restructure import equivalent_sentences
from synth.formal.constraints import Constraint, Outline, outline_of, restated
from synth.language.parse import parse
from synth.language.query import query_text
from synth.language.render import render

MAX_RUNS = 28
"""Agent runs that shrinking may take."""
MAX_SECONDS = 300.0
"""After so long no further run begins."""

_ROLE = re.compile(r"You are assisting (.+?)\. ")


def shrink(
    case: Case,
    fails: Callable[[Case], bool],
    max_runs: int = MAX_RUNS,
    max_seconds: float = MAX_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Case:
    """The smallest failing case found; `case` itself if nothing smaller fails."""
    end = clock() + max_seconds
    smallest, tried = case, {case.paragraph}
    runs = 0
    progress = True
    while progress:
        progress = False
        for candidate in smaller(smallest):
            if candidate.paragraph in tried:
                continue
            if runs == max_runs or clock() >= end:
                return smallest
            tried.add(candidate.paragraph)
            runs += 1
            named = replace(candidate, id=f"{case.id}-small-{runs}")
            if fails(named):
                smallest, progress = named, True
                break
    return smallest


def smaller(case: Case) -> Iterator[Case]:
    """Smaller cases, the largest cuts first; none of a case that says more than sentences can."""
    outline = outline_of([action.id for action in case.actions], case.constraints)
    if not outline.exact:
        return
    sentences = _sentences(case)
    size = len(sentences)
    while size > 1:
        size = size // 2
        for begin in range(0, len(sentences), size):
            kept = sentences[:begin] + sentences[begin + size :]
            if kept:
                yield _with_paragraph(case, " ".join(kept))
    if len(case.actions) > 2:
        for action in case.actions:
            without = _without(case, action, outline)
            if without is not None:
                yield without


def _sentences(case: Case) -> list[str]:
    read = parse(case.paragraph, case.actions)
    spans = [sentence.span for sentence in read.sentences]
    return [case.paragraph[span[0] : span[1]] for span in spans if span is not None]


def _without(case: Case, action: Action, outline: Outline) -> Case | None:
    """The case without one action, in new sentences; what it stood between stays in order."""
    rest = [other for other in case.actions if other is not action]
    constraints = _restricted(outline, {other.id for other in rest})
    if not constraints:
        return None
    rng = Random(f"shrink:{case.id}:{action.id}")
    sentences = equivalent_sentences(rng, [other.id for other in rest], constraints)
    text = render(sentences, {other.id: other.phrase for other in rest}, rng).text
    return _with_paragraph(case, text)


def _restricted(outline: Outline, kept: set[str]) -> list[Constraint]:
    """What follows for the actions that are kept."""
    return [c for c in restated(outline, outline.order.edges()) if kept.issuperset(c.actions)]


def _with_paragraph(case: Case, paragraph: str) -> Case:
    """The case with another paragraph, and only the actions that it still names."""
    mentioned = {action for action, _ in parse(paragraph, case.actions).mentions}
    actions = tuple(action for action in case.actions if action.id in mentioned)
    return replace(
        case,
        query=_query(case, paragraph, actions),
        paragraph=paragraph,
        actions=actions,
        constraints=parse(paragraph, actions).constraints,
        valid_plans=None,
        durations=_only(case.durations, mentioned),
        witness=_only(case.witness, mentioned),
        statistics={},
    )


def _query(case: Case, paragraph: str, actions: Sequence[Action]) -> str:
    """Our own text anew, since it says the number of tools; a foreign one with the paragraph replaced."""
    role = _ROLE.search(case.query)
    if role is not None and case.query == query_text(
        case.paragraph, role[1], len(case.actions), case.horizon
    ):
        return query_text(paragraph, role[1], len(actions), case.horizon)
    return case.query.replace(case.paragraph, paragraph)


def _only(minutes: Mapping[str, int] | None, kept: set[str]) -> Mapping[str, int] | None:
    return None if minutes is None else {id: value for id, value in minutes.items() if id in kept}
