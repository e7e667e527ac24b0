"""The door through which a guard is asked before a tool runs; closed as long as there is no guard.

A wrapper that can refuse looks at `DOOR.guards` once a call. Only where there are some is the host's function
run through `asked_first`, which asks them, and notes what came of the call. What of this fails is ours: the
host's function runs all the same, unless a rule says that it fails closed.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar, copy_context
from typing import Any, Protocol

from .harmless import guarded, note
from .runtime import ACTIVE
from .values import Truncated

Refuse = Callable[[Any, str, Any, tuple[Any, ...], dict[str, Any]], Any]
"""(visit, text, instance, args, kwargs) -> what the host is given in place of the tool's result; may raise
what the host takes for the failure of a tool."""
Given = tuple[tuple[Any, ...], dict[str, Any]]
Change = Callable[[dict[str, Any], Any, tuple[Any, ...], dict[str, Any]], Given]
"""(the call's arguments as a person gave them, instance, args, kwargs) -> (args, kwargs) to run the host's
function with; raises what is wrong with them."""

MAX_TEXT = 399
"""Characters that a model is told of a refusal."""
UNFIT = "Not run: somebody changed the arguments, and the tool does not take them"


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
    changed: dict[str, Any] | None
    """What a person gave in place of the call's arguments; None = they are as they were."""

    def over(self, result: Any, error: BaseException | str | None) -> None:
        """The call that had begun has ended."""

    def waits(self, call: Any) -> None:
        """It was broken off for a person's answer, and begins anew when that comes."""


class Door:
    """The guards of this process; replaced as a whole."""

    __slots__ = ("ask", "guards")

    def __init__(self) -> None:
        self.guards: tuple[Any, ...] = ()
        self.ask: Callable[[Any, bool], Asked | None] = _nobody
        """(call, whether its host can run it with other arguments) -> what is said about it."""


def _nobody(call: Any, changeable: bool = False) -> Asked | None:
    return None


DOOR = Door()
_LOOP: ContextVar[Any] = ContextVar("pdoctor_trace loop of the call", default=None)
"""Where a thread asks for a coroutine tool: the event loop that the tool runs in."""


def merged(given: Mapping[str, Any] | str, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that somebody gave; those that say what was there before are the host's own objects."""
    if isinstance(given, str):  # as LangChain takes the only argument of a tool
        return dict(changed)
    return {
        name: given[name] if name in given and _same(given[name], value) else value
        for name, value in changed.items()
    }


def with_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], place: int, name: str, change: Callable[[Any], Any]
) -> Given:
    """What a host's function is given where `change` is made of one of its parameters."""
    if len(args) > place:
        return (*args[:place], change(args[place]), *args[place + 1 :]), kwargs
    return args, {**kwargs, name: change(kwargs.get(name))}


def _same(one: Any, other: Any) -> bool:
    text = ACTIVE.capture.whole(one)
    return type(text) is not Truncated and text == ACTIVE.capture.whole(other)


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

    __slots__ = ("asked", "call", "change", "function", "instance", "of_class", "raises", "refuse", "visit")

    def __init__(
        self,
        function: Any,
        visit: Any,
        refuse: Refuse,
        instance: Any,
        of_class: bool,
        raises: bool,
        change: Change | None = None,
    ) -> None:
        """`of_class`: the function is given its object as the first argument. `raises`: whether a guard that
        blocks may raise here; else it answers, as one that tells does. `change`: how the host's function is
        given other arguments, where it can be."""
        self.function, self.visit, self.refuse, self.instance = function, visit, refuse, instance
        self.of_class, self.raises, self.change = of_class, raises, change
        self.call = call_of(visit)
        self.asked: Asked | None = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The host's function, run only if no guard refuses it."""
        call = self.call
        self.asked = asked = guarded(DOOR.ask, call, self.change is not None) if call is not None else None
        if asked is not None and (asked.text is not None or asked.changed is not None):
            text, args, kwargs = self._told(asked, args, kwargs)
            if text is not None:
                return self._refused(text, args, kwargs)
        return self.function(*args, **kwargs)

    async def run_async(self, *args: Any, **kwargs: Any) -> Any:
        """The same for a coroutine function."""
        call = self.call
        self.asked = asked = await _asked_beside(call, self.change is not None) if call is not None else None
        if asked is not None and (asked.text is not None or asked.changed is not None):
            text, args, kwargs = self._told(asked, args, kwargs)
            if text is not None:
                return self._refused(text, args, kwargs)
        return await self.function(*args, **kwargs)

    async def run_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """The same for an asynchronous generator; `refuse` gives its items in place of the tool's."""
        call = self.call
        self.asked = asked = await _asked_beside(call) if call is not None else None
        if asked is not None and asked.text is not None:
            for item in self._refused(asked.text, args, kwargs):
                yield item
            return
        items = self.function(*args, **kwargs)
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()

    def _told(
        self, asked: Asked, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[str | None, tuple[Any, ...], dict[str, Any]]:
        """(why it is not to run, what it is to run with)."""
        if asked.text is not None or asked.changed is None:
            return asked.text, args, kwargs
        try:
            if self.change is None:
                raise TypeError("there is no way to hand them over")
            if self.of_class:
                rest, kwargs = self.change(asked.changed, args[0], args[1:], kwargs)
                return None, (args[0], *rest), kwargs
            return None, *self.change(asked.changed, self.instance, args, kwargs)
        except Exception as error:
            return f"{UNFIT}: {error}"[:MAX_TEXT], args, kwargs

    def _refused(self, text: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        guarded(refused, self.visit, self.call, text)
        if self.asked is not None and self.asked.error is not None and self.raises:
            raise self.asked.error
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


async def _asked_beside(call: Any, changeable: bool = False) -> Asked | None:
    """What the guards say; a person is waited for in a thread, so that the host's other tasks go on."""
    if not any(getattr(one, "may_ask", False) for one in DOOR.guards):
        return guarded(DOOR.ask, call, changeable)
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # the loop of another library
        return guarded(DOOR.ask, call, changeable)
    beside = _Beside()
    try:
        return await asyncio.to_thread(guarded, beside.ask, loop, call, changeable)
    except asyncio.CancelledError as error:
        guarded(beside.leave, error)
        guarded(call.not_started)
        raise


class _Beside:
    """A question in a thread; who asked may be cancelled meanwhile: then the call is over before it ran."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: Asked | None = None
        self._left: BaseException | None = None

    def ask(self, loop: Any, call: Any, changeable: bool) -> Asked | None:
        """In the thread, whose context is a copy."""
        _LOOP.set(loop)
        asked = DOOR.ask(call, changeable)
        with self._lock:
            self._asked = asked
            if self._left is not None and asked is not None:
                asked.over(None, self._left)
        return asked

    def leave(self, error: BaseException) -> None:
        with self._lock:
            self._left = error
            if self._asked is not None:
                self._asked.over(None, error)


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
