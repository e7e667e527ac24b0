"""A contract on one line, and the words of it that a run broke."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from synth.formal.contracts import ILL_FORMED, Contract, Pattern, ToolContract, may_equal
from synth.policies.names import Span


@dataclass(slots=True)
class Words:
    """`create_ticket requires logged_in and not ticket, provides ticket; goal: ticket`.

    Effects that depend on a condition are left out: a requirement is what a run can break.
    """

    text: str = ""
    needs: dict[str, list[tuple[Pattern, Span]]] = field(default_factory=dict)
    """Tool -> its requirements, each with its place in the text."""
    checks: dict[str, Span] = field(default_factory=dict)
    """Tool -> its further condition."""
    goal: Span | None = None

    @classmethod
    def of(cls, contract: Contract, goal: Sequence[str]) -> Words:
        """`goal`: the facts of the goal, where the file names them."""
        words = cls()
        for name, tool in contract.tools.items():
            words._tool(name, tool)
        if goal:
            words.text += "; goal: "
            words.goal = words._add("", ", ".join(goal))
        return words

    def broken(self, tool: str, unmet: Sequence[str]) -> Span | None:
        """The words that ask for what a call missed; None where they are not of one requirement."""
        if tool in self.checks and unmet == (self._quoted(self.checks[tool]),):
            return self.checks[tool]
        asked = {
            span
            for text in unmet
            if text != ILL_FORMED
            for need, span in self.needs.get(tool, ())
            if need.negated == Pattern.of(text).negated and may_equal(need, Pattern.of(text))
        }
        return asked.pop() if len(asked) == 1 else None

    def _tool(self, name: str, tool: ToolContract) -> None:
        self._add("; " if self.text else "", name)
        before = " requires "
        self.needs[name] = []
        for need in tool.requires:
            self.needs[name].append((need, self._add(before, _said(need))))
            before = " and "
        if tool.check is not None:
            self.checks[name] = self._add(before, tool.check.text)
        before = ", " if tool.requires or tool.check else " "
        for verb, facts in _effects(tool):
            self._add(before, f"{verb} {' and '.join(map(_said, facts))}")
            before = ", "

    def _add(self, before: str, text: str) -> Span:
        begin = len(self.text) + len(before)
        self.text += before + text
        return begin, len(self.text)

    def _quoted(self, span: Span) -> str:
        return self.text[span[0] : span[1]]


def _effects(tool: ToolContract) -> Iterator[tuple[str, Sequence[Pattern]]]:
    for effect in tool.effects:
        if effect.when is None:
            for verb, facts in (("provides", effect.provides), ("clears", effect.clears)):
                if facts:
                    yield verb, facts


def _said(need: Pattern) -> str:
    return " ".join(["not", *need.words] if need.negated else need.words)
