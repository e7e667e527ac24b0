"""Run a function right after a module has been imported, without importing anything ourselves.

wrapt has this too, but importing wrapt costs half of what a program's start may be slowed down by; so
wrapt is loaded only when there is something to wrap. The finder stands first in `sys.meta_path`, lets
the others find the module, and hooks the one call of its loader's `exec_module`; it leaves no trace on
the loader, the spec or the module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .guard import guarded

Hook = Callable[[ModuleType], object]

_hooks: dict[str, list[Hook]] = {}
_wakers: dict[str, list[Callable[[], object]]] = {}


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
        wake()
        return
    _wakers.setdefault(package, []).append(wake)
    _look_out()


def _look_out() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _Finder:
    """Asked first about every import; interested in a few."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        for wake in _wakers.pop(name, ()):
            guarded(wake)
        if name not in _hooks:
            return None
        spec = self._found_by_the_others(name, path, target)
        if spec is not None and spec.loader is not None:
            guarded(_hook_execution, spec.loader, name)
        return spec

    def _found_by_the_others(self, name: str, path: Any, target: Any) -> Any:
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            if finder is not self and find_spec is not None:
                spec = find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None


_finder: Any = _Finder()


def _hook_execution(loader: Any, name: str) -> None:
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module
        original(module)
        for hook in _hooks.get(name, ()):
            guarded(hook, module)

    loader.exec_module = exec_module
