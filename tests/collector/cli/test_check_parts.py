"""`pdoctor check` on files of runs that wait, or that several processes made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from collector.cli.check import command
from collector.dialects import names
from tests.support.traces import MS, agent_spans, new_id, request

RULES = """
actions: {verify: verify, pay: pay}
policies:
  - {id: first, rule: Verify must happen before pay.}
  - {id: followed, rule: Verify must be followed by pay.}
"""


def part(*calls: Any, hours: int = 0, **root: Any) -> tuple[str, list[dict[str, Any]]]:
    run = new_id()
    spans = agent_spans(run, calls)
    for span in spans:
        span["start"] += hours * 3_600_000 * MS
        span["end"] += hours * 3_600_000 * MS
    spans[-1]["at"] |= {f"pdoctor.run.{name}": value for name, value in root.items()}
    return run, spans


def written(folder: Path, *spans: dict[str, Any]) -> str:
    path = folder / f"{new_id()}.pb"
    path.write_bytes(request(*spans).SerializeToString())
    return str(path)


def checked(folder: Path, *files: str) -> dict[str, dict[str, str]]:
    """Run -> policy -> verdict."""
    rules = folder / "rules.yaml"
    rules.write_text(RULES)
    done = CliRunner().invoke(command, [*files, "--policies", str(rules), "--json"])
    found: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        said = orjson.loads(line)
        found.setdefault(said["run_id"], {})[said["policy"]] = said["verdict"]
    return found


@pytest.mark.parametrize("apart", [False, True])
def test_the_parts_of_a_run_are_judged_as_one_in_whatever_files_they_stand(
    tmp_path: Path, apart: bool
) -> None:
    first, before = part("verify", state="paused", token="t")
    _, after = part("pay", hours=24, resumed="t")
    other, whole = part("pay")
    spans = (after, before, whole)
    files = (
        [written(tmp_path, *one) for one in spans] if apart else [written(tmp_path, *before, *after, *whole)]
    )
    assert checked(tmp_path, *files) == {
        first: {"first": "ok", "followed": "ok"},
        other: {"first": "violated", "followed": "not_applicable"},
    }


def test_what_still_waits_in_a_file_was_abandoned(tmp_path: Path) -> None:
    first, spans = part("verify", state="paused", token="t")
    assert checked(tmp_path, written(tmp_path, *spans)) == {
        first: {"first": "not_applicable", "followed": "undecided"}
    }


def test_a_part_without_its_beginning_says_no_more_than_it_knows(tmp_path: Path) -> None:
    run, spans = part("pay", resumed="t")
    assert checked(tmp_path, written(tmp_path, *spans))[run]["first"] == "undecided"


def test_a_step_whose_result_another_process_was_told_of_is_one_call(tmp_path: Path) -> None:
    asked = {names.EXECUTED: False, names.EXECUTION: "unknown", names.TIMING: "inferred"}
    heard = {names.RESULT_SOURCE: "history", names.TIMING: "inferred"}
    steps = [
        part({"name": "verify", "id": "c1", "at": asked}, state="unanswered", token="a"),
        part({"name": "verify", "id": "c1", "at": heard}, "pay", hours=1, resumed="a"),
    ]
    files = [written(tmp_path, *spans) for _, spans in steps]
    assert checked(tmp_path, *files) == {steps[0][0]: {"first": "ok", "followed": "ok"}}
    assert checked(tmp_path, files[0])[steps[0][0]]["followed"] == "undecided"
