"""A policy kind of another distribution, as README shows it, and how to install one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from synth.policies.load import policies_from_text, rule_fields
from synth.policies.plugins import all_forms
from tests.support.distribution import Install, distribution, shown

__all__ = ["MODULE", "SHOWN", "Install", "forget", "installed"]

SHOWN = shown("policy")
MODULE = "pd_acme_policies"


def installed(folder: Path, source: str = SHOWN) -> AbstractContextManager[Install]:
    """Gives a function that puts entry points into a distribution on the path."""
    return distribution(folder, MODULE, source, "pdoctor.policies", forget)


def forget() -> None:
    """What was installed may have changed."""
    for known in (all_forms, rule_fields, policies_from_text):
        known.cache_clear()
