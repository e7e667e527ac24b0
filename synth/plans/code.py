"""Metrics of plans as Python text: AST accuracy and CodeBLEU (m&m's, section D.4).

CodeBLEU (Ren et al., 2020) is the mean of four matches with the gold code: n-grams of tokens up to 4; the
same with keywords weighing five times as much among single tokens; sub-trees of the syntax tree without
names and values; and data flow, which variable is made of which, whatever they are called. Deviations: trees
are those of Python's own `ast`; n goes no further than the gold code is long; without any data flow in the
gold code the mean is of the other three. Two empty texts are equal, code that cannot be read has no tree.
"""

from __future__ import annotations

import ast
import contextlib
import io
import keyword
import math
import tokenize
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from synth.errors import BadInput
from synth.plans.python_plan import syntax

_LONGEST = 4
_KEYWORD, _OTHER = 1.0, 0.2
_SMALL = 0.1
"""Counted instead of no match at all, so that one missing length does not make the mean 0."""
_SILENT = {tokenize.ENCODING, tokenize.ENDMARKER, tokenize.NL, tokenize.COMMENT}


@dataclass(frozen=True, slots=True)
class CodeBleu:
    """Each from 0 to 1."""

    ngrams: float
    weighted_ngrams: float
    syntax: float
    dataflow: float | None
    """None: the gold code has none."""

    @property
    def score(self) -> float:
        parts = [self.ngrams, self.weighted_ngrams, self.syntax]
        parts += [] if self.dataflow is None else [self.dataflow]
        return sum(parts) / len(parts)


def same_syntax(gold: str, predicted: str) -> bool:
    """Have both the same syntax tree, whatever their layout? AST accuracy is the share of pairs that have."""
    trees = [_tree(code) for code in (gold, predicted)]
    if None in trees:
        return gold == predicted
    return _shape(trees[0], names=True) == _shape(trees[1], names=True)


def code_bleu(gold: str, predicted: str) -> CodeBleu:
    """How near a piece of Python is to the gold code."""
    here, there = _tokens(gold), _tokens(predicted)
    right, said = _tree(gold), _tree(predicted)
    subtrees, flows = (
        (Counter[Hashable](parts(right)), Counter[Hashable](parts(said))) for parts in (_subtrees, _flows)
    )
    return CodeBleu(
        _bleu(here, there),
        _weighted(here, there),
        _found(*subtrees) if subtrees[0] else float(gold == predicted),
        _found(*flows) if flows[0] else None,
    )


def code_scores(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """AST accuracy and mean CodeBLEU over (gold, predicted) code, in percent; 100 without pairs."""
    size = len(pairs) or 1
    same = sum(same_syntax(gold, said) for gold, said in pairs) if pairs else 1
    near = sum(code_bleu(gold, said).score for gold, said in pairs) if pairs else 1
    return {"ast_accuracy": 100 * same / size, "codebleu": 100 * near / size}


def _tree(code: str) -> ast.Module | None:
    try:
        return syntax(code)
    except BadInput:
        return None


def _tokens(code: str) -> list[str]:
    """Python's tokens, of code that it cannot read those before the place."""
    read = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError, ValueError):
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type not in _SILENT and token.string.strip():
                read.append(token.string)
    return read


def _bleu(gold: Sequence[str], said: Sequence[str]) -> float:
    """Share of the n-grams that the gold code has too, shorter code being less."""
    if not gold or not said:
        return float(not gold and not said)
    brevity = min(0.0, 1 - len(gold) / len(said))
    return _mean_match(gold, said, of=said) * math.exp(brevity)


def _weighted(gold: Sequence[str], said: Sequence[str]) -> float:
    """Share of the gold code's n-grams that are there, keywords counting more, as the published program."""
    if not gold or not said:
        return float(not gold and not said)
    return _mean_match(
        gold, said, of=gold, weight=lambda token: _KEYWORD if keyword.iskeyword(token) else _OTHER
    )


def _mean_match(
    gold: Sequence[str],
    said: Sequence[str],
    *,
    of: Sequence[str],
    weight: Callable[[str], float] | None = None,
) -> float:
    """Geometric mean over the lengths of n-grams of the share of those of `of` that both have."""
    longest = min(_LONGEST, len(gold), len(of))
    total = 0.0
    for size in range(1, longest + 1):
        both, every = (
            sum(count * (weight(gram[0]) if weight and size == 1 else 1) for gram, count in counted.items())
            for counted in (_ngrams(gold, size) & _ngrams(said, size), _ngrams(of, size))
        )
        total += math.log((both or _SMALL * min(1, every)) / every)
    return math.exp(total / longest)


def _ngrams(tokens: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1))


def _shape(node: ast.AST | None, *, names: bool) -> Hashable:
    """A tree as a value; without names and constants where only its form counts."""
    shapes: dict[int, Hashable] = {}
    for one in reversed(list(ast.walk(node)) if node is not None else []):
        shapes[id(one)] = _own_shape(one, shapes, names)
    return shapes.get(id(node))


def _own_shape(node: ast.AST, shapes: dict[int, Hashable], names: bool) -> Hashable:
    parts: list[Hashable] = [type(node).__name__]
    for field, value in ast.iter_fields(node):
        inner = value if isinstance(value, list) else [value]
        for one in inner:
            if isinstance(one, ast.AST):
                parts.append((field, shapes[id(one)]))
            elif names:
                parts.append((field, repr(one)))
    return hash(tuple(parts)) if not names else tuple(parts)


def _subtrees(tree: ast.Module | None) -> Iterator[Hashable]:
    """The form of every part with parts of its own."""
    if tree is None:
        return
    shapes: dict[int, Hashable] = {}
    for one in reversed(list(ast.walk(tree))):
        shapes[id(one)] = _own_shape(one, shapes, names=False)
        if any(True for _ in ast.iter_child_nodes(one)):
            yield shapes[id(one)]


def _flows(tree: ast.Module | None) -> Iterator[tuple[int, int]]:
    """(variable, the one it is made of), by the order in which variables are first written."""
    if tree is None:
        return
    numbers: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            made_of = [numbers[name] for name in _names(node.value) if name in numbers]
            for name in (name for target in node.targets for name in _names(target)):
                number = numbers.setdefault(name, len(numbers))
                yield from ((number, one) for one in made_of)


def _names(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _found(gold: Counter[Hashable], said: Counter[Hashable]) -> float:
    return (gold & said).total() / gold.total()
