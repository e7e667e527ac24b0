"""The table of the collector's settings: a field is an option, a variable, a row of a table and so on."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from collector.cli.serve import command_of
from collector.pipeline.protocol import Order, from_json, to_json
from collector.settings import Settings, setting
from pdoctor_trace.command import _name_variables


@dataclass(frozen=True, slots=True)
class More(Settings):
    """The table of tomorrow: two new fields, and nothing else is changed anywhere."""

    nap_seconds: float = setting(1.5, "To nap.", option="--nap", within=(0, None), checker=True)
    bed: Path | None = setting(None, "Where to nap.", option="--bed")


def test_a_new_field_is_an_option_a_row_of_the_page_and_known_to_the_checkers() -> None:
    from tests.docs import collector_settings_table  # late: it imports claims that pytest must load first

    told = CliRunner().invoke(command_of(More), ["--help"]).output
    assert "--nap FLOAT RANGE" in told
    assert "To nap.  [default: 1.5; x>=0]" in told
    row = "| `--nap` | `PDOCTOR_SERVE_NAP` | `1.5` | To nap. |"
    assert row in collector_settings_table(More).splitlines()
    assert row not in collector_settings_table().splitlines()
    line = to_json(Order(More(nap_seconds=2.5, bed=Path("/bed")), "worker", 3, 4, 5, 0.5))
    assert from_json(line, More) == Order(More(nap_seconds=2.5), "worker", 3, 4, 5, 0.5)


def test_a_checker_is_told_what_judging_needs_and_nothing_else() -> None:
    given = Settings(store_url="sqlite:///x.db", z3_check="off", insecure=True, redact=Path("r.yaml"))
    line = to_json(Order(given, "worker", 3, 4, 5, 0.5, {"run": ["P0", "P1"]}))
    passed = Settings(store_url="sqlite:///x.db", z3_check="off")
    assert from_json(line) == Order(passed, "worker", 3, 4, 5, 0.5, {"run": ["P0", "P1"]})


def made(*arguments: str) -> Settings:
    """The settings that `pdoctor serve` would run with."""
    verb = command_of(Settings)
    _name_variables(verb, "PDOCTOR_SERVE")
    with verb.make_context("serve", list(arguments)) as context:
        return Settings(**context.params)


def test_without_options_the_defaults_of_the_table_hold() -> None:
    assert made() == Settings()


VALUES: dict[str, tuple[str, Any]] = {
    "--host": ("0.0.0.0", "0.0.0.0"),
    "--http-port": ("0", 0),
    "--grpc-port": ("off", None),
    "--store": ("sqlite:///x.db", "sqlite:///x.db"),
    "--policies": ("p.yaml", Path("p.yaml")),
    "--cases": ("c.jsonl", Path("c.jsonl")),
    "--redact": ("r.yaml", Path("r.yaml")),
    "--workers": ("3", 3),
    "--checkers": ("0", 0),
    "--idle-seconds": ("1", 1.0),
    "--session-idle": ("5", 5.0),
    "--paused-idle": ("6", 6.0),
    "--grace-seconds": ("0", 0.0),
    "--check-seconds": ("0.1", 0.1),
    "--z3": ("failing", "failing"),
    "--query-rules": ("judge", "judge"),
    "--z3-policies": ("1/7", "1/7"),
    "--webhook-host": ("hooks.example", ("hooks.example",)),
    "--public-url": ("https://traces.example", "https://traces.example"),
    "--smtp": ("smtp://mail.example:587", "smtp://mail.example:587"),
    "--events-endpoint": ("http://127.0.0.1:9", "http://127.0.0.1:9"),
    "--max-connections": ("10", 10),
    "--max-connections-per-address": ("0", 0),
    "--checker-memory": ("300", 300),
    "--in-flight": ("8", 8),
    "--max-lag": ("60", 60.0),
    "--max-spans-per-second": ("500", 500.0),
    "--host-name": ("traces.example", ("traces.example",)),
    "--tls-cert": ("x.crt", Path("x.crt")),
    "--tls-key": ("x.key", Path("x.key")),
    "--trusted-proxy": ("10.0.0.7", ("10.0.0.7",)),
    "--log-format": ("json", "json"),
    "--log-level": ("debug", "debug"),
}


@pytest.mark.parametrize("option", VALUES)
def test_an_option_and_its_variable_set_the_same_field(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said, value = VALUES[option]
    (name,) = (one.name for one in fields(Settings) if one.metadata["option"] == option)
    by_option = made(option, said)
    monkeypatch.setenv(f"PDOCTOR_SERVE_{option[2:].upper().replace('-', '_')}", said)
    assert made() == by_option == Settings(**{name: value})


def test_a_setting_may_be_read_from_a_second_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDOCTOR_PAUSED_IDLE", "6")
    monkeypatch.setenv("PDOCTOR_STORE", "sqlite:///all.db")
    assert (made().paused_idle_seconds, made().store_url) == (6.0, "sqlite:///all.db")
    monkeypatch.setenv("PDOCTOR_SERVE_STORE", "sqlite:///mine.db")
    assert made().store_url == "sqlite:///mine.db"


@pytest.mark.parametrize("verb", ["backup", "restore", "keys create", "keys list", "keys revoke"])
def test_one_variable_names_the_store_of_every_verb(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    room, _, name = verb.partition(" ")
    command = importlib.import_module(f"collector.cli.{room}").command
    command = command.commands[name] if name else command
    (store,) = (one for one in command.params if one.name == "url")
    own = f"PDOCTOR_{verb.upper().replace(' ', '_')}_STORE"
    context = click.Context(command)
    monkeypatch.setenv("PDOCTOR_STORE", "sqlite:///all.db")
    assert store.value_from_envvar(context) == "sqlite:///all.db"
    monkeypatch.setenv(own, "sqlite:///mine.db")
    assert store.value_from_envvar(context) == "sqlite:///mine.db"


@pytest.mark.parametrize(
    ("option", "name"), [("webhook-private", "webhook_private"), ("insecure", "insecure")]
)
def test_a_flag_and_its_variable_set_the_same_field(
    option: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_option = made(f"--{option}")
    monkeypatch.setenv(f"PDOCTOR_SERVE_{option.upper().replace('-', '_')}", "true")
    assert made() == by_option == Settings(**{name: True})  # type: ignore[arg-type]


def test_every_option_is_tried_here() -> None:
    known = {one.metadata["option"] for one in fields(Settings)} - {None}
    assert known - VALUES.keys() == {"--webhook-private", "--insecure"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--http-port", "65536"), "65536 is not in the range 0<=x<=65535"),
        (("--grpc-port", "no"), "'no': expected a port from 0 to 65535, or off"),
        (("--grpc-port", "65536"), "'65536': expected a port from 0 to 65535, or off"),
        (("--checkers", "65"), "65 is not in the range 0<=x<=64"),
        (("--check-seconds", "0"), "0.0 is not in the range x>=0.1"),
        (("--log-format", "xml"), "'xml' is not one of 'json', 'text'"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_what_was_expected(
    arguments: tuple[str, ...], told: str
) -> None:
    with pytest.raises(click.BadParameter, match=re.escape(told)):
        made(*arguments)
