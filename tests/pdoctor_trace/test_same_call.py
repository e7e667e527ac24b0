"""Which sightings are one call, and which are two."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import pdoctor_trace
from pdoctor_trace.same_call import agree, asked_for, goes_by, holds, is_inside, same_json
from tests.support.sink import OtlpSink


@dataclass(frozen=True)
class Asked:
    call_id: str | None
    arguments: bytes | None = b"{}"
    tool: str = "add"


ONE, TWO, SAME = Asked("c1", b'{"a":1}'), Asked("c2", b'{"a":2}'), Asked("c3", b'{"a":1}')


@pytest.mark.parametrize(
    ("call_id", "arguments", "found"),
    [
        ("c2", b'{"a":9}', TWO),  # the id alone tells
        ("c9", b'{"a":1}', None),  # another id is another call
        (None, b'{ "a": 2 }', TWO),
        (None, b'{"a":1}', ONE),  # in the order of asking
        (None, b'{"a":1,"customer":7}', ONE),  # started with more than was asked for
        (None, b'{"a":3}', None),
        (None, b"[1]", None),
        (None, None, ONE),  # arguments that are not kept tell nothing
    ],
)
def test_what_was_asked_for(call_id: str | None, arguments: bytes | None, found: Asked | None) -> None:
    assert asked_for([ONE, TWO, SAME], call_id, arguments) is found


def test_a_start_with_an_id_is_what_was_asked_for_without_one() -> None:
    nameless = Asked(None, b'{"a":1}')
    assert asked_for([nameless], "c1", b'{"a":1}') is nameless
    assert asked_for([nameless], "c1", b'{"a":2}') is None
    assert asked_for([Asked(None)], None, b"{}") == Asked(None)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("add", True),
        ("math_add", True),
        ("math__add", True),
        ("math.add", True),
        ("add-remote", True),
        ("mcp_math__add_1f2e", True),
        ("add_add", True),
        ("madd", False),
        ("address", False),
        ("ad", False),
        ("math_adds", False),
    ],
)
def test_names_with_a_servers_prefix_or_suffix(name: str, known: bool) -> None:
    assert goes_by(name, "add", way=True) is known
    assert goes_by(name, "add", way=False) is (name == "add")
    assert not goes_by(name, "", way=True)


def test_what_a_tool_calls_is_another_call_unless_it_is_only_the_way_to_it() -> None:
    given = b'{"a":1}'
    assert is_inside("math_add", given, "add", lambda: given)
    assert not is_inside("math_add", given, "add", None)
    assert not is_inside("sum", given, "add", lambda: given)
    assert not is_inside("math_add", given, "add", lambda: b'{"a":2}')
    assert is_inside("add", given, "add", None)
    assert is_inside("add", given, "add", lambda: b'{"a":2}')


def test_arguments_that_agree() -> None:
    assert agree(b'{"a":1}', b'{"a":1,"limit":10}')
    assert agree(b"{}", b'{"limit":10}')
    assert agree(None, None)
    assert not agree(b'{"a":1}', b'{"b":1}')
    assert not agree(b'{"a":1}', b'{"a":2}')


def test_arguments_that_hold_others() -> None:
    assert holds(b'{"a":1,"b":2}', b'{"a":1}')
    assert not holds(b'{"a":1}', b'{"a":1,"b":2}')
    assert not holds(b'{"a":1}', b"{}")
    assert (same_json(None, b"1"), same_json(b"1", b"1.0"), same_json(b"{}", b"[]")) == (False, True, False)


def test_two_tools_that_call_one_another_with_equal_arguments_are_two_calls(sink: OtlpSink) -> None:
    @pdoctor_trace.tool
    def inner(a: int) -> int:
        return a

    @pdoctor_trace.tool
    def outer(a: int) -> int:
        return inner(a)

    assert outer(1) == 1
    pdoctor_trace.flush()
    assert sorted(call.tool for call in sink.calls) == ["inner", "outer"]
