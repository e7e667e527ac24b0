"""What policies are said in: the words of verdicts, and the actions that sentences may name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from synth.errors import BadInput
from synth.policies.where import Comparison, Where

if TYPE_CHECKING:
    from synth.language.lexer import Vocabulary

PolicyVerdict = Literal["ok", "violated", "not_applicable", "undecided", "unsupported"]
Severity = Literal["error", "warning", "info", "critical", "high", "medium", "low"]
Scope = Literal["run", "session"]
Key = tuple[tuple[str, ...], str | None, Where | None]
Span = tuple[int, int]
"""Half-open range of code points in the sentence of a policy."""

VERDICTS: tuple[PolicyVerdict, ...] = get_args(PolicyVerdict)
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
SCOPES: tuple[Scope, ...] = get_args(Scope)
MODES = ("observe", "warn", "feedback", "ask", "block")
"""What a guard does about a call that is about to break a rule; from the mildest on."""


MEANS = r"cash|card|credit card|debit card|cheque|check|wire|bank transfer|transfer|invoice|paypal|voucher"
"""By which is paid."""
CHANNELS = r"e-?mail|sms|phone|post|mail|letter|fax|chat|text message|push"
"""By which is told."""
BY_NOBODY = rf"{MEANS}|{CHANNELS}"
"""No agents, though something is done by them."""


class TwoReadings(BadInput):
    """The words are known, and two things may be meant; the message says which."""


class OneThing(TwoReadings):
    """The words speak of one and the same thing, and no field says which one it is."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that stand for one action of a policy file."""

    phrase: str
    names: tuple[str, ...]
    """Tool names; `*` stands for any text, so that `*` alone is any tool."""
    agent: str | None = None
    """Whose calls of them; `*` stands for any text. None = anybody's."""
    either: bool = False
    """Are they several actions that a sentence joins with `or`?"""
    where: Where | None = None
    """What their arguments must be; None = anything."""
    but: tuple[str, ...] = ()
    """Names of tools that are none of them: `any tool but notify`."""

    def __contains__(self, tool: str) -> bool:
        if tool in self.but:
            return False
        return tool in self.names or any("*" in name and fnmatchcase(tool, name) for name in self.names)

    @property
    def key(self) -> Key:
        """Equal for the same calls, whatever they are called."""
        return (*self.names, *(f"!{name}" for name in self.but)), self.agent, self.where

    @property
    def is_whole(self) -> bool:
        """Are they all calls of their tools?"""
        return self.agent is None and self.where is None

    def is_made_by(self, agent: str | None) -> bool:
        """Are they the calls of an agent, if they are of the tool?"""
        return self.agent is None or (agent is not None and fnmatchcase(agent, self.agent))

    @property
    def asked(self) -> tuple[Comparison, ...]:
        """What is asked of their arguments; () = nothing."""
        return self.where.every if self.where is not None else ()

    @property
    def in_full(self) -> bool:
        """Is none of the names a pattern?"""
        return "*" not in "".join(self.names)


class Names:
    """The actions that sentences may name."""

    def __init__(self, actions: Mapping[str, Tools]) -> None:
        self.actions = actions
        """By phrase."""
        self._plain = {_plain(phrase): tools for phrase, tools in actions.items()}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names as the grammar of the queries wants them; made for the first sentence it reads."""
        from synth.language.lexer import Vocabulary  # the language half, only for files that have sentences

        return Vocabulary({"id": phrase, "phrase": phrase} for phrase in self.actions)

    def with_agents(self, sentence: str) -> Names | None:
        """The names, and those that a sentence says with the agent (`refund by billing`); None: none."""
        found: dict[str, Tools] = {}
        known = {phrase.casefold() for phrase in self.actions}
        for phrase, tools in sorted(self.actions.items(), key=lambda action: -len(action[0])):
            for match in re.finditer(
                rf"\b{re.escape(phrase)} by (?!(?:{BY_NOBODY})\b)(?P<q>[\"'“”]?)(?P<agent>[\w.:/*-]+)(?P=q)",
                sentence,
                re.IGNORECASE,
            ):
                said = match[0].casefold()
                if tools.agent is None and said not in known:
                    found.setdefault(said, replace(tools, phrase=said, agent=match["agent"]))
        return Names({**self.actions, **found}) if found else None

    def with_alternatives(self, sentence: str) -> Names | None:
        """The names, and those that a sentence joins with `or` (`verify or approve`); None: none."""
        one = "|".join(re.escape(phrase) for phrase in sorted(self.actions, key=len, reverse=True))
        joined = re.compile(rf"\b(?:(?:{one}) or )+(?:{one})\b", re.IGNORECASE)
        found: dict[str, Tools] = {}
        known = {phrase.casefold(): tools for phrase, tools in self.actions.items()}
        for match in joined.finditer(sentence):
            said = match[0].casefold()
            self._not_mixed(sentence, match, one)
            parts = [known[part.casefold()] for part in re.findall(one, match[0], re.IGNORECASE)]
            if said not in known and len({(tools.agent, tools.where) for tools in parts}) == 1:
                tools = tuple(dict.fromkeys(name for part in parts for name in part.names))
                found[said] = Tools(said, tools, parts[0].agent, either=True, where=parts[0].where)
        return Names({**self.actions, **found}) if found else None

    def with_exceptions(self, sentence: str) -> Names | None:
        """The names, and those of all tools but some (`any tool but notify`); None: none."""
        any_tool = self.actions.get("any tool")
        one = "|".join(re.escape(phrase) for phrase in sorted(self.actions, key=len, reverse=True))
        joined = re.compile(
            rf"\bany tool but (?P<but>(?:{one})(?: (?:and|or) (?:{one}))*)(?!\w)", re.IGNORECASE
        )
        found: dict[str, Tools] = {}
        known = {phrase.casefold(): tools for phrase, tools in self.actions.items()}
        for match in joined.finditer(sentence):
            parts = [known[part.casefold()] for part in re.findall(one, match["but"], re.IGNORECASE)]
            if any_tool is not None and all(tools.is_whole and tools.in_full for tools in parts):
                but = tuple(dict.fromkeys(name for part in parts for name in part.names))
                said = match[0].casefold()
                found[said] = Tools(said, any_tool.names, but=but)
        new = {phrase: tools for phrase, tools in found.items() if phrase not in known}
        return Names({**self.actions, **new}) if new else None

    def _not_mixed(self, sentence: str, either: re.Match[str], one: str) -> None:
        """TwoReadings for `verify and approve or confirm`, which may be taken apart in two ways."""
        before = re.search(rf"\b(?:{one}) and $", sentence[: either.start()], re.IGNORECASE)
        after = re.match(rf" and (?:{one})\b", sentence[either.end() :], re.IGNORECASE)
        if before or after:
            said = f"{before[0] if before else ''}{either[0]}{after[0] if after else ''}"
            raise TwoReadings(
                f"cannot read {said!r}, whose 'and' and 'or' may be taken together in two ways; write two "
                "policies"
            )

    def list(self, text: str) -> tuple[Tools, ...]:
        """`a and b and "c and d"` as actions: names first, longest match; BadInput for unknown names."""
        found: list[Tools] = []
        words = self._known(text)
        if words is not None:
            return (words,)
        rest = text.strip()
        while rest:
            action, rest = self._first(rest)
            found.append(action)
        return tuple(found)

    def pairs(self, first: str, then: str) -> tuple[tuple[Tools, Tools], ...]:
        """Every action of one list with every action of another."""
        return tuple((a, b) for a in self.list(first) for b in self.list(then))

    @staticmethod
    def is_tool(text: str) -> bool:
        """Can the text be the name of a tool, or a pattern for some?"""
        return re.fullmatch(r"[\w.:/*-]+", text) is not None

    def _first(self, text: str) -> tuple[Tools, str]:
        parts = re.split(r"\s+and\s+", text)
        for count in range(len(parts), 0, -1):
            head = self._known(" and ".join(parts[:count]))
            if head is not None:
                return head, " and ".join(parts[count:])
        raise BadInput(self._unknown(parts[0]))

    def _known(self, text: str) -> Tools | None:
        name = _plain(text)
        return self._plain.get(name) or self._plain.get(_plain(name.removeprefix("call ")))

    def _unknown(self, name: str) -> str:
        from synth.language.lexer import says_more

        close = [
            near for near in get_close_matches(_plain(name), [*self._plain], n=1) if not says_more(name, near)
        ]
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"no action is called {name.strip()!r} (expected one of {some_of(list(self.actions))}){hint}"


def _plain(phrase: str) -> str:
    text = " ".join(phrase.strip(' "“”').casefold().split())
    return text.removeprefix("the ")


def some_of(names: Sequence[str], limit: int = 5) -> str:
    """`a, b, c, ...` for messages."""
    return ", ".join(names[:limit]) + (", ..." if len(names) > limit else "")
