"""The files of deploy/ agree with each other and with the collector; test_drills.py starts them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from collector.cli.serve import command_of
from collector.dialects import readers
from collector.otlp.json_in import from_json
from collector.otlp.spans import spans_of
from collector.server import running
from collector.settings import Limits, Settings
from pdoctor_trace.command import _name_variables
from tests.support.certificates import make
from tests.support.deployed import DEPLOY, METRIC, alerts, queries, yaml
from tests.support.traces import Client, agent_request, new_id, settings

ROOT = DEPLOY.parent
RECORDED = ROOT / "tests" / "collector" / "recorded"
EVERY = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
PINNED = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+ \\|    --hash=sha256:[0-9a-f]{64}(?: \\)?")


def test_nothing_names_a_place_to_download_from() -> None:
    """Image names have no host, pinned packages no address; a loopback address is of the service itself."""
    assert len(EVERY) > 30
    for path in EVERY:
        found = re.findall(r"https?://([^\s\"'/$:;]+)", path.read_text())
        assert {*found} <= {"127.0.0.1", "collector", "HOST"}, path
        images = re.findall(r"^(?:FROM|\s+image:)\s+(\S+)", path.read_text(), re.M)
        assert not [one for one in images if "." in one.partition("/")[0].partition(":")[0]], path


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-oldest.txt", "requirements-release.txt"])
def test_pinned_packages_have_hashes(name: str) -> None:
    lines = (DEPLOY / name).read_text().splitlines()
    assert [line for line in lines if not PINNED.fullmatch(line)] == []
    pins = [line for line in lines if "==" in line]
    assert len(pins) > 15
    assert all(lines[lines.index(pin) + 1].startswith("    --hash") for pin in pins)


def test_the_newest_of_production_is_what_the_tests_run_with() -> None:
    tested = dict(line.split("==") for line in (DEPLOY / "constraints.txt").read_text().lower().splitlines())
    tested = {name.replace("_", "-").replace(".", "-"): version for name, version in tested.items()}
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)", (DEPLOY / "requirements.txt").read_text(), re.M)
    assert len(pins) > 30
    assert {name: version for name, version in pins if tested.get(name, version) != version} == {}


def variables() -> set[str]:
    """Every variable that `pdoctor serve` reads."""
    verb = command_of(Settings)
    _name_variables(verb, "PDOCTOR_SERVE")
    named = [[one.envvar] if isinstance(one.envvar, str) else [*(one.envvar or ())] for one in verb.params]
    return {name for names in named for name in names}


def test_every_variable_that_a_file_sets_exists() -> None:
    """A misspelt one would change nothing, and say nothing."""
    of_others = {"PDOCTOR_KEY", "PDOCTOR_ENDPOINT", "PDOCTOR_NAME"}
    for path in EVERY:
        used = {*re.findall(r"\bPDOCTOR_[A-Z_]+\b", path.read_text())} - {"PDOCTOR_SERVE_"}
        assert used - of_others <= variables(), path


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all metrics of a collector with TLS that has answered, and of Prometheus' own."""
    folder = tmp_path_factory.mktemp("metrics")
    made = make(folder, "tls")
    given = settings(folder, tls_cert=made.certificate, tls_key=made.key)
    with running(given) as url, Client(url, verify=made.trusted) as client:
        run = new_id()
        client.send(agent_request(run, ["a"]))
        client.judged(run)
        return {*METRIC.findall(client.http.get("/metrics").text)}


@pytest.mark.parametrize("alert", alerts())
def test_an_alert_watches_what_there_is_and_says_what_to_do(alert: str, exposed: set[str]) -> None:
    rule = alerts()[alert]
    assert {*METRIC.findall(rule["expr"])} <= exposed
    assert "pdoctor" in rule["expr"]
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert {*rule["annotations"]} == {"summary", "action"}


def test_the_dashboard_shows_what_there_is(exposed: set[str]) -> None:
    shown = {name for query in queries() for name in METRIC.findall(query)}
    assert shown <= exposed
    whole = {re.sub("_(bucket|sum|count)$", "", name) for name in exposed}
    assert whole - {re.sub("_(bucket|sum|count)$", "", name) for name in shown} == set()


def test_autoscalers_watch_what_there_is(exposed: set[str]) -> None:
    for path in ("kubernetes/base/autoscaler.yaml", "helm/pdoctor-trace/templates/autoscaler.yaml"):
        (lag,) = {*METRIC.findall((DEPLOY / path).read_text())}
        assert lag in exposed


def components(config: dict[str, Any]) -> set[str]:
    return {
        name
        for kind in ("receivers", "processors", "exporters", "extensions")
        for name in config.get(kind, ())
    }


@pytest.mark.parametrize("name", ["forward", "beside"])
def test_an_opentelemetry_collector_is_told_of_every_part_that_it_uses(name: str) -> None:
    config = yaml(f"opentelemetry/{name}.yaml")
    service = config["service"]
    used = {*service.get("extensions", ())}
    for pipeline in service["pipelines"].values():
        used |= {one for parts in pipeline.values() for one in parts}
        assert pipeline["processors"][0] == "memory_limiter"
        assert pipeline["processors"][-1] == "batch"
    assert used == components(config)
    batch, queue = config["processors"]["batch"], config["exporters"]["otlphttp/pdoctor"]["sending_queue"]
    assert batch["send_batch_max_size"] <= Limits().spans
    assert queue.get("storage", "file_storage") in components(config) | {"file_storage"}


def test_the_filter_beside_another_back_end_loses_nothing_that_any_vocabulary_tells() -> None:
    (condition,) = yaml("opentelemetry/beside.yaml")["processors"]["filter/agents"]["traces"]["span"]
    kept = {*re.findall(r'attributes\["([^"]+)"\] == nil', condition)}
    assert len(kept) == condition.count("attributes[") == condition.count(" and ") + 1
    lost, told = set(), 0
    for path in RECORDED.glob("*.json"):
        if path.name.endswith(".log.json"):
            continue
        for segment in from_json(path.read_bytes(), Limits()).segments:
            for span in spans_of([segment.payload]):
                seen = any(d.call(span) or d.agent(span) or d.model(span) for d in readers(span))
                told += seen
                if seen and all(span.attributes.get(name) is None for name in kept):
                    lost.add((path.name, span.name))
    assert told > 300
    assert lost == set()


def unit(name: str) -> dict[str, list[str]]:
    """Setting -> its values, of one unit of systemd."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "systemd" / name).read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_shuts_the_collector_in() -> None:
    given = unit("pdoctor.service")
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictNamespaces"):
        assert given[name] == ["yes"]
    assert given["ProtectSystem"] == ["strict"]
    assert given["CapabilityBoundingSet"] == [""]
    assert given["User"] == ["pdoctor"]
    assert shlex.split(given["ExecStart"][0])[1:] == ["serve"]


def test_every_service_of_the_compose_file_is_watched_and_bounded() -> None:
    services = yaml("compose.yaml")["services"]
    assert {*services} == {"postgres", "collector", "front", "prometheus"}
    for name, service in services.items():
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert service["restart"] == "unless-stopped", name
        for secret in service.get("secrets", ()):
            assert secret in yaml("compose.yaml")["secrets"], name
    assert "ports" not in services["postgres"]
    assert "ports" not in services["collector"]
    for name in ("collector", "front"):
        assert services[name]["read_only"]
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]


def test_the_image_runs_as_nobody_in_particular() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    last = text.rpartition("\nFROM ")[2]
    assert re.search(r"^USER 10001:10001$", last, re.M)
    assert last.index("USER 10001") < last.index("ENTRYPOINT")
    assert "HEALTHCHECK" in last
    ignored = (ROOT / ".dockerignore").read_text().split()
    copied = re.findall(r"^COPY (?!--from)(.+) \./$", text, re.M)
    assert ignored[0] == "*"
    assert {f"!{one}" for one in copied[0].split()} == {
        "!deploy/requirements.txt",
        "!dist/pdoctor_trace-*.whl",
    }
    assert "!deploy/requirements.txt" in ignored
    assert "!dist/*.whl" in ignored


def test_versions_are_those_of_the_project() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert version is not None
    chart = yaml("helm/pdoctor-trace/Chart.yaml")
    assert (chart["version"], chart["appVersion"]) == (version[1], version[1])
    assert yaml("kubernetes/overlays/example/kustomization.yaml")["images"][0]["newTag"] == version[1]


def test_files_that_start_something_may_be_started() -> None:
    assert Path(DEPLOY / "release").stat().st_mode & 0o100
