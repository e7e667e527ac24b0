"""A rule that the runs keep, with what speaks for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from synth.language.words import spelled
from synth.observed.run import Run
from synth.policies.kinds.kind import PolicyKind
from synth.policies.mining.seen import Seen
from synth.policies.names import Tools

ANY = "*"
"""Stands for any tool."""
FEWEST = 3
"""Runs in which a rule must have mattered, whatever else speaks for it."""
FEWEST_BOUNDED = 20
"""The same for a limit learned from what was seen: the run after n others goes beyond it in 1 of n + 1."""

Named = Callable[[str], Tools]
Changed = Callable[[Run, Random], Run]


@dataclass(frozen=True, slots=True)
class Mined:
    """One rule; `{0}`, `{1}`, ... in its sentence and id stand for its tools."""

    kind: str
    tools: tuple[str, ...]
    support: int
    """Runs in which it mattered."""
    surprise: float
    """Bits."""
    rule: Callable[[Named], PolicyKind]
    sentence: str
    id: str
    breaks: Changed
    """A copy of a run that may break it."""
    copies: str = "in another order"
    """What such copies are like."""
    bound: str = ""
    """What was seen at most, and what the limit of the rule leaves beyond that."""
    little: Changed | None = None
    """One that differs in less, if there is one that can break it and no other rule."""
    tells: Callable[[Seen], bool] | None = None
    """Could a run have broken it with its own calls? None = whichever it applies to."""
    alone: bool = False
    """Is it compared only with other rules about the same tools?"""
    same: str = ""
    """The field that must be equal."""

    def stated(self, phrases: Mapping[str, str]) -> PolicyKind:
        """The rule; tools are called what `phrases` say."""
        return self.rule(lambda tool: Tools(phrases[tool], (tool,)))

    def said(self, phrases: Mapping[str, str]) -> str:
        """Its sentence."""
        text = self.sentence.format(*(spelled(phrases.get(tool, "")) for tool in self.tools))
        return text[0].upper() + text[1:]

    def named(self, phrases: Mapping[str, str]) -> str:
        """Its id."""
        words = self.id.format(*(phrases.get(tool, "") for tool in self.tools))
        return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def bits(probability: float) -> float:
    return -math.log2(probability)


def shuffled(run: Run, chance: Random) -> Run:
    """The same calls in another order; times are not kept."""
    calls = [replace(call, start=None, end=None, finished=True) for call in run.calls]
    chance.shuffle(calls)
    return replace(run, calls=tuple(calls))


def moved(run: Run, chance: Random) -> Run:
    """The same calls, one of them at another place; times are not kept."""
    calls = [replace(call, start=None, end=None, finished=True) for call in run.calls]
    call = calls.pop(chance.randrange(len(calls)))
    calls.insert(chance.randrange(len(calls) + 1), call)
    return replace(run, calls=tuple(calls))


def one_more(run: Run, tool: str) -> Run:
    """The run with each call of a tool made twice."""
    twice = [[call, replace(call, id=None)] if call.tool == tool else [call] for call in run.calls]
    return replace(run, calls=tuple(call for calls in twice for call in calls))


def is_name(field: str) -> bool:
    """Can a sentence name the argument?"""
    return re.fullmatch(r"[A-Za-z_][\w-]{0,39}", field) is not None
