"""`guard(...)`: the rules of a policy file, asked before a tool runs.

The rules are read and judged by `synth.policies.online` (extra `guard`), which is loaded when the first guard
is set and not before. Our own failures leave the host alone: what cannot be asked is allowed, unless the rule
says `on_error: closed`.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from . import semconv
from .asking import DOOR, MAX_TEXT
from .asking import Refused as Refused
from .harmless import guarded, note
from .person import OnAsk, answer
from .runs import USER, OpenRun, current
from .runtime import ACTIVE
from .said import Said, SaidByAll, kept, values_of
from .settings import LOG, place_to_ask

MAX_RUNS = 1_024
LOOK_EVERY = 1.0
"""Seconds between two looks at the file of rules."""
REFUSED, APPROVED = "refused", "approved"
CHANGED = "Somebody changed the arguments."
UNTOLD = "It cannot be told whether the call keeps that."


class Owed(NamedTuple):
    """A rule that is broken if the run ends now."""

    policy: str
    text: str


class _Here(NamedTuple):
    """Where a run stands while nothing is called."""

    run: Any
    state: Any


class Guard:
    """The rules in force; `close()` or the end of the `with` block takes them back."""

    def __init__(
        self,
        policies: Any,
        mode: str | None = None,
        *,
        on_warn: Callable[[str], object] | None = None,
        on_ask: OnAsk = None,
    ) -> None:
        self.policies, self.mode = policies, mode
        self.on_warn, self.on_ask = on_warn, on_ask
        self._file = Path(policies.file) if policies.file else None
        self._seen, self._next_look = _state_of(self._file), monotonic() + LOOK_EVERY
        self.counts: Counter[str] = Counter()
        self._runs: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._reads_values = any(map(_reads_values, policies.policies))
        self._counts_usage = any(map(_counts_usage, policies.policies))
        from synth.policies import online  # loaded by the first guard

        self._online: Any = online

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *left: object) -> None:
        self.close()

    def close(self) -> None:
        """Ask this guard no more."""
        DOOR.guards = tuple(one for one in DOOR.guards if one is not self)

    @property
    def may_ask(self) -> bool:
        """Whether a person may be waited for."""
        modes = (self._online.mode_of(policy, self.mode) for policy in self.policies.policies)
        return "ask" in modes

    # ------------------------------------------------------------ one call

    def ask(self, call: Any, changeable: bool = False) -> Said | None:
        """What is done about a call whose tool is about to run; what is allowed has begun.

        `changeable`: the host can run it with other arguments.
        """
        from synth.observed.run import ToolCall

        if monotonic() >= self._next_look:
            guarded(self._look_again)
        course = self._course(call)
        if course.waiting and (before := course.waiting.pop((call.call_id, call.tool), None)) is not None:
            if before.changed is not None:
                call.ran_with(ACTIVE.capture.arguments(before.changed))
            return before
        prefix = course.prefix
        arguments = values_of(call.arguments) if self._reads_values else None
        made = ToolCall(
            call.call_id, call.tool, arguments, step=call.turn, with_text=call.has_text, agent=call.agent
        )
        decision, place = prefix.propose(made, heeds=self._lets)
        if not decision.breaches and not decision.doubts:
            return Said(course, place, self._reads_values)
        return self._answer(call, course, made, decision, place, changeable)

    def hidden(self, run: Any, tools: Sequence[str]) -> list[str]:
        """Those of the tools that it refuses whatever else a run calls from now on; `run` may be none yet."""
        course = None if run is None else self._runs.get(self._key(run, run.state.run_id))
        prefix = self._online.Prefix(self.policies) if course is None else course.prefix
        found: list[str] = prefix.shut(
            tools, lambda policy: self._online.mode_of(policy, self.mode) in ("feedback", "block")
        )
        return found

    def failed(self, call: Any) -> Said | None:
        """What is done where the guard itself cannot be asked: only rules that fail closed refuse."""
        for policy in self.policies.policies:
            mode = self._online.mode_of(policy, self.mode)
            about = policy.rule.tools
            concerned = not about or any(call.tool in tools for tools in about)
            if policy.on_error == "closed" and concerned and self._online.stops(mode):
                self.counts[mode] += 1
                text = f"Not run: {policy.text.rstrip('.')}. {UNTOLD}"[:MAX_TEXT]
                error = Refused(text, (policy.id,)) if mode == "block" else None
                return Said(None, None, False, text, error)
        return None

    def _look_again(self) -> None:
        """Take over what the file says now; where it cannot be read that is told once, and the rules stay."""
        self._next_look = monotonic() + LOOK_EVERY
        state = _state_of(self._file)
        if self._file is None or state == self._seen:
            return
        self._seen = state
        from synth.policies.cased import rules_of

        try:
            made = rules_of(str(self._file))
        except Exception as error:
            LOG.error(
                "guard: %s has changed and cannot be read; the rules of before stay: %s", self._file, error
            )
            return
        with self._lock:
            self.policies, self._reads_values = made, any(map(_reads_values, made.policies))
            self._counts_usage = any(map(_counts_usage, made.policies))
            for course in self._runs.values():
                course.prefix.ruled_by(made)
        LOG.info("guard: %s has changed: %d rules", self._file, len(made))

    def plan(self, calls: Any, *, tools: Sequence[str] | None = None) -> tuple[Any, ...]:
        """What the rules say of a plan before its first call, taken as a run of its own.

        `calls` are names or `{"name": ..., "arguments": ...}`, in their order. Each answer has `step` (None =
        what is left undone at the end), `tool`, `policy`, `text` and `certain`; () = the plan keeps them all.
        """
        from synth.observed.run import Run
        from synth.policies.planned import calls_of, flaws_of

        about = Run("plan", (), tools=None if tools is None else tuple(tools))
        return flaws_of(self.policies, calls_of(calls), about)

    def used(self, run: Any, model: Any, given: int | None, written: int | None) -> None:
        """A model has replied to the run."""
        if self._counts_usage:
            prefix = self._course(_Here(run, run.state)).prefix
            prefix.used(model if type(model) is str else None, given, written)

    def owed(self) -> tuple[Owed, ...]:
        """What the run that goes on here has left undone: rules that are broken if it ends now.

        For what a framework asks before it takes an answer: an output guardrail, a validator, a hook.
        () = nothing, and also outside of a run.
        """
        above = current()
        if above is None:
            return ()
        run = above if isinstance(above, OpenRun) else above.run
        prefix = self._course(_Here(run, above.state)).prefix
        return tuple(Owed(policy.id, text) for policy, text in prefix.owed())

    def _answer(
        self, call: Any, course: _Course, made: Any, decision: Any, place: int | None, changeable: bool
    ) -> Said:
        prefix = course.prefix
        found = self._found(decision)
        if not found:
            self.counts["doubt"] += 1
            doubts = sorted(decision.doubts, key=self._severity, reverse=True)
            guarded(self._tell, call, "doubt", doubts, [doubt.why for doubt in doubts])
            return Said(course, place, self._reads_values)
        mode, rules = self._mode_of(found[0]), tuple(one.policy.id for one in found)
        self.counts[mode] += 1
        text = _text(found[0], prefix, kept())
        if place is not None:
            guarded(self._tell, call, mode, found, [text])
            if mode == "warn":
                self._warn(text)
            return Said(course, place, self._reads_values)
        if mode == "ask" and decision.breaches:
            answered = guarded(answer, self.on_ask, text, call, rules, changeable)
            if answered is not None and answered is not False:
                said = guarded(self._approved, call, course, made, found, text, answered)
                if said is not None:  # else the call is one that nobody let run
                    return said
        return self._refused(call, found, text)

    def _approved(self, call: Any, course: _Course, made: Any, asked: Any, text: str, answered: Any) -> Said:
        """Somebody lets the call run, perhaps with other arguments: it is proposed again as it is to run.

        The answer is about the rules that were asked about; what breaks another one by now is refused.
        """
        changed = answered if isinstance(answered, dict) else None
        if changed is not None:
            call.ran_with(ACTIVE.capture.arguments(changed))
            made = replace(made, arguments=values_of(call.arguments) if self._reads_values else None)
        named = {one.policy.id for one in asked}

        def new(decision: Any) -> list[Any]:
            found = self._found(decision)
            return [
                one for one in found if one.policy.id not in named and self._online.stops(self._mode_of(one))
            ]

        decision, place = course.prefix.propose(made, heeds=lambda decision: not new(decision))
        if place is None:
            found = new(decision)
            text = _text(found[0], course.prefix, kept())
            return self._refused(call, found, text if changed is None else f"{CHANGED} {text}"[:MAX_TEXT])
        guarded(self._tell, call, APPROVED, asked, [text])
        return Said(course, place, self._reads_values, changed=changed)

    def _refused(self, call: Any, found: Any, text: str) -> Said:
        guarded(self._tell, call, REFUSED, found, [text])
        error = None
        if self._mode_of(found[0]) == "block":
            error = Refused(text, tuple(one.policy.id for one in found))
        return Said(None, None, False, text, error)

    def _found(self, decision: Any) -> list[Any]:
        """What the call would break, the strictest rule first."""
        return sorted((*decision.breaches, *self._closed(decision)), key=self._severity, reverse=True)

    def _lets(self, decision: Any) -> bool:
        return not any(self._online.stops(self._mode_of(one)) for one in self._found(decision))

    def _closed(self, decision: Any) -> list[Any]:
        """The doubts that are as good as breaches."""
        return [one for one in decision.doubts if one.policy.on_error == "closed"]

    def _mode_of(self, one: Any) -> str:
        return str(self._online.mode_of(one.policy, self.mode))

    def _severity(self, one: Any) -> int:
        return int(self._online.MODES.index(self._mode_of(one)))

    def _warn(self, text: str) -> None:
        LOG.warning("guard: %s", text)
        if self.on_warn is not None:
            try:
                self.on_warn(text)
            except Exception as error:
                note(self.on_warn, error)

    def _tell(self, call: Any, said: str, found: Any, reasons: list[str]) -> None:
        """`found` has the strictest rule first. Each guard has its event; on the span a refusal stays."""
        told = {
            semconv.GUARD_DECISION: said,
            semconv.GUARD_MODE: self._mode_of(found[0]),
            semconv.GUARD_RULES: ",".join(one.policy.id for one in found),
            semconv.GUARD_REASON: " ".join(reasons)[:MAX_TEXT],
        }
        call.happened(semconv.GUARD_DECISION, told)
        if call.rare.get(semconv.GUARD_DECISION) != REFUSED:
            call.rare = {**call.rare, **told}

    def _course(self, call: Any) -> _Course:
        """The calls of the run so far; of the conversation, where the file is about those."""
        run = call.run
        key = self._key(run, call.state.run_id)
        with self._lock:
            found: _Course | None = self._runs.get(key)
            if found is None:
                found = self._runs[key] = _Course(self.policies, call)
            self._runs.move_to_end(key)
            if len(self._runs) > MAX_RUNS:
                self._runs.popitem(last=False)
            if run is not None:
                found.heard(run)
            return found

    def _key(self, run: Any, run_id: str) -> str:
        if self.policies.scope == "session" and run is not None and run.conversation:
            return f"conversation {run.conversation}"
        return run_id

    def told(self) -> dict[str, Any]:
        """For `status()`."""
        return {
            "file": self.policies.name,
            "rules": len(self.policies),
            "mode": self.mode or "as the file says",
            "decisions": dict(self.counts),
        }


class _Course:
    """A run, or a conversation, as far as it has gone: its calls, and what was told beside them."""

    __slots__ = ("_latest", "_offered", "_queries", "prefix", "waiting")

    def __init__(self, policies: Any, call: Any) -> None:
        from synth.policies.online import Prefix

        self._offered, self._queries, self._latest = 0, set[int](), ""
        self.waiting: dict[tuple[str | None, str], Said] = {}
        """Calls that were broken off for a person's answer; each goes on as the call that it is."""
        top = next(_around(call.run), None)
        self.prefix = Prefix(
            policies,
            agent=None if top is None else top.agent,
            extra={} if top is None else _facts(top.facts),
            case_id=call.state.case_id,
        )

    def heard(self, run: Any) -> None:
        """Take in what the run that makes a call was offered and asked since the last one.

        The user speaks where a run begins that is in no other agent's; a run of the host's own is no agent's.
        """
        top = None
        for one in _around(run):
            top = top or one
            if one.query is not None and one.span_id not in self._queries and kept():
                self._queries.add(one.span_id)
                if one.query != self._latest:
                    self.prefix.said("user", one.query)
                    self.prefix.told(query=self.prefix.fields.get("query") or one.query)
                    self._latest = one.query
            if one.source != USER:
                break
        if top is not None and len(top.tools) != self._offered:
            self._offered = len(top.tools)
            self.prefix.told(tools=tuple(top.tools))


def _state_of(file: Path | None) -> tuple[int, ...] | None:
    """What changes when the file does; None where it cannot be seen."""
    try:
        found = None if file is None else file.stat()
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def _around(run: Any) -> Iterator[Any]:
    """The run and those that it stands in, the outermost first."""
    if run is not None:
        yield from _around(run.above)
        yield run


def _facts(told: bytes | None) -> dict[str, Any]:
    """What the host said of the run beside its calls, as rules read it."""
    if told is None:
        return {}
    found = values_of(told)
    if not isinstance(found, dict):
        return {"fields_lost": True}
    fields: dict[str, Any] = {}
    for name, value in found.items():
        *path, last = name.split(".")
        inner = fields
        for part in path:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                return {"fields_lost": True}
        inner[last] = value
    return fields


def _ask(call: Any, changeable: bool = False) -> Any:
    """What the guards say about a call; None where nobody has to be told how it ends.

    `changeable`: its host can run it with other arguments. Of several guards the first may ask for some, for
    those after it are asked about the call that runs.
    """
    rare = call.rare
    if rare is not None and semconv.GUARD_DECISION in rare:  # another layer of the same call has asked
        return None
    call.rare = {**(rare or {}), semconv.GUARD_DECISION: "allowed"}
    guards = DOOR.guards
    if len(guards) == 1:
        return _said_by(guards[0], call, changeable)
    all_ = (_said_by(one, call, changeable and one is guards[0]) for one in guards)
    return SaidByAll([said for said in all_ if said is not None])


def _said_by(guard: Guard, call: Any, changeable: bool) -> Said | None:
    try:
        return guard.ask(call, changeable)
    except Exception as error:
        note(_ask, error)
        return guard.failed(call)


def guard(
    rules: Any,
    mode: str | None = None,
    *,
    on_warn: Callable[[str], object] | None = None,
    on_ask: OnAsk = None,
) -> Guard:
    """Ask the rules of a policy file, or of its text, before each tool runs; or of a case.

    Of a file of cases (`.jsonl`) each is asked about in the runs that name it.

    `mode` (observe, warn, feedback, ask, block) is what is done about a call that would break a rule for
    good: for rules that do not say it, and the most for those that say it with `on_break`. Without it rules
    that say nothing are observed, and none goes beyond `feedback`. `on_warn` is given the words; `on_ask` as
    well, and with a second parameter a `person.Question`. It lets the call run by giving True, or with other
    arguments by giving these; it may be a coroutine function, `"terminal"`: then the program's terminal is
    asked, or the address of another collector than that of the spans. Raises ValueError for an unknown mode,
    ImportError without the extra `guard`, and what reading the file raises. Tools that only the traffic of a
    raw loop shows cannot be refused: wrap them with `tool` or `wrap_tools`.
    """
    from synth.policies.cased import rules_of
    from synth.policies.names import MODES

    if mode is not None and mode not in MODES:
        raise ValueError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
    if isinstance(on_ask, str):
        place_to_ask(on_ask)
    made = Guard(rules_of(rules), mode, on_warn=on_warn, on_ask=on_ask)
    DOOR.ask = _ask
    DOOR.guards = (*DOOR.guards, made)
    LOG.info("guard: %d rules; %s", len(made.policies), CANNOT)
    return made


CANNOT = (
    "calls of every supported framework, of Anthropic's tool runner and of tools in @pdoctor_trace.tool or "
    "wrap_tools can be refused; functions that a loop of your own calls as they are, and tools that are "
    "generators, cannot: wrap them"
)


def _reads_values(policy: Any) -> bool:
    from synth.policies.proposed import VALUES

    reads = policy.rule.traits.reads
    return reads is None or bool(reads.arguments or reads.results) or policy.rule.kind in VALUES


def _counts_usage(policy: Any) -> bool:
    from synth.policies.kinds.spent import Spent

    return isinstance(policy.rule, Spent)


def _text(one: Any, prefix: Any, kept: bool) -> str:
    """What the model is told; values of arguments only where the content mode keeps them."""
    from synth.policies.proposed import VALUES, refusal

    offered = prefix.fields.get("tools")
    allowed = guarded(prefix.allowed, offered) if offered else None
    if hasattr(one, "why"):
        return refusal(one.policy, UNTOLD, (), allowed)
    told = kept or one.policy.rule.kind not in VALUES
    return refusal(one.policy, one.explanation if told else None, one.waits, allowed, one.rest)


def from_environment(environ: Any) -> None:
    """Set the guard that `PDOCTOR_GUARD` names, if it does; what is wrong with it is told once."""
    file = environ.get("PDOCTOR_GUARD")
    if not file or DOOR.guards:
        return
    try:
        guard(
            file,
            environ.get("PDOCTOR_GUARD_MODE") or None,
            on_ask=environ.get("PDOCTOR_GUARD_ASK") or None,
        )
    except Exception as error:
        LOG.error("guard: %s is not in force: %s", file, error)
