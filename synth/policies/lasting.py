"""Which answers about a run that goes on are those about the same run once it has ended."""

from __future__ import annotations

from collections.abc import Iterable

from synth.policies.kinds import KINDS
from synth.policies.model import PolicyResult, PolicySet

_OURS = frozenset(KINDS)


def are_lasting(files: Iterable[PolicySet], results: Iterable[PolicyResult]) -> bool:
    """Do the results of these files stay as they are if the run ends and no call comes?

    Those do that wait for nothing. A violation may have a repair, which owes what a run that goes on does
    not owe yet, if anything that was tried for it did; and a file that speaks of a status, or has a kind of
    others, may ask whether the run ended.
    """
    return not any(map(_may_change, results)) and not any(map(_may_ask, files))


def _may_change(result: PolicyResult) -> bool:
    mended = result.repair is not None and result.repair.lasting
    return result.awaits or (result.verdict == "violated" and not mended)


def _may_ask(file: PolicySet) -> bool:
    return "status" in file.source or any(type(policy.rule) not in _OURS for policy in file.policies)
