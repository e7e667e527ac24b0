"""The page that compares: two runs call by call, two versions by everything that is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from collector.server import running
from tests.support.traces import Client, eventually, settings

POLICIES = """\
actions: {pay: pay, verify: verify}
policies:
  - {id: verified, rule: Verify must happen before pay.}
"""
HOSTILE = "<b>'\"</b>{{7*7}}"


def record(run_id: str, version: str, *tools: str, given: Any = 1) -> dict[str, Any]:
    calls = [{"id": None, "name": tool, "arguments": {"amount": given}, "result": "done"} for tool in tools]
    return {"run_id": run_id, "calls": calls, "versions": {"service": version}, "agent": "desk"}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, dict[str, str]]]:
    """A collector with 12 runs of version 1.4, which keep the rule, and 12 of 1.5, which do not."""
    with running(settings(tmp_path_factory.mktemp("told"))) as url, Client(url) as client:
        client.http.put("/api/v1/policies/bank", content=POLICIES)
        records = [record(f"old{k}", "1.4", "verify", "pay") for k in range(12)]
        records += [record(f"new{k}", "1.5", "pay", "verify", "mail") for k in range(12)]
        records.append(record("odd", HOSTILE, HOSTILE, given=HOSTILE))
        records.append(record("more", "1.6", "verify", "pay", given=2))
        ids = client.post("/runs", records).json()["ids"]
        eventually(lambda: client.get("/stats")["unchecked"] == 0)
        yield client, {said["run_id"]: run_id for said, run_id in zip(records, ids, strict=True)}


def page(client: Client, status: int = 200, **asked: str) -> str:
    answer = client.http.get("/compare", params=asked)
    assert answer.status_code == status
    return answer.text


def test_two_runs_stand_beside_each_other_call_by_call(told: tuple[Client, dict[str, str]]) -> None:
    client, ids = told
    a, b = ids["old1"], ids["new1"]
    said = page(client, a=a[:8], b=b)
    assert f'<a class="id" href="/runs/{a}">' in said
    assert f'href="/runs/{b}?calls=2#call-2"' in said
    assert re.findall(r'<span class="">([a-zA-Z ]+)</span>', said) in (
        ["moved", "only in B"], ["moved", "only in B", "only in A"],
    )  # fmt: skip
    assert '<a href="#pair-0">row 0</a>' in said
    for side, verdict in (("A", "kept"), ("B", "violated")):
        assert f'<td data-name="{side}">{verdict}</td>' in said
    equal = page(client, a=a, b=ids["old2"])
    assert "The calls are the same." in equal
    assert equal.count('<span class="same">as in A</span>') == 2
    given = page(client, a=a, b=ids["more"])
    assert ("other arguments" in given, "&#34;amount&#34;:2" in given) == (True, True)


def test_two_versions_are_compared_with_intervals_and_what_differs_comes_first(
    told: tuple[Client, dict[str, str]],
) -> None:
    client, _ = told
    said = page(client, by="version", a="1.4", b="1.5")
    assert "12 complete runs" in said
    rows = re.findall(r'<tr( class="differs")?>\s*<td data-name="Kind">(\w+)</td>', said)
    marked = [bool(mark) for mark, _ in rows]
    assert marked == sorted(marked, reverse=True)
    assert {kind for mark, kind in rows if mark} >= {"outcome", "rule", "tool", "metric"}
    assert rows[0][1] == "outcome"
    assert "12 of 12; 75.8% to 100.0%" in said
    assert 'href="/runs?q=version%3A1.5%20outcome%3Afail"' in said
    narrowed = page(client, by="version", a="1.4", b="1.5", agent="nobody")
    assert "nothing to compare" in narrowed
    assert 'name="agent" value="nobody"' in narrowed


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({}, 200, "Give the ids of two runs"),
        ({"a": "abcdef"}, 200, "Give the ids of two runs"),
        ({"a": "0" * 32, "b": "1" * 32}, 404, "there is no run"),
        ({"a": "1", "b": "2", "by": "colour"}, 400, "expected one of version"),
        ({"a": "1", "b": "2", "by": "version", "since": "soon"}, 400, "since"),
        ({"a": "1", "b": "2", "by": "version"}, 200, "no complete run has either value"),
    ],
    ids=["nothing", "one", "unknown", "field", "time", "nobody"],
)
def test_what_cannot_be_compared_is_said_beside_the_form(
    told: tuple[Client, dict[str, str]], asked: dict[str, str], status: int, words: str
) -> None:
    said = page(told[0], status, **asked)
    assert words in said
    assert '<form class="filters" method="get" action="/compare"' in said


def test_nothing_that_is_compared_becomes_markup(told: tuple[Client, dict[str, str]]) -> None:
    client, ids = told
    pages = [
        page(client, a=ids["odd"], b=ids["old1"]),
        page(client, by="version", a=HOSTILE, b="1.4"),
        page(client, 404, a=HOSTILE, b=HOSTILE, agent=HOSTILE),
    ]
    for said in pages:
        assert ("<b>'" in said, "49" in re.sub(r"[0-9a-f]{32}", "", said)) == (False, False)
        assert "&lt;b&gt;" in said
