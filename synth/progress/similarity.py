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
    return _sure_of_equals(lambda a, b: sentence_bleu(a, [b], use_effective_order=True).score / 100)


def _rouge() -> Similarity:
    """F-measure of ROUGE-L."""
    scorer = _package("rouge_score.rouge_scorer", "rouge").RougeScorer(["rougeL"])
    return _sure_of_equals(lambda a, b: scorer.score(b, a)["rougeL"].fmeasure)


def _bertscore() -> Similarity:
    """F-measure of BERTScore by the package's model for English, which it fetches when it has none."""
    scorer = _package("bert_score", "bertscore").BERTScorer(lang="en")
    return _sure_of_equals(lambda a, b: scorer.score([a], [b])[2].item())


def _sure_of_equals(measure: Callable[[str, str], Any]) -> Similarity:
    """Equal texts are alike, also those without a word, of which such measures say 0."""
    return lambda a, b: 1.0 if a == b else min(float(measure(a, b)), 1.0)


_BRINGS = {"bleu": "sacrebleu", "rouge": "rouge-score", "bertscore": "bert-score"}
_MAKERS: dict[str, Callable[[], Similarity]] = {
    "indel": lambda: indel,
    "exact": lambda: exact,
    "bleu": _bleu,
    "rouge": _rouge,
    "bertscore": _bertscore,
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
