"""Which tools of an OpenAI loop are seen when they start, where others of the process are wrapped, too."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import pdoctor_trace
from pdoctor_trace import raw_loops
from tests.frameworks.conformance import QUERY
from tests.frameworks.test_openai_chat import ask, client
from tests.support.models import FakeModels
from tests.support.sink import OtlpSink

Tools = dict[str, Callable[..., Any]]
UNKNOWN, RAN = (False, "unknown"), (True, None)


@pytest.fixture(autouse=True)
def nothing_is_known_of_other_tests() -> None:
    raw_loops.forget_everything()


def add(a: int, b: int) -> int:
    return a + b


def slow_echo(text: str) -> str:
    return text


PLAIN: Tools = {"add": add, "slow_echo": slow_echo}


def all_wrapped(plain: Tools) -> Tools:
    return pdoctor_trace.wrap_tools(plain)


def wrapped_in_a_list(plain: Tools) -> Tools:
    return dict(zip(plain, pdoctor_trace.wrap_tools(list(plain.values())), strict=True))


def wrapped_one_by_one(plain: Tools) -> Tools:
    return {name: pdoctor_trace.tool(name=name)(function) for name, function in plain.items()}


def decorated(plain: Tools) -> Tools:
    @pdoctor_trace.tool
    def add(a: int, b: int) -> int:
        return a + b

    @pdoctor_trace.tool
    def slow_echo(text: str) -> str:
        return text

    return {"add": add, "slow_echo": slow_echo}


def one_wrapped(plain: Tools) -> Tools:
    return {**plain, "slow_echo": pdoctor_trace.tool(plain["slow_echo"])}


ELSEWHERE = """
import pdoctor_trace

@pdoctor_trace.tool
def add(a, b):
    return a + b

class Toolbox:
    @pdoctor_trace.tool(name="add")
    def method(self, a, b):
        return a + b

    @staticmethod
    @pdoctor_trace.tool(name="add")
    def of_none(a, b):
        return a + b

    @classmethod
    @pdoctor_trace.tool(name="add")
    def of_class(cls, a, b):
        return a + b
"""


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module of recorded tools."""
    module = types.ModuleType("pdoctor_test_shop")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(ELSEWHERE, "shop.py", "exec"), vars(module))
    return module


def outcomes(models: FakeModels, sink: OtlpSink, tools: Tools, *rejected: str) -> dict[str, Any]:
    """A loop in which the model asks for `add` and `slow_echo`, and a person says no to some of them."""
    messages: list[Any] = [{"role": "user", "content": QUERY}]
    with client(models) as sdk:
        reply = ask(sdk, "fake.par", messages)
        messages.append(reply)
        for call in reply.tool_calls[::-1]:
            name, given = call.function.name, json.loads(call.function.arguments)
            text = "Nope, too risky" if name in rejected else str(tools[name](**given))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        ask(sdk, "fake.par", messages)
    pdoctor_trace.flush()
    return {call.tool: (call.executed, call["pdoctor.tool.execution"]) for call in sink.calls}


@pytest.mark.parametrize("elsewhere", [all_wrapped, wrapped_in_a_list, wrapped_one_by_one, decorated])
def test_a_function_that_another_agent_has_wrapped_runs_plainly_here(
    models: FakeModels, sink: OtlpSink, elsewhere: Callable[[Tools], Tools]
) -> None:
    """The other agent may have run, too: what starts in its runs is seen in its runs."""
    elsewhere(PLAIN)
    assert outcomes(models, sink, one_wrapped(PLAIN)) == {"add": RAN, "slow_echo": RAN}


@pytest.mark.parametrize("wrapped", [all_wrapped, wrapped_in_a_list, wrapped_one_by_one, decorated])
def test_what_was_wrapped_together_is_seen_together(
    models: FakeModels, sink: OtlpSink, wrapped: Callable[[Tools], Tools]
) -> None:
    """One of them has started, so the other would have been seen as well."""
    found = outcomes(models, sink, wrapped(PLAIN), "add")
    assert found == {"add": UNKNOWN, "slow_echo": RAN}


@pytest.mark.parametrize(
    ("reached", "known"),
    [
        (lambda shop: shop, True),
        (lambda shop: shop.add, True),
        (lambda shop: {"add": shop.add}, True),
        (lambda shop: [shop.add], True),
        (lambda shop: shop.Toolbox, True),
        (lambda shop: None, False),
        (lambda shop: dict.fromkeys(range(1_001), shop.add), False),
    ],
    ids=["module", "function", "dict", "list", "class", "nothing", "large"],
)
def test_a_recorded_function_in_its_own_place_is_seen_by_those_who_find_it_there(
    models: FakeModels,
    sink: OtlpSink,
    shop: types.ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    reached: Callable[[Any], Any],
    known: bool,
) -> None:
    """The one that starts was wrapped elsewhere; the other may be that of a module which is imported here."""
    monkeypatch.setitem(globals(), "imported", reached(shop))
    found = outcomes(models, sink, one_wrapped(PLAIN), "add")
    assert found == {"add": UNKNOWN if known else RAN, "slow_echo": RAN}


@pytest.mark.parametrize("kept", ["method", "of_none", "of_class"])
def test_methods_are_in_their_own_place_in_their_class(
    models: FakeModels, sink: OtlpSink, shop: types.ModuleType, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    del shop.add
    for name in {"method", "of_none", "of_class"} - {kept}:
        delattr(shop.Toolbox, name)
    assert outcomes(models, sink, one_wrapped(PLAIN), "add") == {"add": RAN, "slow_echo": RAN}
    monkeypatch.setitem(globals(), "Toolbox", shop.Toolbox)
    sink.clear()
    assert outcomes(models, sink, one_wrapped(PLAIN), "add") == {"add": UNKNOWN, "slow_echo": RAN}


def test_a_name_that_the_host_has_given_to_another_function_since(
    models: FakeModels, sink: OtlpSink, shop: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    del shop.Toolbox
    monkeypatch.setattr(shop, "add", add)
    monkeypatch.setitem(globals(), "imported", shop)
    assert outcomes(models, sink, one_wrapped(PLAIN)) == {"add": RAN, "slow_echo": RAN}
