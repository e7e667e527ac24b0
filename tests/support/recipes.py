"""Pages that tell what to do, so that a test can do it: files to write, changes to make, commands to run."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """A fenced block: "```KIND ABOUT", its text."""

    kind: str
    about: str
    """What stands behind the kind, such as the path of a file; "" where nothing does."""
    text: str


def blocks(page: str) -> list[Block]:
    found = re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```", page, flags=re.S | re.M)
    return [Block(*one) for one in found]


def changed(source: str, diff: str) -> str:
    """A file after a change: its `-` lines and the lines around them must stand in it once."""
    for hunk in diff.split("@@\n"):
        lines = [line or " " for line in hunk.splitlines()]
        before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        assert f"\n{source}".count(f"\n{before}") == 1, f"stands not once in the file:\n{before}"
        source = f"\n{source}".replace(f"\n{before}", f"\n{after}")[1:]
    return source
