"""The dependency rules of the architecture, enforced on the syntax tree of every module."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("pdoctor_trace", "synth", "collector")

WINGS = (
    "errors", "files", "frozen", "counted", "pictures", "client", "formal",
    "observed", "language", "cases", "judge", "progress",
    "games", "plans", "questions", "policies", "drafting", "judge_process", "llm", "agents",
    "simulated_model", "experiments", "pytest_tasks", "kept", "pytest_bench", "pytest_plugin",
)  # fmt: skip
"""From the ground up: a module imports its own wing and those before it. Lazy and type-only imports count."""
WEB = {"fastapi", "starlette"}
WIRE = {"google", "opentelemetry"}
SQL = {"sqlalchemy", "sqlite3", "alembic", "psycopg"}
LONGEST = 530
"""Lines of a source file: beyond them it holds a second idea."""
OUTSIDERS = {
    "tests/pdoctor_trace/test_importing.py",
    "tests/support/distribution.py",
}
"""Tests that make a distribution of somebody else, and put it where Python looks."""


def imports(path: str, tree: ast.AST, *, top_level_only: bool = False) -> Iterator[str]:
    """Dotted names of everything a module imports (only what runs at import time, if asked)."""
    for module, names in statements(path, walk_at_import(tree) if top_level_only else ast.walk(tree)):
        yield module
        yield from (f"{module}.{name}" for name in names)


def statements(path: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, list[str]]]:
    """Module and the names taken from it, for each import."""
    folders = path.split("/")[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            near = folders[: len(folders) - node.level + 1] if node.level else []
            module = ".".join([*near, *filter(None, [node.module])])
            yield module, [alias.name for alias in node.names]


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
    if "z3" in tops and path != "synth/formal/solver.py":
        yield "imports z3 outside synth/formal/solver.py"
    if any(name.partition(".")[0] == "z3" for name in at_import):
        yield "imports z3 before it is needed"
    if tops & {"collector", "pdoctor_trace"}:
        yield "imports the collector or the tracer"
    wing = wing_of(path)
    if wing == "__init__":
        return
    if wing not in WINGS:
        yield f"{wing} is no wing of synth: its place in WINGS is missing"
        return
    wings = {name.split(".")[1] for name in every if name.startswith("synth.") and name.count(".")}
    above = [other for other in WINGS[WINGS.index(wing) + 1 :] if other in wings]
    if above:
        yield f"imports upward: {', '.join(above)}"
    if through_the_door := sorted(wings - {*WINGS}):
        yield f"imports from synth itself, not from a wing: {', '.join(through_the_door)}"


def wing_of(path: str) -> str:
    """The folder or module at the top of synth that a module is in."""
    return path.removeprefix("synth/").partition("/")[0].removesuffix(".py")


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
    if room != "cli" and (inner := sorted(name for name in every if goes_inside(name, every))):
        yield f"imports the inside of a wing of synth: {', '.join(inner)}"


def goes_inside(name: str, every: set[str]) -> bool:
    """Whether an import goes to a module within a wing of synth, rather than to what the wing gives out."""
    outer = name.rpartition(".")[0]
    given_out = outer.count(".") == 1 and outer in every  # from synth.WING import NAME
    return name.startswith("synth.") and name.count(".") > 1 and not given_out


def modules() -> list[str]:
    return sorted(p.relative_to(ROOT).as_posix() for name in PACKAGES for p in (ROOT / name).rglob("*.py"))


def test_every_module_keeps_the_dependency_rules() -> None:
    broken = [problem for path in modules() for problem in violations(path, (ROOT / path).read_text())]
    assert broken == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("pdoctor_trace/calls.py", "import langchain"),
        ("pdoctor_trace/export.py", "from opentelemetry.sdk.trace import TracerProvider"),
        ("pdoctor_trace/frameworks/x.py", "import openai"),
        ("pdoctor_trace/runs.py", "def f():\n    import collector.app"),
        ("synth/formal/check.py", "def f():\n    import z3"),
        ("synth/formal/solver.py", "import z3"),
        ("synth/formal/check.py", "from synth import language"),
        ("synth/formal/order.py", "from synth.cases.case import Case"),
        ("synth/formal/order.py", "from ..cases.case import Case"),
        ("synth/formal/order.py", "def f():\n    from synth.judge import judge"),
        ("synth/formal/order.py", "if TYPE_CHECKING:\n    from synth.observed.run import Run"),
        ("synth/formal/constraints/before.py", "from ...cases.case import Case"),
        ("synth/experiments/harness.py", "import collector"),
        ("synth/policies/load.py", "def sentences():\n    from synth.llm.chat import ask"),
        ("synth/cases/generate.py", "from synth import pytest_plugin"),
        ("synth/formal/order.py", "from synth import Case"),
        ("synth/toys.py", "from synth.errors import BadInput"),
        ("collector/rebuild/__init__.py", "import pdoctor_trace"),
        ("collector/judging/bind.py", "import fastapi"),
        ("collector/pipeline/writer.py", "import sqlite3"),
        ("collector/store/schema.py", "import google.protobuf"),
        ("collector/model.py", "from synth.observed.run import Run"),
        ("collector/model.py", "import synth.observed.run"),
        ("collector/judging/assess.py", "def f():\n    from synth.formal.constraints.before import Before"),
        ("collector/api/runs.py", "if TYPE_CHECKING:\n    from synth.judge.rules import Rules"),
    ],
)
def test_a_planted_import_breaks_a_rule(path: str, source: str) -> None:
    assert violations(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("pdoctor_trace/frameworks/x.py", "def read():\n    import openai"),
        ("synth/formal/solver.py", "def solver():\n    import z3"),
        ("synth/policies/load.py", "def sentences():\n    from synth.language.parse import parse"),
        ("synth/formal/order.py", "from synth.errors import BadInput"),
        ("collector/otlp/http.py", "from google.rpc import status_pb2"),
        ("synth/experiments/harness.py", "from opentelemetry import baggage"),
        ("collector/model.py", "from synth.observed import Run, ToolCall"),
        ("collector/model.py", "from synth import Run\nfrom synth.errors import BadInput"),
        ("collector/cli/demo.py", "def f():\n    from synth.experiments.harness import Harness"),
    ],
)
def test_what_the_rules_allow_is_not_reported(path: str, source: str) -> None:
    assert violations(path, source) == []


def imported(path: str, source: str, every: Collection[str]) -> set[str]:
    """Modules of ours that a module imports; a package only where something of its `__init__` is taken."""
    taken = statements(path, ast.walk(ast.parse(source)))
    found = {(module, f"{module}.{name}") for module, names in taken for name in names or ["-"]}
    return {inner if inner in every else module for module, inner in found} & set(every) - {dotted(path)}


def dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def circles(sources: Mapping[str, str]) -> list[set[str]]:
    """Groups of modules that import each other, lazily and for types included."""
    every = {dotted(path) for path in sources}
    direct = {dotted(path): imported(path, source, every) for path, source in sources.items()}
    behind = {name: reached(direct, name) for name in direct}
    groups = {frozenset(other for other in behind[name] if name in behind[other]) for name in direct}
    return [set(group) for group in groups if group]


def reached(direct: Mapping[str, set[str]], name: str) -> set[str]:
    """What a module imports, directly or not."""
    found: set[str] = set()
    waiting = set(direct[name])
    while waiting:
        found.add(one := waiting.pop())
        waiting |= direct[one] - found
    return found


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles({path: (ROOT / path).read_text() for path in modules()}) == []


@pytest.mark.parametrize(
    "back",
    [
        "from synth.formal.model import Spec",
        "def spec():\n    from .model import Spec",
        "if TYPE_CHECKING:\n    import synth.formal.model",
    ],
)
def test_a_planted_circle_is_seen(back: str) -> None:
    sources = {
        "synth/formal/__init__.py": "from synth.formal.model import Spec",
        "synth/formal/model.py": "from synth.formal import order",
        "synth/formal/order.py": "from synth.formal import day",
        "synth/formal/day.py": back,
    }
    assert circles(sources) == [{"synth.formal.model", "synth.formal.order", "synth.formal.day"}]
    assert circles(sources | {"synth/formal/day.py": "import synth.errors"}) == []


def doubled(paths: Iterable[str]) -> list[str]:
    """Names of test modules in several folders; pytest takes those of folders without packages for one."""
    counts = Counter(path.rpartition("/")[2] for path in paths)
    return sorted(name for name, count in counts.items() if count > 1 and name != "conftest.py")


def test_no_two_test_modules_have_one_name() -> None:
    found = [p.relative_to(ROOT).as_posix() for p in (ROOT / "tests").rglob("test_*.py")]
    assert len(found) > 100
    assert doubled(found) == []
    assert doubled([*found, "tests/elsewhere/test_layers.py"]) == ["test_layers.py"]


def path_changes(source: str) -> list[str]:
    """The lines of a module that change where Python looks for modules."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    changed = {
        node.lineno for node in nodes if ast.unparse(node).startswith(("sys.path.", "site.addsitedir"))
    }
    return [source.splitlines()[line - 1].strip() for line in sorted(changed)]


def test_only_what_stands_for_another_distribution_is_put_on_the_path() -> None:
    """All tests import what they share from `tests.support`."""
    files = {file.relative_to(ROOT).as_posix(): file.read_text() for file in (ROOT / "tests").rglob("*.py")}
    assert [path for path in sorted(files) if path_changes(files[path]) and path not in OUTSIDERS] == []


def test_a_planted_change_of_the_path_is_seen() -> None:
    assert path_changes("import sys\nsys.path.insert(0, 'tests')\nprint(sys.path)") == [
        "sys.path.insert(0, 'tests')"
    ]


def too_long(sources: Mapping[str, str]) -> list[str]:
    return [path for path, source in sources.items() if len(source.splitlines()) > LONGEST]


def test_no_source_file_is_longer_than_can_be_read_at_once() -> None:
    assert too_long({path: (ROOT / path).read_text() for path in modules()}) == []


def test_a_planted_long_file_is_seen() -> None:
    assert too_long({"synth/long.py": "pass\n" * 531, "synth/short.py": "pass\n" * 530}) == ["synth/long.py"]


def cut_off(source: str) -> list[int]:
    """Lines of words of a pattern that stand beside it, and so in nothing: no prose begins with `|`."""
    alone = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    return [
        node.lineno
        for node in alone
        if isinstance(node.value, ast.Constant) and str(node.value.value).startswith("|")
    ]


def test_no_words_are_cut_off_from_their_pattern() -> None:
    assert {path: found for path in modules() if (found := cut_off((ROOT / path).read_text()))} == {}


def test_planted_words_beside_their_pattern_are_seen() -> None:
    assert cut_off('A = "is|are"\n"|was"\nB = (\n    "is"\n    "|was"\n)\n') == [2]


KIND_NAMES = {"Before", "EndsBy", "StartsFrom"}


def asks_for_kinds(source: str) -> int:
    """Places that ask which kind of constraint something is."""
    nodes = list(ast.walk(ast.parse(source)))
    called = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"]
    asked = [call.args[1] for call in called]
    asked += [node.cls for node in nodes if isinstance(node, ast.MatchClass)]
    return sum(any(isinstance(n, ast.Name) and n.id in KIND_NAMES for n in ast.walk(one)) for one in asked)


def test_what_a_constraint_is_asked_in_few_places_outside_the_kinds() -> None:
    """Each kind answers for itself; only sentences are written and read per relation."""
    found = {path: asks_for_kinds((ROOT / path).read_text()) for path in modules()}
    outside = {path: n for path, n in found.items() if n and not path.startswith("synth/formal/constraints/")}
    assert sum(outside.values()) < 8, outside


def test_planted_questions_for_a_kind_are_seen() -> None:
    assert (
        asks_for_kinds("isinstance(c, Before)\nisinstance(c, EndsBy | StartsFrom)\nisinstance(c, int)") == 2
    )
    assert (
        asks_for_kinds("match c:\n    case EndsBy(a, t):\n        pass\n    case int():\n        pass") == 1
    )
