"""Keys from the command line open what is closed without them."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from collector.access import Gate
from collector.cli.keys import command
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
