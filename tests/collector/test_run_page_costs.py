"""What the page of a long run costs: what it shows is bounded, and nothing is done twice for all calls."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from collector.api import runs
from collector.dialects import deferred
from collector.metrics import metric
from collector.remembered import Briefly
from collector.server import running
from collector.ui.call_rows import SHOWN
from tests.support.traces import MS, T0, Client, agent_spans, new_id, request, settings, until

QUERIES = 24
WHEN = re.compile(r"<time.*?</time>")
MOST_ROWS = SHOWN + 1
"""Those of calls and the table's head."""


@pytest.fixture
def asked() -> Iterator[Counter[str]]:
    """How often each statement was put to a store by the thread of a page."""
    found = Counter[str]()

    def note(said: str) -> None:
        if threading.current_thread().name.startswith("AnyIO"):
            found[said] += 1

    def watch(connection: Any, _record: Any) -> None:
        connection.set_trace_callback(note)

    event.listen(Engine, "connect", watch)
    yield found
    event.remove(Engine, "connect", watch)


def chat(run: str, at: int) -> dict[str, Any]:
    messages = [{"role": "assistant", "parts": [{"type": "text", "content": f"Next is {at}."}]}]
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": orjson.dumps(messages).decode(),
        "pdoctor.run.id": run,
    }
    start = T0 + at * 10 * MS - 3 * MS
    return {"trace": run, "id": 100_000 + at, "parent": 1, "start": start, "end": start + MS, "at": told}


def sent(client: Client, calls: int) -> str:
    """A run of so many calls of tools in turns, a model asked before each second one."""
    run = new_id()
    spans = agent_spans(run, [{"name": f"tool_{at % 7}", "arguments": {"at": at}} for at in range(calls)])
    spans += [chat(run, at) for at in range(0, calls, 2)]
    for at in range(0, len(spans), 2_500):
        assert client.send(request(*spans[at : at + 2_500], scope="other").SerializeToString()).is_success
    client.judged(run)
    return run


def test_the_page_of_a_longer_run_asks_for_no_more_and_shows_no_more(
    tmp_path: Path, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, answers, read_calls = [], [], []
    text, read_output = metric.action_text, deferred.OF_MESSAGES["output"]
    monkeypatch.setattr(metric, "action_text", lambda call: (texts.append(1), text(call))[1])
    noting = {**deferred.OF_MESSAGES, "output": lambda model: (answers.append(1), read_output(model))[1]}
    monkeypatch.setattr(deferred, "OF_MESSAGES", noting)
    whole = runs.told
    monkeypatch.setattr(runs, "told", lambda *given: (read_calls.append(1), whole(*given))[1])
    found = []
    with running(settings(tmp_path)) as url, Client(url) as client:
        for calls in (500, 5_000):
            run = sent(client, calls)
            for noted in (asked, texts, answers):
                noted.clear()
            page = client.http.get(f"/runs/{run}")
            assert page.status_code == 200
            found.append((sum(asked.values()), page.text.count("<tr"), len(answers)))
            assert len(texts) == calls, "each action is spelled once"
            for noted in (texts, read_calls):
                noted.clear()
            again = client.http.get(f"/runs/{run}")
            assert again.status_code == 200
            assert WHEN.sub("", again.text) == WHEN.sub("", page.text)
            assert texts == [], "what is counted of a run that is as it was is kept"
            assert bool(read_calls) == (calls < 1_000), "a long run is put together once for both"
    (queries, rows, read), longer = found
    assert longer == (queries, rows, read)
    assert 0 < queries <= QUERIES
    assert SHOWN < rows <= MOST_ROWS
    assert 0 < read <= SHOWN


def test_a_long_run_that_goes_on_or_is_deleted_is_not_shown_as_it_was(fresh: Client) -> None:
    run = sent(fresh, 1_200)
    assert "1200" in fresh.http.get(f"/runs/{run}").text
    late = agent_spans(run, [{"name": "late", "arguments": {}}], announce=False)[0] | {"id": 77_777}
    fresh.send(request(late, scope="other").SerializeToString())
    for _ in until():
        if "1201" in fresh.http.get(f"/runs/{run}").text:
            break
    assert fresh.http.delete(f"/api/v1/runs/{run}").is_success
    assert fresh.http.get(f"/runs/{run}").status_code == 404


def test_what_is_kept_for_a_while_is_bounded_and_forgotten() -> None:
    kept = Briefly[int](2, 0.2)
    for number in range(3):
        kept.put(number, number)
    assert [kept.get(number) for number in range(3)] == [None, 1, 2]
    for _ in until():
        if kept.get(1) is kept.get(2) is None:
            break


def test_what_is_counted_follows_what_arrives(fresh: Client) -> None:
    run = new_id()
    first, second, root = agent_spans(run, ["look", "look"], announce=False)
    rates = []
    for some in ([first, root], [second]):
        fresh.send(request(*some).SerializeToString())
        fresh.judged(run)
        shown = [fresh.http.get(f"/runs/{run}").text for _ in range(2)]
        rates.append(["made before, 100 %" in text for text in shown])
    assert rates == [[False, False], [True, True]]
