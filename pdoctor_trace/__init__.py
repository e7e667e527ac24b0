"""Import this and the agent frameworks of the program are traced; nothing else is needed.

`PDOCTOR_ENDPOINT` says where the spans go (default http://127.0.0.1:4318, where `pdoctor serve`
listens); every other setting is in `pdoctor_trace.settings`. With `PDOCTOR_TRACE_DISABLED=1` importing
does nothing. Where the installation is broken (a library built for another Python, say), importing says
so on stderr and the program goes on untraced: it must not fail because somebody wanted to watch it.
"""

import sys

try:
    from .install import flush, install, start, status, uninstall
    from .scopes import case, run
    from .tools import tool, wrap_tools
except Exception as error:
    sys.stderr.write(f"pdoctor_trace is not usable here, this program is not traced: {error!r}\n")
else:
    start()

__all__ = ["case", "flush", "install", "run", "status", "tool", "uninstall", "wrap_tools"]
