"""Policy files: YAML 1.2 in, a PolicySet out; every error names file, line and field."""

from __future__ import annotations

import copyreg
import io
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from synth.errors import BadInput, MissingExtra
from synth.files import text_of
from synth.policies.fewer_words import said_scope
from synth.policies.kinds.kind import Field, PolicyKind
from synth.policies.kinds.times import zone_of
from synth.policies.limits import Prices, read_limits
from synth.policies.model import Applies, Policy, PolicySet
from synth.policies.names import MODES, SCOPES, SEVERITIES, Names, Scope, Tools, some_of
from synth.policies.plugins import all_forms
from synth.policies.quotes import in_double_quotes
from synth.policies.refused import read_rule
from synth.policies.sentences import whole
from synth.policies.source import Node, read_actions
from synth.policies.where import Where, read_where

MAX_BYTES = 2 << 20
MAX_POLICIES = 10_000
MAX_NODES = 100_000
"""Values, lists and fields with names in one file; reading one takes 20 to 60 us."""
MAX_DEPTH = 200

FILE_FIELDS = (
    "version", "timezone", "scope", "aliases", "known_tools", "actions", "applies", "limits", "prices",
    "policies",
)  # fmt: skip
POLICY_FIELDS = ("id", "text", "severity", "owner", "applies", "on_break", "on_error")
ERRORS = ("open", "closed")

Reader = Callable[[Node, Names], PolicyKind]


@lru_cache(maxsize=1)
def rule_fields() -> Mapping[str, Reader]:
    """Exactly one of these fields states what a policy demands."""
    forms = all_forms()
    return {
        "rule": lambda node, names: read_rule(in_double_quotes(node.text()), names, forms),
        **{form.name: form.read for form in forms if isinstance(form, Field)},
    }


def load_policies(source: str | Path) -> PolicySet:
    """Read a policy file, or its text (anything with a line break is text)."""
    if isinstance(source, str) and "\n" in source:
        return policies_from_text(source)
    path = Path(source)
    return policies_from_text(text_of(path), str(path))


def read_yaml(path: str | Path) -> Node:
    """The top of a YAML 1.2 file of ours; BadInput names file and line."""
    return Node.of(_yaml(text_of(Path(path)), str(path)), str(path))


@lru_cache(maxsize=32)
def policies_from_text(text: str, file: str | None = None) -> PolicySet:
    """Read the text of a policy file; `file` is its name in messages."""
    try:
        return _policy_set(Node.of(_yaml(text, file), file), file, text)
    except BadInput as bad:
        raise bad.at(file=file) from None


def _for_pickle(policies: PolicySet) -> tuple[Callable[..., PolicySet], tuple[str, str | None]]:
    """Compiled conditions do not pickle: another process reads the text again."""
    return policies_from_text, (policies.source, policies.file)


copyreg.pickle(PolicySet, _for_pickle)


def _yaml(text: str, file: str | None) -> Any:
    if len(text) > MAX_BYTES:
        raise BadInput(f"larger than {MAX_BYTES >> 20} MiB", file=file)
    if _bracket_depth(text) > MAX_DEPTH:
        raise BadInput(f"brackets nested deeper than {MAX_DEPTH} levels", file=file)
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError
    except ImportError as missing:
        raise MissingExtra("Reading policy files", "synth") from missing
    reader = YAML(typ="rt")
    reader.Composer = _bounded(reader.Composer, file)
    try:
        return reader.load(io.StringIO(text))
    except MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = None if mark is None else mark.line + 1
        raise BadInput(f"not YAML: {problem.problem or problem.context}", file=file, line=line) from None
    except (YAMLError, RecursionError, ValueError) as problem:
        raise BadInput(f"not YAML: {str(problem).splitlines()[0]}", file=file) from None


def _bounded(composer: type[Any], file: str | None) -> type[Any]:
    """A composer that ends at a node too many: what comes after it is not even scanned."""

    class Bounded(composer):  # type: ignore[misc]
        nodes = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.nodes += 1
            if self.nodes > MAX_NODES:
                raise BadInput(f"over {MAX_NODES} values", file=file)
            return super().compose_node(parent, index)

    return Bounded


def _bracket_depth(text: str) -> int:
    """How deep brackets are nested, quotes left aside: the YAML reader is slow on thousands of levels."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _policy_set(top: Node, file: str | None, text: str) -> PolicySet:
    top.only(FILE_FIELDS)
    actions = _actions(top.get("actions"))
    names = Names(actions)
    applies = top.get("applies")
    default = Applies() if applies is None else _applies(applies, names)
    limits = top.get("limits")
    entries = top.need("policies").items() if limits is None or top.get("policies") else []
    if len(entries) > MAX_POLICIES:
        raise top.need("policies").bad(f"{len(entries)} policies in one file (at most {MAX_POLICIES})")
    policies = tuple(_policy(entry, names, default) for entry in entries)
    _distinct(policies, entries)
    scope_node, known = top.get("scope"), top.get("known_tools")
    scope = _scope_of(policies) if scope_node is None else scope_node.one_of(SCOPES)
    _of_scope(scope, policies, entries)
    priced = top.get("prices")
    prices = None if priced is None else Prices.read(priced)
    bounds = () if limits is None else tuple(read_limits(limits, names, default, prices))
    if limits is not None:
        _of_scope(scope, bounds, [limits] * len(bounds))
    if taken := {policy.id for policy in policies} & {bound.id for bound in bounds}:
        raise top.need("limits").bad(f"its rule {min(taken)!r} has the id of a policy; give that another one")
    return PolicySet(
        (*policies, *bounds),
        actions,
        _timezone(top.get("timezone")),
        scope,
        _aliases(top.get("aliases")),
        file,
        text,
        known_tools=() if known is None else tuple(item.text() for item in known.items()),
    )


def _distinct(policies: tuple[Policy, ...], entries: list[Node]) -> None:
    seen: dict[str, Policy] = {}
    for policy, entry in zip(policies, entries, strict=True):
        if policy.id in seen:
            raise entry.need("id").bad(
                f"the id {policy.id!r} was already used in line {seen[policy.id].line}"
            )
        seen[policy.id] = policy


def _scope_of(policies: tuple[Policy, ...]) -> Scope:
    """That of a file which names none: of conversations where each of its rules says that it is of them."""
    return "session" if policies and all(_said_scope(one) == "session" for one in policies) else "run"


def _said_scope(policy: Policy) -> Scope | None:
    said = policy.rule.traits.scope
    if said is None and policy.clause and policy.sentence:
        return said_scope(policy.sentence)
    return said


def _of_scope(scope: Scope, policies: tuple[Policy, ...], entries: list[Node]) -> None:
    """BadInput where a rule says that it is judged over another scope than its file."""
    for policy, entry in zip(policies, entries, strict=True):
        said = _said_scope(policy)
        if said not in (None, scope):
            words = {"run": "per run", "session": "per conversation"}
            raise entry.bad(
                f"the rule is {words[said]}, and those of this file are {words[scope]}; write "
                f"'scope: {said}' at the head of the file, or move the rule to a file of that scope"
            )


def _policy(node: Node, names: Names, default: Applies) -> Policy:
    fields = rule_fields()
    node.only((*POLICY_FIELDS, *fields))
    stated = [name for name in fields if node.get(name) is not None]
    if len(stated) != 1:
        said = " and ".join(stated) or "none of them"
        raise node.bad(f"a policy states exactly one of {', '.join(fields)}, got {said}")
    body = node.need(stated[0])
    with body.blamed():
        rule = fields[stated[0]](body, names)
    text, severity, applies = node.get("text"), node.get("severity"), node.get("applies")
    on_break, on_error, owner = node.get("on_break"), node.get("on_error"), node.get("owner")
    sentence = " ".join(body.text().split()) if stated[0] == "rule" else rule.traits.words or None
    return Policy(
        id=node.need("id").text(),
        text=text.text() if text is not None else sentence or f"a {stated[0]} without words",
        rule=rule,
        severity="error" if severity is None else severity.one_of(SEVERITIES),
        applies=default if applies is None else _applies(applies, names),
        line=node.line,
        sentence=sentence,
        clause=whole(sentence) if sentence and stated[0] == "rule" else None,
        on_break=None if on_break is None else on_break.one_of(MODES),
        on_error="open" if on_error is None else on_error.one_of(ERRORS),
        owner=None if owner is None else owner.text(),
    )


def _actions(node: Node | None) -> dict[str, Tools]:
    """`phrase: tool` or `phrase: [tool, ...]`, or a list of `{phrase, tool}`; `any tool` is built in."""
    actions = {} if node is None else dict(_named_actions(node))
    actions.setdefault("any tool", Tools("any tool", ("*",)))
    return actions


def _named_actions(node: Node) -> Iterator[tuple[str, Tools]]:
    if isinstance(node.value, Mapping):
        for phrase, tools in node.pairs():
            yield phrase, Tools(phrase, _texts(tools))
        return
    for entry in node.items():
        entry.only(("id", "phrase", "tool", "tools", "agent", "description", "where"))
        phrase = entry.need("phrase").text()
        several, agent, where = entry.get("tools"), entry.get("agent"), entry.get("where")
        named = _texts(entry.need("tool") if several is None else several)
        yield phrase, Tools(
            phrase, named, None if agent is None else agent.text(),
            where=None if where is None else _where(where),
        )  # fmt: skip


def _where(node: Node) -> Where:
    with node.blamed():
        return read_where(node.text())


def _texts(node: Node) -> tuple[str, ...]:
    if isinstance(node.value, list):
        found = tuple(item.text() for item in node.items())
        if not found:
            raise node.bad("expected at least one tool, got an empty list")
        return found
    return (node.text(),)


def _applies(node: Node, names: Names) -> Applies:
    """Fields of the run with allowed values; `tools` (offered or called) and `calls` (called actions)."""
    fields = {name: _texts(value) for name, value in node.pairs() if name not in ("tools", "calls")}
    if (scope := fields.get("scope")) and scope[0] in SCOPES:
        raise node.need("scope").bad(f"a run has no scope; write 'scope: {scope[0]}' at the head of the file")
    offered, calls = node.get("tools"), node.get("calls")
    return Applies(
        fields,
        () if offered is None else _texts(offered),
        () if calls is None else read_actions(calls, names),
    )


def _timezone(node: Node | None) -> str:
    if node is None:
        return "UTC"
    try:
        zone_of(node.text())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise node.bad(f"unknown time zone {node.value!r} (expected a name such as Europe/Zurich)") from None
    return node.text()


ALIASED = ("step", "with_text", "messages", "conversation")


def _aliases(node: Node | None) -> dict[str, str]:
    if node is None:
        return {}
    aliases = {name: value.text() for name, value in node.pairs()}
    if strange := sorted(set(aliases) - set(ALIASED)):
        raise node.bad(f"no field is called {strange[0]!r} (expected one of {some_of(ALIASED)})")
    return aliases
