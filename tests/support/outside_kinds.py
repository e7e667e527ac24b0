"""A constraint kind of another distribution, as README shows it, and how to install one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from synth.formal.constraints.plugins import outside_kinds

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SHOWN = README.partition("<!-- constraint -->\n```python\n")[2].partition("```\n<!-- /constraint -->")[0]

MODULE = "pd_acme_rules"

Install = Callable[..., None]


@contextmanager
def installed(folder: Path, source: str = SHOWN) -> Iterator[Install]:
    """Gives a function that puts entry points into a distribution on the path, as pip leaves it."""
    info = folder / f"{MODULE}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n")
    (folder / f"{MODULE}.py").write_text(source)
    sys.path.insert(0, str(folder))

    def put(*points: str) -> None:
        (info / "entry_points.txt").write_text("\n".join(["[pdoctor.constraints]", *points, ""]))
        outside_kinds.cache_clear()

    try:
        yield put
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(MODULE, None)
        outside_kinds.cache_clear()
