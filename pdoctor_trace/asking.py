"""The door through which a guard is asked before a tool runs; closed as long as there is no guard.

A wrapper that can refuse looks at `DOOR.guards` once a call. Only where there are some is the host's function
run through `asked_first`, which asks them, and notes what came of the call. What of this fails is ours: the
host's function runs all the same, unless a rule says that it fails closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .harmless import guarded, note

Refuse = Callable[[Any, str, Any, tuple[Any, ...], dict[str, Any]], Any]
"""(visit, text, instance, args, kwargs) -> what the host is given in place of the tool's result; may raise
what the host takes for the failure of a tool."""


class Refused(Exception):
    """A guard in mode `block` did not let a tool run; `rules` are the ids of those that it would break."""

    def __init__(self, text: str, rules: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.rules = rules


class Asked(Protocol):
    """What a guard said about one call."""

    text: str | None
    """For the model, where the tool is not to run."""
    error: BaseException | None
    """Raised in place of an answer."""

    def over(self, result: Any, error: BaseException | None) -> None:
        """The call that had begun has ended."""


class Door:
    """The guards of this process; replaced as a whole."""

    __slots__ = ("ask", "guards")

    def __init__(self) -> None:
        self.guards: tuple[Any, ...] = ()
        self.ask: Callable[[Any], Asked | None] = _nobody


def _nobody(call: Any) -> Asked | None:
    return None


DOOR = Door()


def call_of(visit: Any) -> Any:
    """The call that a visit is around; None where the visit only looks at a call of another layer."""
    opened = getattr(visit, "opened", None)
    return getattr(visit, "call", None) if opened is None else opened.call


def refused(visit: Any, call: Any) -> None:
    """No tool runs for this call."""
    opened = getattr(visit, "opened", None)
    if opened is not None:
        opened.refused = True
    call.not_started()


def asked_first(function: Any, visit: Any, refuse: Refuse, instance: Any) -> Callable[..., Any]:
    """The host's function, run only if no guard refuses it."""

    def run(*args: Any, **kwargs: Any) -> Any:
        call = call_of(visit)
        asked = guarded(DOOR.ask, call) if call is not None else None
        if asked is None:
            return function(*args, **kwargs)
        if asked.text is not None:
            guarded(refused, visit, call)
            return _answer(asked, refuse, visit, instance, args, kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            guarded(asked.over, None, error)
            raise
        _over(asked, result)
        return result

    return run


def asked_first_async(function: Any, visit: Any, refuse: Refuse, instance: Any) -> Callable[..., Any]:
    """The same for a coroutine function."""

    async def run(*args: Any, **kwargs: Any) -> Any:
        call = call_of(visit)
        asked = await _asked_beside(call) if call is not None else None
        if asked is None:
            return await function(*args, **kwargs)
        if asked.text is not None:
            guarded(refused, visit, call)
            return _answer(asked, refuse, visit, instance, args, kwargs)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            guarded(asked.over, None, error)
            raise
        _over(asked, result)
        return result

    return run


async def _asked_beside(call: Any) -> Asked | None:
    """What the guards say; a person is waited for in a thread, so that the host's other tasks go on."""
    if not any(getattr(one, "may_ask", False) for one in DOOR.guards):
        return guarded(DOOR.ask, call)
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # the loop of another library
        return guarded(DOOR.ask, call)
    return await asyncio.to_thread(guarded, DOOR.ask, call)


def _answer(
    asked: Asked, refuse: Refuse, visit: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What the host is given in place of a result; where our form of it fails, the tool fails, unrun."""
    text = asked.text or ""
    if asked.error is not None:
        raise asked.error
    try:
        return refuse(visit, text, instance, args, kwargs)
    except (AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        note(refuse, error)
        raise Refused(text) from None


def _over(asked: Asked, result: Any) -> None:
    try:
        asked.over(result, None)
    except Exception as error:
        note(asked.over, error)
