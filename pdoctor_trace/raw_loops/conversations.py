"""The conversations that are going on, and which of them a request continues.

That is told, in this order, by the server-held key (`previous_response_id`, thread), by open call ids that
the request answers, by the longest shared history, by the same thread or task. Inside a case or a user's
`run()` only conversations of the same run are looked at. All is bounded; `tracker.py` holds the lock.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable

from pdoctor_trace import otel, semconv
from pdoctor_trace.calls import Call
from pdoctor_trace.run_state import RunState
from pdoctor_trace.runs import OpenRun, current
from pdoctor_trace.runtime import ACTIVE
from pdoctor_trace.same_call import same_json

from .messages import Asked, Outgoing, as_kept, number_of

MAX_CONVERSATIONS = 2_000
MAX_KEYS = 10_000

Ambient = tuple[int, int]
"""Thread and task that are running."""


class OpenCall:
    """A call that was asked for and not answered yet."""

    __slots__ = (
        "asked",
        "before",
        "call",
        "conversation",
        "elsewhere",
        "ended_ns",
        "executions",
        "guessed",
        "key",
        "refused",
        "result",
        "started_ns",
        "well_formed",
    )

    def __init__(self, call: Call, conversation: Conversation, well_formed: bool, key: int) -> None:
        """`key`: by which the call is known in this process."""
        self.call, self.conversation, self.well_formed, self.key = call, conversation, well_formed, key
        self.before = conversation.last
        """Digest of the history that the model had."""
        self.asked = call.arguments
        """Arguments as the model wrote them."""
        self.executions = 0
        self.elsewhere = False
        """Whether another process was given it to run."""
        self.refused = False
        """Whether a guard did not let it run."""
        self.guessed = False
        """Whether the tool that ran may have been another call of the same message."""
        self.started_ns = self.ended_ns = 0
        self.result: bytes | None = None

    @property
    def call_id(self) -> str | None:
        return self.call.call_id

    @property
    def tool(self) -> str:
        return self.call.tool

    @property
    def arguments(self) -> bytes | None:
        return self.asked

    @property
    def failure(self) -> str:
        """What the tool that ran failed with."""
        return ACTIVE.capture.message(self.call.error)

    @property
    def outcome(self) -> tuple[bytes | None, str]:
        """What its execution came to."""
        return self.result, self.failure

    def is_asked(self, call_id: str, asked: Asked | None) -> int:
        """How surely a history means this call: 0 = it does not, 2 = by its arguments as well."""
        if self.call_id != call_id or (asked is not None and asked.tool != self.tool):
            return 0
        return 2 if asked is None or same_json(self.asked, as_kept(asked)) else 1


class Conversation:
    """One conversation with a model: its open calls and its current run."""

    __slots__ = (
        "ambient",
        "answered",
        "asking",
        "body",
        "ending",
        "held",
        "keys",
        "last",
        "left",
        "open",
        "reply_seen",
        "request_ns",
        "resumes",
        "run",
        "state",
    )

    def __init__(self, ambient: Ambient) -> None:
        self.ambient, self.body = ambient, body_here()
        self.run: OpenRun | None = None
        self.state: RunState | None = None
        """Of the current or latest run."""
        self.open: list[OpenCall] = []
        self.asking: tuple[int, list[Asked]] = (-1, [])
        """Turn and calls of the latest message that asked for any."""
        self.held = False
        """Whether the server may hold its history."""
        self.ending = False
        """Whether its run has been answered, and ends when the tokens of the answer have come."""
        self.left = False
        """Whether another process went on with it, as the latest request shows."""
        self.resumes: str | None = None
        """Token of the part that its next run goes on from."""
        self.last: int | None = None
        self.keys: set[str] = set()
        """Held by servers, that it is known by."""
        self.reply_seen = True
        self.answered: set[tuple[str, int]] = set()
        """Answers of the latest request; the same ones again are a repeated request."""
        self.request_ns = 0


class Conversations:
    """All of this process, by what a later request may tell them by."""

    def __init__(self) -> None:
        self._all: OrderedDict[int, Conversation] = OrderedDict()
        self._by_last: dict[int, list[Conversation]] = {}
        self._by_key: OrderedDict[str, Conversation] = OrderedDict()
        self.waiting: dict[str | None, list[OpenCall]] = {}
        """Open calls by their id."""
        self._running: dict[int, Conversation] = {}
        self._inside: dict[RunState, list[Conversation]] = {}
        """By the run of the host's own, or of a framework, that they are part of."""

    def running(self) -> list[Conversation]:
        """Those with a run that is open; most of what is remembered has none, and calls are open in runs."""
        return list(self._running.values())

    def run(self, conversation: Conversation, run: OpenRun | None) -> None:
        """The run of a conversation begins, or (None) has ended."""
        conversation.run = run
        if run is None:
            self._running.pop(id(conversation), None)
        else:
            self._belongs_to(conversation, run)
            self._running[id(conversation)] = conversation

    def _belongs_to(self, conversation: Conversation, run: OpenRun) -> None:
        if conversation.state is run.state:
            return
        self._leave(conversation)
        conversation.state = run.state
        if not run.root:
            self._inside.setdefault(run.state, []).append(conversation)

    def _leave(self, conversation: Conversation) -> None:
        """It is no longer part of the run that it was part of."""
        state = conversation.state
        inside = self._inside.get(state, []) if state is not None else []
        if state is not None and conversation in inside:
            inside.remove(conversation)
            if not inside:
                del self._inside[state]

    def new(self) -> Conversation:
        conversation = Conversation(ambient())
        self._all[id(conversation)] = conversation
        return conversation

    def one_too_many(self) -> Conversation | None:
        """The one that was used longest ago, where there are more than may be kept."""
        return next(iter(self._all.values())) if len(self._all) > MAX_CONVERSATIONS else None

    def used(self, conversation: Conversation) -> None:
        """Also takes in again one that was forgotten and is still known by its key."""
        self._all[id(conversation)] = conversation
        self._all.move_to_end(id(conversation))

    def forget(self, conversation: Conversation) -> None:
        self._unmark(conversation)
        self._leave(conversation)
        self._all.pop(id(conversation), None)

    def forget_inside(self, state: RunState) -> None:
        """Keep nothing of those inside this run, which is over: no request outside of it continues them."""
        for conversation in list(self._inside.get(state, ())):
            self.forget(conversation)
            for key in list(conversation.keys):
                self._lose(key)

    def by_key(self, key: str | None) -> Conversation | None:
        return self._by_key.get(key) if key is not None else None

    def remember(self, conversation: Conversation, key: str) -> None:
        """A later request may continue the conversation under this server-held key."""
        self._lose(key)
        self._by_key[key] = conversation
        conversation.keys.add(key)
        if len(self._by_key) > MAX_KEYS:
            self._lose(next(iter(self._by_key)))

    def _lose(self, key: str) -> None:
        before = self._by_key.pop(key, None)
        if before is not None:
            before.keys.discard(key)

    def mark(self, conversation: Conversation, out: Outgoing, now: int) -> None:
        """Remember the history of the latest request."""
        conversation.request_ns, conversation.reply_seen = now, False
        self._unmark(conversation)
        if out.history:
            conversation.last = out.history[-1]
            self._by_last.setdefault(conversation.last, []).append(conversation)

    def _unmark(self, conversation: Conversation) -> None:
        if conversation.last is None:
            return
        same = self._by_last.get(conversation.last, [])
        if conversation in same:
            same.remove(conversation)
        if not same:
            self._by_last.pop(conversation.last, None)
        conversation.last = None

    # -- which one a request continues

    def find(self, out: Outgoing) -> Conversation | None:
        """The conversation that the request continues; None = none that is known."""
        if out.key is not None and out.key in self._by_key:
            return self._by_key[out.key]
        here, belongs = ambient(), belongs_here()
        votes = self._votes(out, belongs)
        if votes:
            position = {digest: index for index, digest in enumerate(out.history)}
            ranks = {key: self._rank(key, position, here, found) for key, found in votes.items()}
            best = max(ranks.values())
            equal = [self._all[key] for key, rank in ranks.items() if rank == best]
            if len(equal) > 1:
                _mark_ambiguous(equal, {answer.call_id for answer in out.answers})
            return equal[0]
        return self._find_by_history(out, here, belongs)

    def count_on(self, out: Outgoing) -> None:
        """Have the numbers of calls without an id go on where the host has left older ones out."""
        belongs = belongs_here()
        for answer in out.answers:
            asked, number = out.asked.get(answer.call_id), number_of(answer.call_id)
            if not answer.last or asked is None or number is None:
                continue
            numbers = [
                found
                for waiting in self.waiting.values()
                for call in waiting
                if (found := number_of(call.call_id)) is not None
                and belongs(call.conversation)
                and call.is_asked(call.call_id or "", asked) == 2
            ]
            if numbers and min(numbers) > number:
                out.count_on(min(numbers) - number)
                return

    def _votes(self, out: Outgoing, belongs: Belongs) -> dict[int, list[int]]:
        """Of each conversation, how surely the request answers each of its open calls that it answers."""
        votes: dict[int, list[int]] = {}
        for answer in out.answers:
            if not answer.last:
                continue
            asked = out.asked.get(answer.call_id)
            for call in self.waiting.get(answer.call_id, ()):
                sure = call.is_asked(answer.call_id, asked) if belongs(call.conversation) else 0
                if sure:
                    votes.setdefault(id(call.conversation), []).append(sure)
        return votes

    def _rank(
        self, key: int, position: dict[int, int], here: Ambient, votes: list[int]
    ) -> tuple[int, int, bool, int]:
        conversation = self._all[key]
        shared = -1 if conversation.last is None else position.get(conversation.last, -1)
        return shared, min(votes), conversation.ambient == here, len(votes)

    def _find_by_history(self, out: Outgoing, here: Ambient, belongs: Belongs) -> Conversation | None:
        """The conversation whose latest request is the longest prefix of this one."""
        first_request = not out.has_model_items and not out.answers
        for digest in reversed(out.history):
            found = [one for one in self._by_last.get(digest, ()) if belongs(one)]
            if first_request and digest == out.history[-1]:
                # The same opening again is a new conversation, unless the first attempt had no reply.
                found = [one for one in found if not one.reply_seen and one.ambient == here]
            elif first_request:
                found = []
            if found:
                return max(found, key=lambda one: (one.ambient == here, one.request_ns))
        return None


def _mark_ambiguous(conversations: list[Conversation], call_ids: set[str]) -> None:
    """Nothing tells which of these conversations the answers are for."""
    for conversation in conversations:
        for opened in conversation.open:
            if opened.call_id in call_ids:
                opened.call.tell(semconv.AMBIGUOUS, True)


Belongs = Callable[[Conversation], bool]
"""Whether a conversation may be looked at."""


def belongs_here() -> Belongs:
    """For the code that is running: same run, same case."""
    frame = current()
    if frame is not None:
        return lambda one: one.state is frame.state
    around = otel.ambient()
    if around.case_id is not None:
        return lambda one: one.state is not None and one.state.trace_id == around.trace_id
    return lambda one: one.state is None or one.state.case_id is None


def body_here() -> int:
    """Span id of the call in whose tool the running code stands; 0 = in none."""
    frame = current()
    return frame.span_id if frame is not None and frame.in_body else 0


def may_start_here() -> Belongs:
    """Whether a tool that starts here may be what such a conversation's model asked for.

    What another tool calls in its own body is that tool's business, unless the conversation goes on there.
    """
    belongs, body = belongs_here(), body_here()
    return lambda one: belongs(one) and (not body or one.body == body)


def ambient() -> Ambient:
    """The running thread and task; conversations rarely hop between them."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return threading.get_ident(), 0
    loop = asyncio._get_running_loop()
    return threading.get_ident(), 0 if loop is None else id(asyncio.current_task(loop))
