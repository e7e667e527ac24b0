"""The public surface is what `docs/public.md` lists: a change of one shows in the diff of the other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "public.md"
DOORS = ("pdoctor_trace", "pdoctor_trace.adapter", "synth", "collector.metrics", "collector.dialects")


def listed(page: str) -> dict[str, list[str]]:
    """Door -> the names in the table below its heading."""
    parts = re.split(r"^## `([\w.]+)`$", page, flags=re.MULTILINE)[1:]
    return {
        door: re.findall(r"^\| `(\w+)` \| \S.* \|$", table, flags=re.MULTILINE)
        for door, table in zip(parts[::2], parts[1::2], strict=True)
    }


def exported(door: str) -> list[str]:
    """`__all__` as the source has it: importing some doors changes the program."""
    place = ROOT / door.replace(".", "/")
    source = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text()
    assigned = {
        ast.unparse(node.targets[0]): node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
    }
    return list(ast.literal_eval(assigned["__all__"]))


def differences(page: str) -> list[str]:
    """What the page and the doors do not agree about, or list twice."""
    found = listed(page)
    told = [f"{door}: not on the page" for door in DOORS if door not in found]
    for door in found:
        page_names, names = found[door], exported(door)
        told += [f"{door}.{name}: not on the page" for name in names if name not in page_names]
        told += [f"{door}.{name}: not in __all__" for name in page_names if name not in names]
        told += [f"{door}.{name}: twice" for name in names if [*page_names, *names].count(name) > 2]
    return told


def test_the_page_lists_what_the_doors_export() -> None:
    assert differences(PAGE.read_text()) == []


def test_a_planted_difference_is_told() -> None:
    page = PAGE.read_text()
    row = next(line for line in page.splitlines() if line.startswith("| `judge` |"))
    assert differences(page.replace(row, "")) == ["synth.judge: not on the page"]
    assert differences(page.replace(row, f"{row}\n{row}")) == ["synth.judge: twice"]
    assert differences(page.replace("`judge` |", "`jugde` |")) == [
        "synth.judge: not on the page",
        "synth.jugde: not in __all__",
    ]
    assert differences(page.replace("## `synth`", "## synth")) != []
