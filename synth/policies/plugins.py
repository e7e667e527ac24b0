"""Policy kinds that other distributions bring: entry points in the group `pdoctor.policies`.

    [project.entry-points."pdoctor.policies"]
    pairs = "acme_policies:Pairs"

They are loaded when the first policy file is read, in every process that reads one. One that cannot be
loaded, or is no policy kind, is told in the log by its name and passed over. What fails later, on a file or
on a run, is the policy's own trouble: the file is refused, the result is `unsupported`, lint passes over it.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import orjson

from synth.errors import BadInput
from synth.formal.solver import PlanRule, Slots
from synth.judge.rules import Rules
from synth.policies.evidence import Evidence
from synth.policies.kinds import KINDS
from synth.policies.kinds.duty import Judged
from synth.policies.kinds.kind import Field, Form, PolicyKind, Relation, Sentence, Traits, answer
from synth.policies.kinds.plans import Slot
from synth.policies.model import RESULT_FIELDS
from synth.policies.names import VERDICTS

GROUP = "pdoctor.policies"
LOG = logging.getLogger(__name__)

_OURS = frozenset(KINDS)
_PARTS = sorted(name for name in {**PolicyKind.__annotations__, **vars(PolicyKind)} if name[0] != "_")
_TAKEN_FIELDS = ("id", "text", "severity", "owner", "applies", "rule")


@functools.cache
def all_forms() -> tuple[Form, ...]:
    """How a file may state a rule: our kinds first, then those that are installed."""
    ours = [form for kind in KINDS for form in kind.forms]
    return (*ours, *(_careful(form, kind) for kind in outside_kinds() for form in kind.forms))


def outside_kinds() -> Iterator[type[PolicyKind]]:
    """What is installed, without kinds and fields whose names are taken."""
    names = {kind.kind for kind in KINDS}
    fields = {*_TAKEN_FIELDS, *(field for kind in KINDS for field in _fields_of(kind))}
    for point in metadata.entry_points(group=GROUP):
        kind = _loaded(point)
        if kind is None:
            continue
        if kind.kind in names or fields & set(_fields_of(kind)):
            told = "policy kind %s (%s) is not used: there is one of that name, or with its field"
            LOG.warning(told, kind.kind, point.value)
            continue
        names.add(kind.kind)
        fields.update(_fields_of(kind))
        yield kind


def judged(rule: PolicyKind, seen: Evidence, rules: Rules) -> Judged:
    """The answer of a rule; where a kind of others fails, `unsupported` with the reason."""
    if type(rule) in _OURS:
        return answer(rule, seen, rules)
    try:
        found = answer(rule, seen, rules)
        _check(found, len(seen.calls))
    except Exception as error:
        _tell_once(rule.kind, type(error).__name__, "its policies are unsupported")
        return Judged("unsupported", (), f"The policy kind {rule.kind!r} failed: {error!r:.200}")
    open_ = found.verdict == "undecided" and not seen.run.ended
    return replace(found, awaits=True) if open_ else found  # it need not say what it waits for


def _check(found: Any, calls: int) -> None:
    """Raise where this is no answer about a run of so many calls: it is stored beside those of others."""
    if not isinstance(found, Judged):
        raise TypeError(f"expected a Judged, got {found!r:.60}")
    if found.verdict not in VERDICTS:
        raise ValueError(f"expected one of {', '.join(VERDICTS)}, got {found.verdict!r:.60}")
    if not all(type(i) is int and 0 <= i < calls for i in found.violations):
        raise ValueError(f"expected positions of its {calls} calls, got {found.violations!r:.60}")
    if not isinstance(found.explanation, str):
        raise TypeError(f"expected an explanation in words, got {found.explanation!r:.60}")
    if taken := sorted(set(RESULT_FIELDS) & set(found.details)):
        raise ValueError(f"the detail {taken[0]!r} is a field of every result")
    orjson.dumps([found.violations, found.explanation, found.details], option=orjson.OPT_NON_STR_KEYS)


def planned(rule: PolicyKind, slots: Sequence[Slot]) -> list[PlanRule]:
    """What a rule says about plans, which make calls of tools; nothing where a kind of others fails."""
    if any(tools.where is not None for tools in rule.tools):
        return []
    if type(rule) in _OURS:
        return list(rule.plan_rules(slots))
    found = _tried(rule, lambda: list(rule.plan_rules(slots)), [])
    return [_careful_plan_rule(rule, one) for one in found]


def _careful_plan_rule(rule: PolicyKind, says: PlanRule) -> PlanRule:
    def careful(world: Slots) -> Any:
        return _tried(rule, lambda: world.all([says(world)]), world.all([]))

    return careful


def flaws(rule: PolicyKind) -> list[str]:
    """Why no run can bring a rule to bear; nothing where a kind of others fails."""
    if type(rule) in _OURS:
        return list(rule.flaws())
    found: list[str] = _tried(rule, lambda: [str(flaw) for flaw in rule.flaws()], [])
    return found


def _tried(rule: PolicyKind, ask: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return ask()
    except Exception as error:
        _tell_once(rule.kind, type(error).__name__, "lint passes over it")
        return otherwise


def _fields_of(kind: type[PolicyKind]) -> list[str]:
    return [form.name for form in kind.forms if isinstance(form, Field)]


def _loaded(point: metadata.EntryPoint) -> type[PolicyKind] | None:
    try:
        found = point.load()
        wrong = _wrong_with(found)
    except (Exception, SystemExit) as error:
        LOG.warning("policy kind %s (%s) cannot be loaded: %r", point.name, point.value, error)
        return None
    if wrong is not None:
        LOG.warning("policy kind %s (%s) is not used: %s", point.name, point.value, wrong)
        return None
    return found  # type: ignore[no-any-return]


def _wrong_with(found: Any) -> str | None:
    """Why this is no policy kind; None if it is one."""
    if not isinstance(found, type):
        return f"a class was expected, not {found!r}"
    known = {*dir(found), *getattr(found, "__dataclass_fields__", ())}
    if missing := [part for part in _PARTS if part not in known]:
        return f"it has no {', '.join(missing)} (see synth.policies.kinds.PolicyKind)"
    name, forms = found.kind, found.forms  # type: ignore[attr-defined]
    if not isinstance(name, str):
        return f"its kind is {name!r:.60} (expected a name)"
    if not isinstance(forms, list | tuple) or not forms or not all(isinstance(form, Form) for form in forms):
        return f"its forms are {forms!r:.60} (expected some of Sentence, Relation, Field)"
    for form in forms:
        if isinstance(form, Sentence):
            re.compile(form.pattern)
        if isinstance(form, Field) and not isinstance(form.name, str):
            return f"it has a field named {form.name!r:.60} (expected a name)"
    return None


def _careful(form: Form, kind: type[PolicyKind]) -> Form:
    """A form of others whose failures are told as a flaw of the file that it cannot read."""
    if isinstance(form, Field):
        return replace(form, read=_guarded(form.read, kind))
    if isinstance(form, Relation):
        return replace(form, build=_guarded(form.build, kind))
    return replace(form, build=_guarded(form.build, kind))


def _guarded(read: Callable[..., PolicyKind], kind: type[PolicyKind]) -> Callable[..., PolicyKind]:
    def careful(*said: Any) -> PolicyKind:
        try:
            rule = read(*said)
            if not isinstance(rule, kind):
                raise TypeError(f"expected a {kind.__name__}, got {rule!r:.60}")
            _ = tuple(rule.tools)
            if not isinstance(rule.traits, Traits):
                raise TypeError(f"expected Traits, got {rule.traits!r:.60}")
        except BadInput:
            raise
        except Exception as error:
            raise BadInput(f"the policy kind {kind.kind!r} cannot read this: {error!r:.200}") from error
        return rule

    return careful


@functools.lru_cache(maxsize=256)
def _tell_once(kind: str, error: str, so: str) -> None:
    LOG.warning("policy kind %s fails (%s); %s", kind, error, so)
