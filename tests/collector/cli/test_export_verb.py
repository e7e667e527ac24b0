"""`pdoctor export`."""

from __future__ import annotations

from click.testing import CliRunner

from collector.cli.export import command


def test_chats_are_written_of_training_examples_only() -> None:
    refused = CliRunner().invoke(command, ["any.jsonl", "--chat"])
    assert (refused.exit_code, "give both" in refused.output) == (2, True)
