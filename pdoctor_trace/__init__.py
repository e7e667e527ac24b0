"""Import this and the agent frameworks of the program are traced; nothing else is needed.

`PDOCTOR_ENDPOINT` says where the spans go (default http://127.0.0.1:4318, where `pdoctor serve`
listens); every other setting is in `pdoctor_trace.settings`. With `PDOCTOR_TRACE_DISABLED=1` importing
does nothing. Most of us is loaded when there is something to trace. Where the installation is broken (a
library built for another Python, say), that is said on stderr and the program goes on untraced: it must not
fail because somebody wanted to watch it.
"""

from typing import TYPE_CHECKING, Any

from . import boot

if TYPE_CHECKING:
    from .guarding import Refused, guard
    from .installation import flush, install, status, uninstall, use_opentelemetry
    from .scopes import case, run
    from .tools import state, tool, wrap_tools

__all__ = [
    "Refused",
    "case",
    "flush",
    "guard",
    "install",
    "run",
    "state",
    "status",
    "tool",
    "uninstall",
    "use_opentelemetry",
    "wrap_tools",
]


_PLACES = {
    "Refused": "guarding",
    "case": "scopes",
    "flush": "installation",
    "guard": "guarding",
    "install": "installation",
    "run": "scopes",
    "state": "tools",
    "status": "installation",
    "tool": "tools",
    "uninstall": "installation",
    "use_opentelemetry": "installation",
    "wrap_tools": "tools",
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    """A public name, when it is asked for first."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        boot.loaded()
        found = getattr(__import__(f"{__name__}.{_PLACES[name]}", fromlist=[name]), name)
    except Exception as error:
        boot.tell(error)
        raise AttributeError(f"{__name__}.{name} cannot be loaded: {error!r}") from error
    globals()[name] = found
    return found


boot.start()
