"""The text of a behaviour specification: the file form of "Formally Specifying the High-Level Behavior of
LLM-Based Agents" (Crouse et al., figure 3), and the bare formula of our own policies.

    (define react-agent
      (:states (Tht (:text "[Thought]"))
               (Obs (:text "[Observation]") (:flags :env-input)) ...)
      (:behavior (next Ques (until (next Tht Act Act-Inp Obs) Final-Tht) Ans))
      (:trace (text Tht) (call Act Act-Inp) ((call evaluate) Prop-Ans) ...))

`:trace`, which is ours, says which states stand for what a recorded run shows; `traced` has the defaults.
Errors show the line, with the words in question underlined.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from synth.errors import BadInput
from synth.formal.automata import Expression

MAX_TEXT = 200_000
MAX_DEPTH = 200
SHOWN, NAMED = 100, 30
"""Characters of a line that an error shows, and states."""

OPERATORS: Mapping[str, tuple[int, int | None]] = {
    "or": (1, None), "next": (1, None), "until": (2, 2), "implies": (2, 2), "always": (1, 1),
}  # fmt: skip
"""Operator -> least and most parts."""
EVENTS = ("request", "text", "call", "result", "results", "answer")
"""What a run shows: the user's request; text of the model that is not its last word; a tool call; the
result of one; all results of the calls of one model message; the model's last word."""

Choices = tuple[tuple[str, ...], ...]
"""Sequences of states, one of which an event stands for; none: it is not allowed; (): it is passed over."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_TOKEN = re.compile(r';[^\n]*|"(?:[^"\\]|\\.)*"|[()]|[^\s();"]+|"')


@dataclass(frozen=True, slots=True)
class State:
    """A state of the agent."""

    name: str
    prompt: str
    """What the text begins with while the agent is in this state."""
    env_input: bool = False
    """Is its text given by the environment, not by the model?"""


@dataclass(frozen=True, slots=True)
class Specification:
    """What a text says."""

    behavior: Expression
    name: str = ""
    states: tuple[State, ...] = ()
    """Empty for a bare formula, whose states are whatever it names."""
    trace: Mapping[tuple[str, str | None], Choices] = field(default_factory=dict)
    """(kind of event, name of the tool or None) -> the states that it stands for."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word or a quoted text, and where it stands."""

    text: str
    at: int
    end: int
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    """What stands between two parentheses."""

    parts: tuple[_Word | _Group, ...]
    at: int
    end: int

    @property
    def head(self) -> str | None:
        first = self.parts[0] if self.parts else None
        return first.text if isinstance(first, _Word) and not first.quoted else None


_Node = _Word | _Group


def read_specification(text: str) -> Specification:
    """A specification in either form; BadInput says what is wrong with it and where."""
    reader = _Reader(text)
    top = reader.tree()
    if isinstance(top, _Group) and top.head == "define":
        return reader.definition(top)
    return Specification(reader.formula(top, None))


def parse_expression(text: str) -> Expression:
    """The formula of a specification in either form."""
    return read_specification(text).behavior


class _Reader:
    """Reads one text."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT:
            raise BadInput(f"a specification of {len(text)} characters (at most {MAX_TEXT})")
        self.text = text
        if found := _CONTROL.search(text):
            self.bad(_Word("", found.start(), found.end()), f"the character {found[0]!r} is no text")

    # ------------------------------------------------------------ words and parentheses

    def tree(self) -> _Node:
        stack: list[tuple[int, list[_Node]]] = []
        top: list[_Node] = []
        for word in self._words():
            if top and not stack:
                self.bad(word, f"text after the end of the specification: {word.text!r}")
            here = stack[-1][1] if stack else top
            if word.quoted or word.text not in ("(", ")"):
                here.append(word)
            elif word.text == "(":
                stack.append((word.at, []))
                if len(stack) > MAX_DEPTH:
                    self.bad(word, f"nested deeper than {MAX_DEPTH} levels")
            elif not stack:
                self.bad(word, "a closing parenthesis without an opening one")
            else:
                at, parts = stack.pop()
                (stack[-1][1] if stack else top).append(_Group(tuple(parts), at, word.end))
        if stack:
            at = stack[-1][0]
            self.bad(_Word("(", at, at + 1), "a parenthesis is never closed")
        if not top:
            raise BadInput("the specification is empty")
        return top[0]

    def _words(self) -> Iterator[_Word]:
        for found in _TOKEN.finditer(self.text):
            said, at, end = found[0], found.start(), found.end()
            if said == '"':
                self.bad(_Word(said, at, end), "a quotation mark is never closed")
            if said[0] == '"':
                yield _Word(re.sub(r"\\(.)", r"\1", said[1:-1], flags=re.DOTALL), at, end, quoted=True)
            elif said[0] != ";":
                yield _Word(said, at, end)

    def bad(self, node: _Node, said: str) -> NoReturn:
        """Raise with the line of the node, and its words underlined."""
        line = self.text.count("\n", 0, node.at) + 1
        begin = self.text.rfind("\n", 0, node.at) + 1
        shown = self.text[begin:].partition("\n")[0]
        first = max(0, node.at - begin - SHOWN // 2)
        shown = shown[first : first + SHOWN].replace("\t", " ")
        start = node.at - begin - first
        marks = "^" * max(1, min(node.end - node.at, len(shown) - start))
        raise BadInput(f"{said}\n  {shown}\n  {' ' * start}{marks}", line=line)

    # ------------------------------------------------------------ formulas

    def formula(self, node: _Node, states: Sequence[str] | None) -> Expression:
        """A formula; `states`: those that were declared, None = any word is one."""
        if isinstance(node, _Word):
            return self._state(node, states)
        head = node.head
        if head not in OPERATORS:
            names = ", ".join(OPERATORS)
            got = self.text[node.parts[0].at : node.parts[0].end][:40] if node.parts else "nothing"
            said = f"expected one of {names} after the parenthesis, got {got!r}{_meant(got, OPERATORS)}"
            self.bad(node.parts[0] if node.parts else node, said)
        parts = node.parts[1:]
        least, most = OPERATORS[str(head)]
        if len(parts) < least or len(parts) > (most or len(parts)):
            wanted = "needs at least one part" if most is None else f"takes {_count(least)}"
            self.bad(node, f"{head} {wanted}, got {len(parts)}")
        return (str(head), *(self.formula(part, states) for part in parts))

    def _state(self, word: _Word, states: Sequence[str] | None) -> str:
        if word.quoted:
            self.bad(word, f"expected a state, got the text {word.text[:SHOWN]!r}")
        if states is not None and word.text not in states:
            known = ", ".join([*states[:NAMED], *(["..."] if len(states) > NAMED else [])])
            said = f"no state is called {word.text[:SHOWN]!r} (:states has {known})"
            self.bad(word, f"{said}{_meant(word.text[:SHOWN], states)}")
        return word.text

    # ------------------------------------------------------------ the file form

    def definition(self, top: _Group) -> Specification:
        name, *sections = top.parts[1:] or [top]
        if not isinstance(name, _Word) or name.quoted:
            self.bad(name, "expected the agent's name after define")
        found: dict[str, _Group] = {}
        for section in sections:
            head = section.head if isinstance(section, _Group) else None
            if not isinstance(section, _Group) or head not in (":states", ":behavior", ":trace"):
                self.bad(section, "expected (:states ..), (:behavior ..) or (:trace ..)")
            if head in found:
                self.bad(section, f"a second {head}")
            found[head] = section
        for head in (":states", ":behavior"):
            if head not in found:
                self.bad(top, f"{name.text} has no ({head} ..)")
        states = self._states(found[":states"])
        names = [state.name for state in states]
        return Specification(
            self._behavior(found[":behavior"], names),
            name.text,
            states,
            self._trace(found[":trace"], names) if ":trace" in found else {},
        )

    def _behavior(self, section: _Group, names: Sequence[str]) -> Expression:
        formulas = section.parts[1:]
        if len(formulas) != 1:
            self.bad(section, f":behavior has one formula, got {len(formulas)}")
        formula = formulas[0]
        if not isinstance(formula, _Group) or formula.head != "next":
            wrong = formula if isinstance(formula, _Word) or not formula.parts else formula.parts[0]
            self.bad(wrong, "the formula of :behavior must begin with next, as in (next Ques Ans)")
        return self.formula(formula, names)

    def _states(self, section: _Group) -> tuple[State, ...]:
        states: dict[str, State] = {}
        prompts: dict[str, str] = {}
        for node in section.parts[1:]:
            state = self._declared(node)
            if state.name in states:
                self.bad(node, f"the state {state.name} is declared twice")
            if twin := prompts.get(state.prompt):
                self.bad(node, f"{state.name} has the same prompt as {twin}: text could not be told apart")
            states[state.name], prompts[state.prompt] = state, state.name
        if not states:
            self.bad(section, ":states declares no state")
        return tuple(states.values())

    def _declared(self, node: _Node) -> State:
        form = '(NAME (:text "PROMPT")) or (NAME (:text "PROMPT") (:flags :env-input))'
        if not isinstance(node, _Group) or node.head is None or node.head.startswith(":"):
            self.bad(node, f"expected {form}")
        prompt, flags = "", False
        for part in node.parts[1:]:
            words = (
                [word.text for word in part.parts if isinstance(word, _Word)]
                if isinstance(part, _Group)
                else []
            )
            match words:
                case [":text", said] if said.strip():
                    prompt = said
                case [":flags", ":env-input"]:
                    flags = True
                case _:
                    self.bad(part, f"expected {form}")
        if not prompt:
            self.bad(node, f"the state {node.head} has no (:text ..): where it begins could not be seen")
        return State(node.head, prompt, flags)

    def _trace(self, section: _Group, names: Sequence[str]) -> dict[tuple[str, str | None], Choices]:
        found: dict[tuple[str, str | None], Choices] = {}
        for node in section.parts[1:]:
            if not isinstance(node, _Group) or not node.parts:
                self.bad(node, "expected (EVENT STATE ..), as in (call Act Act-Inp)")
            key = self._event(node.parts[0])
            states = []
            for part in node.parts[1:]:
                if not isinstance(part, _Word):
                    self.bad(part, "expected a state")
                states.append(self._state(part, names))
            found[key] = (*found.get(key, ()), tuple(states))
        return found

    def _event(self, node: _Node) -> tuple[str, str | None]:
        words = (node,) if isinstance(node, _Word) else node.parts
        said = [word.text for word in words if isinstance(word, _Word)]
        kind = said[0] if said else ""
        tool = said[1] if len(said) == 2 and kind in ("call", "result") else None
        if kind not in EVENTS or len(said) != len(words) or (len(said) > 1 and tool is None):
            meant = _meant(kind, EVENTS)
            self.bad(node, f"expected one of {', '.join(EVENTS)}, (call TOOL) or (result TOOL){meant}")
        return kind, tool


def _count(parts: int) -> str:
    return {1: "one part", 2: "two parts"}[parts]


def _meant(word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "request": ("ques", "question", "task"),
    "text": ("plan", "tht", "thought"),
    "call": ("act-lbl", "act", "action", "act-inp", "action-input"),
    "result": ("obs", "observation"),
    "results": ("sum", "summary"),
    "answer": ("final-tht", "final-thought", "solver", "solve", "ans", "answer", "final-answer"),
}
"""Kind of event -> names of states that stand for it, in this order; capitals and `_` do not matter."""


def traced(specification: Specification, kind: str, tool: str | None = None) -> Choices:
    """The sequences of states, one of which an event of a run stands for.

    What `:trace` does not say follows from the names of the states. A call that no state stands for is not
    allowed; any other such event is passed over.
    """
    for key in ((kind, tool), (kind, None)):
        if key in specification.trace:
            return specification.trace[key]
    plain: Callable[[str], str] = lambda name: name.lower().replace("_", "-")  # noqa: E731
    known = {plain(state.name): state.name for state in specification.states}
    states = tuple(known[name] for name in _DEFAULTS[kind] if name in known)
    return () if kind == "call" and not states else (states,)
