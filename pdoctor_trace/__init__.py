"""Import this and the agent frameworks of the program are traced; nothing else is needed.

`PDOCTOR_ENDPOINT` says where the spans go (default http://127.0.0.1:4318, where `pdoctor serve`
listens); every other setting is in `pdoctor_trace.settings`. With `PDOCTOR_TRACE_DISABLED=1` importing
does nothing.
"""

from .install import flush, install, start, status, uninstall
from .scopes import case, run
from .tools import tool, wrap_tools

__all__ = ["case", "flush", "install", "run", "status", "tool", "uninstall", "wrap_tools"]

start()
