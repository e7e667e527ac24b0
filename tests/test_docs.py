"""The README says what the code says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from pdoctor_trace.command import VERBS, _exists
from synth.policies import load_policies
from tests.docs import README, renewed

TEXT = README.read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", TEXT, flags=re.S | re.M)


def test_the_generated_tables_are_current() -> None:
    assert renewed(TEXT) == TEXT, "run `make docs`"


def test_a_stale_table_is_noticed() -> None:
    stale = TEXT.replace("PDOCTOR_ENDPOINT`", "PDOCTOR_END_POINT`")
    assert stale != TEXT
    assert renewed(stale) != stale


def test_every_verb_in_an_example_exists() -> None:
    used = {match for block in blocks("console") for match in re.findall(r"^\$ pdoctor (\w+)", block, re.M)}
    assert used
    assert {verb for verb in used if verb not in VERBS or not _exists(verb)} == set()


def test_the_policy_file_of_the_first_screen_loads() -> None:
    (example,) = blocks("yaml")
    assert [policy.id for policy in load_policies(example).policies] == ["verified"]


def test_the_extras_that_the_readme_installs_exist() -> None:
    project = tomllib.loads((Path(README).parent / "pyproject.toml").read_text())["project"]
    named = set(re.findall(r"pdoctor-trace\[(\w+)\]", TEXT))
    assert named <= project["optional-dependencies"].keys()


def test_the_pinned_versions_hold_no_download_address() -> None:
    pins = (Path(README).parent / "deploy" / "constraints.txt").read_text().splitlines()
    assert pins
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", pin)] == []
