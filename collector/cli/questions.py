"""`pdoctor questions`: agents at GSM8K, HotpotQA and TriviaQA, and the tables of their accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import (
    Exit,
    clear_errors,
    json_option,
    plain,
    progress,
    table,
    terminal_width,
    write_json,
)  # fmt: skip
from collector.cli.driving import NO_KEY, POSITIVE, Setup, resumable, several, temperature
from collector.cli.spending import Money, money_options
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.experiments.asking import Asked, Job
    from synth.experiments.money import Planned, Purse
    from synth.experiments.tables import Table
    from synth.questions import Question


@click.command("questions")
@click.argument("sets", nargs=-1, required=True, metavar="SET=FILE...")
@click.option(
    "--agent", "agents", metavar="AGENTS",
    help="As `pdoctor test` takes them, with commas between.  [default: those of the paper's tables]",
)  # fmt: skip
@click.option(
    "--corpus", type=click.Path(path_type=Path), help="Your pages: a folder, or a .jsonl, .txt or .md file."
)
@click.option(
    "--questions",
    "count",
    default="20",
    show_default=True,
    metavar="COUNT|all",
    help="Of each set, at random.",
)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--examples",
    type=click.IntRange(0, 3),
    default=2,
    show_default=True,
    help="Worked examples of our own in the prompts of spec: agents.",
)
@click.option("--model", default=None, help="Default: simulated-perfect, or gpt-4o-mini with a key.")
@click.option("--base-url", default=None, metavar="URL", help="OpenAI-compatible endpoint.")
@click.option("--temperature", callback=temperature, default="0", show_default=True, metavar="NUMBER|none")
@click.option("--parallel", type=click.IntRange(1, 64), default=2, show_default=True, help="Agent processes.")
@click.option(
    "--agent-timeout",
    type=click.FloatRange(0.1),
    default=180.0,
    show_default=True,
    help="Seconds per question.",
)
@click.option("--max-iterations", type=POSITIVE, default=50, show_default=True, help="Model answers per try.")
@click.option("--collector", "url", metavar="URL", default=None, help="Where agents are traced, if anywhere.")
@click.option("--journal", metavar="FILE", default=None, help="Keep answers here; the same file resumes.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write an HTML report with diagrams.")
@money_options
@json_option
def command(
    sets: tuple[str, ...], agents: str | None, corpus: Path | None, count: str, seed: int, examples: int,
    model: str | None, base_url: str | None, temperature: float | None, parallel: int, agent_timeout: float,
    max_iterations: int, url: str | None, journal: str | None, output: Path | None, as_json: bool,
    **settings: Any,
) -> None:  # fmt: skip
    """Ask agents the questions of your copies of data sets, and print how many answers were right.

    SET is gsm8k (JSON lines), hotpotqa or triviaqa (JSON). Agents have a Calculator for gsm8k, Search and
    Lookup over --corpus for the others. Without --agent the tables of Crouse et al. (arXiv 2310.08535) are
    filled, on the model that is given. Exit code 0: every question was answered or came to no answer; 2: bad
    input, or the model's endpoint failed.

    Example: pdoctor questions gsm8k=test.jsonl hotpotqa=hotpot_dev_fullwiki_v1.json --corpus wiki/
    """
    from synth.experiments.asking import METHODS, ask_all, questions_report, ran_on

    with clear_errors(), ExitStack() as stack:
        setup = Setup(model, base_url, temperature, parallel, agent_timeout, max_iterations, url, 0)
        setup.check_model()
        subjects = several(agents) if agents else tuple(METHODS)
        check_specifications(subjects)
        names = [said.partition("=")[0] for said in sets]
        if len(set(names)) < len(names):
            raise BadInput(f"each data set can be given once, got {', '.join(names)}")
        questions = [one for said in sets for one in drawn(said, count, seed)]
        check_corpus(questions, corpus, subjects)
        head = {
            "questions": fingerprint(questions), "corpus": corpus and str(corpus.absolute()),
            "temperature": temperature, "max_iterations": max_iterations, "examples": examples,
        }  # fmt: skip
        kept = stack.enter_context(opened(journal, head))
        money = Money.take(settings)
        planned = planned_for(len(subjects) * len(questions), setup, len(kept.done), examples)
        paid = (one.paid for one in kept.made)
        purse = stack.enter_context(money.spending(planned, paid, "questions"))
        jobs, ask = stack.enter_context(asking(subjects, setup, questions, corpus, purse, examples))
        with resumable(journal), progress((), label="asking", length=len(jobs)) as bar:
            stopped = ask_all(jobs, ask, kept, parallel, lambda _: bar.update(1))
        wanted = {job.key for job in jobs}
        answers = [one for one in kept.records if one.key in wanted]
        report = questions_report(answers, money.prices, examples)
        if output:
            from synth.experiments.report import write_report

            for path in write_report(report, output):
                click.echo(f"written: {path}", err=True)
        if as_json:
            write_json({**report.to_json(), "answers": [one.to_json() for one in answers]})
        else:
            click.echo("\n\n".join(map(text_of, report.tables)))
            click.echo(f"\n{plain(ran_on(setup.models, examples))}")
        if stopped:
            raise BadInput(f"stopped: {stopped}")
        untested = sum(one.trouble is not None for one in answers)
        raise SystemExit(Exit.BAD_INPUT if untested else Exit.PASSED)


def drawn(said: str, count: str, seed: int) -> list[Question]:
    """Questions of `SET=FILE`."""
    from synth.questions import TOOLS, read_questions, sample

    data, equals, file = said.partition("=")
    if not equals or not file:
        raise BadInput(f"expected SET=FILE, as in gsm8k=test.jsonl, got {said!r} (sets: {', '.join(TOOLS)})")
    if count != "all" and not (count.isdecimal() and count.isascii() and int(count[:9]) > 0):
        raise BadInput(f"expected a count from 1 upward or all, got {count!r}", field="--questions")
    return sample(read_questions(data, Path(file)), None if count == "all" else int(count[:9]), seed)


def check_corpus(questions: Sequence[Question], corpus: Path | None, subjects: Sequence[str]) -> None:
    """What is missing or wrong is said before anybody is asked; so it is of specifications."""
    from synth.questions import read_corpus

    if corpus is not None:
        read_corpus(corpus)
        return
    without = {"spec:direct", "spec:chain_of_thought"}
    if any(one.data != "gsm8k" for one in questions) and not set(subjects) <= without:
        wanted = "Search and Lookup need your pages: give --corpus a folder of .txt and .md files or .jsonl"
        raise BadInput(f"{wanted}, or ask spec:direct and spec:chain_of_thought alone", field="--corpus")


def fingerprint(questions: Sequence[Question]) -> str:
    """Which questions they are, answers and all: a journal is of these alone."""
    said = "\0".join("\0".join((one.data, one.id, one.text, *one.answers)) for one in questions)
    return f"{len(questions)}, sha256 {sha256(said.encode('utf-8', 'replace')).hexdigest()[:16]}"


def opened(journal: str | None, head: dict[str, Any]) -> Any:
    from synth.experiments.asking import asked_from_json, without_content
    from synth.experiments.campaign import Journal

    return Journal(Path(journal) if journal else None, head, asked_from_json, without_content)


def planned_for(number: int, setup: Setup, done: int, examples: int) -> Iterator[Planned]:
    """So many questions of each model, but for those that were asked before."""
    from synth.experiments.money import Planned, most_of_question, of_question

    left = max(0, number - done // len(setup.models))
    for model in setup.models:
        most = most_of_question(setup.max_iterations, examples)
        yield Planned(model, left, of_question(examples), most)


@contextmanager
def asking(
    agents: Sequence[str],
    setup: Setup,
    questions: Sequence[Question],
    corpus: Path | None,
    purse: Purse,
    examples: int = 0,
) -> Iterator[tuple[list[Job], Callable[[Job], Asked]]]:
    """Every question for every agent and model, and the function that asks."""
    from synth.agents import Settings
    from synth.experiments.asking import AgentQuestions, Job, Subject
    from synth.simulated_model import SimulatedModel

    with (
        SimulatedModel(questions=questions) as simulated,
        AgentQuestions(setup.url, corpus, limit=setup.agent_timeout, purse=purse, examples=examples) as asked,
    ):

        def subject(agent: str, model: str) -> Subject:
            own = model.startswith("simulated-") and setup.base_url is None
            url, key = (simulated.base_url, NO_KEY) if own else (setup.base_url, setup.api_key)
            return Subject(agent, Settings(model, url, key, setup.temperature, setup.max_iterations))

        subjects = [subject(agent, model) for agent in agents for model in setup.models]
        yield [Job(one, question) for one in subjects for question in questions], asked.ask


def check_specifications(agents: Sequence[str]) -> None:
    from synth.agents.model import SPEC
    from synth.agents.specifications import monitors_of

    for name in agents:
        if name.startswith(SPEC):
            monitors_of(name.removeprefix(SPEC))


def text_of(one: Table) -> str:
    headers, *rows = [list(row) for row in (one.headers, *one.rows)]
    return "\n".join(
        filter(None, [one.title, table(headers, rows, width=max(160, terminal_width())), one.note])
    )
