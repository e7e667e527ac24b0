"""The calculator: arithmetic as it is, and an answer at once whatever a model writes."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from synth.errors import BadInput
from synth.questions import calculate


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("48/2", "24"), ("48+24", "72"), ("0.1+0.2", "0.3"), ("1/3", "0.333333333333"), ("-7/2", "-3.5"),
        ("2^10", "1024"), ("2**3**2", "512"), ("-2^2", "-4"), ("2**-3", "0.125"), ("0**0", "1"),
        ("-0.05", "-0.05"),
        ("20%", "0.2"), ("20%*50", "10"), ("10-20%", "9.8"), ("17%5", "2"), ("7//2", "3"),
        ("$1,000*2", "2000"), ("1,000,000/3", "333333.333333"), ("max(1,200)", "200"), ("max(1,000)", "1"),
        ("5 x 3", "15"), ("5 \u00d7 3 \u00f7 5", "3"), ("[2+3]*{4}", "20"), ("1.5e3", "1500"), (".5", "0.5"),
        ("sqrt(16)", "4"), ("sqrt(2)", "1.41421356237"), ("round(2.567, 2)", "2.57"),
        ("abs(-3)+floor(2.5)", "5"),
        ("(0-1)**999999999999999", "-1"), ("1**99999999999999999", "1"), ("(((1)))", "1"), ("--1", "1"),
    ],
    ids=range(33),
)  # fmt: skip
def test_a_formula_has_its_value(formula: str, value: str) -> None:
    assert calculate(formula) == value


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("9**9**9**9", "over 4096 bits"), ("2**99999999999", "over 4096 bits"), ("1e9999", "too large"),
        ("1e1233*1e1233", "over 4096 bits|too large"), ("9" * 999 + "*" + "9", "a formula of"),
        ("(" * 60 + "1" + ")" * 60, "nested deeper"), ("-" * 60 + "1", "nested deeper"),
        ("2^" * 60 + "1", "nested deeper"), ("sqrt(" * 60, "nested deeper"), ("1/0", "division by zero"),
        ("1//0", "division by zero"), ("1%0", "division by zero"), ("0**-1", "division by zero"),
        ("(-8)^(1/3)", "not a real"), ("sqrt(-1)", "not a real"), ("9.5**999.5", "too large"), ("", "empty"),
        ("  ", "empty"), ("(", "ends too early"), ("(1", "never closed"), ("1 2", "expected an operator"),
        ("x", "expected a number"), ("min()", "expected a number"), ("abs(1, 2)", "takes 1 to 1"),
        ("round(1, 1e9)", "at most 100"), ("__import__('os')", "expected a formula"), ("a.b", "expected a"),
        ("1" + "+1" * 600, "a formula of"),
    ],
    ids=range(28),
)  # fmt: skip
def test_what_has_none_is_told_at_once(formula: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        calculate(formula)


def random_formula(r: random.Random, depth: int) -> str:
    if depth == 0 or r.random() < 0.2:
        return str(r.randint(0, 30))
    left, right = random_formula(r, depth - 1), random_formula(r, depth - 1)
    return r.choice((f"({left}{r.choice('+-*/')}{right})", f"{left}{r.choice('+-*/')}{right}", f"-({left})"))


def test_it_agrees_with_python() -> None:
    r = random.Random(0)
    for _ in range(300):
        formula = random_formula(r, 4)
        exact = "".join(f"Fraction({part})" if part.isdigit() else part for part in tokens(formula))
        try:
            expected = eval(exact, {"Fraction": Fraction})
        except ZeroDivisionError:
            with pytest.raises(BadInput, match="division by zero"):
                calculate(formula)
            continue
        assert abs(Fraction(calculate(formula)) - expected) <= abs(expected) * Fraction(1, 10**11), formula


def tokens(formula: str) -> list[str]:
    found: list[str] = []
    for sign in formula:
        if sign.isdigit() and found and found[-1].isdigit():
            found[-1] += sign
        else:
            found.append(sign)
    return found
