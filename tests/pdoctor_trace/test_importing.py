"""Import hooks beside everybody else's: reloads, shared loaders, other vendors' finders, broken adapters."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import wrapt
from wrapt.importer import ImportHookFinder

from pdoctor_trace import importing
from pdoctor_trace.adapter import Target
from pdoctor_trace.importing import before_import, when_imported
from pdoctor_trace.patching import PATCHED, Row, patch
from pdoctor_trace.wrappers import around
from tests.support.sink import OtlpSink

SOURCE = "class Agent:\n    def call(self, x):\n        return x + 1\n"


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name of an importable module that nobody has imported yet."""
    name = f"pd_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    yield name
    for added in set(sys.modules) - before:
        if added.startswith("pd_"):
            del sys.modules[added]


def row(module: str, seen: list[object]) -> Row:
    return Row("test", Target(module, "Agent.call", around(lambda instance, args, kwargs: seen.append(args))))


def patch_when_imported(module: str, seen: list[object]) -> Row:
    made = row(module, seen)
    when_imported(module, lambda imported: patch(made, imported))
    return made


def test_a_reloaded_module_is_patched_again_and_only_once(sink: OtlpSink, fresh: str) -> None:
    seen: list[object] = []
    made = patch_when_imported(fresh, seen)
    module = importlib.import_module(fresh)
    for times in range(1, 4):
        assert module.Agent().call(1) == 2
        assert (made.state, len(seen)) == (PATCHED, times)
        module = importlib.reload(module)


def test_a_module_imported_anew_is_patched_as_well(sink: OtlpSink, fresh: str) -> None:
    seen: list[object] = []
    patch_when_imported(fresh, seen)
    first = importlib.import_module(fresh)
    del sys.modules[fresh]
    second = importlib.import_module(fresh)
    first.Agent().call(1)
    second.Agent().call(2)
    assert seen == [(1,), (2,)]


def test_patching_twice_below_another_vendors_layer_adds_nothing(sink: OtlpSink, fresh: str) -> None:
    seen: list[object] = []
    made = row(fresh, seen)
    module = importlib.import_module(fresh)
    patch(made, module)
    wrapt.wrap_function_wrapper(
        module.Agent, "call", lambda wrapped, i, args, kwargs: wrapped(*args, **kwargs)
    )
    patch(made, module)
    module.Agent().call(1)
    assert seen == [(1,)]


def test_modules_of_one_archive_share_a_loader_and_keep_their_hooks(tmp_path: Path, fresh: str) -> None:
    archive = tmp_path / "library.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("pd_zip_a", "pd_zip_b", "pd_zip_c"):
            packed.writestr(f"{name}.py", "import pd_zip_c\n" if name == "pd_zip_b" else "x = 1\n")
    sys.path.insert(0, str(archive))
    try:
        seen: list[str] = []
        for name in ("pd_zip_a", "pd_zip_b", "pd_zip_c"):
            when_imported(name, lambda module: seen.append(module.__name__))
        assert importlib.util.find_spec("pd_zip_a") is not None, "asked for, not imported"
        importlib.import_module("pd_zip_b")
        assert seen == ["pd_zip_c", "pd_zip_b"]
        importlib.import_module("pd_zip_a")
        assert seen == ["pd_zip_c", "pd_zip_b", "pd_zip_a"]
    finally:
        sys.path.remove(str(archive))


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_another_vendors_post_import_hook_and_ours_both_run_once(fresh: str, first: str) -> None:
    seen: list[str] = []

    def ours() -> None:
        when_imported(fresh, lambda module: seen.append("ours"))
        sys.meta_path.remove(importing._finder)
        sys.meta_path.insert(0, importing._finder)

    def theirs() -> None:
        wrapt.register_post_import_hook(lambda module: seen.append("theirs"), fresh)
        sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "ImportHookFinder"]
        sys.meta_path.insert(0, ImportHookFinder())

    for register in (ours, theirs) if first == "ours" else (theirs, ours):
        register()
    module = importlib.import_module(fresh)
    assert module.Agent().call(1) == 2
    assert sorted(seen) == ["ours", "theirs"]


def test_two_copies_of_the_finder_do_not_ask_each_other_for_ever(fresh: str) -> None:
    """A test suite that throws modules out of `sys.modules` imports the tracer twice."""
    spec = importlib.util.find_spec("pdoctor_trace.importing")
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    seen: list[str] = []
    when_imported(fresh, lambda module: seen.append("first"))
    copy.when_imported(fresh, lambda module: seen.append("second"))
    assert importlib.import_module(fresh).Agent().call(1) == 2
    assert sorted(seen) == ["first", "second"]


def test_a_loader_that_cannot_be_hooked_still_loads(fresh: str) -> None:
    class Slotted(importlib.abc.Loader):
        __slots__ = ()

        def create_module(self, spec: object) -> None:
            return None

        def exec_module(self, module: ModuleType) -> None:
            module.answer = 42  # type: ignore[attr-defined]

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError("read only")

    class OnClass:
        """Built-in and frozen modules have loaders like this: the class itself."""

        create_module = classmethod(lambda cls, spec: None)
        exec_module = classmethod(lambda cls, module: setattr(module, "answer", 43))

    class Finder:
        def find_spec(self, name: str, path: object = None, target: object = None) -> object:
            loaders = {"pd_slotted": Slotted(), "pd_on_class": OnClass}
            loader = loaders.get(name)
            return None if loader is None else importlib.util.spec_from_loader(name, loader)

    from pdoctor_trace.harmless import FAILURES

    sys.meta_path.insert(0, Finder())
    for name in ("pd_slotted", "pd_on_class"):
        when_imported(name, print)
    assert importlib.import_module("pd_slotted").answer == 42
    assert importlib.import_module("pd_on_class").answer == 43
    assert "exec_module" in vars(OnClass)
    FAILURES.clear()


def test_threads_that_import_at_once_find_everything_patched(
    sink: OtlpSink, tmp_path: Path, fresh: str
) -> None:
    names = [f"pd_many_{number}" for number in range(20)]
    seen: list[object] = []
    for name in names:
        (tmp_path / f"{name}.py").write_text(SOURCE)
        patch_when_imported(name, seen)
    importlib.invalidate_caches()

    def work() -> None:
        for name in names:
            importlib.import_module(name).Agent().call(name)

    def failing() -> None:
        try:
            work()
        except TypeError:  # name + 1
            return

    threads = [threading.Thread(target=failing) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(seen) == 4


def test_one_broken_adapter_is_a_row_and_disables_no_other(fresh: str) -> None:
    from pdoctor_trace.harmless import FAILURES

    woken: list[str] = []

    def broken() -> None:
        raise RuntimeError("adapter")

    before_import("sys", broken)
    before_import(fresh, broken)
    before_import(fresh, lambda: woken.append(fresh))
    importlib.import_module(fresh)
    assert woken == [fresh]
    assert sum(FAILURES.values()) == 2
    FAILURES.clear()
