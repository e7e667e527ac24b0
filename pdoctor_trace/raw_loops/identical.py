"""Identical calls of one message: which execution is which call shows when the answers come.

A tool that runs says its name and arguments, not the id of its call. Of calls that are alike in both the
first to start is taken for the first that was asked for; a loop may run them in another order. If the results
differ, the answers tell; where they do not, the calls are marked as ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import orjson

from pdoctor_trace import semconv

from .conversations import OpenCall
from .messages import Answer

Answered = tuple[OpenCall, Answer]
MOST = 6
"""Identical calls of which every order is tried; more are ambiguous unless they are as they came."""


def settled(answered: Sequence[Answered]) -> list[Answered]:
    """The same calls, each with the answer to what it executed."""
    groups: dict[tuple[str, bytes | None], list[Answered]] = {}
    for opened, answer in answered:
        groups.setdefault((opened.tool, opened.arguments), []).append((opened, answer))
    return [pair for group in groups.values() for pair in _told_apart(group)]


def _told_apart(group: list[Answered]) -> list[Answered]:
    if not any(opened.guessed for opened, _ in group) or len({opened.outcome for opened, _ in group}) == 1:
        return group
    for fits in (_says, _holds):
        orders = _fitting(group, fits)
        if orders:
            break
    if len({tuple(group[at][0].outcome for at in order) for order in orders}) != 1:
        for opened, _ in group:
            opened.call.tell(semconv.AMBIGUOUS, True)
        return group
    return [(group[at][0], answer) for at, (_, answer) in zip(orders[0], group, strict=True)]


def _fitting(group: list[Answered], fits: Callable[[OpenCall, Answer], bool]) -> list[tuple[int, ...]]:
    """Orders of the calls in which each fits the answer at its place."""
    known = [[fits(opened, answer) for opened, _ in group] for _, answer in group]
    numbers = range(len(group))
    orders = permutations(numbers) if len(group) <= MOST else [tuple(numbers)]
    return [order for order in orders if all(known[place][at] for place, at in enumerate(order))]


def _says(opened: OpenCall, answer: Answer) -> bool:
    """Whether the answer is the outcome."""
    if opened.result is None:
        return answer.failed or opened.failure in str(answer.content)
    value, content = orjson.loads(opened.result), answer.content
    if value == content or str(value) == content:
        return True
    try:
        return bool(type(content) is str and orjson.loads(content) == value)
    except ValueError:
        return False


def _holds(opened: OpenCall, answer: Answer) -> bool:
    """Whether the outcome stands somewhere in the answer."""
    if opened.result is None or type(answer.content) is not str:
        return _says(opened, answer)
    value = orjson.loads(opened.result)
    return str(value) in answer.content or opened.result.decode() in answer.content
