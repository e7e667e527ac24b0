"""The `pdoctor` program: a thin dispatcher that loads a verb's module only when that verb is asked for.

`run`, `mcp-proxy` and `status` need nothing but the tracer, whose own verbs they are. Every other verb `v`
is the click command `command` in the module `collector.cli.v`; where its libraries are not installed, the
user is told which extra brings them. Exit codes: 0 done and passed, 1 something failed, 2 usage or bad input,
3 nothing failed but something is undecided, 130 interrupted, 141 the reader of our output went away.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from pdoctor_trace import boot
from pdoctor_trace.settings import TERMINAL, place_to_ask, seconds

VERBS = {
    "demo": "find planted planning errors end to end, with no key and no network",
    "init": "write policies, a test and a CI job to begin with",
    "serve": "run the collector and its web UI",
    "run": "run any Python program instrumented",
    "synth": "write synthesized planning problems as JSON lines",
    "parse": "read a paragraph back into constraints",
    "rewrite": "let a model write paragraphs for constraints, and judge them",
    "extract": "find rules for tool calls in a free text, and review them one by one",
    "topics": "list the jobs that problems are drawn over, or let a model propose more",
    "check": "judge recorded runs against cases and policies",
    "test": "drive an agent through synthesized problems and judge it",
    "capability": "measure at which plan length an agent starts to fail",
    "dissect": "find the root cause of failing cases",
    "report": "tables and figures over judged runs",
    "bench": "measure agents on frozen suites, and compare their result cards",
    "export": "write what campaigns found as JSON lines, also for training",
    "progress": "show how far recorded runs came, and how much they repeat",
    "metrics": "compare predicted tool plans with gold plans, part by part",
    "questions": "let agents answer GSM8K, HotpotQA and TriviaQA, and see how many answers are right",
    "games": "let agents and players play AgentQuest's games, and see how far they come",
    "planners": "let planning agents plan for tasks with gold plans, and score the plans",
    "monitor": "check event sequences against a behaviour specification",
    "policies": "lint, draft, load, list, try and remove policies for production runs",
    "keys": "make API keys for a collector",
    "cases": "make test cases from the runs of a collector",
    "replay": "run an agent on recorded cases, and judge it again",
    "runs": "list, show, export and import the runs of a collector",
    "open": "look at the runs of tests that had no collector",
    "recheck": "judge stored runs again",
    "compare": "compare two runs, or all runs of two versions, with the right test",
    "drift": "show how often each rule was broken, by version and week",
    "backup": "copy a store to a file, also while it is in use",
    "restore": "make a store of what backup wrote",
    "completion": "complete verbs and options in a shell",
    "mcp-proxy": "trace and guard any MCP server from the outside",
    "status": "check this installation: what would be traced, and where it would go",
}
"""Every verb with one line of help; one whose module is not installed is not shown."""

GROUPS = {
    "Try": ("demo", "init"),
    "Watch": ("serve", "run", "mcp-proxy", "status", "runs", "compare", "drift", "open"),
    "Rules": ("policies", "extract", "check", "recheck", "parse", "monitor"),
    "Test": ("test", "cases", "replay", "synth"),
    "Measure": (
        "capability", "dissect", "report", "bench", "export", "progress", "metrics", "games", "planners",
        "questions", "topics", "rewrite",
    ),
    "Operate": ("keys", "backup", "restore", "completion"),
}  # fmt: skip
"""How the help arranges the verbs."""

USAGE_ERROR, INTERRUPTED, PIPE_CLOSED = 2, 130, 141
_INTERPRETERS = ("python", "python3")
_ONE_LETTER_FLAGS = re.compile("([^cmWX]*)([cmWX]?)(.*)", re.DOTALL)
"""An interpreter's argument: flags, and the one whose value follows (-c, -m, -W and -X)."""
_STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `pdoctor VERB ...` and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()
    return code


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        _say(_help())
        return 0 if arguments else USAGE_ERROR
    if arguments[0] in ("-V", "--version"):
        _say(f"pdoctor {metadata.version('pdoctor-trace')}")
        return 0
    verb, rest = arguments[0], arguments[1:]
    own = _OWN_VERBS.get(verb)
    if own is not None:
        return own(rest)
    return _click_verb(verb, rest)


def _help() -> str:
    import textwrap

    width = max(map(len, VERBS)) + 4
    lines = ["usage: pdoctor VERB [OPTIONS]"]
    for group, verbs in GROUPS.items():
        lines += ["", f"{group}:"]
        for verb in filter(_exists, verbs):
            head = f"  {verb}".ljust(width)
            lines += textwrap.wrap(VERBS[verb], 79, initial_indent=head, subsequent_indent=" " * width)
    return "\n".join([*lines, "", "`pdoctor VERB --help` explains one verb."])


def _nearest(verb: str) -> str:
    """What may have been meant, as the end of a sentence."""
    import difflib

    near = difflib.get_close_matches(verb, filter(_exists, VERBS), 1)
    return f"did you mean {near[0]!r}?" if near else "`pdoctor --help` lists the verbs"


def _exists(verb: str) -> bool:
    if verb in _OWN_VERBS:
        return True
    try:
        return importlib.util.find_spec(f"collector.cli.{verb}") is not None
    except ImportError:
        return False


def _click_verb(verb: str, rest: list[str]) -> int:
    boot.stop()  # this process is no agent: its own model servers and checks are not to be traced
    if verb not in VERBS or not _exists(verb):
        _complain(f"pdoctor: unknown verb {verb!r}; {_nearest(verb)}")
        return USAGE_ERROR
    try:
        command = importlib.import_module(f"collector.cli.{verb}").command
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] in ("collector", "synth", "pdoctor_trace"):
            raise
        _complain(f"pdoctor {verb} needs the extra 'collector': pip install 'pdoctor-trace[collector]'")
        return USAGE_ERROR
    return _run_click(command, verb, rest)


def _run_click(command: Any, verb: str, rest: list[str]) -> int:
    """Click's own errors are told by their shape, so that this module need not import click."""
    _name_variables(command, f"PDOCTOR_{verb.upper()}")
    try:
        code = command.main(
            rest,
            prog_name=f"pdoctor {verb}",
            standalone_mode=False,
        )
    except SystemExit as exit_:
        if isinstance(exit_.__context__, BrokenPipeError):
            return _pipe_closed()
        return exit_.code if isinstance(exit_.code, int) else USAGE_ERROR if exit_.code else 0
    except BrokenPipeError:
        raise
    except Exception as error:
        return _click_failure(verb, error)
    return code if isinstance(code, int) else 0


def _name_variables(command: Any, prefix: str) -> None:
    """Every option `--some-name` reads PREFIX_SOME_NAME, whatever the function calls its parameter."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.envvar is None:
            name = max(parameter.opts, key=len).lstrip("-")
            parameter.envvar = f"{prefix}_{name}".upper().replace("-", "_")
    for name, sub in getattr(command, "commands", {}).items():
        _name_variables(sub, f"{prefix}_{name}")


def _click_failure(verb: str, error: Exception) -> int:
    if isinstance(error.__cause__, KeyboardInterrupt | EOFError):
        return INTERRUPTED
    if hasattr(error, "show") and hasattr(error, "exit_code"):
        error.show()
        return USAGE_ERROR
    if _on_purpose(error):
        _complain(f"pdoctor {verb}: {error}")
        return int(error.exit_code)  # type: ignore[attr-defined]
    traceback.print_exception(error)
    return USAGE_ERROR


def _on_purpose(error: Exception) -> bool:
    """Is it an error of `synth` or `collector`, which this module need not import?

    Others have an exit code as well, such as that of a process which an agent under test ran; it says
    nothing about the verb.
    """
    homes = (sys.modules.get(f"{package}.errors") for package in ("synth", "collector"))
    bases = (getattr(home, name, ()) for home in homes for name in ("SynthError", "CollectorError"))
    return any(isinstance(error, base) for base in bases)


def _pipe_closed() -> int:
    """Python flushes stdout once more at exit, which would complain: give it a place to flush to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return PIPE_CLOSED


def _run(rest: list[str]) -> int:
    """`pdoctor run [OPTIONS] -- COMMAND...`: replace this process by the command, instrumented."""
    parser = argparse.ArgumentParser(
        prog="pdoctor run",
        usage="pdoctor run [--endpoint URL] [--guard FILE [--guard-mode MODE] [--guard-ask WHERE]\n"
        "                   [--approval-timeout SECONDS]] -- COMMAND...",
        description="Run any Python program instrumented, its child processes included: `python x.py`, "
        "`x.py`, `-m module` or a console script. `python` means the interpreter pdoctor is installed in. "
        "Programs started with -I, -E or -S ignore the start-up hook.",
    )
    parser.add_argument(
        "--endpoint",
        default=os.environ.get("PDOCTOR_RUN_ENDPOINT"),
        help="where the spans go (default: PDOCTOR_ENDPOINT, else http://127.0.0.1:4318)",
    )
    parser.add_argument(
        "--guard", metavar="FILE", help="ask the rules of this policy file before a tool runs (PDOCTOR_GUARD)"
    )
    parser.add_argument(
        "--guard-mode",
        choices=("observe", "warn", "feedback", "ask", "block"),
        help="what is done about a call that would break one (PDOCTOR_GUARD_MODE)",
    )
    parser.add_argument(
        "--guard-ask",
        metavar="WHERE",
        help="who decides in mode ask: `terminal`, or somebody on the page /approvals of the collector at "
        "this address (PDOCTOR_GUARD_ASK; default: the collector that the spans go to)",
    )
    parser.add_argument(
        "--approval-timeout",
        metavar="SECONDS",
        type=seconds,
        help="how long a call waits for that, until it is refused (PDOCTOR_APPROVAL_TIMEOUT; default: 60)",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = _parsed(parser, rest)
    if isinstance(options, int):
        return options
    if options.guard and not os.path.isfile(options.guard):
        _complain(f"pdoctor run: --guard: there is no file {options.guard!r}")
        return USAGE_ERROR
    try:
        place_to_ask(options.guard_ask or TERMINAL)
    except ValueError as error:
        _complain(f"pdoctor run: --guard-ask: {error}")
        return USAGE_ERROR
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        _complain("pdoctor run: no command given; for example `pdoctor run -- python agent.py`")
        return USAGE_ERROR
    resolved = _resolved(command)
    for flag in _flags_against_the_hook(resolved):
        _complain(
            f"pdoctor run: Python started with {flag} ignores the start-up hook, this program is not traced; "
            f"leave {flag} out, or `import pdoctor_trace` in the program"
        )
    guard = os.path.abspath(options.guard) if options.guard else None
    named = {
        "ENDPOINT": options.endpoint,
        "GUARD": guard,
        "GUARD_MODE": options.guard_mode,
        "GUARD_ASK": options.guard_ask,
        "APPROVAL_TIMEOUT": None if options.approval_timeout is None else str(options.approval_timeout),
    }
    return _replace_process(resolved, _instrumented_environment(named))


def _parsed(parser: argparse.ArgumentParser, rest: list[str]) -> argparse.Namespace | int:
    """The options, or the exit code with which argparse wanted to leave."""
    try:
        return parser.parse_args(rest)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else USAGE_ERROR


def _resolved(command: list[str]) -> list[str]:
    first = command[0]
    if first in _INTERPRETERS:
        return [sys.executable, *command[1:]]
    if first.startswith("-") or first.endswith(".py"):
        return [sys.executable, *command]
    beside = shutil.which(first, path=os.path.dirname(sys.executable))
    return [shutil.which(first) or beside or first, *command[1:]]


def _flags_against_the_hook(command: list[str]) -> list[str]:
    """Arguments of a Python interpreter that hold one of the flags -I, -E and -S."""
    if not os.path.basename(command[0]).startswith(("python", "pypy")):
        return []
    found = []
    arguments = iter(command[1:])
    for argument in arguments:
        if not argument.startswith("-") or argument in ("-", "--"):
            break
        letters, valued, value = _ONE_LETTER_FLAGS.fullmatch(argument[1:]).groups()  # type: ignore[union-attr]
        if not {"I", "E", "S"}.isdisjoint(letters):
            found.append(argument)
        if valued in ("c", "m"):
            break
        if valued and not value:
            next(arguments, None)
    return found


def _instrumented_environment(named: dict[str, str | None]) -> dict[str, str]:
    environment = dict(os.environ)
    inherited = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = _STARTUP + (os.pathsep + inherited if inherited else "")
    return environment | {f"PDOCTOR_{name}": value for name, value in named.items() if value}


def _replace_process(command: list[str], environment: dict[str, str]) -> int:
    """Signals, the terminal and the exit code are then the program's own."""
    try:
        if os.name == "posix":
            os.execvpe(command[0], command, environment)
        import subprocess

        return subprocess.run(command, env=environment, check=False).returncode
    except OSError as error:
        _complain(f"pdoctor run: cannot start {command[0]!r}: {error.strerror or error}")
        return USAGE_ERROR


def _status(rest: list[str]) -> int:
    """`pdoctor status [--json]`: settings, frameworks found, and whether spans would arrive."""
    from . import selfcheck

    parser = argparse.ArgumentParser(prog="pdoctor status", description=selfcheck.__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    options = _parsed(parser, rest)
    if isinstance(options, int):
        return options
    report = selfcheck.report()
    _say(json.dumps(report) if options.json else selfcheck.text(report))
    return USAGE_ERROR if report["collector"]["problem"] else 0


def _mcp_proxy(rest: list[str]) -> int:
    from .proxy.verb import main

    return main(rest)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _complain(text: str) -> None:
    sys.stderr.write(text + "\n")


_OWN_VERBS: dict[str, Callable[[list[str]], int]] = {"run": _run, "mcp-proxy": _mcp_proxy, "status": _status}
