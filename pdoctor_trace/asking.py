"""The door through which a guard is asked before a tool runs; closed as long as there is no guard.

A wrapper that can refuse looks at `DOOR.guards` once a call. Only where there are some is the host's function
run through `asked_first`, which asks them, and notes what came of the call. What of this fails is ours: the
host's function runs all the same, unless a rule says that it fails closed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar, copy_context
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

    def over(self, result: Any, error: BaseException | str | None) -> None:
        """The call that had begun has ended."""

    def waits(self, call: Any) -> None:
        """It was broken off for a person's answer, and begins anew when that comes."""


class Door:
    """The guards of this process; replaced as a whole."""

    __slots__ = ("ask", "guards")

    def __init__(self) -> None:
        self.guards: tuple[Any, ...] = ()
        self.ask: Callable[[Any], Asked | None] = _nobody


def _nobody(call: Any) -> Asked | None:
    return None


DOOR = Door()
_LOOP: ContextVar[Any] = ContextVar("pdoctor_trace loop of the call", default=None)
"""Where a thread asks for a coroutine tool: the event loop that the tool runs in."""


def call_of(visit: Any) -> Any:
    """The call that a visit is around; None where the visit only looks at a call of another layer."""
    opened = getattr(visit, "opened", None)
    return getattr(visit, "call", None) if opened is None else opened.call


def refused(visit: Any, call: Any, text: str) -> None:
    """No tool runs for this call; the text is what it failed with."""
    opened = getattr(visit, "opened", None)
    if opened is not None:
        opened.refused = True
    call.fail(text)
    call.not_started()


class Asking:
    """A visit, and what was asked before the host's function: how the call ends is told to who was asked."""

    __slots__ = ("asked", "call", "function", "instance", "of_class", "raises", "refuse", "visit")

    def __init__(
        self, function: Any, visit: Any, refuse: Refuse, instance: Any, of_class: bool, raises: bool
    ) -> None:
        """`of_class`: the function is given its object as the first argument. `raises`: whether a guard that
        blocks may raise here; else it answers, as one that tells does."""
        self.function, self.visit, self.refuse, self.instance = function, visit, refuse, instance
        self.of_class, self.raises = of_class, raises
        self.call = call_of(visit)
        self.asked: Asked | None = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The host's function, run only if no guard refuses it."""
        call = self.call
        self.asked = asked = guarded(DOOR.ask, call) if call is not None else None
        if asked is None or asked.text is None:
            return self.function(*args, **kwargs)
        return self._refused(asked, args, kwargs)

    async def run_async(self, *args: Any, **kwargs: Any) -> Any:
        """The same for a coroutine function."""
        call = self.call
        self.asked = asked = await _asked_beside(call) if call is not None else None
        if asked is None or asked.text is None:
            return await self.function(*args, **kwargs)
        return self._refused(asked, args, kwargs)

    async def run_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """The same for an asynchronous generator; `refuse` gives its items in place of the tool's."""
        call = self.call
        self.asked = asked = await _asked_beside(call) if call is not None else None
        if asked is not None and asked.text is not None:
            for item in self._refused(asked, args, kwargs):
                yield item
            return
        items = self.function(*args, **kwargs)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()

    def _refused(self, asked: Asked, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        text = asked.text or ""
        guarded(refused, self.visit, self.call, text)
        if asked.error is not None and self.raises:
            raise asked.error
        instance, args = (args[0], args[1:]) if self.of_class else (self.instance, args)
        return _answer(text, self.refuse, self.visit, instance, args, kwargs)

    def returned(self, result: Any) -> None:
        """The visit knows what the host's function meant by what it returned."""
        self.visit.returned(result)
        self.over(result)

    def over(self, result: Any) -> None:
        """The call has ended, as it says itself."""
        if self.asked is not None:
            guarded(self.asked.over, result, self.call.error)

    def raised(self, error: BaseException) -> None:
        """A call that is left for a person's answer goes on later."""
        self.visit.raised(error)
        asked = self.asked
        if asked is not None:
            if self.call in self.call.state.withdrawn:
                guarded(asked.waits, self.call)
            else:
                guarded(asked.over, None, self.call.error or error)


def asked_stream(function: Any, call: Any, refuse: Refuse) -> Asking | None:
    """What asks before an asynchronous generator runs a tool; None where there is nobody to ask."""
    return Asking(function, call, refuse, None, False, True) if DOOR.guards else None


async def _asked_beside(call: Any) -> Asked | None:
    """What the guards say; a person is waited for in a thread, so that the host's other tasks go on."""
    if not any(getattr(one, "may_ask", False) for one in DOOR.guards):
        return guarded(DOOR.ask, call)
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # the loop of another library
        return guarded(DOOR.ask, call)
    return await asyncio.to_thread(guarded, _asked_from, loop, call)


def _asked_from(loop: Any, call: Any) -> Asked | None:
    """In a thread, whose context is a copy."""
    _LOOP.set(loop)
    return DOOR.ask(call)


def answer_of(said: Any) -> Any:
    """What a function of the host answered; a coroutine runs in the event loop of the call, if it has one.

    In a loop that waits for a plain function the coroutine has a loop of its own, in another thread.
    """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor
    from inspect import isawaitable

    if not isawaitable(said):
        return said
    loop = _LOOP.get()
    if loop is not None:
        return asyncio.run_coroutine_threadsafe(_awaited(said), loop).result()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, _awaited(said)).result()


async def _awaited(said: Any) -> Any:
    return await said


def _answer(
    text: str, refuse: Refuse, visit: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What the host is given in place of a result; where our form of it fails, the tool fails, unrun."""
    try:
        return refuse(visit, text, instance, args, kwargs)
    except (AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        note(refuse, error)
        raise Refused(text) from None
