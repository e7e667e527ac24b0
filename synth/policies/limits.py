"""The head `limits:` of a policy file: bounds that need no sentence, as rules of the kinds that there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from synth.counted import counted
from synth.policies.kinds.arguments import ALL_ARGUMENTS
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.rate import Rate
from synth.policies.kinds.spent import ANY, Lasting, Spent
from synth.policies.kinds.times import MINUTE
from synth.policies.model import Applies, Policy
from synth.policies.names import MODES, SEVERITIES, Names, Tools
from synth.policies.source import Node

LIMITS = ("calls", "same_call", "per_tool", "minutes", "tokens", "cost")
FIELDS = (*LIMITS, "severity", "on_break", "owner")
MOST = 999_999
MOST_TOKENS = 999_999_999_999
PER = 1_000_000
"""Tokens that a price is for."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens of each model cost."""

    currency: str
    models: dict[str, tuple[Fraction, Fraction]]
    """Model -> (of those given to it, of those that it writes)."""

    @classmethod
    def read(cls, node: Node) -> Prices:
        """`{currency: EUR, gpt-4o: {input: 2.5, output: 10}}`."""
        models = {}
        for model, price in node.pairs():
            if model != "currency":
                price.only(("input", "output"))
                models[model] = _price(price.need("input")), _price(price.need("output"))
        if not models:
            raise node.bad("expected a price for at least one model")
        return cls(node.need("currency").text(), models)

    def spent(self, most: Fraction) -> Spent:
        """The rule of a limit in this currency: counted in whole parts of it that fit all prices."""
        prices = [price for both in self.models.values() for price in both]
        unit = math.lcm(most.denominator, *(price.denominator for price in prices)) * PER
        each = {
            model: (int(given * unit / PER), int(written * unit / PER))
            for model, (given, written) in self.models.items()
        }
        return Spent(int(most * unit), self.limit(most), each)

    def limit(self, most: Fraction) -> str:
        return f"{float(most):g} {self.currency}"


def read_limits(node: Node, names: Names, applies: Applies, prices: Prices | None = None) -> Iterator[Policy]:
    """`{calls: 50, per_tool: {refund: 1}, minutes: 10, tokens: 200000, ...}`, and what is done beyond them.

    The rules are called `limits.calls`, `limits.same_call`, `limits.per_tool` or `limits.per_tool.refund`.
    """
    node.only(FIELDS)
    severity, on_break, owner = node.get("severity"), node.get("on_break"), node.get("owner")
    stated = [(name, limit) for name in LIMITS if (limit := node.get(name)) is not None]
    if not stated:
        raise node.bad(f"expected at least one of {', '.join(LIMITS)}")
    for name, limit in stated:
        for id_, text, rule in _rules(name, limit, names, prices):
            yield Policy(
                id=f"{node.path}.{id_}",
                text=text,
                rule=rule,
                severity="error" if severity is None else severity.one_of(SEVERITIES),
                applies=applies,
                line=limit.line,
                on_break=None if on_break is None else on_break.one_of(MODES),
                owner=None if owner is None else owner.text(),
            )


def _rules(
    name: str, limit: Node, names: Names, prices: Prices | None
) -> Iterator[tuple[str, str, PolicyKind]]:
    """(id, text, rule) of what one limit says."""
    if name == "per_tool" and isinstance(limit.value, dict):
        for action, most in limit.pairs():
            tools, number = names.actions.get(action, Tools(action, (action,))), _number(most)
            yield (
                f"{name}.{action}",
                f"At most {counted(number, 'call')} of {action}",
                Count((tools,), most=number),
            )
        return
    if name == "minutes":
        time = _amount(limit)
        words = counted(int(time), "minute") if time.denominator == 1 else f"{float(time):g} minutes"
        yield name, f"No call later than {words} after the first", Lasting(int(time * MINUTE))
        return
    if name == "cost":
        if prices is None:
            raise limit.bad("needs the prices of the models; say them as 'prices' at the head of the file")
        cost = _amount(limit)
        yield name, f"No call once {prices.limit(cost)} are spent", prices.spent(cost)
        return
    if name == "tokens":
        number = _number(limit, MOST_TOKENS)
        yield name, f"No call once {number:,} tokens are used", Spent(number, f"{number:,} tokens")
        return
    number = _number(limit)
    if name == "calls":
        yield name, f"At most {counted(number, 'call')} in all", Count((ANY,), most=number)
    elif name == "per_tool":
        yield name, f"At most {counted(number, 'call')} of each tool", Rate((ANY,), number, each=True)
    else:
        text = f"At most {counted(number, 'call')} of one tool with the same arguments"
        yield name, text, Rate((ANY,), number, same=ALL_ARGUMENTS, each=True)


def _number(node: Node, most: int = MOST) -> int:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise node.bad(f"expected a whole number from 1 to {most:,}, got {value!r}")
    return int(value)


def _amount(node: Node) -> Fraction:
    """A number above 0, exactly as it is written."""
    number = _price(node)
    if not number:
        raise node.bad(f"expected a number above 0 and up to {MOST:,}, got {node.value!r}")
    return number


def _price(node: Node) -> Fraction:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        raise node.bad(f"expected a number from 0 to {MOST:,}, got {value!r}")
    return Fraction(repr(float(value)))
