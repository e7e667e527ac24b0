"""A distribution of somebody else on Python's path, as pip leaves it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adapters.md").read_text()

Install = Callable[..., None]


def shown(name: str) -> str:
    """The program that docs/adapters.md shows between the marks `name` and `/name`."""
    return PAGE.partition(f"<!-- {name} -->\n```python\n")[2].partition(f"```\n<!-- /{name} -->")[0]


@contextmanager
def distribution(
    folder: Path, module: str, source: str, group: str, forget: Callable[[], None]
) -> Iterator[Install]:
    """Gives a function that puts entry points of a group into it; `forget` what was known of such before."""
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (folder / f"{module}.py").write_text(source)
    sys.path.insert(0, str(folder))

    def put(*points: str) -> None:
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *points, ""]))
        forget()

    try:
        yield put
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(module, None)
        forget()
