"""Run a function right after a module has been imported, without importing anything ourselves.

wrapt has this too, but importing wrapt costs half of what a program's start may be slowed down by; so
wrapt is loaded only when there is something to wrap. The finder stands first in `sys.meta_path`, lets
the others find the module, and hooks the one call of its loader's `exec_module`; it leaves no trace on
the loader, the spec or the module. A loader may be shared by many modules (an archive has one), and a
module that was found need not be executed, so what is hooked is told by the module's name.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .harmless import guarded

Hook = Callable[[ModuleType], object]

_hooks: dict[str, list[Hook]] = {}
_wakers: dict[str, list[Callable[[], object]]] = {}
_executions = threading.Lock()


def when_imported(module: str, hook: Hook) -> None:
    """Call the hook with the module: now if it is imported already, else after its import."""
    loaded = sys.modules.get(module)
    if loaded is not None and not getattr(getattr(loaded, "__spec__", None), "_initializing", False):
        hook(loaded)
        return
    _hooks.setdefault(module, []).append(hook)
    _look_out()


def before_import(package: str, wake: Callable[[], object]) -> None:
    """Call `wake` once, just before the top-level package is imported: now if it is already."""
    if package in sys.modules:
        guarded(wake)
        return
    _wakers.setdefault(package, []).append(wake)
    _look_out()


def _look_out() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _Finder:
    """Asked first about every import; interested in a few."""

    def __init__(self) -> None:
        self._asking = threading.local()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        while wakers := _wakers.pop(name, ()):  # each may make others wait for the same
            for wake in wakers:
                guarded(wake)
        if name not in _hooks or name in self._asked_for():
            return None
        spec = self._found_by_the_others(name, path, target)
        if spec is not None and spec.loader is not None:
            guarded(_hook_execution, spec.loader)
        return spec

    def _asked_for(self) -> set[str]:
        """Names that this thread is asking the others for; a finder like this one asks us back."""
        try:
            names: set[str] = self._asking.names
        except AttributeError:
            names = self._asking.names = set()
        return names

    def _found_by_the_others(self, name: str, path: Any, target: Any) -> Any:
        self._asked_for().add(name)
        try:
            for finder in list(sys.meta_path):
                find_spec = getattr(finder, "find_spec", None)
                if finder is not self and find_spec is not None:
                    spec = find_spec(name, path, target)
                    if spec is not None:
                        return spec
            return None
        finally:
            self._asked_for().discard(name)


_finder: Any = _Finder()


def _hook_execution(loader: Any) -> None:
    """Replace `exec_module` on the loader itself, below what others have put around it."""
    loader = getattr(loader, "__wrapped__", loader)
    if isinstance(loader, type):
        return  # that of built-in and frozen modules, which serves the whole interpreter
    with _executions:
        hooked = vars(loader).get("exec_module")
        if type(hooked) is _Execution:
            hooked.expected += 1
        else:
            loader.exec_module = _Execution(loader)


class _Execution:
    """Executes modules as their loader would, then calls the hooks of each."""

    __slots__ = ("_loader", "_original", "expected")

    def __init__(self, loader: Any) -> None:
        self._loader, self._original = loader, loader.exec_module
        self.expected = 1
        """Modules found and not executed yet."""

    def __call__(self, module: ModuleType) -> None:
        name = module.__name__
        self._one_less()
        self._original(module)
        for hook in _hooks.get(name, ()):
            guarded(hook, module)

    def _one_less(self) -> None:
        with _executions:
            self.expected -= 1
            if self.expected <= 0 and vars(self._loader).get("exec_module") is self:
                del self._loader.exec_module
