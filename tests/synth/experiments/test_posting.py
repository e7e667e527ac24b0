"""Telling of a campaign: everything arrives, once, and whatever goes wrong hurts nobody."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from collector.server import running
from synth.experiments import posting
from synth.experiments.posting import Campaign, Posting, commit, result_of, told_of
from synth.experiments.report import campaign_report
from synth.experiments.trial import Result
from synth.formal.trouble import Trouble
from tests.support.traces import Client, settings

CAMPAIGN = Campaign("test", "planner", "m", seed=3, options={"mode": "order", "topics": ("a", "b")})


def made(number: int, outcome: str = "pass", agent: str = "planner") -> Result:
    findings = [{"type": "order_error", "sentence": 0, "explanation": f"wrong {number}"}] * (
        outcome == "fail"
    )
    error_type = "order_error" if outcome == "fail" else None
    verdict = {"outcome": outcome, "error_type": error_type, "findings": findings, "z3_ms": 1}
    return Result(
        f"{agent}|m|{number}|0", agent, "m", f"case{number}", "0" * 32, "ok", None, "", 1, 0.5,
        {"id": "0" * 32, "verdict": verdict}, (), case={"id": f"case{number}", "actions": [{"id": "a"}]},
    )  # fmt: skip


@contextmanager
def answering(status: Callable[[int], int]) -> Iterator[tuple[str, list[Any]]]:
    """(address, bodies) of a collector that answers its n-th request so."""
    bodies: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            code = status(len(bodies))
            said = b'{"error": {"message": "no room"}}' if code >= 400 else b"{}"
            self.send_response(code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_collector_has_the_campaign_its_results_and_the_report(tmp_path: Path) -> None:
    said: list[str] = []
    results = [made(k, "fail" if k == 1 else "pass") for k in range(3)]
    with running(settings(tmp_path, checkers=0)) as url, Client(url) as client:
        with Posting(url, CAMPAIGN, said.append) as telling:
            telling.covers(lambda: results, lambda all_: campaign_report(all_, "x"))
            telling.add(results[0])
            telling.add(replace(results[2], trial="other"), "fail", ("a rule was broken",))
        kept = client.get(f"/campaigns/{telling.id}")
        page = client.http.get(f"/campaigns/{telling.id}").text
    assert (said, telling.told) == ([], True)
    counts = [kept[name] for name in ("runs", "passed", "failed", "state", "seed", "name")]
    assert counts == [4, 2, 2, "done", 3, "planner on m"]
    assert kept["options"] == {"mode": "order", "topics": ["a", "b"]}
    assert "planner on m: wrong 1" in page
    assert "To cite this" in page


def test_an_error_in_the_campaign_stops_it_and_one_before_it_leaves_nothing() -> None:
    def stopped(*results: Result) -> None:
        with Posting(url, CAMPAIGN) as telling:
            for result in results:
                telling.add(result)
            raise ZeroDivisionError

    with answering(lambda _: 201) as (url, bodies):
        with pytest.raises(ZeroDivisionError):
            stopped(made(1))
        assert [body["state"] for body in bodies if "state" in body] == ["stopped"]
        bodies.clear()
        with pytest.raises(ZeroDivisionError):
            stopped()
        assert bodies == []


def test_a_collector_that_refuses_is_not_asked_again_and_that_is_said_once() -> None:
    said: list[str] = []
    with answering(lambda _: 413) as (url, bodies), Posting(url, CAMPAIGN, said.append) as telling:
        for number in range(3):
            telling.add(made(number))
    assert (len(bodies), telling.told) == (1, False)
    assert len(said) == 1
    assert "no room" in said[0]


def test_a_collector_that_comes_back_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "PAUSE", 0.01)
    monkeypatch.setattr(posting, "EVERY", 0.01)
    said: list[str] = []
    back = threading.Event()

    def status(number: int) -> int:
        return 201 if back.is_set() else 503

    with answering(status) as (url, bodies):
        with Posting(url, CAMPAIGN, said.append) as telling:
            telling.add(made(1))
            telling.add(made(2))
            for _ in range(3_000):
                if len(bodies) > 2:
                    break
                threading.Event().wait(0.01)
            back.set()
        assert len(said) == 1
        taken = {one["key"] for body in bodies for one in body["results"]}
        assert (len(taken), bodies[-1]["state"], telling.told) == (2, "done", True)


def test_one_that_is_away_is_said_once_and_waited_for_no_longer() -> None:
    said: list[str] = []
    with Posting("http://127.0.0.1:9", CAMPAIGN, said.append) as telling:
        telling.add(made(1))
    assert (telling.told, len(said)) == (False, 1)
    assert "no collector answers" in said[0]


def test_a_report_that_cannot_be_made_costs_the_report_only() -> None:
    said: list[str] = []

    def broken(_: list[Result]) -> Any:
        raise ValueError("odd")

    with answering(lambda _: 201) as (url, bodies), Posting(url, CAMPAIGN, said.append) as telling:
        telling.covers(lambda: [made(1)], broken)
    assert (bodies[-1]["state"], "report" in bodies[-1]) == ("done", False)
    assert [("ValueError: odd" in text) for text in said] == [True]


def test_more_results_than_a_collector_keeps_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "MOST", 2)
    said: list[str] = []
    with answering(lambda _: 201) as (url, bodies), Posting(url, CAMPAIGN, said.append) as telling:
        for number in (0, 1, 2, 1, 3):
            telling.add(made(number))
    keys = [one["key"] for body in bodies for one in body["results"]]
    assert sorted(set(keys)) == ["planner|m|0|0", "planner|m|1|0"]
    assert [("lists 2 results" in text) for text in said] == [True]


def test_what_is_told_of_a_result_comes_back_as_one() -> None:
    failed = made(1, "fail")
    back = result_of(told_of(failed))
    same = ("key", "agent", "model", "case_id", "outcome", "error_type", "actions", "wall_seconds", "is_void")
    assert [getattr(back, name) for name in same] == [getattr(failed, name) for name in same]
    void = replace(failed, trouble=Trouble("endpoint", 429, "slow\0 down" + "x" * 5_000))
    told = told_of(void)
    assert (told["outcome"], len(told["trouble"]["message"]), "\0" in str(told)) == ("error", 2_000, False)
    assert result_of(told).is_void


def test_the_commit_is_that_of_the_folder_and_says_whether_files_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() is None
    (tmp_path / "a").write_text("1")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init", "-q"), ("add", "a"), (*who, "commit", "-qm", "a")):
        subprocess.run(("git", *command), check=True, capture_output=True)
    clean = commit()
    assert clean is not None
    assert len(clean) == 12
    (tmp_path / "a").write_text("2")
    assert commit() == f"{clean}-dirty"
