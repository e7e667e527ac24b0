"""`pdoctor extract`: rules for tool calls out of a free text, reviewed one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import Exit, at_a_terminal, clear_errors, json_option, plain, text_in, write_json
from collector.cli.llm_options import Endpoint, model_options
from collector.cli.parse import known_names
from collector.cli.runfiles import RunFile, all_runs
from synth.counted import counted
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.llm.rules import Evidence, Proposal
    from synth.observed.run import Run
    from synth.policies import Tools

SAMPLES, REPAIRS = 2, 1
"""Answers of a model that are compared, and how often each may be corrected."""
LONGEST = 200_000
"""Code points of a text; a longer one is no instruction."""


@click.command("extract")
@click.argument("file", default="-")
@click.option(
    "--names",
    metavar="FILE",
    help='Actions: a JSON list of {"id", "phrase", "tool"}, or a policy file (.yaml).',
)
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="A tool of the agent; repeat for more.")
@click.option(
    "--runs",
    "sources",
    multiple=True,
    metavar="RUNS",
    help="Runs, as for `pdoctor check`: which of them break a rule, and which tools there are.",
)
@click.option(
    "--accept",
    type=click.Choice(["ask", "sure", "none"]),
    default=None,
    help="Ask for each rule, take those without a doubt, or none [ask at a terminal, else none].",
)
@click.option("-o", "--output", default="-", metavar="FILE", help="Where the policy file goes.")
@model_options
@json_option
def command(
    file: str, names: str | None, tools: tuple[str, ...], sources: tuple[str, ...], accept: str | None,
    output: str, as_json: bool, **settings: Any,
) -> None:  # fmt: skip
    """Find rules for tool calls in FILE (- is standard input): a free text, or a system prompt.

    A model proposes sentences; our parser reads them. Each is shown with the words that it comes from, what
    it demands in plain words, and how many of --runs break it. What is accepted becomes a policy file, in
    which the others stand as comments.

    Exit code: 0 each proposal was accepted or refused by you, or has no doubt, 1 accepted rules contradict
    each other, 3 some were left for you to look at.

    \b
    pdoctor extract prompt.txt --runs good.jsonl --model gpt-4o -o rules.yaml
    """
    with clear_errors(), ExitStack() as stack:
        from synth.llm.rules import contradictions, policy_file

        text = text_of(file)
        runs = [stack.enter_context(RunFile(source)) for source in sources]
        actions = known_actions(names, tools, runs)
        review = Review(proposed(text, actions, Endpoint.take(settings)), actions, runs)
        how = accept or ("ask" if at_a_terminal() and file != "-" and not as_json else "none")
        for row in review.rows() if as_json else ():
            write_json(row)
        if how == "ask":
            taken = review.asked()
        else:
            taken = review.sure() if how == "sure" else []
            if not as_json:
                click.echo(review.text(), err=True)
        written = policy_file(review.proposals, taken, actions, "standard input" if file == "-" else file)
        put(written, output, as_json, len(taken), len(review.proposals))
        problems = contradictions(written)
        for problem in problems:
            click.echo(f"pdoctor: {problem.code}: {plain(problem.explanation)}", err=True)
        unseen = 0 if how == "ask" else len(review.proposals) - len(taken)
        raise SystemExit(Exit.FAILED if problems else Exit.UNSETTLED if unseen else Exit.PASSED)


def text_of(file: str) -> str:
    said, where = text_in(file, LONGEST + 1)
    if len(said) > LONGEST:
        raise BadInput(f"over {LONGEST:,} characters: give the part that says how to work", file=where)
    if not said.strip():
        raise BadInput("there is no text in it", file=where)
    return said.removeprefix("\ufeff")


def known_actions(names: str | None, tools: Sequence[str], runs: Sequence[RunFile]) -> dict[str, Tools]:
    """What sentences may name: what is said, else the tools that the runs call or offer."""
    from synth.llm.rules import actions_of, named_after
    from synth.policies import Tools, load_policies

    found: dict[str, Tools] = {}
    if names is not None and Path(names).suffix in (".yaml", ".yml"):
        found |= actions_of(load_policies(Path(names)))
    elif names is not None:
        found |= {one["phrase"]: Tools(one["phrase"], (one["tool"],)) for one in known_names(names)}
    there = {name for action in found.values() for name in action.names}
    found |= named_after(tool for tool in tools if tool not in there)
    if not found:
        found = named_after(sorted(set(chain.from_iterable(map(tools_in, all_runs(runs))))))
    if not found:
        raise BadInput("which tools has the agent? give --tool NAME, --names FILE or --runs RUNS")
    return found


def tools_in(run: Run) -> list[str]:
    return [*(run.tools or ()), *(call.tool for call in run.calls)]


def proposed(text: str, actions: dict[str, Tools], endpoint: Endpoint) -> tuple[Proposal, ...]:
    from synth.experiments.charged import tokens_of
    from synth.llm.rules import FORMS, propose

    said = tokens_of(text)
    given = said + tokens_of(FORMS) + tokens_of(" ".join(actions)) + 250
    with endpoint.asked(SAMPLES, given, said, 1 + REPAIRS) as (client, name):
        return propose(text, actions, client, name, samples=SAMPLES, repairs=REPAIRS)


def put(text: str, output: str, as_json: bool, taken: int, proposed: int) -> None:
    """Write the policy file; standard output is left to --json where that is asked for."""
    if output == "-":
        if not as_json:
            click.echo(text, nl=False)
        return
    Path(output).write_text(text, encoding="utf-8")
    click.echo(f"{taken} of {counted(proposed, 'rule')} written to {output}", err=True)


ANSWERS = "y(es), n(o), a sentence to take its place, or q to leave the rest"


class Review:
    """Proposals, what runs say of them, and what somebody at the terminal says."""

    def __init__(
        self, proposals: Sequence[Proposal], actions: Mapping[str, Tools], runs: Sequence[RunFile]
    ) -> None:
        self.proposals = list(proposals)
        self._actions, self._runs = actions, runs
        self._seen = self._evidence(proposals)

    def _evidence(self, proposals: Sequence[Proposal]) -> list[Evidence | None]:
        from synth.llm.rules import evidence

        if not self._runs:
            return [None] * len(proposals)
        return [*evidence(proposals, self._actions, all_runs(self._runs))]

    def rows(self) -> Iterator[dict[str, Any]]:
        for one, seen in zip(self.proposals, self._seen, strict=True):
            yield {**one.to_json(), "runs": None if seen is None else asdict(seen)}

    def text(self) -> str:
        """All of them, for a person."""
        return "\n\n".join(map(self.text_of, range(len(self.proposals)))) or "No rule was found."

    def text_of(self, at: int) -> str:
        one, seen = self.proposals[at], self._seen[at]
        where = "" if one.line is None else f" (line {one.line})"
        lines = [f"{at + 1} of {len(self.proposals)}: “{one.source}”{where}", f"  rule:  {one.sentence}"]
        if one.reading:
            lines.append(f"  means: {one.reading}")
        if seen is not None and one.rule is not None:
            lines.append(f"  runs:  {seen.text}")
            lines += [f"         {run}: {what}" for run, what in seen.broken]
        lines += [f"  doubt: {doubt}" for doubt in one.doubts]
        return "\n".join(map(plain, lines))

    def sure(self) -> list[int]:
        """Those without a doubt that no run breaks."""
        both = enumerate(zip(self.proposals, self._seen, strict=True))
        return [at for at, (one, seen) in both if not one.doubts and not (seen and seen.broken)]

    def asked(self) -> list[int]:
        """Those that somebody accepts, one by one; a sentence as an answer takes the place of the rule."""
        taken: list[int] = []
        for at in range(len(self.proposals)):
            click.echo(f"\n{self.text_of(at)}", err=True)
            while (answer := answered()) not in ("n", "q"):
                if answer != "y":
                    self.instead(at, answer)
                elif self.proposals[at].rule is None:
                    click.echo("  it cannot be read: write it in other words, or n", err=True)
                else:
                    taken.append(at)
                    break
            if answer == "q":
                break
        return taken

    def instead(self, at: int, sentence: str) -> None:
        """Another sentence for the same words; what cannot be read is told."""
        from synth.llm.rules import written_anew

        try:
            self.proposals[at] = written_anew(self.proposals[at], sentence, self._actions)
        except BadInput as bad:
            click.echo(f"  {plain(bad.message)}", err=True)
            return
        self._seen[at] = self._evidence([self.proposals[at]])[0]
        click.echo(self.text_of(at), err=True)


def answered() -> str:
    """`y`, `n`, `q`, or a sentence."""
    try:
        said = str(click.prompt(f"Accept? {ANSWERS}", err=True)).strip()
    except click.Abort:
        return "q"
    short = said.lower()
    return short[0] if short in ("y", "yes", "n", "no", "q", "quit") else said
