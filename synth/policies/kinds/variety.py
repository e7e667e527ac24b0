"""Variety: how many different values of an argument an action may, or must, have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from synth.errors import BadInput
from synth.formal.partly import is_whole
from synth.formal.solver import PlanRule
from synth.judge.rules import Rules
from synth.judge.wording import calls_in_words
from synth.policies.evidence import MISSING, Evidence, key_of
from synth.policies.kinds.arguments import lacking_in_words, named, with_the_same
from synth.policies.kinds.candidates import without_arguments
from synth.policies.kinds.count import NUMBERS, number_of
from synth.policies.kinds.crowds import alike
from synth.policies.kinds.duty import NOT_APPLICABLE, NOT_ITS_OWN, Judged, despite_gaps
from synth.policies.kinds.edits import Edit, without_the_last
from synth.policies.kinds.kind import HAPPEN, MUST, PER, Form, Paths, Reads, Sentence, Traits, scope_of
from synth.policies.kinds.plans import Slot
from synth.policies.kinds.tally import so_far
from synth.policies.names import Names, Scope, Tools
from synth.policies.nouns import Noun

_FIELD = r"[^\s,;.]+(?:\.[^\s,;.]+)*"


def _read(m: re.Match[str], names: Names, same: Paths) -> Variety:
    what, path = names.list(m["a"]), _path(m["field"])
    number, least = number_of(m["n"]), m["how"].lower() == "at least"
    if least and same:
        raise BadInput("a least number of different values is of all calls, not of those with the same FIELD")
    if any(own == path for own, _ in same):
        raise BadInput(f"{named(path)!r} cannot be the same and different")
    return Variety(what, path, number if least else None, None if least else number, same, scope_of(m))


def _path(field: str) -> tuple[str, ...]:
    """Where the argument is: a mere noun is its `_id` or number, too."""
    return tuple(field.split(".")) if "." in field else (Noun(field),)


@dataclass(frozen=True, slots=True)
class Variety:
    """Over the attempts at an action, an argument has at most so many different values.

    Or, over its successes, at least so many. With `same`, over those whose other arguments are equal. Of
    `any tool` only calls that have the argument are counted.
    """

    kind: ClassVar[str] = "variety"
    forms: ClassVar[tuple[Form, ...]] = (
        Sentence(
            rf"(?P<a>.+?) {MUST} {HAPPEN} (?:with|for) (?P<how>at most|no more than|at least) "
            rf"(?P<n>[1-9]\d{{0,5}}|{'|'.join(NUMBERS)}) different (?P<field>{_FIELD}){PER}",
            _read,
            same=True,
        ),
    )
    what: tuple[Tools, ...]
    different: tuple[str, ...]
    least: int | None = None
    most: int | None = None
    same: Paths = ()
    per: Scope | None = None
    """The scope that the sentence names; None = that of the file."""

    @property
    def tools(self) -> tuple[Tools, ...]:
        return self.what

    @property
    def traits(self) -> Traits:
        subjects = self.what if self.least is None else ()
        return Traits(subjects=subjects, order_alone=True, reads=Reads(self.what), scope=self.per)

    def judge(self, seen: Evidence, rules: Rules) -> Judged:
        if self.least is not None:
            return self._enough(seen)
        if not any(so_far(self._counted(tools, seen), seen) for tools in self.what):
            return self._none(seen)
        if without_arguments(seen, self.what):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        late: set[int] = set()
        open_: Judged | None = None
        for tools in self.what:
            for surely, perhaps in alike(self._counted(tools, seen), self.same, seen):
                late |= self._beyond(surely, seen)
                if open_ is None and any(map(seen.owns, (*surely, *perhaps))):
                    open_ = self._open(surely, perhaps, seen)
        own = tuple(sorted(filter(seen.owns, late)))
        if own:
            phrase = next(tools.phrase for tools in self.what if seen.is_of(own[0], tools))
            limit = f"at most {self.most} different {named(self.different)}{with_the_same(self.same)}"
            return Judged(
                "violated", own, f"{phrase} may have {limit}; {calls_in_words(own)} went beyond that."
            )
        return open_ or (NOT_ITS_OWN if late else Judged("ok", (), "There are not too many values."))

    def _counted(self, tools: Tools, seen: Evidence) -> list[int]:
        """The attempts; those of `any tool` that may have such an argument."""
        calls = seen.attempts(tools)
        if "*" not in tools.names:
            return calls
        return [
            i for i in calls
            if seen.arguments(i) is None or seen.argument(i, self.different) is not MISSING
        ]  # fmt: skip

    def _none(self, seen: Evidence) -> Judged:
        """Of `any tool`, calls there were, and none has such an argument."""
        if not any("*" in tools.names and seen.attempts(tools) for tools in self.what):
            return NOT_APPLICABLE
        return Judged("not_applicable", (), f"No call has the argument {named(self.different)!r}.")

    def _enough(self, seen: Evidence) -> Judged:
        """In the end, were there so many?"""
        if without_arguments(seen, self.what):
            return Judged("unsupported", (), "The arguments of the calls were not recorded.")
        for tools in self.what if seen.tells_end else ():
            calls = seen.successes(tools)
            values, unknown = self._values(calls, seen)
            need = self.least or 0
            if len(values) >= need:
                continue
            said = (
                f"{tools.phrase} succeeded with {len(values)} different {named(self.different)}, not {need}."
            )
            if len(values) + len(unknown) >= need:
                return self._lacking(unknown, seen)
            return Judged("violated" if seen.run.closed else "undecided", (), said, awaits=True)
        return Judged("ok", (), "There are enough values.")

    def _values(self, calls: Sequence[int], seen: Evidence) -> tuple[dict[Any, int], list[int]]:
        """Each known value with the first call that has it, and the calls whose value is not known."""
        found: dict[Any, int] = {}
        unknown: list[int] = []
        for i in calls:
            value = seen.argument(i, self.different)
            if value is MISSING or not is_whole(value):
                unknown.append(i)
            else:
                found.setdefault(key_of(value), i)
        return found, unknown

    def _beyond(self, calls: Sequence[int], seen: Evidence) -> set[int]:
        """Those that have a value beyond the first so many."""
        values, unknown = self._values(calls, seen)
        first = set([*values][: self.most])
        others = set(calls) - set(unknown)
        return {i for i in others if key_of(seen.argument(i, self.different)) not in first}

    def _open(self, surely: Sequence[int], perhaps: Sequence[int], seen: Evidence) -> Judged | None:
        values, unknown = self._values([*surely, *perhaps], seen)
        most = self.most or 0
        if len(values) + len(unknown) <= most or len(self._values(surely, seen)[0]) > most:
            return None
        return (
            self._lacking(unknown, seen)
            if unknown
            else lacking_in_words([(i, 0) for i in perhaps], self.same, seen)
        )

    def _lacking(self, calls: Sequence[int], seen: Evidence) -> Judged:
        return lacking_in_words([(i, 0) for i in calls], ((self.different, self.different),), seen)

    def unseen(self, judged: Judged, seen: Evidence) -> Judged:
        possible = any(seen.gaps.can_be(tools) for tools in self.what)
        if judged.verdict == "violated" and not judged.violations and possible:
            return Judged("undecided", (), judged.explanation)
        opens = possible and self.least is None
        return despite_gaps(judged, opens=lambda: opens, mends=lambda call: False)

    def edits(self, judged: Judged, seen: Evidence) -> Iterator[Edit]:
        """What goes beyond is left out."""
        return without_the_last(judged)

    def plan_rules(self, slots: Sequence[Slot]) -> tuple[PlanRule, ...]:
        return ()

    def flaws(self) -> tuple[str, ...]:
        return ()
