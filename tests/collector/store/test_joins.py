"""Traces of one conversation: what an id costs that a whole fleet shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.store.joins import MEMBERS
from synth.judge_process import cpu_seconds
from tests.support.real_collector import Collector
from tests.support.traces import Client, agent_spans, eventually, new_id, request

pytestmark = pytest.mark.heavy
LATE = MEMBERS + 100
AT_ONCE = 20
"""Traces in a request, as several processes of a fleet send them."""
TIMES = 3.0
"""A late trace of a conversation that is full costs so much of one that stands alone, at most."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Collector]:
    made = Collector(tmp_path / "store.db", 0, "--grace-seconds", "0", "--z3", "off", "--z3-policies", "off")
    yield made
    made.end()


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in found for child in each.read_text().split()]


def sent(client: Client, traces: int, conversation: Callable[[], str]) -> list[str]:
    """Traces of an agent each, that say which conversation they are of."""
    ids = [new_id() for _ in range(traces)]
    for at in range(0, traces, AT_ONCE):
        spans = [span for run in ids[at : at + AT_ONCE] for span in of_a_vendor(run, conversation())]
        assert client.send(request(*spans, scope="vendor").SerializeToString()).status_code == 200
        eventually(lambda: client.get("/stats")["unchecked"] == 0)
    return ids


def of_a_vendor(run: str, conversation: str) -> list[dict[str, object]]:
    """The calls of one request to an agent, without the agent's own span."""
    spans = agent_spans(run, ["a", "b"], announce=False, root=False)
    for span in spans:
        told = {name: said for name, said in span["at"].items() if not name.startswith("pdoctor.")}
        span["at"] = {**told, "gen_ai.conversation.id": conversation}
        span["parent"] = None
    return spans


def test_late_traces_of_a_conversation_that_is_full_cost_what_others_do(served: Collector) -> None:
    """All of them are judged, and none has the whole conversation read again."""
    with Client(served.url) as client:
        (checker,) = children(served.process.pid)
        sent(client, 40, new_id)
        began = cpu_seconds(checker) or 0.0
        sent(client, LATE, new_id)
        alone = (cpu_seconds(checker) or 0.0) - began
        sent(client, MEMBERS, lambda: "default")
        began = cpu_seconds(checker) or 0.0
        late = sent(client, LATE, lambda: "default")
        shared = (cpu_seconds(checker) or 0.0) - began
        assert client.run(late[-1])["judged"]
    assert shared < TIMES * alone
