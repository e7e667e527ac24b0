"""What comes of the calls that models ask for: facts go in, spans come out.

An adapter says what it saw: a model asked for a call, its tool started and returned or raised (`Call`), a
later request to a model carried its answer, the loop ended. Which of these sightings are one call is told by
`same_call`, and whether its tool ran follows from them here and in `Call.executed`, nowhere else: it ran
where its start or its answer was seen; it did not where it was refused, or not started by a framework whose
starts are all seen; of what was asked for and never heard of again it is not known, nor of what was answered
though the framework starts that tool itself and did not, or after a person was asked who may have said no.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from . import semconv
from .calls import BAD_ARGUMENTS, INFERRED, UNKNOWN_TOOL, Call, Reading
from .elsewhere import HERE, token_of_ids
from .pauses import UNANSWERED, Pause
from .rejections import says_no
from .run_state import RunState
from .runs import Frame, OpenRun
from .same_call import Request, is_inside

NOT_JSON = "the arguments are not valid JSON"


class HistoryAnswer(NamedTuple):
    """An answer in the history of a request, with what the history shows of its call."""

    call_id: str
    tool: str
    arguments: bytes | None
    """As they stand there; somebody may have edited them since the model wrote them."""
    said: Reading


def asked_call(request: Request, source: str, run: OpenRun) -> Call:
    """The call of which only the model's message is known, as long as it is open."""
    call = Call(
        source,
        request.tool,
        request.arguments,
        call_id=request.call_id,
        description=run.tools.get(request.tool),
        start_ns=request.time_ns,
        inside=run,
    )
    call.asked_by(request)
    return call


def refuse(call: Call, offered: Collection[str], text: str = "", *, well_formed: bool = True) -> bool:
    """Whether no tool can have run for this call, which then says why."""
    if not well_formed:
        call.fail(text or NOT_JSON, BAD_ARGUMENTS)
    elif offered and call.tool not in offered:
        call.fail(text or f"no tool {call.tool!r} was offered", UNKNOWN_TOOL)
    else:
        return False
    return True


def close_unheard(call: Call, offered: Collection[str], end_ns: int, *, well_formed: bool = True) -> None:
    """It was asked for and nobody told of it again."""
    if not refuse(call, offered, well_formed=well_formed):
        call.unheard()
    call.close(end_ns=end_ns)


def close_answered(
    call: Call, offered: Collection[str], said: Reading, end_ns: int, *, well_formed: bool = True
) -> None:
    """A later request to a model carries what came of it, so it ran at some time between.

    Unless that says that a person did not let it.
    """
    call.timing = INFERRED
    text = said.content if type(said.content) is str else said.error or ""
    if refuse(call, offered, text, well_formed=well_formed):
        call.close(end_ns=end_ns)
        return
    if call.executed and says_no(call.tool, said.error or said.content):
        call.unheard()
    call.ended(said, end_ns)


def not_executed(request: Request, source: str, run: OpenRun) -> None:
    """Write the span of a call that a model asked for and that is known not to have run."""
    call = asked_call(request, source, run)
    call.attempts = 0
    refuse(call, run.tools, well_formed=request.well_formed)
    call.close(end_ns=request.time_ns)


def gives_way(call: Call, tool: str, description: Any, arguments: bytes | None) -> None:
    """Middleware, or a person, has another tool run than was asked for: the call is of that one from now on.

    What the model asked for is a call of its own, which did not run.
    """
    if call.run is not None:
        not_executed(call.as_request(), call.source, call.run)
    call.tool, call.arguments = tool, arguments
    call.description = description if type(description) is str else None


def finish(run: OpenRun, source: str, *, unseen: bool = False, ended: bool = True) -> None:
    """The loop of the run ended: report what was asked for and not taken up.

    Where it waits for a person that is left to the part which goes on. `unseen`: the host may run tools where
    its adapter does not see it, so what was not started may have run; a run that `ended` without an error may
    then be one step of a loop whose next step another process makes, with the history.
    """
    if run.pause is not None:
        run.leave_requests()
    if run.root:
        _report_withdrawn(run.state, goes_on=run.pause is not None)
    if run.pause is None:
        _report_left(run, source, unseen, ended)


def _report_withdrawn(state: RunState, *, goes_on: bool) -> None:
    """Calls that a pause broke off: the newest are as if they had not begun, numbers have no holes."""
    state.withdrawn, withdrawn = [], sorted(state.withdrawn, key=lambda call: -call.step)
    for call in withdrawn:
        given_back = goes_on and state.give_back(call.step)
        if goes_on and call.turn is not None:
            request = call.as_request()
            request.told = not given_back
            state.left.append(request)
            state.not_started(request)
        if not given_back:
            call.unheard()
            call.close()


def _report_left(run: OpenRun, source: str, unseen: bool, ended: bool) -> None:
    """What was never heard of again; a loop inside another one, which may run the tools, hands it on."""
    left = run.take_all_requests()
    above = run.above
    if not unseen:
        for request in left:
            not_executed(request, source, run)
        return
    if above is not None and above.source == source and above.requests is run.requests:
        for request in left:
            above.request(request)
        return
    unknown = False
    for request in left:
        call = asked_call(request, source, run)
        close_unheard(call, run.tools, request.time_ns, well_formed=request.well_formed)
        unknown = unknown or call.kind is None
    if unknown and ended:
        newest = max(request.turn for request in left)
        asked = [one.call_id for one in left if one.turn == newest and one.well_formed]
        leave_unanswered(run, token_of_ids(asked))


def answered(run: OpenRun, answer: HistoryAnswer) -> None:
    """A request to a model carries the answer to a call, if that is one which is still open."""
    if answer[:3] in run.state.started:  # by another call of this id, which has run
        return
    request = run.take_request(answer.call_id, answer.tool, answer.arguments, early=False)
    if request is None:
        return
    call = asked_call(request, run.source, run)
    if request.doubtful or run.starts_here(answer.tool):  # maybe not the tool, but a person or middleware
        call.unheard()
    elif answer.arguments is not None and request.well_formed:
        call.ran_with(answer.arguments)
    close_answered(call, run.tools, answer.said, time.time_ns(), well_formed=request.well_formed)


def decided(
    run: OpenRun, call_id: str | None, tool: str, arguments: bytes | None, said: Reading | None
) -> None:
    """Whoever was waited for says what came of a call: None = it is not to run."""
    HERE.add_of_framework((call_id, tool))
    request = run.take_request(call_id, tool, arguments, early=False)
    started = None if request is None else request.time_ns
    call = Call(run.source, tool, arguments, call_id=call_id, start_ns=started, inside=run)
    call.asked_by(request)
    if said is None:
        call.attempts = 0
        call.close(end_ns=call.start_ns)
    else:
        close_answered(call, (), said, time.time_ns())


def leave_unanswered(run: OpenRun, token: str | None) -> None:
    """A loop ended with calls of which it is not known whether they ran: whoever has the token may go on.

    A case is over where its driver says so, and a run that the host's own code opened likewise.
    """
    if run.root and run.state.case_id is None and token is not None:
        run.pause = Pause(UNANSWERED, token)


def asked_elsewhere(run: OpenRun, answers: Sequence[HistoryAnswer]) -> None:
    """The first request of a run ends with answers to calls: those that another process asked for."""
    unknown = [
        one
        for one in answers
        if not HERE.knows_of_framework(one.call_id, one.tool) and not run.has_started(one.call_id, one.tool)
    ]
    if not unknown:
        return
    turn = run.state.next_turn()
    for one in unknown:
        call = Call(run.source, one.tool, one.arguments, call_id=one.call_id, inside=run)
        call.turn = turn
        HERE.add_of_framework((one.call_id, one.tool))
        from_history(call, one.said)
    if run.root and run.resumed is None and run.state.case_id is None:
        run.resumed = token_of_ids(one.call_id for one in answers)


def from_history(call: Call, said: Reading) -> None:
    """An answer to a call that another process asked for: the part that sees it tells of it."""
    call.tell(semconv.RESULT_SOURCE, "history")
    close_answered(call, (), said, time.time_ns())


def around_of(frame: Frame | None, tool: str, way: Callable[[], bytes | None] | None = None) -> Any:
    """The call around the running code that a start of `tool` is one with; None where it is another.

    `way` gives the arguments where what starts is not a tool but the way to one.
    """
    outer = None if frame is None else frame.call
    if frame is None or outer is None:
        return None
    return outer if is_inside(frame.known_as or outer.tool, outer.arguments, tool, way) else None
