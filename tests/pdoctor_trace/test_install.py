"""Installing: hooks on import, missing targets, settings, status."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pdoctor_trace
from pdoctor_trace import settings
from pdoctor_trace.adapter import Target
from pdoctor_trace.importing import before_import, when_imported
from pdoctor_trace.patching import MISSING, PATCHED, Row, patch
from pdoctor_trace.wrappers import Visit, around
from tests.support.sink import OtlpSink


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name of an importable module that nobody has imported yet."""
    name = f"pd_fresh_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text("class Agent:\n    def call(self, x):\n        return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def test_a_hook_runs_right_after_the_import_and_leaves_no_trace(module: str) -> None:
    seen: list[object] = []
    when_imported(module, seen.append)
    assert seen == []
    imported = importlib.import_module(module)
    assert seen == [imported]
    assert "exec_module" not in vars(imported.__spec__.loader)
    when_imported(module, seen.append)
    assert seen == [imported, imported], "of an imported module at once"


def test_a_waker_runs_once_before_the_import(module: str) -> None:
    seen: list[bool] = []
    before_import(module, lambda: seen.append(module in sys.modules))
    importlib.import_module(module)
    sys.modules.pop(module)
    importlib.import_module(module)
    assert seen == [False]


def test_a_failing_hook_does_not_break_the_import(module: str) -> None:
    from pdoctor_trace.harmless import FAILURES

    def broken(imported: object) -> None:
        raise RuntimeError("hook")

    when_imported(module, broken)
    assert importlib.import_module(module).Agent().call(1) == 2
    assert sum(FAILURES.values()) == 1
    FAILURES.clear()


def test_a_failing_import_stays_the_hosts_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pd_broken.py").write_text("raise ImportError('mine')")
    monkeypatch.syspath_prepend(str(tmp_path))
    when_imported("pd_broken", print)
    for _ in range(2):
        with pytest.raises(ImportError, match="mine"):
            importlib.import_module("pd_broken")


def row(module: str, attribute: str) -> Row:
    return Row("test", Target(module, attribute, around(lambda instance, args, kwargs: Visit(None))))


@pytest.mark.parametrize("attribute", ["Agent.gone", "Gone.call", "gone"])
def test_a_missing_target_is_a_row_not_an_exception(module: str, attribute: str) -> None:
    missing = row(module, attribute)
    patch(missing, importlib.import_module(module))
    assert missing.state == MISSING
    assert attribute in missing.problem


def test_objects_made_before_patching_are_covered(sink: OtlpSink, module: str) -> None:
    imported = importlib.import_module(module)
    agent, seen = imported.Agent(), []

    def enter(instance: object, args: object, kwargs: object) -> None:
        seen.append(args)

    patched = Row("test", Target(module, "Agent.call", around(enter)))
    patch(patched, imported)
    patch(patched, imported)
    assert (agent.call(1), patched.state, seen) == (2, PATCHED, [(1,)])


def test_our_layer_survives_another_vendors_and_theirs_ours(sink: OtlpSink, module: str) -> None:
    import wrapt

    imported, seen = importlib.import_module(module), []
    ours = Row("test", Target(module, "Agent.call", around(lambda i, a, k: seen.append("ours"))))
    patch(ours, imported)

    def theirs(wrapped, instance, args, kwargs):
        seen.append("theirs")
        return wrapped(*args, **kwargs)

    wrapt.wrap_function_wrapper(imported.Agent, "call", theirs)
    imported.Agent().call(1)
    pdoctor_trace.uninstall()
    imported.Agent().call(1)
    assert seen == ["theirs", "ours", "theirs"]


def test_a_patched_method_looks_like_the_original(sink: OtlpSink, module: str) -> None:
    imported = importlib.import_module(module)
    original, before = imported.Agent.call, inspect.signature(imported.Agent.call)
    patch(row(module, "Agent.call"), imported)
    patched = imported.Agent.call
    assert patched is not original
    assert inspect.unwrap(patched) is original
    assert (type(patched), patched.__qualname__, inspect.signature(patched)) == (
        type(original),
        original.__qualname__,
        before,
    )
    assert imported.Agent.call(imported.Agent(), 1) == 2


def test_status_tells_what_happened(sink: OtlpSink) -> None:
    pdoctor_trace.tool(lambda: 1)()
    pdoctor_trace.flush()
    found = pdoctor_trace.status()
    assert (found["installed"], found["endpoint"], found["content"]) == (True, sink.url, "full")
    assert found["spans"] == {"recorded": 1, "exported": 1, "rejected": 0, "dropped": 0, "queued": 0}
    assert set(found["frameworks"]) >= {"langchain", "openai"}


def test_unknown_or_bad_settings_are_told() -> None:
    with pytest.raises(ValueError, match="unknown setting 'colour'"):
        pdoctor_trace.install(colour="red")
    with pytest.raises(ValueError, match="content mode"):
        pdoctor_trace.install(content="everything")


def test_bad_variables_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    found = settings.from_environment(
        {"PDOCTOR_QUEUE_SIZE": "many", "PDOCTOR_CONTENT": "shape", "PDOCTOR_THREADS": "off"}
    )
    assert (found.queue_size, found.content, found.threads) == (10_000, "shape", False)
    assert "PDOCTOR_QUEUE_SIZE" in caplog.text


def test_every_setting_has_a_variable_and_help() -> None:
    rows = settings.table()
    assert all(variable == f"PDOCTOR_{name.upper()}" and help_ for name, variable, _, help_ in rows)


def test_a_redactor_that_cannot_be_loaded_keeps_nothing(
    sink: OtlpSink, caplog: pytest.LogCaptureFixture
) -> None:
    """A typing slip in the variable must not mean that everything leaves unredacted."""
    pdoctor_trace.install(redactor="no.such.module:redact")
    pdoctor_trace.tool(lambda x: x)("secret")
    pdoctor_trace.flush()
    pdoctor_trace.install(redactor=None)
    assert "secret" not in str(sink.spans)
    assert "no.such.module:redact" in caplog.text
