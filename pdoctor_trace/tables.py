"""Numbers, arrays and tables of numpy and pandas, read by these libraries' own code.

Only where the very classes of the libraries are concerned: a subclass may be anybody's, and is left alone.
Neither library is imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from .reading import module_of, qualname_of

MOST_ROWS, MOST_COLUMNS = 50, 100
"""Of a table."""
UNREAD: Any = object()


class Part(NamedTuple):
    """The first items of a list."""

    items: list[Any]
    total: int
    """How many items the whole has."""


class Entries(NamedTuple):
    """The first entries of a dictionary."""

    items: list[tuple[Any, Any]]
    total: int


def unpacked(value: Any, cls: type, most: int) -> Any:
    """The value as Python's own, a `Part` of at least `most` items where it is long; else UNREAD."""
    library, name = module_of(cls).partition(".")[0], qualname_of(cls)
    if (library, name) == ("pandas", "NAType"):
        return None
    known = sys.modules.get(library) if library in ("numpy", "pandas") else None
    if known is None:
        return UNREAD
    try:
        if library == "numpy" and issubclass(cls, known.generic) and getattr(known, name, None) is cls:
            return _number(value, cls)
        read: Callable[[Any, int], Any] | None = _READERS.get((library, name))
        return read(value, most) if read is not None and getattr(known, name, None) is cls else UNREAD
    except Exception:
        # Not an error: what the library cannot read of its own objects is told by its type.
        return UNREAD


def _number(value: Any, cls: type) -> Any:
    """Times as text, since numpy takes them for numbers; long doubles as the nearest double."""
    if value.dtype.kind in "mM":
        return str(value)
    found = value.item()
    return float(value) if type(found) is cls else found


def _array(array: Any, most: int) -> Any:
    if array.ndim == 0:
        return array[()]
    each = max(array[:1].size, 1)
    if each > most:  # a row is too long to be taken apart here
        return Part(list(array[:1]), len(array))
    first = array[: most // (2 * each if array.dtype.kind in "fc" else each) + 1]
    return Part((first.astype(str) if array.dtype.kind in "mM" else first).tolist(), len(array))


def _frame(frame: Any, most: int) -> Any:
    rows, columns = frame.shape
    names = frame.columns[:MOST_COLUMNS].tolist()
    head = frame.iloc[:MOST_ROWS, :MOST_COLUMNS].astype(object).to_numpy().tolist()
    records = [Entries(list(zip(names, row, strict=True)), columns) for row in head]
    return {"shape": [rows, columns], "columns": Part(names, columns), "head": Part(records, rows)}


def _series(series: Any, most: int) -> Any:
    return Part(series[:most].astype(object).to_numpy().tolist(), len(series))


_READERS: dict[tuple[str, str], Callable[[Any, int], Any]] = {
    ("numpy", "ndarray"): _array,
    ("pandas", "DataFrame"): _frame,
    ("pandas", "Series"): _series,
}
