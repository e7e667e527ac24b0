"""The head `limits:` of a policy file: bounds that need no sentence, as rules of the kinds that there are."""

from __future__ import annotations

from collections.abc import Iterator

from synth.counted import counted
from synth.policies.kinds.arguments import ALL_ARGUMENTS
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.rate import Rate
from synth.policies.model import Applies, Policy
from synth.policies.names import MODES, SEVERITIES, Names, Tools
from synth.policies.source import Node

LIMITS = ("calls", "same_call", "per_tool")
FIELDS = (*LIMITS, "severity", "on_break", "owner")
MOST = 999_999
ANY = Tools("any tool", ("*",))


def read_limits(node: Node, names: Names, applies: Applies) -> Iterator[Policy]:
    """`{calls: 50, same_call: 3, per_tool: 20 or {refund: 1}}`, and what is done about a call beyond them.

    The rules are called `limits.calls`, `limits.same_call`, `limits.per_tool` or `limits.per_tool.refund`.
    """
    node.only(FIELDS)
    severity, on_break, owner = node.get("severity"), node.get("on_break"), node.get("owner")
    stated = [(name, limit) for name in LIMITS if (limit := node.get(name)) is not None]
    if not stated:
        raise node.bad(f"expected at least one of {', '.join(LIMITS)}")
    for name, limit in stated:
        for id_, text, rule in _rules(name, limit, names):
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


def _rules(name: str, limit: Node, names: Names) -> Iterator[tuple[str, str, PolicyKind]]:
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
    number = _number(limit)
    if name == "calls":
        yield name, f"At most {counted(number, 'call')} in all", Count((ANY,), most=number)
    elif name == "per_tool":
        yield name, f"At most {counted(number, 'call')} of each tool", Rate((ANY,), number, each=True)
    else:
        text = f"At most {counted(number, 'call')} of one tool with the same arguments"
        yield name, text, Rate((ANY,), number, same=ALL_ARGUMENTS, each=True)


def _number(node: Node) -> int:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MOST:
        raise node.bad(f"expected a whole number from 1 to {MOST:,}, got {value!r}")
    return int(value)
