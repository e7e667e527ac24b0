"""Mode `ask`: a person says what is done about a call, to a function of the host or at its terminal, or afar.

The answer is yes, no, or other arguments, with which the call is proposed anew before it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any, NamedTuple

from .asking import answer_of
from .runtime import ACTIVE
from .said import values_of
from .settings import LOG, TERMINAL


class Question(NamedTuple):
    """What a function that is asked may want to know of the call, beside the text."""

    tool: str
    arguments: Any
    """As the content mode keeps them whole; None where it does not."""
    rules: tuple[str, ...]
    agent: str | None
    changeable: bool
    """Whether the host can run the call with other arguments."""


OnAsk = Callable[..., object] | str | None
"""`(text) -> answer` or `(text, question) -> answer`, plain or a coroutine function; `"terminal"`; or the
address of a collector. None is the collector that the spans go to."""


def answer(on_ask: OnAsk, text: str, call: Any, rules: tuple[str, ...], changeable: bool) -> Any:
    """True = let it run, an object = with these arguments, False = do not."""
    given = values_of(call.arguments)
    if callable(on_ask):
        about = Question(call.tool, given, rules, call.agent, changeable)
        said = answer_of(on_ask(text, about) if _takes_two(on_ask) else on_ask(text))
    else:
        shown = changeable and type(given) is dict  # nobody edits what is only told by its shape, or cut
        if on_ask == TERMINAL:
            from . import terminal

            said = terminal.approved(text, call.arguments, ACTIVE.settings.approval_timeout, shown)
        else:
            from .approvals import approved

            said = approved(text, call, rules, shown, on_ask)
    if not isinstance(said, Mapping):
        return said is True
    if not changeable:
        LOG.warning("guard: %s cannot be run with other arguments here; the call is refused", call.tool)
        return False
    return dict(said)


def _takes_two(function: Callable[..., object]) -> bool:
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in by_place and one.default is Parameter.empty for one in parameters) > 1
