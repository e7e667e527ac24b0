"""Plans in Python: what is read, what is refused, and that nothing is ever run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.errors import BadInput
from synth.plans import Plan, PlanStep, graph_from_json, plan_from_python, plan_to_python, verify

GRAPH = graph_from_json(
    [
        {"name": "image captioning", "inputs": ["image"], "outputs": ["text"]},
        {"name": "text summarization", "inputs": ["text", "words"], "outputs": ["text"]},
    ]
)
SOLVE = """
```python
def solve():
    '''Two steps.'''
    output0 = image_captioning(image="a.jpg")
    output1 = text_summarization(text=output0['text'], words=5)
    result = {0: output0, 1: output1}
    return result
```
"""
SOLVED = (
    PlanStep(0, "image captioning", {"image": "a.jpg"}),
    PlanStep(1, "text summarization", {"text": "<node-0>.text", "words": 5}),
)


def test_the_papers_form_is_read() -> None:
    assert plan_from_python(SOLVE, GRAPH) == SOLVED
    assert verify(SOLVED, GRAPH) == ()


@pytest.mark.parametrize(
    "value",
    ["f(x='a')['t']", "y['t']", "y.t", "z", "f'{y[\"t\"]}'", "'' + y['t']"],
    ids=["nested", "item", "attribute", "variable", "format", "sum"],
)
def test_references_are_read_in_every_way_of_writing_them(value: str) -> None:
    (_, *_, last) = plan_from_python(f"y = f(x='a')\nz = y['t']\ng(a={value})")
    assert last.arguments["a"] in ("<node-0>.t", "<node-1>.t")


def test_values_are_those_of_json() -> None:
    (step,) = plan_from_python(
        "a: str = 'x'\nf(n=-1.5, t=True, o=None, l=[1, (2,)], d={'k': a, 2: 'y'}, s=f'{a}!')\npass"
    )
    assert step.arguments == {
        "n": -1.5,
        "t": True,
        "o": None,
        "l": [1, [2]],
        "d": {"k": "x", "2": "y"},
        "s": "x!",
    }


def test_arguments_by_position_have_the_graphs_names() -> None:
    assert (
        plan_from_python("y = image_captioning('a.jpg')\ntext_summarization(y['text'], words=5)", GRAPH)
        == SOLVED
    )
    with pytest.raises(BadInput, match="without an argument"):
        plan_from_python("unknown('a.jpg')", GRAPH)


def test_printing_is_no_step_but_where_it_is_a_tool() -> None:
    assert plan_from_python("print('done')") == ()
    assert len(plan_from_python("print('x')", graph_from_json([{"name": "print", "inputs": ["a"]}]))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "from os import system",
        "__import__('os')",
        "__import__(name='os')",
        "__import__('os').system('touch {file}')",
        "f(x=().__class__.__bases__)",
        "y = f(x=1)\ng(a=y.__class__)",
        "y = f(x=1)\ng(a=y['__class__'])",
        "os.system('touch {file}')",
        "open('{file}', 'w').write('')",
        "[f(x=i) for i in y]",
        "for i in 'ab':\n    f(x=i)",
        "while True:\n    f(x=1)",
        "if f(x=1):\n    g(y=2)",
        "x = lambda: f(x=1)",
        "class A:\n    pass",
        "del x",
        "@f\ndef solve():\n    pass",
        "def solve(x=f(y=1)):\n    pass",
        "async def solve():\n    pass",
        "def a():\n    pass\ndef b():\n    pass",
        "f(**{{'a': 1}})",
        "f(*'ab')",
        "f('a')",
        "x = 'a' * 1000000000",
        "f(x=9 ** 9 ** 9)",
        "a = b = f(x=1)",
        "a, b = f(x=1)",
        "f(x=g)",
        "f(x=b'1')",
        "f(x=1j)",
        "f(x=...)",
        "f(x=f'{{1:>1000000000}}')",
        "f(x=f'{{1!r}}')",
        "f(x={{**y}})",
        "f(x=-'a')",
        "f(x='a' + 1)",
        "f(x='a' - 'b')",
        "f(x='ab'['c'])",
        "y = f(x=1)\ng(a=y[0])",
        "y = f(x=1)\ng(a=y['a b'])",
        "f(x=1, x=2)",
        "(",
        "\x00",
        "x = '\ud800'",
        "with f(x=1):\n    pass",
        "try:\n    f(x=1)\nfinally:\n    pass",
        "f(x=(y := 1))",
        "f(x=1 if 1 else 2)",
        "raise f(x=1)",
        "assert f(x=1)",
        "global x",
        "a.b = f(x=1)",
        "a += f(x=1)",
        "f(x=1)(y=2)",
        "await f(x=1)",
    ],
    ids=ascii,
)
def test_everything_else_is_refused_and_nothing_runs(source: str, tmp_path: Path) -> None:
    file = tmp_path / "made"
    with pytest.raises(BadInput, match="plan"):
        plan_from_python(source.format(file=file) if "{" in source else source)
    assert not file.exists()


@pytest.mark.parametrize("name", ["exec", "eval", "compile", "open"])
def test_a_dangerous_name_is_only_a_tool_that_there_is_not(name: str, tmp_path: Path) -> None:
    file = tmp_path / "made"
    found = plan_from_python(f"{name}(source=\"open('{file}', 'w')\")", GRAPH)
    assert [problem.kind for problem in verify(found, GRAPH)] == ["tool"]
    assert not file.exists()


DEEP = 5_000
HOSTILE = {
    "parentheses": "x=" + "(" * DEEP + ")" * DEEP,
    "minus": "x=" + "-" * DEEP + "1",
    "items": "x=a" + "['b']" * DEEP,
    "attributes": "x=a" + ".b" * DEEP,
    "calls": "x=f" + "()" * DEEP,
    "sums": "x=" + "'a'+" * DEEP + "'a'",
    "branches": "if 1:\n pass\n" + "elif 1:\n pass\n" * DEEP,
    "powers": "x=" + "1**" * DEEP + "1",
    "a-megabyte": "a=f(x=1)\n" * 110_000,
    "long-text": "f(x='" + "a" * 1_000_000 + "')",
    "large-number": "f(x=" + "9" * 100_000 + ")",
    "doubling-texts": "a='x'\n" + "a=a+a\n" * 60 + "f(x=a)",
    "doubling-lists": "a=[1]\n" + "a=[a,a]\n" * 60 + "f(x=a)",
    "doubling-formats": "a='x'\n" + "a=f'{a}{a}'\n" * 60 + "f(x=a)",
    "nested-lists": "a=[1]\n" + "a=[a]\n" * 60 + "f(x=a)",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_would_be_too_much_is_refused(source: str) -> None:
    with pytest.raises(BadInput, match="plan"):
        plan_from_python(source)


def test_ten_thousand_steps_are_read() -> None:
    assert len(plan_from_python("a=f(x='some text')\n" * 10_000)) == 10_000


NAMES = st.sampled_from(["a", "image captioning", "b-c"])
TEXTS = st.text(max_size=5) | st.sampled_from(["<node-0>.x", "see <node-0>.x now", "<node-0>", "'\"\\\n{}"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=30)
@given(st.lists(st.tuples(NAMES, st.dictionaries(st.sampled_from(["x", "y"]), VALUES)), max_size=4))
def test_a_plan_written_as_python_reads_back(steps: list[tuple[str, dict[str, object]]]) -> None:
    graph = graph_from_json(
        [{"name": name, "inputs": ["x", "y"]} for name in ("a", "image captioning", "b-c")]
    )
    plan: Plan = tuple(PlanStep(at + 1, tool, arguments) for at, (tool, arguments) in enumerate(steps))
    plan = (PlanStep(0, "a", {}), *plan)
    assert plan_from_python(plan_to_python(plan), graph) == plan


@pytest.mark.parametrize("name", ["a b c()", "class", "__import__", "x;y", ""])
def test_a_name_that_python_cannot_write_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="name in Python"):
        plan_to_python((PlanStep(0, name, {}),))
