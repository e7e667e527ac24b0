"""Vocabularies that other distributions bring by an entry point."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.dialects import DIALECTS, every_dialect
from collector.model import Rebuilt, Span
from collector.plugins import tell_once
from collector.rebuild import rebuild
from tests.support.outside_policies import for_children
from tests.support.real_collector import collector
from tests.support.traces import MS, T0, Client, agent_spans, new_id, request

PAGE = (Path(__file__).parents[3] / "docs" / "adapters.md").read_text()
ACME = PAGE.partition("<!-- dialect -->\n```python\n")[2].partition("```\n<!-- /dialect -->")[0]
"""What the page shows."""
POINT = 'acme = "acme_spans:ACME"'
OTHERS = """
FAILS = Dialect("fails", lambda span: 1 / 0)
WRONG = Dialect("wrong", lambda span: "text")
TAKEN = Dialect("genai", read_call)
TEXT = "no dialect"
UNNAMED = Dialect(["acme"], read_call)
GREEDY = Dialect("greedy", lambda span: plain_call(span, id=None, tool="greedy"))
"""
POLICY = """\
actions: {search: search_flights, book: book_hotel}
policies:
  - id: search-first
    text: Search before you book.
    rule: Search must happen before book.
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Installs a distribution with the given entry points, as pip leaves it."""
    info = tmp_path / "acme_spans-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-spans\nVersion: 1.0\n")
    (tmp_path / "acme_spans.py").write_text(ACME + OTHERS)
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(*points: str) -> Path:
        (info / "entry_points.txt").write_text("\n".join(["[pdoctor.dialects]", *points, ""]))
        every_dialect.cache_clear()
        tell_once.cache_clear()
        return tmp_path

    yield put
    every_dialect.cache_clear()
    sys.modules.pop("acme_spans", None)


def acme_spans(run: str, *tools: str) -> list[dict[str, Any]]:
    """A run in a vocabulary that is unknown to us."""
    said = {"acme.kind": "tool", "acme.input": '{"to": "Oslo"}', "acme.output": '"done"'}
    spans: list[dict[str, Any]] = [
        {
            "trace": run, "id": number, "parent": 1, "start": T0 + number * MS, "end": T0 + number * MS + 1,
            "at": {**said, "acme.tool": tool, "acme.call": f"c{number}"},
        }
        for number, tool in enumerate(tools, start=2)
    ]  # fmt: skip
    agent = {"acme.kind": "agent", "acme.agent": "planner"}
    return [*spans, {"trace": run, "id": 1, "start": T0, "end": T0 + 100 * MS, "at": agent}]


def rebuilt(scope: str = "acme", **said: str) -> Rebuilt:
    """The run of one span; `acme__kind` is the attribute `acme.kind`, and the first is set first."""
    attributes = {name.replace("__", "."): value for name, value in said.items()}
    return rebuild(
        "a" * 32, [Span("a" * 32, "b" * 16, None, "s", T0, T0 + 1, "ok", "", attributes, scope=scope)]
    )


def tools(found: Rebuilt) -> list[str]:
    return [call.tool for call in found.run.calls]


def test_one_entry_point_adds_a_vocabulary(install: Callable[..., Path]) -> None:
    assert POINT in PAGE
    assert tools(rebuilt(acme__kind="tool", acme__tool="search")) == []
    install("acme = acme_spans:ACME")
    found = rebuilt(acme__kind="tool", acme__tool="search", acme__input='{"q": 1}', acme__call="c1")
    ((call,), source) = found.run.calls, rebuilt(acme__kind="agent", acme__agent="planner").run.source
    assert (call.id, call.tool, call.arguments, call.start) == ("c1", "search", {"q": 1}, (T0, T0))
    assert source == "acme"


def test_broken_ones_are_told_by_name_and_passed_over(
    install: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    install(
        "fails = acme_spans:FAILS",
        "wrong = acme_spans:WRONG",
        "taken = acme_spans:TAKEN",
        "text = acme_spans:TEXT",
        "gone = acme_spans:GONE",
        "unnamed = acme_spans:UNNAMED",
        "nowhere = no_such_module_anywhere:X",
        "acme = acme_spans:ACME",
    )
    for _ in range(3):
        assert tools(rebuilt(acme__kind="tool", acme__tool="search")) == ["search"]
        assert tools(rebuilt(openinference__span__kind="TOOL", tool__name="book")) == ["book"]
    assert {d.name for d in every_dialect()} == {d.name for d in DIALECTS} | {"acme", "fails", "wrong"}
    for told in (
        "dialect fails fails (ZeroDivisionError)",
        "dialect wrong gives a str (expected a SeenCall)",
        "dialect genai (acme_spans:TAKEN) is not used",
        "dialect text (acme_spans:TEXT) is a str (expected a collector.dialects.Dialect)",
        "dialect gone (",
        "dialect unnamed (acme_spans:UNNAMED) is not used: its name is ['acme']",
        "dialect nowhere (",
    ):
        assert caplog.text.count(told) == 1, told


@pytest.mark.parametrize("rubbish", ["tool=['x']", "id=7", "start=5", "start=('a', 'b')"])
def test_a_call_of_rubbish_costs_no_call_of_ours(
    install: Callable[..., Path], caplog: pytest.LogCaptureFixture, rubbish: str
) -> None:
    folder = install("rubbish = acme_spans:RUBBISH")
    call = f"replace(seen.call, {rubbish})"
    read = f"seen = plain_call(span, id=None, tool='t'); return seen._replace(call={call})"
    source = (
        f"from dataclasses import replace\ndef rubbish(span): {read}\nRUBBISH = Dialect('rubbish', rubbish)\n"
    )
    (folder / "acme_spans.py").write_text(ACME + source)
    assert tools(rebuilt(openinference__span__kind="TOOL", tool__name="book")) == ["book"]
    assert "dialect rubbish " in caplog.text


@pytest.mark.parametrize("rubbish", ["given=('text',)", "given=(Message('user', 7),)", "said=7", ""])
def test_messages_of_rubbish_cost_only_their_own_model_call(
    install: Callable[..., Path], caplog: pytest.LogCaptureFixture, rubbish: str
) -> None:
    folder = install("rubbish = acme_spans:RUBBISH")
    source = (
        "from collector.dialects import Message, SeenModel\n"
        f"def talk(span): return SeenModel(span, {rubbish}) if 'acme.talk' in span.attributes else None\n"
        "RUBBISH = Dialect('rubbish', lambda span: None, model=talk)\n"
    )
    (folder / "acme_spans.py").write_text(ACME + source)
    found = rebuilt(acme__talk="x")
    assert len(found.models) == (0 if rubbish else 1)
    assert ("dialect rubbish " in caplog.text) == bool(rubbish)


def test_theirs_are_asked_before_ours_but_never_about_our_own_tracers_spans(
    install: Callable[..., Path],
) -> None:
    plain = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "search"}
    install("greedy = acme_spans:GREEDY")
    assert tools(rebuilt(**plain)) == ["greedy"]
    assert tools(rebuilt("pdoctor_trace", **plain)) == ["search"]


def test_an_unknown_vocabulary_gets_calls_and_a_verdict_from_a_collector_of_its_own_processes(
    install: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", for_children(install("acme = acme_spans:ACME")))
    with collector(tmp_path / "store.db") as served, Client(served.url) as client:
        assert client.post("/policies", {"name": "shop", "text": POLICY}).status_code == 201
        good, bad, own = new_id(), new_id(), new_id()
        for spans in (
            request(*acme_spans(good, "search_flights", "book_hotel"), scope="acme"),
            request(*acme_spans(bad, "book_hotel", "search_flights"), scope="acme"),
            request(*agent_spans(own, ["search_flights", "book_hotel"])),
        ):
            assert client.send(spans.SerializeToString()).status_code == 200
        found = {run: client.judged(run, seconds=120) for run in (good, bad, own)}
    verdicts = [[policy["verdict"] for policy in found[run]["policies"]] for run in (good, bad, own)]
    assert verdicts == [["ok"], ["violated"], ["ok"]]
    assert [call["name"] for call in found[bad]["calls"]] == ["book_hotel", "search_flights"]
    assert (found[good]["agent"], found[good]["source"]) == ("planner", "acme")
    assert found[good]["calls"][0]["arguments"] == {"to": "Oslo"}
