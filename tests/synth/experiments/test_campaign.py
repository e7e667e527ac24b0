from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from synth.errors import BadInput
from synth.experiments.campaign import Budget, read_journal, results_journal, run_campaign
from synth.experiments.trial import Result, Trial, result_from_json
from tests.support.bench_results import result, running, trials

HEAD = {"agent": "raw-loop", "seed": 7}


def test_every_trial_has_one_record_that_reads_back_as_the_result(tmp_path: Path) -> None:
    with results_journal(tmp_path / "c.jsonl", HEAD) as journal:
        assert run_campaign(running(), trials(5), journal) is None
    head, records, *_ = read_journal(tmp_path / "c.jsonl", result_from_json)
    assert head == {"kind": "pdoctor campaign", **HEAD}
    assert records == journal.records
    assert [record.case_id for record in records] == [trial.key for trial in trials(5)]


def test_resuming_runs_only_what_is_missing(tmp_path: Path) -> None:
    ran: list[str] = []

    def run(given: Iterable[Trial]) -> Iterator[Result]:
        for trial in given:
            ran.append(trial.key)
            yield result(key=trial.key)

    for count in (3, 5, 5):
        with results_journal(tmp_path / "c.jsonl", HEAD) as journal:
            run_campaign(run, trials(count), journal)
    assert ran == [trial.key for trial in trials(5)]


def test_a_campaign_that_was_said_to_be_over_is_over(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    for finished in (False, True, True):
        with results_journal(path, HEAD) as journal:
            assert journal.finished is finished
            run_campaign(running(), trials(2), journal)
            journal.finish()
    assert path.read_bytes().count(b'{"kind": "done"}\n') == 1
    assert len(journal.records) == 2


def test_a_half_written_line_is_dropped_and_its_trial_runs_again(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    with results_journal(path, HEAD) as journal:
        run_campaign(running(), trials(3), journal)
    path.write_bytes(path.read_bytes()[:-40])
    with results_journal(path, HEAD) as journal:
        assert len(journal.records) == 2
        run_campaign(running(), trials(3), journal)
    assert [json.loads(line).get("trial") for line in path.read_text().splitlines()[1:]] == [
        trial.key for trial in trials(3)
    ]


def test_a_file_of_another_campaign_is_refused_with_what_differs(tmp_path: Path) -> None:
    with results_journal(tmp_path / "c.jsonl", HEAD):
        pass
    with pytest.raises(BadInput, match=r"another campaign \(seed differ\)"):
        results_journal(tmp_path / "c.jsonl", {**HEAD, "seed": 8})


def test_a_file_that_is_no_campaign_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(BadInput, match="not the file of a campaign"):
        results_journal(tmp_path / "c.jsonl", HEAD)


@pytest.mark.parametrize(
    ("budget", "reached", "count"),
    [
        (Budget(cases=2), "cases", 2),
        (Budget(seconds=0.0), "seconds", 0),
        (Budget(cases=6), None, 6),
    ],
)
def test_a_budget_ends_a_campaign_and_says_why(budget: Budget, reached: str | None, count: int) -> None:
    with results_journal(None, HEAD) as journal:
        assert run_campaign(running(), trials(6), journal, budget) == reached
    assert len(journal.records) == count


def test_a_case_budget_counts_what_was_done_before(tmp_path: Path) -> None:
    for expected in (2, 3):
        with results_journal(tmp_path / "c.jsonl", HEAD) as journal:
            run_campaign(running(), trials(6), journal, Budget(cases=expected))
        assert len(journal.records) == expected


SLOW_CAMPAIGN = """
import sys, time
from pathlib import Path
from tests.support.bench_results import result, trials
from synth.experiments.campaign import results_journal, run_campaign

def run(given):
    for trial in given:
        time.sleep(0.02)
        yield result(key=trial.key)

with results_journal(Path({path!r}), {{}}) as journal:
    run_campaign(run, trials(40), journal)
"""


def test_killing_a_campaign_and_resuming_loses_and_repeats_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    script = SLOW_CAMPAIGN.format(path=str(path))
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", script])
        have = path.read_bytes().count(b"\n") if path.exists() else 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (
            not path.exists() or path.read_bytes().count(b"\n") < have + 6
        ):
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([sys.executable, "-c", script], check=True)
    records = read_journal(path, result_from_json).records
    assert sorted(record.key for record in records) == sorted(trial.key for trial in trials(40))
