"""What Kubernetes would be given: rendered by kustomize and by Helm, against the schemas of its own API.

`tools.txt` pins both, and the schemas, with hashes; they are fetched by pip. No cluster runs here: nothing is
applied, and whether a controller makes of it what is meant is not seen.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.deployed import DEPLOY, documents

TOOLS = Path(__file__).parent / "tools.txt"
HELM = """\
import json, sys
import helm_python
chart, values = sys.argv[1], json.loads(sys.argv[2])
said = helm_python.lint(chart, values, strict=True)["messages"]
rendered = helm_python.Chart.load(chart).render(values, name="mine", namespace="agents")
print(json.dumps({"lint": said, "rendered": rendered}))
"""
MONITOR = """\
import json, sys
from cloudcoil.models.prometheus_operator.v1 import PodMonitor
read = PodMonitor.model_validate(json.loads(sys.argv[1]))
print(json.dumps(read.model_dump(mode="json", by_alias=True, exclude_unset=True)))
"""
"""Prints what Prometheus' operator understands of a PodMonitor; what it does not know is not in it."""
INFO = 1
"""Severity of what lint only recommends."""
STORE = {"url": "postgresql://pdoctor@db/pdoctor", "password": "secret"}
EVERYTHING = {
    "store": {"existingSecret": "mine"},
    "tls": {"secretName": "certificate"},
    "ingress": {"enabled": True, "grpcHost": "grpc.traces.example.com"},
    "podMonitor": {"enabled": True},
    "autoscaling": {"enabled": False},
    "networkPolicy": {
        "from": [{"namespaceSelector": {"matchLabels": {"name": "agents"}}}],
        "databaseTo": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
        "webhooksTo": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
    },
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "agents", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "imagePullSecrets": [{"name": "registry"}],
    "settings": {"PDOCTOR_SERVE_HOST_NAME": "traces.example.com"},
}
SMALL = {"ServiceAccount", "Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy", "ConfigMap"}


class Schemas:
    """Those of Kubernetes, which refuse what they do not know."""

    def __init__(self, wheel: Path) -> None:
        self._files = zipfile.ZipFile(wheel)
        (any_one, *_) = (name for name in self._files.namelist() if name.endswith("/deployment-apps-v1.json"))
        self._folder = any_one.rpartition("/")[0]

    def faults(self, document: Mapping[str, Any]) -> list[str]:
        from jsonschema import Draft7Validator
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT7

        def retrieve(address: str) -> Any:
            return Resource.from_contents(
                self._read(address.rpartition("/")[2]), default_specification=DRAFT7
            )

        group, _, version = document["apiVersion"].rpartition("/")
        group = group.partition(".")[0]
        name = "-".join(filter(None, [document["kind"], group, version])).lower()
        registry: Any = Registry(retrieve=retrieve)  # type: ignore[call-arg]
        found = Draft7Validator(self._read(f"{name}.json"), registry=registry).iter_errors(document)
        return [f"{document['kind']} {one.json_path}: {one.message[:200]}" for one in found]

    def _read(self, name: str) -> Any:
        return json.loads(self._files.read(f"{self._folder}/{name}"))


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with `helm_python`, `kubectl`, schemas and the operator's models, fetched by their hashes."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--require-hashes", "-r", str(TOOLS), "-d", str(tmp_path)], check=True)
    (kubectl,) = tmp_path.glob("kubectl*.whl")
    for wheel in (*tmp_path.glob("helm_python*.whl"), *tmp_path.glob("cloudcoil*.whl")):
        with zipfile.ZipFile(wheel) as files:
            files.extractall(tmp_path)
    with zipfile.ZipFile(kubectl) as files:
        (name,) = (one for one in files.namelist() if one.endswith("/kubectl"))
        (tmp_path / "kubectl").write_bytes(files.read(name))
        (tmp_path / "kubectl").chmod(0o755)
    return tmp_path


def rendered(tools: Path, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The chart's documents; lint must have nothing to say."""
    chart = str(DEPLOY / "helm" / "pdoctor-trace")
    program = [sys.executable, "-c", HELM, chart, json.dumps(values)]
    done = subprocess.run(program, env={"PYTHONPATH": str(tools)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one for one in told["lint"] if one["severity"] > INFO] == []
    texts = (text for name, text in told["rendered"].items() if name.endswith(".yaml"))
    return [one for text in texts for one in documents(text)]


def containers(every: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in every:
        if one["kind"] == "Deployment":
            yield from one["spec"]["template"]["spec"]["containers"]


@pytest.mark.heavy
def test_kubernetes_takes_what_kustomize_and_helm_make(tools: Path) -> None:
    (wheel,) = tools.glob("kubernetes_validate*.whl")
    schemas = Schemas(wheel)
    overlay = str(DEPLOY / "kubernetes" / "overlays" / "example")
    plain = subprocess.run([str(tools / "kubectl"), "kustomize", overlay], capture_output=True, text=True)
    assert plain.returncode == 0, plain.stderr
    made = {
        "kustomize": documents(plain.stdout),
        "helm": rendered(tools, {"store": STORE}),
        "helm, everything": rendered(tools, EVERYTHING),
    }
    kinds = {name: {one["kind"] for one in every} for name, every in made.items()}
    assert kinds == {
        "kustomize": SMALL | {"Secret", "HorizontalPodAutoscaler", "Ingress"},
        "helm": SMALL | {"Secret", "HorizontalPodAutoscaler"},
        "helm, everything": SMALL | {"Ingress", "PodMonitor"},
    }
    for name, every in made.items():
        ours = [one for one in every if one["kind"] != "PodMonitor"]  # looked at by itself
        assert [fault for one in ours for fault in schemas.faults(one)] == [], name
        (container,) = containers(every)
        assert {"startupProbe", "livenessProbe", "readinessProbe", "resources"} <= container.keys()
        assert container["securityContext"]["readOnlyRootFilesystem"]
        pods = {json.dumps(labels, sort_keys=True) for labels in selected(every)}
        assert len(pods) == 1, name
        (labels,) = (
            one["spec"]["template"]["metadata"]["labels"] for one in every if one["kind"] == "Deployment"
        )
        assert json.loads(*pods).items() <= labels.items()
        names_that_exist(every)
    spoilt = {**made["helm"][0], "spec": {"nonsense": 1}}
    assert schemas.faults(spoilt)
    (container,) = containers(made["helm, everything"])
    assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


def understood(tools: Path, monitor: Mapping[str, Any]) -> Any:
    """A PodMonitor as Prometheus' operator reads it."""
    program = [sys.executable, "-c", MONITOR, json.dumps(monitor)]
    done = subprocess.run(program, env={"PYTHONPATH": str(tools)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.heavy
def test_the_operator_of_prometheus_understands_the_whole_monitor(tools: Path) -> None:
    (monitor,) = (one for one in rendered(tools, EVERYTHING) if one["kind"] == "PodMonitor")
    assert understood(tools, monitor) == monitor
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    spoilt = {**monitor["spec"], "podMetricsEndpoints": [{**endpoint, "nonsense": 1}]}
    assert understood(tools, {**monitor, "spec": spoilt}) != {**monitor, "spec": spoilt}


def selected(every: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """The labels by which each part finds the collectors."""
    for one in every:
        spec = one.get("spec", {})
        if one["kind"] in ("Deployment", "PodDisruptionBudget", "PodMonitor"):
            yield spec["selector"]["matchLabels"]
        elif one["kind"] == "NetworkPolicy":
            yield spec["podSelector"]["matchLabels"]
        elif one["kind"] == "Service":
            yield spec["selector"]


def names_that_exist(every: list[dict[str, Any]]) -> None:
    """What a container and an autoscaler refer to is among the documents, or is the user's own secret."""
    here = {(one["kind"], one["metadata"]["name"]) for one in every}
    (container,) = containers(every)
    (settings,) = (one["configMapRef"]["name"] for one in container["envFrom"])
    assert ("ConfigMap", settings) in here
    secrets = {one["valueFrom"]["secretKeyRef"]["name"] for one in container["env"] if "valueFrom" in one}
    assert {("Secret", name) for name in secrets} <= here | {("Secret", "mine")}
    for one in every:
        if one["kind"] == "HorizontalPodAutoscaler":
            assert ("Deployment", one["spec"]["scaleTargetRef"]["name"]) in here
        if one["kind"] == "Ingress":
            for rule in one["spec"]["rules"]:
                for path in rule["http"]["paths"]:
                    assert ("Service", path["backend"]["service"]["name"]) in here
