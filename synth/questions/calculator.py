"""The tool Calculator: executes a formula and returns a number (Crouse et al., section 4).

Exact fractions, and nothing but arithmetic: whatever a model writes, an answer comes at once. A formula has
bounded length and depth, numbers have bounded size, and a power is refused before it is computed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from synth.errors import BadInput

MAX_TEXT = 1_000
"""Characters of a formula."""
MAX_DEPTH = 50
"""Parentheses, signs and powers inside each other."""
MAX_BITS = 4_096
"""Of a numerator or denominator: numbers up to about 10**1233."""
DIGITS = 12
"""Significant digits of a result that has no short decimal form."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?!\d))?)"
    r"|(?P<name>[A-Za-z]+)|(?P<sign>\*\*|//|[-+*/^%(),$]))"
)
_LIKE = str.maketrans("\u00d7\u00b7\u00f7\u2212\u2013[]{}", "**/--()()")
"""Other signs of multiplication, division and subtraction, and other parentheses."""


def calculate(formula: str) -> str:
    """The value as text: `"7"`, `"2.5"`, `"0.333333333333"`; BadInput says why there is none."""
    if len(formula) > MAX_TEXT:
        raise BadInput(f"a formula of {len(formula)} characters (at most {MAX_TEXT})")
    return _in_words(_Reader(formula.translate(_LIKE)).whole())


class _Reader:
    """Computes one formula while reading it."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Fraction:
        value = self._sum()
        if self._at < len(self._tokens):
            raise BadInput(f"expected an operator, got {self._tokens[self._at]!r}")
        return value

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _takes(self, *signs: str) -> str:
        """The next token, if it is one of these."""
        found = self._next()
        if found not in signs or not found:
            return ""
        self._at += 1
        return found

    def _sum(self) -> Fraction:
        value = self._product()
        while sign := self._takes("+", "-"):
            other = self._product()
            value = _sized(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while sign := self._takes("*", "x", "/", "//", "%"):
            other = self._signed()
            if sign in ("*", "x"):
                value = _sized(value * other)
                continue
            if not other:
                raise BadInput("division by zero")
            value = _sized({"/": _divided, "//": _floored, "%": _rest}[sign](value, other))
        return value

    def _signed(self) -> Fraction:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadInput(f"nested deeper than {MAX_DEPTH} levels")
        sign = self._takes("-", "+")
        value = self._signed() if sign else self._power()
        self._depth -= 1
        return -value if sign == "-" else value

    def _power(self) -> Fraction:
        base = self._atom()
        while self._next() == "%" and self._is_percent():
            self._at += 1
            base /= 100
        return _power(base, self._signed()) if self._takes("**", "^") else base

    def _is_percent(self) -> bool:
        """Does no operand follow, so that `%` means hundredths? Else it is the remainder."""
        after = self._tokens[self._at + 1 : self._at + 2]
        return not after or after[0] in (")", ",", "+", "-", "*", "x", "/", "//", "**", "^")

    def _atom(self) -> Fraction:
        if self._takes("$"):
            return self._atom()
        if self._takes("("):
            value = self._sum()
            self._closes()
            return value
        token = self._next()
        self._at += 1
        if token[:1].isdigit() or token[:1] == ".":
            return _number(token)
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token in _FUNCTIONS and self._takes("("):
            given = [self._sum()]
            while self._takes(","):
                given.append(self._sum())
            self._closes()
            return _applied(token, given)
        raise BadInput(f"expected a number, got {token!r}" if token else "the formula ends too early")

    def _closes(self) -> None:
        if not self._takes(")"):
            raise BadInput("a parenthesis is never closed")


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadInput(f"expected a formula of numbers and + - * / ^ ( ), got {text[at:].strip()[:20]!r}")
        found.append(match[0].strip())
        at = match.end()
    if not found:
        raise BadInput("the formula is empty")
    return _without_thousands(found)


def _without_thousands(tokens: list[str]) -> list[str]:
    """`1,000` is one number; in `max(1,200)` and `1,5` the comma stands between two."""
    found: list[str] = []
    inside: list[bool] = []
    for k, token in enumerate(tokens):
        if token == "(":
            inside.append(k > 0 and tokens[k - 1] in _FUNCTIONS)
        elif token == ")" and inside:
            inside.pop()
        if "," not in token or token == ",":
            found.append(token)
        elif not any(inside) and re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d*)?(e[+-]?\d+)?", token, re.IGNORECASE):
            found.append(token.replace(",", ""))
        else:
            found += [part for part in re.split("(,)", token) if part]
    return found


def _number(token: str) -> Fraction:
    mantissa, _, exponent = token.lower().partition("e")
    power = int(exponent or 0)
    if abs(power) * 3.33 > MAX_BITS:
        raise BadInput(f"the number {token[:20]!r} is too large or too small")
    return _sized(Fraction(mantissa if mantissa[-1] != "." else mantissa[:-1]) * Fraction(10) ** power)


def _sized(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise BadInput(f"a number needs over {MAX_BITS} bits")
    return value


def _divided(value: Fraction, other: Fraction) -> Fraction:
    return value / other


def _floored(value: Fraction, other: Fraction) -> Fraction:
    return Fraction(value // other)


def _rest(value: Fraction, other: Fraction) -> Fraction:
    return value % other


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if base == 0 and exponent < 0:
        raise BadInput("division by zero")
    if exponent.denominator != 1:
        return _real(lambda: float(base) ** float(exponent), base >= 0)
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size > 1 and abs(exponent.numerator) * (size - 1) > MAX_BITS:
        raise BadInput(f"a number needs over {MAX_BITS} bits")
    return _sized(base ** (exponent.numerator if size > 1 else exponent.numerator % 2 + 2 * bool(exponent)))


def _real(compute: Callable[[], float], is_real: bool) -> Fraction:
    """A number that is only known to the digits of a float."""
    try:
        value = compute() if is_real else math.nan
    except (OverflowError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise BadInput("the result is not a real number, or too large")
    return Fraction(value)


def _root(value: Fraction) -> Fraction:
    if value < 0:
        raise BadInput("the result is not a real number, or too large")
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    return _real(lambda: math.sqrt(value), is_real=True)


def _rounded(value: Fraction, digits: Fraction = Fraction(0)) -> Fraction:
    if digits.denominator != 1 or abs(digits) > 100:
        raise BadInput("round takes a whole number of digits, at most 100")
    return Fraction(round(value, int(digits)))


_CONSTANTS: Mapping[str, Fraction] = {"pi": Fraction(math.pi), "e": Fraction(math.e)}
_FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., Fraction]]] = {
    "sqrt": (1, 1, _root), "abs": (1, 1, abs),
    "min": (1, 99, lambda *given: min(given)), "max": (1, 99, lambda *given: max(given)),
    "floor": (1, 1, lambda value: Fraction(math.floor(value))),
    "ceil": (1, 1, lambda value: Fraction(math.ceil(value))), "round": (1, 2, _rounded),
}  # fmt: skip
"""Name -> least and most arguments, and the function."""


def _applied(name: str, given: list[Fraction]) -> Fraction:
    least, most, function = _FUNCTIONS[name]
    if not least <= len(given) <= most:
        raise BadInput(f"{name} takes {least} to {most} numbers, got {len(given)}")
    return _sized(function(*given))


def _in_words(value: Fraction) -> str:
    """Whole numbers as they are, short decimals exactly, others to `DIGITS` significant digits."""
    if value.denominator == 1:
        return str(value.numerator)
    places = _decimals(value.denominator)
    if places is not None and places <= DIGITS:
        whole = abs(value.numerator) * 10**places // value.denominator
        text = f"{whole:0{places + 1}d}"
        return f"{'-' if value < 0 else ''}{text[:-places]}.{text[-places:]}"
    try:
        return f"{float(value):.{DIGITS}g}"
    except OverflowError:
        return str(round(value))


def _decimals(denominator: int) -> int | None:
    """Places after the point of a fraction with this denominator; None where they never end."""
    twos = fives = 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    return max(twos, fives) if denominator == 1 else None
