"""What stands in deploy/, read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from ruamel.yaml import YAML

DEPLOY = Path(__file__).parents[2] / "deploy"
METRIC = re.compile(r"\bpdoctor_[a-z_]+")


def yaml(path: str) -> Any:
    """The one document of a file in deploy/."""
    return YAML(typ="safe").load((DEPLOY / path).read_text())


def documents(text: str) -> list[dict[str, Any]]:
    """Those of a text that are not empty."""
    return [one for one in YAML(typ="safe").load_all(text) if one]


def alerts() -> dict[str, dict[str, Any]]:
    """Name -> rule."""
    groups = yaml("monitoring/alerts.yml")["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def queries() -> Iterator[str]:
    """Every expression of the dashboard, as Grafana sends it."""
    dashboard = orjson.loads((DEPLOY / "monitoring" / "dashboard.json").read_bytes())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")


def filled_in(text: str, values: Mapping[str, str]) -> str:
    """A value of the compose file with its variables: `${NAME:-else}`, `${NAME:?why}`, `${NAME}`."""

    def value(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        if name in values:
            return values[name]
        assert kind == ":-", f"{name} must be said: {rest}"
        return rest or ""

    return re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", value, text)
