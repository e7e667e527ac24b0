"""One drafted rule taken into a policy file: what the file says, its comments too, stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from synth.errors import BadInput

COMMENT = "# Rules that were drafted from runs and accepted by a person.\n"


def with_rule(text: str, draft: str, policy: str) -> str:
    """The text of a policy file with one rule of a draft.

    BadInput where the file has a policy of that id, or means another tool by a name of the rule.
    """
    there, drawn = _document(text), _document(draft)
    found = next((one for one in drawn.get("policies") or () if one.get("id") == policy), None)
    if found is None:
        raise BadInput(f"the draft has no rule {policy!r}; draft again")
    if any(one.get("id") == policy for one in there.get("policies") or ()):
        raise BadInput(f"the file has a policy {policy!r} already")
    actions = there.get("actions") or {}
    for name, tool in (drawn.get("actions") or {}).items():
        if not _speaks_of(found, str(name)):
            continue
        if actions.get(name, tool) != tool:
            raise BadInput(f"{name!r} means {actions[name]!r} in the file, and {tool!r} in the draft")
        actions[name] = tool
    there["actions"] = actions
    there["policies"] = [*(there.get("policies") or ()), {name: found[name] for name in found}]
    written = StringIO()
    _yaml().dump(there, written)
    return COMMENT * (not text.strip()) + written.getvalue()


def _speaks_of(rule: Mapping[str, Any], name: str) -> bool:
    return name.lower() in str(rule.get("rule", rule)).lower()


def _document(text: str) -> Any:
    try:
        said = _yaml().load(text) if text.strip() else {}
    except YAMLError as flaw:
        raise BadInput(f"the file is not YAML: {flaw}") from None
    if not isinstance(said, dict):
        raise BadInput("the file is no mapping of `actions` and `policies`")
    return said


def _yaml() -> YAML:
    """That keeps comments and order."""
    yaml = YAML()
    yaml.width = 100
    return yaml
