"""What the guard of the API keeps of runs: their calls so far, in memory, as much as was agreed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from collector.api.bodies import TooLarge
from collector.api.views import encoded
from collector.errors import BadRequest, Conflict
from collector.judging.policies import PolicyFile, load_all, stored_files
from collector.pipeline.asked import PAIRS, opened
from collector.pipeline.quick import Quick
from collector.settings import Settings
from collector.store import catalog
from synth.judge_process import JudgeFailed
from synth.observed import run_from_json
from synth.policies import proposed

MAX_RUNS, MAX_CALLS = 1_000, 1_000
MAX_BYTES, MAX_VALUE = 32 * 1024 * 1024, 64 * 1024
POLICY_TEXT = 262_144
Gone = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Asking:
    """A request, as far as it can be told without the rules."""

    run: Mapping[str, Any] | None
    run_id: str
    call: Mapping[str, Any] | None
    ended: tuple[tuple[int, Mapping[str, Any]], ...]
    policies: str | None
    about: Mapping[str, Any]
    """What it says of the run besides: offered tools, agent, query."""

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Asking:
        run, run_id, call = said.get("run"), said.get("run_id", ""), said.get("call")
        policies, ended = said.get("policies"), said.get("ended", [])
        if not isinstance(run_id, str) or len(run_id) > 200 or ("run_id" in said and not run_id):
            raise BadRequest("`run_id` must be text of 1 to 200 characters", "name the run")
        if run is not None and not isinstance(run, dict):
            raise BadRequest("`run` must be a run record", "send an object with `calls`")
        if policies is not None and (not isinstance(policies, str) or len(policies) > POLICY_TEXT):
            raise BadRequest("`policies` must be the text of a policy file", "or leave it out")
        if call is None and (run is not None or not ended):
            raise BadRequest("`call` is missing", 'send {"name": ..., "arguments": ...}')
        if call is not None and not (isinstance(call, dict) and isinstance(call.get("name"), str)):
            raise BadRequest("`call` must be an object with a `name`", 'send {"name": ..., "arguments": ...}')
        if run is not None and ended:
            raise BadRequest("`ended` is for runs that are kept", "put results into the calls of `run`")
        about = {name: said[name] for name in ("tools", "agent", "query") if said.get(name) is not None}
        return cls(run, run_id, call, tuple(map(_ended, _list(ended))), policies, about)


def _list(said: Any) -> list[Any]:
    if not isinstance(said, list) or len(said) > MAX_CALLS:
        raise BadRequest("`ended` must be a list", 'send [{"call": 0, "result": ...}]')
    return said


def _ended(said: Any) -> tuple[int, Mapping[str, Any]]:
    number = said.get("call") if isinstance(said, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise BadRequest("`ended` names no call", "each entry needs `call`, the number that was answered")
    error = said.get("error")
    if error is not None and not isinstance(error, str):
        raise BadRequest("`error` must be text", "say what failed")
    return number, {name: said[name] for name in ("result", "error") if name in said}


@dataclass(frozen=True, slots=True)
class CallToJudge:
    """The question for the process that judges: a run record so far, and a call."""

    project: int
    settings: Settings
    record: bytes
    call: bytes
    policies: str | None
    now: int

    @property
    def size(self) -> int:
        return len(self.record) + len(self.call) + len(self.policies or "")

    def answered(self) -> bytes:
        run = run_from_json({"run_id": "r", "status": "running", **orjson.loads(self.record)})
        (call,) = run_from_json({"run_id": "r", "calls": [orjson.loads(self.call)]}).calls
        if self.policies is not None:
            files = [PolicyFile("request", self.policies)]
        else:
            with opened(self.settings.store_url).read() as connection:
                files = stored_files(catalog.active_policies(connection, self.project))
        known = load_all(files).files
        if len(run.calls) * sum(len(one.policies) for one in known) > PAIRS // 10:
            raise TooLarge(f"{len(run.calls)} calls are too many for these rules", "send the newest ones")
        found = [proposed(one, run, replace(call, finished=False), self.now).to_json() for one in known]
        return encoded(together(found))

    def without(self, failed: JudgeFailed) -> CallToJudge:
        raise TooLarge(f"the call could not be judged: {failed}", "send fewer calls, or fewer policies")


def together(found: list[dict[str, Any]]) -> dict[str, Any]:
    """What several policy files say: the first refusal is told, tools are allowed where all allow them."""
    rules = [rule for one in found for rule in one["rules"]]
    doubts = [doubt for one in found for doubt in one["doubts"]]
    lists = [one["allowed_tools"] for one in found if one["allowed_tools"] is not None]
    common = [tool for tool in lists[0] if all(tool in one for one in lists)] if lists else None
    return {
        "allowed": not rules,
        "decision": "refused" if rules else "doubt" if doubts else "allowed",
        "rules": rules,
        "doubts": doubts,
        "feedback": next((one["feedback"] for one in found if one["feedback"]), None),
        "allowed_tools": common,
    }


@dataclass(slots=True, eq=False)
class Kept:
    """A run that the collector keeps for a host."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    about: dict[str, Any] = field(default_factory=dict)
    calls: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0


class Guarded:
    """Safe on one event loop; the oldest runs are forgotten where there is no room."""

    def __init__(self, settings: Settings, quick: Quick, alone: bool) -> None:
        """`alone`: does this process answer all requests?"""
        self.settings, self.quick, self.alone = settings, quick, alone
        self._runs: OrderedDict[tuple[int, str], Kept] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._runs)

    async def answer(self, project: int, asking: Asking, now: float, gone: Gone) -> bytes:
        at = int(now * 1e9)
        if asking.run is not None:
            record = {**asking.run, **asking.about}
            return orjson.dumps({**await self._judged(project, record, asking, at, gone), "call": None})
        if not self.alone:
            raise Conflict(
                "this collector has several workers, which keep no runs together",
                "send the calls so far as `run`",
            )
        kept = self._kept(project, asking.run_id)
        async with kept.lock:
            self._over(kept, asking, at)
            if asking.call is None:
                return orjson.dumps({**together([]), "call": None})
            kept.about |= asking.about
            if len(kept.calls) >= MAX_CALLS:
                raise TooLarge(f"a run that is kept may have {MAX_CALLS} calls", "begin another run")
            said = await self._judged(project, {**kept.about, "calls": kept.calls}, asking, at, gone)
            number = None
            if said["allowed"]:
                number = len(kept.calls)
                call = {"id": None, "name": asking.call["name"], **_small(asking.call, "arguments")}
                self._add(kept, {**call, "start_ns": at, "finished": False})
            return orjson.dumps({**said, "call": number})

    async def _judged(
        self, project: int, record: Mapping[str, Any], asking: Asking, at: int, gone: Gone
    ) -> dict[str, Any]:
        made = {"id": None, "arguments": None, **(asking.call or {})}
        question = CallToJudge(project, self.settings, encoded(record), encoded(made), asking.policies, at)
        found: dict[str, Any] = orjson.loads(await self.quick.ask(question, gone))
        return found

    def _kept(self, project: int, run_id: str) -> Kept:
        key = (project, run_id)
        found = self._runs.get(key)
        if found is None:
            found = self._runs[key] = Kept()
        self._runs.move_to_end(key)
        while len(self._runs) > 1 and (len(self._runs) > MAX_RUNS or self.size > MAX_BYTES):
            self.size -= self._runs.popitem(last=False)[1].size
        return found

    def _over(self, kept: Kept, asking: Asking, at: int) -> None:
        for number, _ in asking.ended:
            if number >= len(kept.calls):
                raise BadRequest(f"the run has no call {number}", f"it has {len(kept.calls)} calls")
        for number, outcome in asking.ended:
            call = kept.calls[number]
            if not call.get("finished", True):
                more = {"end_ns": at, "finished": True, **outcome, **_small(outcome, "result")}
                more["partly"] = {**call.get("partly", {}), **more.get("partly", {})}
                call |= more
                self._grow(kept, len(encoded(more)))

    def _add(self, kept: Kept, call: dict[str, Any]) -> None:
        kept.calls.append(call)
        self._grow(kept, len(encoded(call)))

    def _grow(self, kept: Kept, size: int) -> None:
        kept.size += size
        self.size += size


def _small(said: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A value that may be kept; of what is longer only that it was there is known."""
    value = said.get(name)
    if len(encoded(value)) <= MAX_VALUE:
        return {name: value}
    return {name: None, "partly": {name: "absent"}}
