"""What policies need of the other runs of a conversation, and runs that hold no more than that.

Which calls were made, in which order and how they ended is little. Arguments and results may be much:
they are kept only of tools whose values a rule reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import orjson

from synth.formal.partly import Why
from synth.observed.run import Run, ToolCall
from synth.policies.model import Policy, PolicySet
from synth.policies.names import Tools
from synth.policies.seen_names import tools_in

ABSENT: Why = "absent"
FIELDS = frozenset({"clock", "blocked"})
"""Fields of a call, unknown to a run record, that our kinds of rules read."""


@dataclass(frozen=True)
class Needs:
    """What rules read of the calls of other runs."""

    arguments: tuple[Tools, ...] = ()
    """Of calls of these tools."""
    results: tuple[Tools, ...] = ()
    spoken: tuple[Tools, ...] | None = ()
    """Tools whose calls matter; None = those of any tool do."""
    fields: frozenset[str] = FIELDS
    """Fields of a call, or of the run, that a policy file gives another name."""
    everything: bool = False
    """Some rule does not say what it reads."""

    @cached_property
    def digest(self) -> str:
        """Equal for equal needs."""
        said = orjson.dumps({**asdict(self), "fields": sorted(self.fields)}, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(said, digest_size=8).hexdigest()


def needs_of(files: Iterable[PolicySet]) -> Needs:
    """What the policies of these files read together."""
    found = Needs()
    for file in files:
        found = replace(found, fields=found.fields | set(file.aliases.values()))
        for policy in file.policies:
            found = _with(found, policy)
    return found


def _with(found: Needs, policy: Policy) -> Needs:
    reads = policy.rule.traits.reads
    if reads is None:
        return replace(found, spoken=None, everything=True)
    own = (*policy.rule.tools, *policy.applies.calls, *(Tools(name, (name,)) for name in tools_in(policy)))
    return replace(
        found,
        arguments=tuple(dict.fromkeys([*found.arguments, *reads.arguments, *_with_conditions(policy)])),
        results=tuple(dict.fromkeys([*found.results, *reads.results])),
        spoken=None if found.spoken is None or reads.others else tuple(dict.fromkeys([*found.spoken, *own])),
    )


def _with_conditions(policy: Policy) -> Iterator[Tools]:
    """The actions whose calls are told by their arguments."""
    for tools in (*policy.rule.tools, *policy.applies.calls):
        if tools.where is not None:
            yield Tools(tools.phrase, tools.names)


def reduced(run: Run, needs: Needs) -> Run:
    """The run as the policies see it from other runs of its conversation; its own fields are not asked."""
    if needs.everything:
        return replace(run, status="ok")
    return Run(
        run.id,
        tuple(_reduced(call, needs) for call in run.calls),
        query=run.query,
        tools=run.tools,
        trouble=run.trouble,
        problems=run.problems,
        unseen=run.unseen,
        extra={name: value for name, value in run.extra.items() if name in ("messages", *needs.fields)},
    )


def _reduced(call: ToolCall, needs: Needs) -> ToolCall:
    asked = {"arguments": needs.arguments, "result": needs.results}
    kept = [name for name, tools in asked.items() if _among(call.tool, tools)]
    return ToolCall(
        None,
        call.tool,
        arguments=call.arguments if "arguments" in kept else None,
        result=call.result if "result" in kept else None,
        error=None if call.error is None else "failed",
        start=call.start,
        end=call.end,
        finished=call.finished,
        step=call.step,
        with_text=call.with_text,
        executed=call.executed,
        partly={name: why for name, why in call.partly.items() if name in kept} if kept else {},
        hash_key=call.hash_key if kept else None,
        extra={name: value for name, value in call.extra.items() if name in needs.fields},
    )


def size_of_values(run: Run) -> int:
    """Bytes of the arguments and results in a run, as JSON."""
    values = [[call.arguments, call.result] for call in run.calls if _has_values(call)]
    return len(orjson.dumps(values, option=orjson.OPT_NON_STR_KEYS)) if values else 0


def without_values(run: Run) -> Run:
    """The run with arguments and results that nobody knows."""
    return replace(run, calls=tuple(_emptied(call) if _has_values(call) else call for call in run.calls))


def _has_values(call: ToolCall) -> bool:
    return call.arguments is not None or call.result is not None


def _emptied(call: ToolCall) -> ToolCall:
    gone = {name: ABSENT for name in ("arguments", "result") if getattr(call, name) is not None}
    return replace(call, arguments=None, result=None, partly={**call.partly, **gone})


def telling(run: Run, needs: Needs) -> str:
    """A digest of what other runs are judged by: equal if only calls changed that no policy speaks of."""
    spoken = needs.spoken
    calls = run.calls if spoken is None else tuple(call for call in run.calls if _among(call.tool, spoken))
    said = orjson.dumps(replace(run, calls=calls).to_json(), option=orjson.OPT_NON_STR_KEYS)
    return hashlib.blake2b(said, digest_size=8).hexdigest()


def _among(tool: str, groups: Iterable[Tools]) -> bool:
    return any(tool in tools for tools in groups)
