"""Free text, such as a system prompt, to rules for tool calls: proposed by a model, read by our parser, and
accepted by a person, one by one.

The model quotes the words that each rule comes from and writes it in our language. Words that are not in the
text, sentences that cannot be read and rules that only some of several answers have are told as doubts;
nothing is accepted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from synth.counted import counted
from synth.errors import BadInput
from synth.judge.rules import Rules
from synth.language.words import spelled
from synth.llm.chat import Message, NoAnswer, ask, assistant, system, user, without_fences
from synth.observed.run import Run
from synth.policies import Problem, judge_policies, lint
from synth.policies.kinds.kind import PolicyKind
from synth.policies.load import policies_from_text
from synth.policies.meanings import reading_of
from synth.policies.model import PolicySet
from synth.policies.names import PolicyVerdict, Tools
from synth.policies.written import phrases_of, printable, scalar

FORMS = """\
- A must happen before B.   (each call of B needs an earlier success of A)
- A must happen before B with the same FIELD.   (FIELD: a name of an argument of both)
- A must be followed by B.   A must be followed by B within 10 minutes.
- A must be immediately followed by B.   If A fails, the next call must be B.
- A must never happen after B.   A must happen immediately before B.
- Any tool but A must never happen after B.   If A happens, the last call must be B.
- A must never happen.   A must happen at most 2 times.   A must happen at least 1 time.
- A must happen at most 3 times within 1 hour.   A must happen at most 1 time with the same FIELD.
- The sum of args.FIELD of A must be at most 500.
- A must start within 10 minutes after B.   A must start at least 10 minutes after B.
- A must not overlap B.   A must be alone in its turn.
- A must happen after 09:00.   A must happen before 17:00.   A must never happen on weekends."""

_PROPOSE = """\
The text below tells an agent how to work. Find what it says about which tools may or must be called, in \
which order, how often and when. Write each such demand as one rule in one of these forms, where A and B \
stand for names from the list, exactly as they are listed, with the quotation marks where the list has them:
{forms}

Leave out what none of the forms says, and what is not about calling tools. Do not guess what the text does \
not say. Answer with a JSON list and nothing else. Each item is {{"source": "the words of the text that \
demand it, copied exactly", "rule": "the rule"}}. Where the text demands nothing, answer [].

Names:
{names}

Text:
{text}"""
_REPAIR = "Some of that cannot be used:\n{errors}\nWrite the whole list again, corrected, and nothing else."
NO_LIST = 'expected a JSON list of {"source": ..., "rule": ...}'
SHOWN = 3
"""Runs that are told of those that break a rule."""
NO_Z3 = Rules(z3="off", repair=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What given runs say about a rule."""

    verdicts: Mapping[PolicyVerdict, int]
    broken: tuple[tuple[str, str], ...] = ()
    """(run, what happened there) of some that break it."""

    @property
    def text(self) -> str:
        runs, broken = sum(self.verdicts.values()), self.verdicts.get("violated", 0)
        others = [f", {self.verdicts[one]} {said}" for one, said in OTHERS.items() if self.verdicts.get(one)]
        return f"{broken} of {counted(runs, 'run')} break it{''.join(others)}"


OTHERS: Mapping[PolicyVerdict, str] = {
    "ok": "keep it",
    "not_applicable": "do not need it",
    "undecided": "leave it open",
    "unsupported": "cannot tell",
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule that a model found in a text."""

    source: str
    """The words that it names for it."""
    line: int | None
    """Where they begin; None = the text does not have them."""
    sentence: str
    rule: PolicyKind | None = field(compare=False)
    """As our parser reads the sentence; None = it cannot."""
    doubts: tuple[str, ...] = ()

    @property
    def reading(self) -> str:
        """What the rule demands, in plain words; empty where nothing says."""
        return "" if self.rule is None else reading_of(self.rule)

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source, "line": self.line, "rule": self.sentence,
            "kind": None if self.rule is None else self.rule.kind, "reading": self.reading,
            "doubts": list(self.doubts),
        }  # fmt: skip


# ---------------------------------------------------------------- the model


def propose(
    text: str, actions: Mapping[str, Tools], client: Any, model: str, *, samples: int = 2,
    repairs: int = 1,
) -> tuple[Proposal, ...]:  # fmt: skip
    """The rules that a model finds in `text`; `actions` are the names with their tools.

    Each of the `samples` independent answers may be corrected `repairs` times, with the parser's own message.
    Raises NoAnswer where none is a list of rules.
    """
    if not text.strip():
        raise BadInput("the text is empty")
    names = "\n".join(f"- {spelled(phrase)}" for phrase in actions)
    prompt = _PROPOSE.format(forms=FORMS, names=names, text=text)
    answers, why = [], ""
    for _ in range(samples):
        try:
            answers.append(_sample(prompt, text, actions, client, model, repairs))
        except NoAnswer as bad:
            why = str(bad)
    if not answers:
        raise NoAnswer(why)
    return tuple(_together(answers, samples))


def _sample(
    prompt: str, text: str, actions: Mapping[str, Tools], client: Any, model: str, repairs: int
) -> list[Proposal]:
    """One answer, asked for again as long as something in it is no use."""
    messages: list[Message] = [system("You turn instructions for agents into rules for their tool calls.")]
    messages.append(user(prompt))
    found: list[Proposal] | None = None
    for _ in range(repairs + 1):
        said = ask(client, model, messages)
        try:
            found = [read(one, text, actions) for one in _items(said)]
            errors = [f"{one.sentence!r}: {doubt}" for one in found for doubt in one.doubts]
        except ValueError as bad:
            errors = [str(bad)]
        if not errors:
            break
        messages += [assistant(said), user(_REPAIR.format(errors="\n".join(errors)))]
    if found is None:
        raise NoAnswer(f"the model {model!r} wrote no rules: {errors[0]}")
    return found


def _items(answer: str) -> list[tuple[str, str]]:
    """(source, rule) of each item of an answer; ValueError where it is no list of them."""
    text = without_fences(answer)
    listed = re.search(r"\[.*\]", text, re.DOTALL)
    try:
        said = orjson.loads(listed[0] if listed else text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{NO_LIST}, got what is no JSON ({error})") from None
    if not isinstance(said, list):
        raise ValueError(f"{NO_LIST}, got {type(said).__name__}")
    found = []
    for one in said:
        pair = (one.get("source"), one.get("rule")) if isinstance(one, dict) else (None, None)
        if not all(isinstance(part, str) and part.strip() for part in pair):
            raise ValueError(f"{NO_LIST}, got the item {one!s:.80}")
        found.append((" ".join(str(pair[0]).split()), " ".join(str(pair[1]).split())))
    return found


def read(item: tuple[str, str], text: str, actions: Mapping[str, Tools]) -> Proposal:
    """One rule as our parser reads it, with what speaks against it."""
    source, sentence = item
    line, doubts = line_of(source, text), []
    if line is None:
        doubts.append("its source words are not in the text")
    rule = None
    try:
        rule = policies_of([sentence], actions).policies[0].rule
    except BadInput as bad:
        doubts.append(bad.message)
    return Proposal(source, line, sentence, rule, tuple(doubts))


def written_anew(one: Proposal, sentence: str, actions: Mapping[str, Tools]) -> Proposal:
    """The same words said by another rule, which a person wrote; BadInput where it cannot be read."""
    rule = policies_of([sentence], actions).policies[0].rule
    return Proposal(one.source, one.line, " ".join(sentence.split()), rule)


def line_of(source: str, text: str) -> int | None:
    """The line in which the words begin, line breaks and capitals left aside; None = they are not there."""
    words = r"\s+".join(map(re.escape, source.strip(" \"'“”.…").split()))
    found = re.search(words, text, re.IGNORECASE) if words else None
    return None if found is None else text.count("\n", 0, found.start()) + 1


def _together(answers: Sequence[Sequence[Proposal]], samples: int) -> Iterator[Proposal]:
    """What the answers propose, each rule once; in doubt where not all of them have it."""
    seen: list[Proposal] = []
    for one in (one for answer in answers for one in answer):
        if any(_same(one, other) for other in seen):
            continue
        seen.append(one)
        having = sum(any(_same(one, other) for other in answer) for answer in answers)
        alone = () if having == samples else (f"{having} of {samples} answers have it",)
        yield Proposal(one.source, one.line, one.sentence, one.rule, (*one.doubts, *alone))


def _same(one: Proposal, other: Proposal) -> bool:
    if one.rule is None or other.rule is None:
        return one.sentence == other.sentence
    return one.rule == other.rule


# ---------------------------------------------------------------- what runs say


def evidence(
    proposals: Sequence[Proposal], actions: Mapping[str, Tools], runs: Iterable[Run]
) -> tuple[Evidence, ...]:
    """For each proposal what the runs say: how many break it, and what happened in some of those."""
    readable = [at for at, one in enumerate(proposals) if one.rule is not None]
    counts: list[dict[PolicyVerdict, int]] = [{} for _ in proposals]
    broken: list[list[tuple[str, str]]] = [[] for _ in proposals]
    policies = policies_of([proposals[at].sentence for at in readable], actions)
    for run in runs if readable else ():
        for at, result in zip(readable, judge_policies(policies, run, rules=NO_Z3), strict=True):
            counts[at][result.verdict] = counts[at].get(result.verdict, 0) + 1
            if result.verdict == "violated" and len(broken[at]) < SHOWN:
                broken[at].append((run.id, result.explanation))
    return tuple(map(Evidence, counts, map(tuple, broken)))


def policies_of(sentences: Sequence[str], actions: Mapping[str, Tools]) -> PolicySet:
    """The rules as a policy file has them; BadInput where one of them cannot be read."""
    rules = [f"  - {{id: r{at}, rule: {scalar_of(said)}}}" for at, said in enumerate(sentences)]
    listed = ["policies:", *rules] if rules else ["policies: []"]
    return policies_from_text("\n".join([*_actions(actions), *listed]))


# ---------------------------------------------------------------- a policy file


def policy_file(
    proposals: Sequence[Proposal],
    accepted: Iterable[int],
    actions: Mapping[str, Tools],
    origin: str,
) -> str:
    """The accepted rules with the words that they come from; the others stand in it as comments."""
    chosen, ids = set(accepted), list(_ids(proposals))
    lines = [f"# Rules found in {printable(origin)}: those that somebody accepted, then the others."]
    lines += [*_actions(actions), "", "policies:" if chosen else "policies: []"]
    for at in sorted(chosen):
        one = proposals[at]
        lines += ["", f"  # {_quoted(one)}"]
        lines += [f"  - id: {scalar(ids[at])}", f"    rule: {scalar_of(one.sentence)}"]
    left = [(at, one) for at, one in enumerate(proposals) if at not in chosen]
    if left:
        lines += ["", "# Not accepted:"]
    for at, one in left:
        lines += ["#", f"#  # {_quoted(one)}", *(f"#  # doubt: {printable(doubt)}" for doubt in one.doubts)]
        lines += [f"#  - id: {scalar(ids[at])}", f"#    rule: {scalar_of(one.sentence)}"]
    return "\n".join(lines) + "\n"


def contradictions(text: str) -> tuple[Problem, ...]:
    """What is wrong between the rules of a policy file."""
    return tuple(problem for problem in lint(policies_from_text(text)) if not problem.is_warning)


def scalar_of(sentence: str) -> str:
    return scalar(printable(sentence))


def _quoted(one: Proposal) -> str:
    at = "" if one.line is None else f" (line {one.line})"
    return f"“{printable(one.source)}”{at}"


def _actions(actions: Mapping[str, Tools]) -> list[str]:
    if not actions:
        return ["actions: {}"]
    if all(tools.agent is None for tools in actions.values()):
        return ["actions:", *(f"  {scalar(phrase)}: {_tools(tools)}" for phrase, tools in actions.items())]
    return ["actions:", *(_entry(phrase, tools) for phrase, tools in actions.items())]


def _entry(phrase: str, tools: Tools) -> str:
    agent = "" if tools.agent is None else f", agent: {scalar(tools.agent)}"
    return f"  - {{phrase: {scalar(phrase)}, tool: {_tools(tools)}{agent}}}"


def _tools(tools: Tools) -> str:
    names = [scalar(tool) for tool in tools.names]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _ids(proposals: Sequence[Proposal]) -> Iterator[str]:
    """A name for each, from its words."""
    taken: set[str] = set()
    for one in proposals:
        name = re.sub(r"[^a-z0-9]+", "-", one.sentence.lower()).strip("-")[:60].strip("-") or "rule"
        name = next(n for n in (name, *(f"{name}-{k}" for k in range(2, 10_000))) if n not in taken)
        taken.add(name)
        yield name


def actions_of(policies: PolicySet) -> dict[str, Tools]:
    """What the sentences of a policy file may name; `any tool` is known to every file."""
    return {phrase: tools for phrase, tools in policies.actions.items() if tools.names != ("*",)}


def named_after(tools: Iterable[str]) -> dict[str, Tools]:
    """Names for tools, in the words of theirs."""
    return {phrase: Tools(phrase, (tool,)) for tool, phrase in phrases_of(dict.fromkeys(tools)).items()}
