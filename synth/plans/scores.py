"""Precision, recall and F1 over sets of labels, and the edit distance of sequences.

Two empty sets are equal: all three are 1. Where only one of them is empty, all three are 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from synth.progress.nearby import common_subsequence, ratio


@dataclass(frozen=True, slots=True)
class Score:
    """Each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def score(common: int, predicted: int, gold: int) -> Score:
    """From the labels in both, in the prediction and in the gold plan."""
    if not predicted and not gold:
        return Score(1.0, 1.0, 1.0)
    return Score(
        common / predicted if predicted else 0.0,
        common / gold if gold else 0.0,
        2 * common / (predicted + gold),
    )


def pooled(pairs: Iterable[tuple[AbstractSet[Hashable], AbstractSet[Hashable]]]) -> Score:
    """Over (gold, predicted) label sets of all samples together (micro average)."""
    common = predicted = gold = 0
    for right, said in pairs:
        common += len(right & said)
        predicted += len(said)
        gold += len(right)
    return score(common, predicted, gold)


def averaged(
    pairs: Sequence[tuple[AbstractSet[Hashable], AbstractSet[Hashable]]], labels: Sequence[Hashable]
) -> Score:
    """The mean over `labels` of each label's own score (macro average).

    As the published evaluators have it, a label that never occurs counts 0, so that a right prediction of a
    small corpus is far below 1. Where no sample has any label, or there are no labels, it is 1.
    """
    if not labels or not any(right or said for right, said in pairs):
        return Score(1.0, 1.0, 1.0)
    counts = {label: [0, 0, 0] for label in labels}
    for right, said in pairs:
        for at, found in enumerate((right & said, said, right)):
            for label in found:
                if label in counts:
                    counts[label][at] += 1
    each = [score(*counts[label]) if any(counts[label]) else Score(0, 0, 0) for label in labels]
    size = len(each)
    return Score(
        sum(one.precision for one in each) / size,
        sum(one.recall for one in each) / size,
        sum(one.f1 for one in each) / size,
    )


def edit_distance(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> float:
    """1 - 2 * LCS / (both lengths): the share of elements to insert and delete; 0 for two empty ones."""
    codes: dict[Hashable, str] = {}
    texts = ["".join(codes.setdefault(one, chr(len(codes))) for one in each) for each in (gold, predicted)]
    return 1 - ratio(common_subsequence(*texts), len(gold) + len(predicted))
