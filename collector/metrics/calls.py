"""Counts over the calls of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from collector.metrics.metric import Metric, Observed


def calls(seen: Observed) -> int:
    return len(seen.run.calls)


def executed(seen: Observed) -> int:
    return sum(call.executed is True for call in seen.run.calls)


def tools(seen: Observed) -> int:
    return len({call.tool for call in seen.run.calls})


def failed(seen: Observed) -> int:
    return sum(call.error is not None for call in seen.run.calls)


def errors(seen: Observed) -> Mapping[str, int]:
    """Kind of failure -> calls, the most frequent first."""
    kinds = Counter(
        seen.error_kinds.get(index, "error")
        for index, call in enumerate(seen.run.calls)
        if call.error is not None
    )
    return dict(kinds.most_common())


def unknown_tools(seen: Observed) -> int | None:
    if seen.run.tools is None:
        return None
    offered = set(seen.run.tools)
    return sum(call.tool not in offered for call in seen.run.calls)


def repeated(seen: Observed) -> int:
    """Calls with the tool and the arguments of an earlier one."""
    return len(seen.run.calls) - len(set(seen.actions))


def repeated_share(seen: Observed) -> float | None:
    count = len(seen.run.calls)
    return repeated(seen) / count if count else None


def turns(seen: Observed) -> int | None:
    return len(seen.turns) or None


def parallel_turns(seen: Observed) -> int | None:
    return sum(count > 1 for count in seen.turns.values()) if seen.turns else None


METRICS = (
    Metric("calls", "tool calls that a model asked for", calls),
    Metric("executed_calls", "of those, the calls whose tool ran", executed),
    Metric("tools", "different tools among the calls", tools),
    Metric("failed_calls", "calls that ended with an error", failed, better="low"),
    Metric("errors", "failed calls by kind of failure", errors, better="low"),
    Metric(
        "unknown_tools", "calls of tools that were not offered; null where the offer is not known",
        unknown_tools, better="low",
    ),
    Metric("repeated_calls", "calls with the tool and arguments of an earlier call", repeated, better="low"),
    Metric(
        "repeated_share", "repeated calls / calls (`repetition_rate`: by one less); null without calls",
        repeated_share,
        highest=1, better="low",
    ),
    Metric("turns", "model messages with tool calls; null where the spans do not tell them apart", turns),
    Metric("parallel_turns", "of those, messages with several calls; null as for `turns`", parallel_turns),
)  # fmt: skip
