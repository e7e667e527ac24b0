"""`invoke_workflow` spans: of what a framework calls a graph, a crew, a team or a workflow, not one agent.

All that a collector needs of a run stands on its `invoke_agent` span, and older collectors take no other for
a run. So the span of a workflow stands around that: what was run, what it was given and what it gave.
"""

from __future__ import annotations

from typing import Any

from . import sdkspans, semconv
from .wire import AttributeValue, Pairs, as_dict

_SHARED = (
    semconv.SOURCE,
    semconv.CONVERSATION_ID,
    semconv.INPUT_MESSAGES,
    semconv.OUTPUT_MESSAGES,
    semconv.ERROR_TYPE,
)
"""What its span and that of its run both say."""


class Workflow:
    """What stands around a run, which begins and writes it."""

    __slots__ = ("name", "sdk", "span_id")

    span_id: int
    sdk: Any
    """The same span in the host's provider; None where it has none."""

    def __init__(self, name: Any) -> None:
        self.name = name if type(name) is str else None

    def begin(self, span_id: int, above: Any, start_ns: int) -> Any:
        """Begin below `above`, as `sdkspans.start` takes it; gives that for the span of the run."""
        self.span_id, self.sdk = span_id, sdkspans.start(self.title, above, start_ns, as_dict(self._named()))
        if self.sdk is None:
            return above
        self.span_id = sdkspans.ids(self.sdk)[1]
        return self.sdk

    def pairs(self, said: dict[str, AttributeValue | None]) -> Pairs:
        """Its attributes, where the span of its run says `said`."""
        return (*self._named(), *(part for key in _SHARED for part in (key, said[key])))

    def _named(self) -> Pairs:
        named = (semconv.AGENT_NAME, self.name, semconv.WORKFLOW_NAME, self.name)
        return (semconv.OPERATION_NAME, "invoke_workflow", *named)

    @property
    def title(self) -> str:
        """Name of the span."""
        return f"invoke_workflow {self.name}" if self.name else "invoke_workflow"
