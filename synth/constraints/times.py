"""The two worlds in which a constraint's formula is read: observed integers and Z3 terms.

Trap: `bool(x == y)` on Z3 terms is silently False, so a formula uses `times.all`, `times.any` and
`times.no`, never Python's `and`, `or`, `not` or `if`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

Truth = Any
"""A bool in the world of integers, a Z3 formula in the symbolic world."""


class Times(Protocol):
    """Where a formula finds the instants of an action."""

    def start(self, action: str) -> Any: ...
    def end(self, action: str) -> Any: ...
    def all(self, parts: Iterable[Truth]) -> Truth: ...
    def any(self, parts: Iterable[Truth]) -> Truth: ...
    def no(self, part: Truth) -> Truth: ...
