"""Keys from the command line open what is closed without them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.access import Gate
from collector.cli.keys import command, state
from collector.errors import Unauthorized
from collector.store import open_store


def test_a_created_key_grants_its_scopes_and_no_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    made = CliRunner().invoke(command, ["create", "--store", url, "--scope", "read", "--name", "ci"])
    key = made.output.strip()
    assert re.fullmatch(r"pdk_\w{12}_[\w-]{43}", key)
    store = open_store(url)
    try:
        grant = Gate(store).grant(key, "read")
        assert (grant.project_name, grant.allows("read"), grant.allows("ingest")) == ("default", True, False)
    finally:
        store.close()


def test_keys_are_listed_without_secrets_and_revoked_for_good(tmp_path: Path) -> None:
    at = ["--store", f"sqlite:///{tmp_path / 'runs.db'}"]
    run = CliRunner().invoke
    key = run(command, ["create", *at, "--scope", "admin", "--name", "ci"]).output.strip()
    key_id, secret = key.split("_", 2)[1:]
    listed = run(command, ["list", *at]).output
    assert (key_id in listed, "admin" in listed, "ci" in listed, secret in listed) == (
        True,
        True,
        True,
        False,
    )
    store = open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    try:
        assert Gate(store).grant(key, "read").actor == key_id
        assert run(command, ["revoke", key_id, *at]).output == f"revoked {key_id}\n"
        with pytest.raises(Unauthorized):
            Gate(store).grant(key, "read")
    finally:
        store.close()
    assert "revoked" in run(command, ["list", *at]).output
    for arguments in (["revoke", key_id, *at], ["list", *at, "--project", "none"]):
        refused = run(command, arguments)
        assert (refused.exit_code, "there is no" in refused.stderr) == (2, True)


def test_a_key_that_expires_says_when(tmp_path: Path) -> None:
    at = ["--store", f"sqlite:///{tmp_path / 'runs.db'}"]
    run = CliRunner().invoke
    run(command, ["create", *at, "--expires", "2999-01-31"])
    run(command, ["create", *at])
    lines = run(command, ["list", *at]).output.splitlines()
    assert sum("expires 2999-01-31T00:00+00:00" in line for line in lines) == 1
    row = {"revoked": None, "expires": 86400.0}
    assert [state(row, now) for now in (0, 90_000)] == [
        "expires 1970-01-02T00:00+00:00",
        "expired 1970-01-02T00:00+00:00",
    ]
    wrong = run(command, ["create", *at, "--expires", "soon"])
    assert (wrong.exit_code, "is no expiry" in wrong.stderr) == (2, True)
