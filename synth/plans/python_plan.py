"""Plans written as Python: read from the syntax tree, never run.

What counts as a plan is small: calls of tools with their arguments by name, their results in variables, and
of values literals, variables, `result['key']`, f-strings and sums of texts; all of it also as the body of one
function. Everything else is refused by its line.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from synth.errors import BadInput
from synth.plans.graph import ToolGraph
from synth.plans.model import REFERENCE, Plan, PlanStep, inside, too_deep, unfenced

_WHOLE = re.compile(r"<node-[0-9]{1,9}>\Z")
_KEY = re.compile(r"\w+\Z")
MAX_CHARACTERS = 300_000
"""Of a plan in Python, whose syntax tree is hundreds of times as large."""
_MOST_WEIGHT = 1_000_000
"""Of all that variables bring in, and texts put together: sums of sums double."""


def plan_from_python(source: str, graph: ToolGraph | None = None) -> Plan:
    """The plan that a piece of Python states; a Markdown code fence around it is taken off.

    With a graph, arguments by position get their names, and `image_captioning` may stand for the tool
    `image captioning`. BadInput names the line of what is no plan.
    """
    try:
        return _Reader(graph).read(syntax(unfenced(source)))
    except RecursionError:
        raise BadInput("the plan is nested too deeply", field="plan") from None


def syntax(source: str) -> ast.Module:
    """The syntax tree of a source. BadInput where it has none, or is too large or nested too deeply."""
    if len(source) > MAX_CHARACTERS:
        raise BadInput(f"a plan has at most {MAX_CHARACTERS} characters, not {len(source)}", field="plan")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as problem:
        raise BadInput(f"the plan is no Python: {problem.msg}", line=problem.lineno, field="plan") from None
    except (ValueError, RecursionError, MemoryError, UnicodeError) as problem:
        raise BadInput(
            f"the plan cannot be read as Python: {problem or 'nested too deeply'}", field="plan"
        ) from None


def plan_to_python(plan: Sequence[PlanStep], graph: ToolGraph | None = None) -> str:
    """The plan as a function `solve`, one assignment a step. BadInput for names that Python cannot write."""
    lines = ["def solve():"]
    for step in plan:
        tool = _identifier(step.tool.replace(" ", "_").replace("-", "_"))
        given = ", ".join(f"{_identifier(name)}={_code(value)}" for name, value in step.arguments.items())
        lines.append(f"    output{step.id} = {tool}({given})")
    outputs = ", ".join(f"{step.id}: output{step.id}" for step in plan)
    return "\n".join([*lines, f"    return {{{outputs}}}", ""])


class _Reader:
    """Walks statements in order; a step's result is the text `<node-ID>`."""

    def __init__(self, graph: ToolGraph | None) -> None:
        self._graph = graph
        self._steps: list[PlanStep] = []
        self._variables: dict[str, Any] = {}
        self._weight = 0

    def read(self, module: ast.Module) -> Plan:
        body = module.body
        functions = [one for one in body if isinstance(one, ast.FunctionDef)]
        if functions:
            if len(functions) > 1:
                raise _refused(functions[1], "a second function")
            (function,) = functions
            if function.decorator_list or ast.unparse(function.args):
                raise _refused(function, "a function with parameters or decorators")
            body = [other for one in body for other in (function.body if one is function else [one])]
        for statement in body:
            self._statement(statement)
        return tuple(self._steps)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Pass() | ast.Return(value=None) | ast.Expr(value=ast.Constant()):
                return
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=args)) if not self._has("print"):
                for one in args:
                    self._value(one)
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                self._value(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._variables[name] = self._value(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._variables[name] = self._value(value)
            case _:
                raise _refused(statement, f"{_words(statement)}")

    def _value(self, node: ast.expr) -> Any:
        read = _VALUES.get(type(node))
        if read is None:
            raise _refused(node, _words(node))
        return read(self, node)

    def _constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, str | bool | int | float):
            return node.value
        raise _refused(node, "a value that JSON does not have")

    def _negative(self, node: ast.UnaryOp) -> Any:
        value = self._value(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(value, int | float):
            return -value
        raise _refused(node, "a calculation")

    def _list(self, node: ast.List | ast.Tuple) -> list[Any]:
        return [self._value(one) for one in node.elts]

    def _dict(self, node: ast.Dict) -> dict[str, Any]:
        if not all(isinstance(key, ast.Constant) for key in node.keys):
            raise _refused(node, "an object whose names are not texts")
        names = [str(key.value) for key in node.keys if isinstance(key, ast.Constant)]
        return dict(zip(names, map(self._value, node.values), strict=True))

    def _name(self, node: ast.Name) -> Any:
        if node.id not in self._variables:
            raise _refused(node, f"{node.id[:50]!r}, a variable that has no value yet")
        return self._weighed(node, self._variables[node.id])

    def _item(self, node: ast.Subscript) -> str:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return self._output(node, self._value(node.value), key)

    def _attribute(self, node: ast.Attribute) -> str:
        return self._output(node, self._value(node.value), node.attr)

    def _output(self, node: ast.expr, of: Any, key: Any) -> str:
        if not isinstance(of, str) or not _WHOLE.match(of):
            raise _refused(node, "a part of something that is no result of a tool")
        if not isinstance(key, str) or not _KEY.match(key) or key.startswith("_"):
            raise _refused(node, "an output whose name is no plain text")
        return f"{of}.{key}"

    def _joined(self, node: ast.JoinedStr) -> Any:
        return self._put_together(node, [self._value(one) for one in node.values])

    def _formatted(self, node: ast.FormattedValue) -> Any:
        if node.conversion != -1 or node.format_spec is not None:
            raise _refused(node, "a format")
        return self._value(node.value)

    def _sum(self, node: ast.BinOp) -> Any:
        values = [self._value(node.left), self._value(node.right)]
        if not isinstance(node.op, ast.Add) or not all(isinstance(one, str) for one in values):
            raise _refused(node, "a calculation")
        return self._put_together(node, values)

    def _put_together(self, node: ast.expr, values: Sequence[Any]) -> Any:
        return self._weighed(node, "".join(map(str, values)))

    def _weighed(self, node: ast.expr, value: Any) -> Any:
        self._weight += _weight(value)
        if self._weight > _MOST_WEIGHT:
            raise _refused(node, "values that double again and again")
        return value

    def _call(self, node: ast.Call) -> str:
        if not isinstance(node.func, ast.Name) or node.func.id.startswith("__"):
            raise _refused(node, "a call of something that is no tool")
        tool = self._graph.by_identifier(node.func.id) if self._graph else node.func.id
        names = self._names_of(tool, node)
        given = [*node.args, *(one.value for one in node.keywords)]
        arguments = dict(zip(names, map(self._value, given), strict=True))
        if len(arguments) < len(names):
            raise _refused(node, "an argument that is given twice")
        if any(map(too_deep, arguments.values())):
            raise _refused(node, "an argument that is nested so deeply")
        self._steps.append(PlanStep(len(self._steps), tool, arguments))
        return f"<node-{len(self._steps) - 1}>"

    def _names_of(self, tool: str, node: ast.Call) -> list[str]:
        known = list(self._graph.tools[tool].inputs) if self._has(tool) and self._graph else []
        if len(node.args) > len(known) or any(isinstance(one, ast.Starred) for one in node.args):
            raise _refused(node, "an argument without a name")
        named = [one.arg for one in node.keywords if one.arg is not None]
        if len(named) < len(node.keywords):
            raise _refused(node, "arguments with stars")
        return [*known[: len(node.args)], *named]

    def _has(self, tool: str) -> bool:
        return self._graph is not None and tool in self._graph.tools


_VALUES: dict[type[ast.expr], Callable[[_Reader, Any], Any]] = {
    ast.Constant: _Reader._constant,
    ast.UnaryOp: _Reader._negative,
    ast.List: _Reader._list,
    ast.Tuple: _Reader._list,
    ast.Dict: _Reader._dict,
    ast.Name: _Reader._name,
    ast.Subscript: _Reader._item,
    ast.Attribute: _Reader._attribute,
    ast.JoinedStr: _Reader._joined,
    ast.FormattedValue: _Reader._formatted,
    ast.BinOp: _Reader._sum,
    ast.Call: _Reader._call,
}


def _weight(value: Any) -> int:
    """Characters and values in it."""
    weight = 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        weight += len(one) if isinstance(one, str) else 1
        waiting.extend(inside(one))
    return weight


def _refused(node: ast.AST, what: str) -> BadInput:
    line = getattr(node, "lineno", None)
    return BadInput(f"a plan is a list of tool calls, without {what}", line=line, field="plan")


def _words(node: ast.AST) -> str:
    name = type(node).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _identifier(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
        raise BadInput(f"{name!r} cannot be a name in Python", field="plan")
    return name


def _code(value: Any) -> str:
    """A value as Python writes it; references become variables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {_code(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_code, value)) + "]"
    if not isinstance(value, str):
        return repr(value)
    pieces = []
    end = 0
    for found in REFERENCE.finditer(value):
        pieces += [repr(value[end : found.start()]), _reference(found)]
        end = found.end()
    pieces.append(repr(value[end:]))
    return " + ".join(piece for piece in pieces if piece != "''") or "''"


def _reference(found: re.Match[str]) -> str:
    output = f"output{int(found[1])}"
    return output if found[2] is None else f"{output}[{found[2]!r}]"
