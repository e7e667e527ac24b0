"""How alike two actions are: a number from 0 to 1, by name or as a function of your own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from synth.errors import BadInput
from synth.progress.nearby import common_subsequence, ratio

Similarity = Callable[[str, str], float]
"""Of a later action and an earlier one; 1 = equal."""


def indel(a: str, b: str) -> float:
    """The insert/delete ratio 2 * LCS / (len(a) + len(b)), in code points; two empty texts are equal."""
    return ratio(common_subsequence(a, b), len(a) + len(b))


def exact(a: str, b: str) -> float:
    """1 for equal texts, else 0."""
    return float(a == b)


def _bleu() -> Similarity:
    """Sentence BLEU of the later action, the earlier one as reference."""
    sentence_bleu = _package("sacrebleu", "bleu").sentence_bleu
    return lambda a, b: float(sentence_bleu(a, [b], use_effective_order=True).score / 100)


def _rouge() -> Similarity:
    """F-measure of ROUGE-L."""
    scorer = _package("rouge_score.rouge_scorer", "rouge").RougeScorer(["rougeL"])
    return lambda a, b: float(scorer.score(b, a)["rougeL"].fmeasure)


_BRINGS = {"bleu": "sacrebleu", "rouge": "rouge-score"}
_MAKERS: dict[str, Callable[[], Similarity]] = {
    "indel": lambda: indel,
    "exact": lambda: exact,
    "bleu": _bleu,
    "rouge": _rouge,
}
SIMILARITIES = tuple(_MAKERS)


def similarity_named(name: str) -> Similarity:
    """The function of that name. BadInput where there is none, or its package is not installed."""
    if name not in _MAKERS:
        raise BadInput(f"{name!r} is no similarity; there are {', '.join(SIMILARITIES)}", field="similarity")
    return _MAKERS[name]()


def _package(module: str, name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        needed = _BRINGS[name]
        raise BadInput(
            f"{name!r} needs the package {needed!r}: pip install {needed}", field="similarity"
        ) from None
