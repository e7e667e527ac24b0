"""The one module that adapters import, and the direction in which the tracer's modules import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import pdoctor_trace
from pdoctor_trace import adapter

ROOT = Path(pdoctor_trace.__file__).parents[1]
OWN = "pdoctor_trace.frameworks"
"""Where an adapter of several modules keeps them."""
ADAPTERS = sorted(path for path in (ROOT / "pdoctor_trace" / "frameworks").glob("[!_]*.py"))


def name_of(path: Path) -> str:
    """Dotted name of a module, that of its folder for a package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(module: str, is_package: bool, source: str) -> Iterator[tuple[str, str]]:
    """(module, name) of every `from ... import`, wherever it stands in the file."""
    folders = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            near = folders[: len(folders) - node.level + 1] if node.level else []
            origin = ".".join([*near, *filter(None, [node.module])])
            yield from ((origin, alias.name) for alias in node.names)


def graph(sources: dict[str, tuple[bool, str]]) -> dict[str, set[str]]:
    """Module -> modules that it imports; lazy and type-only imports count."""
    found = {}
    for module, (is_package, source) in sources.items():
        names = imported(module, is_package, source)
        targets = {f"{origin}.{name}" if f"{origin}.{name}" in sources else origin for origin, name in names}
        found[module] = targets & sources.keys() - {module}
    return found


def of_the_tracer() -> dict[str, tuple[bool, str]]:
    paths = (ROOT / "pdoctor_trace").rglob("*.py")
    return {name_of(path): (path.name == "__init__.py", path.read_text()) for path in paths}


def test_modules_import_each_other_in_one_direction() -> None:
    TopologicalSorter(graph(of_the_tracer())).prepare()


def test_a_circle_of_lazy_imports_is_found() -> None:
    lazy = "def f():\n    from .b import g"
    with pytest.raises(CycleError):
        TopologicalSorter(graph({"p.a": (False, lazy), "p.b": (False, "from . import a")})).prepare()


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_our_own_adapters_go_through_the_door_too(path: Path) -> None:
    names = list(imported(name_of(path), False, path.read_text()))
    inside = {(origin, name) for origin, name in names if origin.partition(".")[0] == "pdoctor_trace"}
    foreign = {(origin, name) for origin, name in inside if not origin.startswith(OWN)}
    assert foreign == {("pdoctor_trace.adapter", name) for _, name in foreign}
    assert {name for _, name in foreign} <= set(adapter.__all__)


def test_the_surface_is_what_it_says() -> None:
    assert sorted(adapter.__all__) == sorted(set(adapter.__all__))
    assert [name for name in adapter.__all__ if not hasattr(adapter, name)] == []
    assert [name for name in pdoctor_trace.__all__ if not hasattr(pdoctor_trace, name)] == []
