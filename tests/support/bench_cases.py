"""Hand-made cases for the tests of the test bench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from synth.cases.case import Action, Case
from synth.language.parse import parse
from synth.language.query import describe, query_text, tool_name

BAKERY = ("the flour delivery", "the oven inspection", "the dough kneading", "the loaf shaping")
BAKERY_RULES = (
    "The flour delivery must precede the dough kneading. "
    "Before the loaf shaping, the oven inspection, which must follow the dough kneading, must happen."
)


def order_case(
    paragraph: str = BAKERY_RULES, phrases: Sequence[str] = BAKERY, id: str = "case-1", role: str = "a baker"
) -> Case:
    """A case in order mode about these activities."""
    actions = make_actions(phrases)
    constraints = parse(paragraph, actions).constraints
    query = query_text(paragraph, role, len(actions))
    return Case(id, 1, "order", query, paragraph, "baker", actions, constraints)


def timed_case(paragraph: str, durations: Mapping[str, int], horizon: tuple[int, int] = (540, 1080)) -> Case:
    """A case in timed mode; durations by phrase."""
    actions = make_actions(tuple(durations))
    constraints = parse(paragraph, actions).constraints
    query = query_text(paragraph, "a baker", len(actions), horizon)
    minutes = {action.id: durations[action.phrase] for action in actions}
    return Case(
        "timed-1",
        1,
        "timed",
        query,
        paragraph,
        "baker",
        actions,
        constraints,
        durations=minutes,
        horizon=horizon,
    )


def make_actions(phrases: Sequence[str]) -> tuple[Action, ...]:
    return tuple(
        Action(f"a{k}", phrase, tool_name(phrase), describe(phrase)) for k, phrase in enumerate(phrases, 1)
    )
