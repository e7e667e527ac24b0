"""Start-up hook of `pdoctor run`: its folder stands first in PYTHONPATH, so `site` imports this file.

It installs the tracer and then runs the `sitecustomize` that this one hid, if there is any. The folder
is taken off `sys.path` again, so the program sees the path it would have without us; it stays in the
environment, so child processes are instrumented as well.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _leave_path() -> None:
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _HERE]


def _start_tracer() -> None:
    try:
        import pdoctor_trace  # noqa: F401
    except Exception as error:
        sys.stderr.write(
            f"pdoctor run: {sys.executable} cannot import pdoctor_trace ({error}); "
            "this program runs without tracing. Install pdoctor-trace into its environment.\n"
        )


def _run_hidden_sitecustomize() -> None:
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_leave_path()
_start_tracer()
_run_hidden_sitecustomize()
