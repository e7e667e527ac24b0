"""The dependency rules of the architecture, enforced on the syntax tree of every module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("pdoctor_trace", "synth", "collector")

FORMAL_HALF = {
    "model", "run", "errors", "constraints", "order", "solver", "bind", "check", "classify", "explain",
    "completion", "repair", "monitor", "contracts", "policies", "planner", "conflict", "contradiction",
}  # fmt: skip
LANGUAGE_HALF = {
    "case", "words", "grammar", "derive", "render", "parse", "generate", "mutate", "topics", "query",
    "extract", "tools", "agents", "simulated_model", "harness", "campaign", "dissect", "plots",
    "pytest_plugin", "extraction", "report", "lexer", "parse_errors", "deciders", "confirm", "expansion",
    "pools", "toolbox", "topic_writer", "chat", "restructure",
}  # fmt: skip
WEB = {"fastapi", "starlette"}
WIRE = {"google", "grpc", "opentelemetry"}
SQL = {"sqlalchemy", "sqlite3", "alembic", "psycopg"}


def imports(path: str, tree: ast.AST, *, top_level_only: bool = False) -> Iterator[str]:
    """Dotted names of everything a module imports (only what runs at import time, if asked)."""
    folders = path.split("/")[:-1]
    for node in walk_at_import(tree) if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            near = folders[: len(folders) - node.level + 1] if node.level else []
            module = ".".join([*near, *filter(None, [node.module])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def walk_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes outside functions and outside `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from walk_at_import(child)


def violations(path: str, source: str) -> list[str]:
    """The rules that a module at `path` (relative, posix) breaks."""
    tree = ast.parse(source)
    every, at_import = set(imports(path, tree)), set(imports(path, tree, top_level_only=True))
    tops = {name.partition(".")[0] for name in every}
    package = path.partition("/")[0]
    check = {"pdoctor_trace": tracer_violations, "synth": synth_violations, "collector": collector_violations}
    return [f"{path}: {problem}" for problem in check[package](path, every, at_import, tops)]


def tracer_violations(path: str, every: set[str], at_import: set[str], tops: set[str]) -> Iterator[str]:
    allowed = set(sys.stdlib_module_names) | {"pdoctor_trace", "wrapt", "opentelemetry", "orjson"}
    for name in sorted({name.partition(".")[0] for name in at_import} - allowed):
        yield f"imports {name} at import time"
    if any(name.startswith("opentelemetry.sdk") for name in at_import):
        yield "imports the OpenTelemetry SDK at import time"
    if tops & {"z3", "fastapi", "collector"} and path != "pdoctor_trace/command.py":
        yield "imports the collector's side"


def synth_violations(path: str, every: set[str], at_import: set[str], tops: set[str]) -> Iterator[str]:
    if "z3" in tops and path != "synth/solver.py":
        yield "imports z3 outside synth/solver.py"
    if any(name.partition(".")[0] == "z3" for name in at_import):
        yield "imports z3 before it is needed"
    if tops & {"collector", "pdoctor_trace"}:
        yield "imports the collector or the tracer"
    room = path.removeprefix("synth/").partition("/")[0].removesuffix(".py")
    wanted = at_import if room == "policies" else every
    rooms = {name.split(".")[1] for name in wanted if name.startswith("synth.") and name.count(".")}
    if room in FORMAL_HALF and rooms & LANGUAGE_HALF:
        yield f"formal half imports {sorted(rooms & LANGUAGE_HALF)}"


def collector_violations(path: str, every: set[str], at_import: set[str], tops: set[str]) -> Iterator[str]:
    room = path.removeprefix("collector/").partition("/")[0]
    if "pdoctor_trace" in tops:
        yield "imports the tracer"
    if tops & WEB and room not in {"app.py", "api", "ui"}:
        yield "imports the web framework outside app, api and ui"
    if tops & WIRE and room != "otlp":
        yield "imports the wire format outside otlp"
    if tops & SQL and room != "store":
        yield "imports a database outside store"


def modules() -> list[str]:
    return sorted(p.relative_to(ROOT).as_posix() for name in PACKAGES for p in (ROOT / name).rglob("*.py"))


def test_every_module_keeps_the_dependency_rules() -> None:
    broken = [problem for path in modules() for problem in violations(path, (ROOT / path).read_text())]
    assert broken == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("pdoctor_trace/span.py", "import langchain"),
        ("pdoctor_trace/export.py", "from opentelemetry.sdk.trace import TracerProvider"),
        ("pdoctor_trace/frameworks/x.py", "import openai"),
        ("pdoctor_trace/runs.py", "def f():\n    import collector.app"),
        ("synth/check.py", "def f():\n    import z3"),
        ("synth/solver.py", "import z3"),
        ("synth/check.py", "from synth import parse"),
        ("synth/order.py", "from synth.case import Case"),
        ("synth/order.py", "from .case import Case"),
        ("synth/constraints/before.py", "from ..case import Case"),
        ("synth/harness.py", "import collector"),
        ("synth/policies.py", "from synth.parse import parse"),
        ("collector/rebuild.py", "import pdoctor_trace"),
        ("collector/bind.py", "import fastapi"),
        ("collector/pipeline/writer.py", "import sqlite3"),
        ("collector/store/schema.py", "import google.protobuf"),
    ],
)
def test_a_planted_import_breaks_a_rule(path: str, source: str) -> None:
    assert violations(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("pdoctor_trace/frameworks/x.py", "def read():\n    import openai"),
        ("synth/solver.py", "def solver():\n    import z3"),
        ("synth/policies.py", "def sentences():\n    from synth.parse import parse"),
        ("collector/otlp/http.py", "from google.rpc import status_pb2"),
        ("synth/harness.py", "from opentelemetry import baggage"),
    ],
)
def test_what_the_rules_allow_is_not_reported(path: str, source: str) -> None:
    assert violations(path, source) == []
