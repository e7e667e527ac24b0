"""Every adapter has an environment for its conformance tests; every limit has a test that shows it."""

from __future__ import annotations

import ast
import re
import venv
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pdoctor_trace.frameworks import FRAMEWORKS
from tests.frameworks.conformance import BESIDE, CELLS, OF_THE_GUARD, Conformance, cells_of, plain
from tests.frameworks.environments import (
    ENVIRONMENTS,
    THROUGH_THE_SDK,
    Environment,
    Result,
    as_uv_is_told,
    bounded,
    by_uv,
    install,
    installed,
    judge,
    recorded_planners,
    recorded_results,
    settings_of_pip,
)

HERE = Path(__file__).parent
TESTS = sorted(path for path in HERE.glob("test_*.py") if path.name != Path(__file__).name)
NO_LOOP = "mcp"
"""A client of tools, with no model and no loop: the frameworks above it fill the matrix."""


@pytest.mark.parametrize("address", ["7efd1d788720", "7f00ab12cd34", "55d2c0ffee10", "0x7efd1d788720"])
def test_addresses_do_not_make_two_executions_differ(address: str) -> None:
    assert plain(f"by cancel scope {address}") == "by cancel scope 0x"


def test_what_is_no_address_still_makes_two_executions_differ() -> None:
    assert plain("cancel scope 7efd") != plain("cancel scope 7efe")


def test_every_conformance_test_runs_somewhere() -> None:
    run = {test for environment in ENVIRONMENTS for test in environment.tests}
    assert {path.name for path in TESTS} == run


def test_every_framework_has_an_environment_of_its_own() -> None:
    named = {environment.adapter().name for environment in ENVIRONMENTS}
    assert {entry.load().name for entry in FRAMEWORKS} == named


def test_some_environments_are_run_again_through_the_sdk_of_opentelemetry() -> None:
    assert {one.name for one in THROUGH_THE_SDK} == {"langchain+otel", "openai+otel", "pydantic_ai+otel"}
    for one in THROUGH_THE_SDK:
        (base,) = (other for other in ENVIRONMENTS if other.name == one.base)
        assert (one.tests, one.export) == (base.tests, "otel")
        assert one.adapter() is base.adapter()
        assert set(one.requirements(False)) - set(base.requirements(False)) == {
            "opentelemetry-exporter-otlp-proto-http"
        }


def marked(source: str) -> Iterator[tuple[str, str]]:
    """(framework, limit) of every `limit(...)` in a test file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "limit":
            framework, name = (ast.literal_eval(argument) for argument in node.args)
            yield framework, name


def stated() -> set[tuple[str, str]]:
    return {(entry.name, one.name) for entry in FRAMEWORKS for one in entry.load().limits}


def test_every_limit_that_is_stated_is_shown_by_a_test_and_the_other_way_round() -> None:
    assert {pair for path in TESTS for pair in marked(path.read_text())} == stated()


def test_a_limit_without_a_test_is_noticed() -> None:
    assert set(marked('@limit("agno", "no such limit")\ndef test_x(): ...')) - stated() == {
        ("agno", "no such limit")
    }


def test_every_cell_of_the_matrix_names_claims_of_the_suite() -> None:
    claims = {name for name in vars(Conformance) if name.startswith("test_")}
    assert {test for tests in CELLS.values() for test in tests} | set(OF_THE_GUARD) == claims
    assert cells_of("test_a_raising_tool", streaming=True) == ["raising tool"]
    assert "streaming" in cells_of("test_each_call_is_one_span_and_agrees_with_the_tools_own_log", True)


def test_every_cell_that_a_test_names_is_one_of_the_matrix() -> None:
    named = {cell for path in TESTS for cell in re.findall(r"mark\.cell\(\"(.*?)\"\)", path.read_text())}
    assert named == set(BESIDE)


def skips(source: str) -> list[str]:
    """Names through which a test could be left out."""
    wanted = {"skip", "skipif", "importorskip", "xfail"}
    return [n.attr for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute) and n.attr in wanted]


def test_no_framework_test_is_left_out() -> None:
    assert [path.name for path in TESTS if skips(path.read_text())] == []
    assert skips("pytest.importorskip('x')") == ["importorskip"]


def unrecorded(results: dict[str, Any]) -> set[str]:
    return {one.name for one in ENVIRONMENTS if not results.get(one.name, {}).get("passed")}


@pytest.mark.parametrize("kind", ["newest", "previous"])
def test_every_environment_was_run_at_both_releases_and_recorded(kind: str) -> None:
    assert unrecorded(recorded_results(kind)) == set(), "run `make test-frameworks-previous` or --record"


def test_an_environment_that_was_never_recorded_is_noticed() -> None:
    results = recorded_results("newest") | {"agno": {"passed": 0}}
    del results["mcp"]
    assert unrecorded(results) == {"agno", "mcp"}


def test_the_recorded_releases_before_are_those_that_are_pinned() -> None:
    found = {name: result["version"] for name, result in recorded_results("previous").items()}
    assert found == {one.name: one.previous for one in ENVIRONMENTS}


@pytest.mark.parametrize("kind", ["newest", "previous"])
def test_every_recorded_framework_fills_the_matrix(kind: str) -> None:
    """Each cell passes or is a limit that FRAMEWORKS states."""
    limits = {f"{framework} {name}" for framework, name in stated()}
    for name, result in recorded_results(kind).items():
        assert result["failed"] == 0, name
        assert set(result["limits"]) <= limits, name
        if name != NO_LOOP:
            assert set(result["cells"]) - set(BESIDE) == set(CELLS), name


@pytest.mark.parametrize("name", recorded_planners())
def test_the_recorded_planners_under_a_guard_are_as_the_claims_say(name: str) -> None:
    found = recorded_planners()[name]["planners"]
    assert len(found) == 9
    for what, figures in found.items():
        fault, guard, heeds = what.split()
        assert figures["runs"] >= 50, what
        assert (figures.get("violating", 0) > 0) == (guard == "without"), what
        assert "odd" not in figures, what
        assert heeds != "never" or "passed" not in figures, what
        assert heeds != "always" or figures["passed"] >= 0.95 * figures["runs"], what
        assert guard == "without" or fault == "forgets" or figures["refused"] > 0, what


AGNO = Environment("agno", ("agno",), ("test_agno.py",), "3.0")


def judged(cases: str) -> Result:
    result = Result(AGNO)
    judge(result, ET.ElementTree(ET.fromstring(f"<testsuites>{cases}</testsuites>")))
    return result


def case(inside: str = "", module: str = "test_agno") -> str:
    return f'<testcase classname="tests.frameworks.{module}.TestX" name="t">{inside}</testcase>'


def told(*pairs: str) -> str:
    made = "".join(f'<property name="{pair.split("=")[0]}" value="{pair.split("=")[1]}"/>' for pair in pairs)
    return f"<properties>{made}</properties>"


def test_a_report_is_counted_and_its_cells_are_read() -> None:
    cells = case(told("cell=sync")) + case(told("cell=async", "limit=agno waiting tools", "limited=yes"))
    cells += case(told("cell=parallel", "limit=agno waiting tools"))  # of the whole class
    result = judged(cells + case(told("cell=threads") + "<failure/>"))
    assert dict(result.tests) == {"passed": 3, "failed": 1}
    assert result.cells == {"async": "limit", "parallel": "passes", "sync": "passes"}
    assert result.limits == ["agno waiting tools"]


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        (case() + case("<skipped/>"), "1 skipped"),
        (case(module="test_mcp"), "test_agno.py holds no test"),
        ("", "test_agno.py holds no test"),
    ],
)
def test_what_is_left_out_is_a_problem(cases: str, problem: str) -> None:
    assert judged(cases).problems == [problem]


def test_an_environment_that_hangs_is_ended() -> None:
    code, output = bounded(["sh", "-c", "echo begun; sleep 60 & wait"], 0.5, {"PATH": "/usr/bin:/bin"})
    assert (code, output) == (-1, "begun\n")


def wheel(folder: Path, name: str, version: str) -> None:
    """A distribution of one module that holds its version."""
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", f"VERSION = {version!r}\n")
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty environment; pip's settings, in a file and in variables, offer two releases, one forbidden."""
    for version in ("1.0", "2.0", "3.0"):
        wheel(tmp_path, "plate", version)
    (tmp_path / "constraints.txt").write_text("plate<3\n")
    (tmp_path / "pip.conf").write_text(f"[global]\nfind-links = {tmp_path}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "constraints.txt"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    settings_of_pip.cache_clear()
    venv.create(tmp_path / "home", with_pip=False)
    yield tmp_path / "home" / "bin" / "python"
    settings_of_pip.cache_clear()


def test_packages_are_installed_as_pip_is_told(offered: Path) -> None:
    assert by_uv(offered, ["plate==1.0"])[0] == 0
    assert installed(offered, "plate") == "1.0"
    assert by_uv(offered, ["plate"])[0] == 0
    assert installed(offered, "plate") == "2.0"


def test_what_uv_cannot_install_is_left_to_pip(offered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_EXCLUDE_NEWER", "no date")
    code, output = by_uv(offered, ["plate"])
    assert code != 0
    assert "no date" in output
    assert install(offered, ["plate"])[0] == 0
    assert installed(offered, "plate") == "2.0"


def test_uv_is_told_what_pip_is_told() -> None:
    settings = {
        "index-url": "file:///a",
        "extra-index-url": "file:///b file:///c",
        "cert": "/certificates",
        "timeout": "3",
    }
    options, variables = as_uv_is_told(settings)
    assert options[2:] == ["--default-index=file:///a", "--index=file:///b", "--index=file:///c"]
    assert variables == {"SSL_CERT_FILE": "/certificates"}
