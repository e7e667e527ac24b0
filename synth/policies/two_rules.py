"""Two rules in one sentence: `Run tests before a deploy; take a backup before a migration.`

Where both say the same of other actions they are one rule; else the refusal says each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.errors import BadInput
from synth.policies.composed import quoted
from synth.policies.kinds.absence import AbsenceAfter
from synth.policies.kinds.adjacency import Adjacency
from synth.policies.kinds.count import Count
from synth.policies.kinds.kind import PolicyKind
from synth.policies.kinds.precedence import Precedence
from synth.policies.kinds.response import Response
from synth.policies.patterns import compiled

_JOINT = compiled(
    r"(?P<stop>; (?:and |but )?(?:also )?|\. )|,? (?:and|but) (?:also )?(?=(?:never|no|at most|at least"
    r"|no more|not more|max|only|must|may|needs?|not|every|each)\b)|, (?:and|but) (?:also )?"
)
_OPENED = compiled(
    r"^(?:if|when|whenever|once|after|until|as long as|on|for|in|per|with|within|during|between|unless)\b"
)
_REFERS = compiled(
    r"\b(?:it|its|them|they|their|that|this|these|those|either|too|neither|same goes|otherwise|unless|except"
    r"|one|ones|both|afterwards|then|again|instead|others?|else)\b"
)
_MORE = r"(?:at most|(?:no|not|never) more than|max) \S+(?= (?:times?|per|in|within|an?)\b|$)"
_GOES_ON = compiled(rf"^(?:(?:never|not)(?! more)|only|{_MORE}|must|may|needs?|has to|can|should)\b")
_MOST_JOINTS = 3


def two_rules(body: str, read: Callable[[str], PolicyKind]) -> PolicyKind | None:
    """The rule that two rules make together; None where a sentence has no two. BadInput says both."""
    joints = [m for m in _JOINT.finditer(body) if m.start() > 8 and len(body) - m.end() > 8]
    for joint in joints[:_MOST_JOINTS]:
        first, then = body[: joint.start()], body[joint.end() :]
        if _REFERS.search(then) or '"' in first[-1:]:
            continue
        rule = _rule(first, read)
        if rule is None:
            continue
        for second in _whole(then, rule):
            other = _rule(second, read)
            if other is None or other == rule or (second == then and _of_any_tool(other)):
                continue
            free = joint["stop"] is not None and not _OPENED.match(first) and second == then
            if free and (both := _together(rule, other)) is not None:
                return both
            raise BadInput(
                f"cannot read two rules in one sentence; write two policies: {quoted(first)} and "
                f"{quoted(second)}"
            )
    return None


def _rule(said: str, read: Callable[[str], PolicyKind]) -> PolicyKind | None:
    try:
        return read(f"{said[:1].upper()}{said[1:]}")
    except BadInput:
        return None


def _whole(then: str, rule: PolicyKind) -> Iterator[str]:
    """The second sentence, and with the action that the first is about: `...; never after a refund`."""
    yield then
    if not _GOES_ON.match(then):
        return
    alone = rule.tools[0] if len(rule.tools) == 1 else None
    subject = rule.pairs[0][1] if isinstance(rule, Precedence | AbsenceAfter) else alone
    if subject is not None and subject.where is None:
        yield f"{subject.phrase}: {then}"


def _of_any_tool(rule: PolicyKind) -> bool:
    return any(tools.names == ("*",) for tools in rule.tools)


def _together(rule: PolicyKind, other: PolicyKind) -> PolicyKind | None:
    """One rule of both, where they differ in nothing but their actions."""
    if isinstance(rule, Precedence) and isinstance(other, Precedence):
        alone, second = replace(rule, clauses=()), replace(other, clauses=())
        joined = replace(alone, pairs=(*rule.pairs, *other.pairs))
        return joined if replace(alone, pairs=()) == replace(second, pairs=()) else None
    for kind in (AbsenceAfter, Adjacency, Response):
        if isinstance(rule, kind) and isinstance(other, kind):
            joined_pairs = replace(rule, pairs=(*rule.pairs, *other.pairs))
            return joined_pairs if replace(rule, pairs=()) == replace(other, pairs=()) else None
    if isinstance(rule, Count) and isinstance(other, Count) and rule.most == other.most == 0:
        banned = replace(rule, what=(*rule.what, *other.what))
        return banned if replace(rule, what=()) == replace(other, what=()) else None
    return None
