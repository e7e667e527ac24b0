"""The real runs as spans through a running collector: from one host, from two, and with a span lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from collector.model import Span
from collector.server import running
from synth.policies import Rules, judge_policies, load_policies
from tests.support.evidence import HOSTS, body_of, resource, run_of
from tests.support.real_runs import HERE, real_runs, spans_of
from tests.support.traces import MS, Client, settings

heavy = pytest.mark.heavy

OPEN = ("undecided", "unsupported")
RULES = Rules(repair=False)
Verdicts = dict[str, str]


@pytest.fixture(scope="module")
def collectors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Client]]:
    """One for each file of policies."""
    with ExitStack() as opened:
        found = {}
        for name in ("tau_airline", "bfcl_sessions", "planbench"):
            url = opened.enter_context(running(settings(tmp_path_factory.mktemp(name))))
            found[name] = opened.enter_context(Client(url))
            text = (HERE / f"{name}.yaml").read_text()
            assert found[name].post("/policies", {"name": name, "text": text}).status_code == 201
        yield found


def known(*only: str) -> Iterator[tuple[str, str, Verdicts, list[Span]]]:
    """(policy file, trace, verdicts on the run in its file, spans that tell of it) of each run."""
    policies = {name: load_policies(HERE / f"{name}.yaml") for name, _ in real_runs()}
    for number, (name, run) in enumerate(real_runs()):
        if only and name not in only:
            continue
        trace = f"{random.Random(f'{run.id} {number}').getrandbits(127) | 1 << 126:032x}"
        yield (
            name,
            trace,
            {r.policy: r.verdict for r in judge_policies(policies[name], run, rules=RULES)},
            spans_of(run, trace),
        )


def judged(
    collectors: dict[str, Client], change: Callable[[list[Span], random.Random], list[Span]], kind: str
) -> tuple[Counter[str], list[object]]:
    """How many answers are the `same` as in the files or `open`; and which are neither."""
    sent = []
    for name, trace, verdicts, spans in known():
        own = f"{int(trace, 16) ^ hash_of(kind):032x}"
        changed = change([span._replace(trace_id=own) for span in spans], random.Random(own))
        assert collectors[name].send(body_of(changed)).status_code == 200
        sent.append((name, own, verdicts))
    found: Counter[str] = Counter()
    wrong = []
    for name, trace, verdicts in sent:
        run = collectors[name].judged(trace, seconds=120)
        said = {result["policy"]: result["verdict"] for result in run["policies"]}
        for policy, verdict in verdicts.items():
            how = "same" if said[policy] == verdict else "open" if said[policy] in OPEN else "wrong"
            found[how] += 1
            if how != "same":
                wrong.append((how, name, trace, policy, verdict, said[policy]))
    return found, wrong


def hash_of(text: str) -> int:
    return random.Random(text).getrandbits(120)


def as_they_are(spans: list[Span], r: random.Random) -> list[Span]:
    return spans


def from_two_hosts(spans: list[Span], r: random.Random) -> list[Span]:
    """Half of the tools run on another machine, whose clock is 20 ms off."""
    off = r.choice((-20, 20)) * MS
    return [
        span._replace(resource=resource(HOSTS[1]), start_ns=span.start_ns + off, end_ns=span.end_ns + off)
        if span.name.startswith("execute_tool") and r.random() < 0.5
        else span
        for span in spans
    ]


@heavy
def test_from_one_host_every_answer_is_that_of_the_file(collectors: dict[str, Client]) -> None:
    found, wrong = judged(collectors, as_they_are, "one host")
    assert wrong == []
    assert found["same"] > 1900


@heavy
def test_with_a_span_lost_in_one_run_of_a_hundred_only_those_runs_are_open(
    collectors: dict[str, Client],
) -> None:
    lossy: set[str] = set()

    def lose_one(spans: list[Span], r: random.Random) -> list[Span]:
        tools = [span for span in spans if span.name.startswith("execute_tool")]
        if not tools or (r.random() > 0.01 and lossy):
            return spans
        lossy.add(spans[0].trace_id)
        return [span for span in spans if span is not tools[r.randrange(len(tools))]]

    found, wrong = judged(collectors, lose_one, "a span lost")
    assert found["wrong"] == 0, wrong
    assert {trace for _, _, trace, *_ in wrong} <= lossy


@heavy
def test_from_two_hosts_nearly_every_answer_is(collectors: dict[str, Client]) -> None:
    found, wrong = judged(collectors, from_two_hosts, "two hosts")
    assert found["wrong"] == 0, wrong
    assert found["open"] <= 0.02 * found.total(), (found, wrong)


def test_messages_and_requests_order_what_several_clocks_leave_open() -> None:
    policies = load_policies(HERE / "tau_airline.yaml")
    asked = 0
    for _, trace, verdicts, spans in known("tau_airline"):
        run = run_of(from_two_hosts(spans, random.Random(trace)))
        assert {r.policy: r.verdict for r in judge_policies(policies, run, rules=RULES)} == verdicts
        asked += verdicts["A3"] in ("ok", "violated") and any("clock" in c.extra for c in run.calls)
    assert asked > 5
