"""The specifications that an agent's name stands for: `react`, a file, a hybrid such as `direct+pass`."""

from __future__ import annotations

import difflib
from pathlib import Path

from synth.errors import BadInput
from synth.formal.monitor import SHIPPED, Monitor, monitor_of, shipped


def monitors_of(name: str) -> list[Monitor]:
    """The specifications of `react`, a file, or a hybrid `direct+react`; BadInput where it cannot be used."""
    found = []
    for part in name.split("+"):
        monitor = monitor_named(part)
        if not monitor.specification.states:
            raise BadInput(f"{part}: an agent needs a specification with :states and prompts")
        found.append(monitor)
    if len(found) > 2 or (len(found) == 2 and acts(found[0]) == acts(found[1])):
        raise BadInput(
            "a hybrid is of an agent with actions and one without, as in direct+react or react+direct, "
            f"not {name!r}"
        )
    return found


def monitor_named(name: str) -> Monitor:
    """One that is shipped, else that of a file; BadInput says what is wrong with it."""
    if name in SHIPPED:
        return shipped(name)
    if not Path(name).exists():
        near = difflib.get_close_matches(name, SHIPPED, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        known = ", ".join(SHIPPED)
        raise BadInput(
            f"no specification is called {name!r}, and there is no such file{meant} (shipped: {known})"
        )
    from synth.files import text_of

    try:
        return monitor_of(text_of(Path(name)).removeprefix("\ufeff"))
    except BadInput as bad:
        raise bad.at(file=name) from None


def acts(monitor: Monitor) -> bool:
    """Has it actions, which are carried out?"""
    return any(state.prompt == "[Action]" for state in monitor.specification.states)
