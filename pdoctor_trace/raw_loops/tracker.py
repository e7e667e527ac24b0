"""Tool executions of raw SDK loops, rebuilt from the traffic.

A model's reply asks for call X at time t1; a later request carries the answer at t2: one call, executed
some time in [t1, t2]. Both instants are bounds, because the interval holds the whole batch of parallel
calls and the user's own code, so such spans say `timing=inferred`. Where the tool itself is seen running
(`@pdoctor_trace.tool`, `wrap_tools`, a LangChain tool, an SDK's tool runner), the exact times and the
real error take the place of the bounds, still in one span.

A run goes from the user's message to the first reply without tool calls. Call ids are not unique, not even
within one conversation: an answer belongs to the latest message that asked for its id.

This module knows no wire format; the adapters beside it turn requests and replies into `Outgoing` and
`Asked`. All state is guarded by one lock and bounded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pdoctor_trace import raw_loops, runtime
from pdoctor_trace.calls import CANCELLED, EXACT, INFERRED, Call, Reading
from pdoctor_trace.elsewhere import HERE, key_of, token, token_of_ids
from pdoctor_trace.machine import close_answered, close_unheard, from_history, leave_unanswered
from pdoctor_trace.pauses import is_paused
from pdoctor_trace.run_state import RunState
from pdoctor_trace.runs import OpenRun, current
from pdoctor_trace.same_call import Request, asked_for, goes_by, same_json
from pdoctor_trace.wrappers import Visit

from .answers import AnswersHad, Had
from .conversations import (
    Ambient,
    Conversation,
    Conversations,
    OpenCall,
    ambient,
    belongs_here,
    may_start_here,
)
from .identical import settled
from .messages import Answer, Asked, Outgoing, as_kept

Read = Callable[[Any], Reading]


class Tracker:
    """All conversations of this process."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything: in a forked child, open conversations are the parent's, and so is the lock."""
        self._lock = threading.RLock()
        self._known = Conversations()
        self._had = AnswersHad()

    @property
    def waits(self) -> bool:
        """Whether any call waits for its answer."""
        return bool(self._known.waiting)

    # -- a request leaves

    def request(self, out: Outgoing) -> Conversation | None:
        """Take in a request: close the calls that it answers. None = no agent loop, nothing to follow."""
        now = time.time_ns()
        with self._lock:
            self._had.shown(out)
            if out.unnamed:
                self._known.count_on(out)
            conversation = self._known.find(out)
            if conversation is None and not out.tools:
                return None
            if conversation is None:
                conversation = self._new()
            self._known.used(conversation)
            elsewhere = conversation.reply_seen and self._asked_elsewhere(conversation, out)
            news = self._news(conversation, out)
            self._answered(conversation, out, now)
            if elsewhere:
                self._goes_on(conversation, out, now)
            elif news and conversation.run is None:
                tokens = (had.token or "" for *_, had in news)
                conversation.resumes = next(filter(is_paused, tokens), None)
            self._turn(conversation, out, now)
            if elsewhere:
                answers = ((out.asked.get(one.call_id), one) for one in out.answers if one.last)
                self._tell_of_history(conversation, [(asked, one, None) for asked, one in answers if asked])
            self._tell_of_history(conversation, news)
            self._known.mark(conversation, out, now)
            return conversation

    def _asked_elsewhere(self, conversation: Conversation, out: Outgoing) -> bool:
        """Whether the answers at the end are to calls that another process asked a model for."""
        last = [(answer, out.asked.get(answer.call_id)) for answer in out.answers if answer.last]
        return bool(last) and not any(
            HERE.knows(answer.call_id, asked) or self._open_call(conversation, answer, asked)
            for answer, asked in last
        )

    def _goes_on(self, conversation: Conversation, out: Outgoing, now: int) -> None:
        """A step of another process lies between: the run goes on in parts of its own."""
        if current() is not None:  # inside a run of the host's own, which says where it begins and ends
            return
        if conversation.run is None:
            conversation.resumes = out.token()
        else:
            conversation.resumes = self._token(conversation)
            self._end_run(conversation, now, left=True)

    def _news(self, conversation: Conversation, out: Outgoing) -> list[tuple[Asked, Answer, Had]]:
        """Answers to calls that nobody waits for any more; not where an unanswered request is repeated."""
        if not conversation.reply_seen:
            return []
        found = self._had.news(out)
        return [one for one in found if self._open_call(conversation, one[1], one[0]) is None]

    def _tell_of_history(
        self, conversation: Conversation, told: Sequence[tuple[Asked, Answer, Had | None]]
    ) -> None:
        run = conversation.run
        if run is None or not told:
            return
        turn = run.state.next_turn()
        for asked, answer, had in told:
            opened = self._open(conversation, asked, turn, None, time.time_ns())
            HERE.add(asked)
            self._drop(opened)
            if had is not None:
                self._had.add(opened.key, had.before, answer)
            from_history(opened.call, answer.reading)

    def _new(self) -> Conversation:
        conversation, oldest = self._known.new(), self._known.one_too_many()
        if oldest is not None:
            self._end_run(oldest, time.time_ns(), left=bool(oldest.open))
            self._known.forget(oldest)
        return conversation

    def _answered(self, conversation: Conversation, out: Outgoing, now: int) -> None:
        repeated, conversation.answered = conversation.answered, set()
        answered: list[tuple[OpenCall, Answer]] = []
        conversation.left = False
        for answer in out.answers:
            place = (answer.call_id, answer.asked_in)
            conversation.answered.add(place)
            asked = out.asked.get(answer.call_id)
            call = self._open_call(conversation, answer, asked)
            if call is None and place not in repeated and not conversation.reply_seen:
                call = self._unread(conversation, answer, out)
            if call is not None:
                conversation.left = conversation.left or (conversation.reply_seen and not answer.last)
                if asked is not None and call.well_formed and not call.executions:
                    call.call.ran_with(as_kept(asked))
                self._drop(call)
                answered.append((call, answer))
        for call, answer in settled(answered):
            call.call.call_id = answer.call_id
            self._had.add(call.key, call.before, answer)
            self._close(call, answer, now)

    @staticmethod
    def _open_call(conversation: Conversation, answer: Answer, asked: Asked | None) -> OpenCall | None:
        known = [call for call in conversation.open if call.is_asked(answer.call_id, asked)]
        return max(known, key=lambda call: call.is_asked(answer.call_id, asked), default=None)

    def _unread(self, conversation: Conversation, answer: Answer, out: Outgoing) -> OpenCall | None:
        """The reply was read behind the SDK's back (raw bytes): the history still shows what it asked for."""
        asked = out.asked.get(answer.call_id)
        if asked is None or conversation.run is None:
            return None
        turn = conversation.run.state.next_turn()
        return self._open(conversation, asked, turn, None, conversation.request_ns)

    def _turn(self, conversation: Conversation, out: Outgoing, now: int) -> None:
        """Start a run at the user's message; one that was still open ends there."""
        new_turn = out.user_last and not out.answers_last
        repeated = new_turn and not conversation.reply_seen
        begins_anew = new_turn and not repeated and (conversation.open or conversation.left)
        if conversation.run is not None and (begins_anew or conversation.ending):
            self._end_run(conversation, now, left=conversation.left)
        if conversation.run is None and (out.tools or out.answers):
            self._end_other_cases()
            run = OpenRun(
                out.source,
                query=out.query,
                start_ns=now,
                conversation=out.conversation,
                resumes=conversation.resumes,
            )
            conversation.resumes, conversation.held = None, out.held
            if run.state.case_id is not None:  # all parts of a case have its run id
                run.resumed = None
            run.model = out.model
            self._known.run(conversation, run)
        if conversation.run is not None:
            conversation.run.offer(out.tools)
            conversation.run.instructed(out.system)

    # -- a reply has been read

    def reply(
        self,
        conversation: Conversation,
        asked: Iterable[Asked],
        *,
        has_text: bool,
        final: bool,
        key: str | None = None,
        turn: int | None = None,
        counts_follow: bool = False,
    ) -> int:
        """Take in (a part of) a reply; `final` = it is complete, so one without calls ends the run.

        `counts_follow`: its tokens are still to come, and `rest` is called when they have, or never will.
        Returns the turn, to be given again with the next part of the same reply.
        """
        now = time.time_ns()
        with self._lock:
            conversation.reply_seen = True
            if key is not None:
                self.remember(conversation, key)
            run = conversation.run
            if run is None:
                return -1
            number = run.state.next_turn() if turn is None else turn
            calls = 0
            for one in asked:
                self._open(conversation, one, number, has_text, now)
                self._note(conversation, one, number)
                if key is not None:
                    self._had.asked_in(key, one)
                calls += 1
            conversation.ending = final and not calls
            if conversation.ending and not counts_follow:
                self._end_run(conversation, now)
            return number

    def rest(self, conversation: Conversation) -> None:
        """Nothing more of its reply comes."""
        with self._lock:
            if conversation.ending:
                self._end_run(conversation, time.time_ns())

    def _note(self, conversation: Conversation, asked: Asked, turn: int) -> None:
        """This process asked for it; the calls of the latest message identify the next step."""
        HERE.add(asked)
        if conversation.asking[0] != turn:
            conversation.asking = (turn, [])
        conversation.asking[1].append(asked)

    @staticmethod
    def _token(conversation: Conversation) -> str | None:
        """What identifies the next step, whichever process makes it."""
        asked = conversation.asking[1]
        if conversation.run is None or not asked:
            return None
        if conversation.held:
            return token_of_ids(one.call_id for one in asked)
        return token(conversation.run.query, asked)

    def text_came(self, conversation: Conversation, turn: int) -> None:
        """The message of this turn turned out to hold text as well."""
        with self._lock:
            for call in conversation.open:
                if call.call.turn == turn:
                    call.call.has_text = True

    def is_open(self, conversation: Conversation, call_id: str | None) -> bool:
        """Whether a call of this id waits for its answer (a polled server-side run shows it again)."""
        with self._lock:
            return any(call.call.call_id == call_id for call in conversation.open)

    def by_key(self, key: str | None) -> Conversation | None:
        with self._lock:
            return self._known.by_key(key)

    def remember(self, conversation: Conversation, key: str) -> None:
        """A later request may continue the conversation under this server-held key."""
        with self._lock:
            self._known.remember(conversation, key)

    def _open(
        self, conversation: Conversation, asked: Asked, turn: int, has_text: bool | None, now: int
    ) -> OpenCall:
        run = conversation.run
        assert run is not None, "calls are opened inside a run only"
        arguments, well_formed = runtime.ACTIVE.capture.argument_text(asked.arguments)
        well_formed = well_formed and _may_be_an_object(asked.arguments)
        call = Call(
            run.source,
            asked.tool,
            arguments,
            call_id=asked.call_id,
            description=run.tools.get(asked.tool),
            start_ns=now,
            inside=run,
        )
        call.asked_by(Request(asked.call_id, asked.tool, None, turn, bool(has_text), now))
        call.timing = INFERRED
        opened = OpenCall(call, conversation, well_formed, key_of(asked))
        conversation.open.append(opened)
        self._known.waiting.setdefault(call.call_id, []).append(opened)
        return opened

    # -- the tool itself is seen running

    def claim(self, call_id: str | None, tool: str, arguments: Any, way: bool = False) -> OpenCall | None:
        """The open call that a running tool executes.

        By `same_call`; else the oldest of that tool that this thread or task asked for, with other arguments.
        """
        with self._lock:
            candidates = self._candidates(call_id, tool, way)
            if not candidates:
                return None
            here, given = ambient(), runtime.ACTIVE.capture.arguments(arguments)
            fresh = [call for call in candidates if not call.executions] or candidates[-1:]
            near = [call for call in fresh if call.conversation.ambient == here]
            far = [call for call in fresh if call.conversation.ambient != here]
            of_the_name = (call for call in near if call.tool == tool)
            found = asked_for([*near, *far], call_id, given) or next(of_the_name, None)
            if found is not None:
                found.guessed = found.guessed or (call_id is None and _has_twin(found, fresh))
                found.executions += 1
                found.call.ran_with(given)
                found.call.state.seen_starting.add(tool)
            return found

    def begin_elsewhere(self, tool: str, given: Iterable[Any]) -> bool:
        """Whether such calls wait, one for each of these arguments; another process is to make them."""
        with self._lock:
            found: list[OpenCall] = []
            for arguments in given:
                kept = runtime.ACTIVE.capture.arguments(arguments)
                waiting = self._candidates(None, tool, way=False)
                idle = [one for one in waiting if not (one.executions or one.elsewhere or one in found)]
                opened = asked_for(idle, None, kept)
                if opened is None:
                    return False
                found.append(opened)
            for opened in found:
                opened.elsewhere = True
            return bool(found)

    def waits_for(self, call_id: str, tool: str) -> bool:
        """Whether a call of that id is open."""
        with self._lock:
            return any(one.call.tool == tool for one in self._known.waiting.get(call_id, ()))

    def _candidates(self, call_id: str | None, tool: str, way: bool) -> list[OpenCall]:
        belongs = may_start_here()
        if call_id is not None:
            calls: Iterable[OpenCall] = self._known.waiting.get(call_id, ())
        else:
            calls = (call for waiting in self._known.waiting.values() for call in waiting)
        return [call for call in calls if goes_by(call.tool, tool, way) and belongs(call.conversation)]

    def visit(
        self, call_id: Any, tool: str, arguments: Any, read: Read | None = None, way: bool = False
    ) -> Visit | None:
        """A visit for a running tool that some raw loop's model asked for; None where none did."""
        opened = self.claim(call_id if type(call_id) is str else None, tool, arguments, way)
        return None if opened is None else ExactVisit(opened, read or Reading)

    # -- ends

    @staticmethod
    def _close(opened: OpenCall, answer: Answer | None, now: int) -> None:
        call, conversation = opened.call, opened.conversation
        if opened.refused:
            call.not_started()
            call.close(end_ns=opened.ended_ns or now)
            return
        if opened.executions:
            if not opened.ended_ns:
                call.fail("the tool had not finished", CANCELLED)
            call.timing, call.attempts = EXACT, opened.executions
            call.start_ns = opened.started_ns
            call.close(opened.result, end_ns=opened.ended_ns or now)
            return
        run = conversation.run
        offered = () if run is None else run.tools
        if answer is None:
            close_unheard(call, offered, now, well_formed=opened.well_formed)
            return
        if run is not None and run.starts_here(call.tool) and not opened.elsewhere:
            call.unheard()
        close_answered(call, offered, answer.reading, now, well_formed=opened.well_formed)

    def _drop(self, opened: OpenCall) -> None:
        opened.conversation.open.remove(opened)
        same = self._known.waiting.get(opened.call.call_id, [])
        if opened in same:
            same.remove(opened)
        if not same:
            self._known.waiting.pop(opened.call.call_id, None)

    def _end_run(self, conversation: Conversation, now: int, *, left: bool = False) -> None:
        """`left`: another process may go on with what was asked for last."""
        run = conversation.run
        token = self._token(conversation) if conversation.open or left else None
        if run is not None and left:
            leave_unanswered(run, token)
        elif run is not None and run.root and run.state.case_id is None and token is not None:
            run.leave(token)  # an answer that comes late is one of this run
        for call in list(conversation.open):
            self._drop(call)
            self._had.add_none(call.key, call.before, token)
            self._close(call, None, now)
        if run is not None:
            run.close(end_ns=now, cut_short=not conversation.ending)
        conversation.ending = False
        self._known.run(conversation, None)
        conversation.asking = (-1, [])

    def _end_other_cases(self) -> None:
        """A case that this thread has left behind is over, whatever its last message asked for."""
        cases = [
            one for one in self._known.running() if one.state is not None and one.state.case_id is not None
        ]
        if not cases:
            return
        here, belongs = ambient(), belongs_here()
        for conversation in cases:
            if conversation.ambient == here and not belongs(conversation):
                self._end_run(conversation, time.time_ns())

    def end(self, *, state: RunState | None = None, where: Ambient | None = None) -> None:
        """End conversations of one run, of one thread or task, or (with neither) all."""
        with self._lock:
            for conversation in self._known.running():
                if state is not None and conversation.state is not state:
                    continue
                if where is not None and conversation.ambient != where:
                    continue
                self._end_run(conversation, time.time_ns(), left=bool(conversation.open))
            if state is not None:
                self._known.forget_inside(state)

    def end_here(self) -> None:
        """End the conversations of the calling thread or task."""
        self.end(where=ambient())


class ExactVisit(Visit):
    """A tool runs that a raw loop's model asked for: its times and its error replace the bounds."""

    __slots__ = ("opened", "read")

    def __init__(self, opened: OpenCall, read: Read) -> None:
        super().__init__(opened.call)
        self.opened, self.read = opened, read
        if opened.executions == 1:
            opened.started_ns = time.time_ns()

    def returned(self, result: Any) -> None:
        call, said = self.opened.call, self.read(result)
        if not self.opened.refused:
            call.error = call.kind = None
        if said.error is not None:
            call.fail(said.error)
        self._ended(None if said.error is not None else runtime.ACTIVE.capture.result(said.content))

    def raised(self, error: BaseException) -> None:
        self.opened.call.fail(error)
        self._ended(None)

    def _ended(self, result: bytes | None) -> None:
        self.opened.result = result
        self.opened.ended_ns = time.time_ns()


TRACKER = Tracker()
raw_loops.follow(TRACKER)


def _has_twin(opened: OpenCall, others: Iterable[OpenCall]) -> bool:
    """Whether the same message asked for the same twice."""
    return any(
        one is not opened and one.call.turn == opened.call.turn and same_json(one.asked, opened.asked)
        for one in others
        if one.conversation is opened.conversation
    )


def _may_be_an_object(arguments: Any) -> bool:
    """False for JSON text of a list, a text or a number, which no tool can be called with."""
    text = arguments.strip() if type(arguments) is str else ""
    return not text or text.startswith("{") or text == "null"
