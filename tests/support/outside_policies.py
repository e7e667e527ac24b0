"""A policy kind of another distribution, as docs/adapters.md shows it, and how to install one."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

from synth.policies.load import policies_from_text, rule_fields
from synth.policies.plugins import all_forms
from tests.support.distribution import Install, distribution, shown

__all__ = ["HANGING", "MODULE", "SHOWN", "Install", "for_children", "forget", "installed"]

SHOWN = shown("policy")
MODULE = "pd_acme_policies"
HANGING = f"""{SHOWN}

class Hangs(Pairs):
    kind = "hangs"
    forms = (Field("hangs", lambda node, names: Hangs(read_actions(node, names))),)

    def judge(self, seen, rules):
        while True:
            pass
"""
"""The same, with a kind that never comes to an end."""


def installed(folder: Path, source: str = SHOWN) -> AbstractContextManager[Install]:
    """Gives a function that puts entry points into a distribution on the path."""
    return distribution(folder, MODULE, source, "pdoctor.policies", forget)


def for_children(folder: Path) -> str:
    """The `PYTHONPATH` under which child processes find what is installed in a folder."""
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def forget() -> None:
    """What was installed may have changed."""
    for known in (all_forms, rule_fields, policies_from_text):
        known.cache_clear()
