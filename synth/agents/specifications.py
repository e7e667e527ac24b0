"""The specifications that an agent's name stands for: `react`, a file, a hybrid such as `direct+pass`."""

from __future__ import annotations

from pathlib import Path

from synth.errors import BadInput
from synth.formal.monitor import SHIPPED, Monitor, monitor_of, shipped


def monitors_of(name: str) -> list[Monitor]:
    """The specifications of `react`, a file, or a hybrid `direct+react`; BadInput where it cannot be used."""
    found = []
    for part in name.split("+"):
        monitor = shipped(part) if part in SHIPPED else monitor_of(_text(part))
        if not monitor.specification.states:
            raise BadInput(f"{part}: an agent needs a specification with :states and prompts")
        found.append(monitor)
    if len(found) > 2 or (len(found) == 2 and acts(found[0]) == acts(found[1])):
        raise BadInput(
            "a hybrid is of an agent with actions and one without, as in direct+react or react+direct, "
            f"not {name!r}"
        )
    return found


def _text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        known = ", ".join(SHIPPED)
        raise BadInput(
            f"no specification is called {file!r}, nor can such a file be read ({known})"
        ) from problem


def acts(monitor: Monitor) -> bool:
    """Has it actions, which are carried out?"""
    return any(state.prompt == "[Action]" for state in monitor.specification.states)
