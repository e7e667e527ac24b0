"""`pdoctor mcp-proxy [--policies FILE] [--mode MODE] -- COMMAND...` or `--url URL`: what it is told."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pdoctor_trace.settings import seconds, with_changes

MODES = ("observe", "warn", "feedback", "ask", "block")
USAGE_ERROR = 2
VARIABLE = "PDOCTOR_MCP_PROXY_"


def main(rest: Sequence[str]) -> int:
    """The exit code: that of the server, or 2 where the proxy cannot begin."""
    options = _parser().parse_args(rest)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if bool(command) is bool(options.url):
        example = "`pdoctor mcp-proxy --policies shop.yaml -- python server.py`"
        return _complain(f"expected one server: --url, or a command; for example {example}")
    if options.max_message < 1:
        return _complain(f"--max-message: expected at least 1 MiB, got {options.max_message}")
    os.environ.setdefault("PDOCTOR_EXIT_TIMEOUT", "1")  # whoever started us waits for two seconds at most
    try:
        asks = _prepare(options)
    except Exception as error:
        return _complain(_what(error, options.policies))
    if options.url:
        return _over_http(options, asks)
    from .stdio import Relay

    try:
        relay = Relay(command, options.max_message * 2**20, asks, options.hide)
    except OSError as error:
        return _complain(f"cannot start {command[0]!r}: {error.strerror or error}")
    return relay.run()


def _over_http(options: argparse.Namespace, asks: bool) -> int:
    from .http import serve

    where = f"{options.host}:{options.port}"
    try:
        most = options.max_message * 2**20
        return serve(options.url, options.host, options.port, most, asks, options.hide)
    except ImportError as error:
        return _complain(f"--url needs the extra 'proxy' ({error}): pip install 'pdoctor-trace[proxy]'")
    except OSError as error:
        return _complain(f"cannot listen on {where}: {error.strerror or error}")
    except ValueError as error:
        return _complain(f"--url: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pdoctor mcp-proxy",
        usage="pdoctor mcp-proxy [--policies FILE] [--mode MODE] [--ask WHERE] -- COMMAND...\n"
        "       pdoctor mcp-proxy [--policies FILE] [--mode MODE] [--ask WHERE] --url URL [--port PORT]",
        description="Stand in front of the MCP server that COMMAND starts, or of the one at URL: "
        "every message passes as it is, each tool call is recorded and asked about, and one that the rules "
        "refuse is answered as a failed tool. Put it into a host's settings in place of the server.",
    )
    parser.add_argument(
        "--policies",
        "--guard",
        metavar="FILE",
        default=os.environ.get(f"{VARIABLE}POLICIES"),
        help="rules to ask before each call (default: PDOCTOR_GUARD, else calls are only recorded)",
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=os.environ.get(f"{VARIABLE}MODE"),
        help="for rules that say no mode, and the most for those that do (default: as the file says, at "
        "most feedback)",
    )
    parser.add_argument(
        "--ask",
        metavar="WHERE",
        default=os.environ.get(f"{VARIABLE}ASK"),
        help="who decides in mode ask: `terminal`, or somebody on the page /approvals of the collector at "
        "this address (default: PDOCTOR_GUARD_ASK, else the collector that the spans go to)",
    )
    parser.add_argument(
        "--approval-timeout",
        metavar="SECONDS",
        type=seconds,
        default=os.environ.get(f"{VARIABLE}APPROVAL_TIMEOUT"),
        help="how long a call waits for that, then it is refused (default: PDOCTOR_APPROVAL_TIMEOUT or 60)",
    )
    parser.add_argument(
        "--hide",
        action="store_true",
        default=os.environ.get(f"{VARIABLE}HIDE", "") not in ("", "0"),
        help="leave tools out of lists that the rules refuse from then on, whatever else is called",
    )
    parser.add_argument(
        "--max-message",
        metavar="MIB",
        type=int,
        default=int(os.environ.get(f"{VARIABLE}MAX_MESSAGE", "64")),
        help="longest message that passes (default: 64)",
    )
    parser.add_argument(
        "--url",
        default=os.environ.get(f"{VARIABLE}URL"),
        help="address of a server that speaks streamable HTTP, for example http://127.0.0.1:8000/mcp",
    )
    parser.add_argument(
        "--host", default=os.environ.get(f"{VARIABLE}HOST", "127.0.0.1"), help="where to listen (loopback)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=int(os.environ.get(f"{VARIABLE}PORT", "4319")),
        help="where to listen for clients of --url (default: 4319)",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    return parser


def _prepare(options: argparse.Namespace) -> bool:
    """Set up recording and guard; whether it may ask somebody. Raises what reading the rules raises."""
    from pdoctor_trace import boot

    boot.loaded()
    from pdoctor_trace.asking import DOOR
    from pdoctor_trace.runtime import ACTIVE

    if options.approval_timeout is not None:
        changes = {"approval_timeout": options.approval_timeout}
        ACTIVE.settings = with_changes(ACTIVE.settings, changes)
    policies = options.policies or os.environ.get("PDOCTOR_GUARD") or None
    if policies is None and options.mode is not None:
        raise ValueError("--mode says what is done about rules; name their file with --policies")
    if policies is not None:
        from pdoctor_trace.guarding import guard

        DOOR.guards = ()  # that of the variables, which is told more exactly here
        guard(
            policies,
            options.mode or os.environ.get("PDOCTOR_GUARD_MODE") or None,
            on_ask=options.ask or os.environ.get("PDOCTOR_GUARD_ASK") or None,
        )
    return any(one.may_ask for one in DOOR.guards)


def _what(error: Exception, policies: str | None) -> str:
    if isinstance(error, ImportError):
        return f"the guard needs the extra 'guard' ({error}): pip install 'pdoctor-trace[guard]'"
    return f"{policies}: {error}" if isinstance(error, OSError) else str(error)


def _complain(text: str) -> int:
    sys.stderr.write(f"pdoctor mcp-proxy: {text}\n")
    return USAGE_ERROR
