"""`pdoctor policies`: check a policy file, load it into a collector, draft one from good runs.

What a collector has already is in `stored_policies`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from collector.cli.console import (
    Exit,
    clear_errors,
    collector_option,
    json_option,
    told_of,
    warning,
    write_json,
)
from collector.cli.runfiles import runs_in
from collector.cli.stored_policies import COMMANDS
from synth.client import Collector
from synth.counted import counted
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.observed.run import Run
    from synth.policies import Policy, PolicySet


@click.group("policies")
def command() -> None:
    """Check, draft and load policies for production runs, and look at those in use."""


for stored in COMMANDS:
    command.add_command(stored)


@command.command("lint")
@click.argument("file")
@click.option("--tool", "tools", multiple=True, help="A tool that exists; repeat for more.")
@click.option(
    "--seen",
    "sources",
    multiple=True,
    metavar="RUNS",
    help="Runs, as for `pdoctor check`: are the tools those that they show? Repeat for more.",
)
@click.option("--guard", "guards", is_flag=True, help="Also look for traps and shadowed rules of a guard.")
@json_option
def lint(file: str, tools: tuple[str, ...], sources: tuple[str, ...], guards: bool, as_json: bool) -> None:
    """Prove the policies of FILE consistent, or print the minimal conflict (exit code 1).

    Also names unknown tools and policies that can never apply. A tool that no run shows is a misspelt one
    where a tool of nearly that name was seen; otherwise it is a warning, which leaves the exit code alone.
    So is what is said of a sentence with `it` that compares no arguments (code `any_of_them`).
    So is advice to give provenance an `in:` where the runs have short values or numbers, which may stand
    somewhere in a result by chance.

    --guard: a trap is a short run of allowed calls after which a rule waits for a call that a guard refuses
    from then on (exit code 1); a shadowed rule refuses nothing that another one would not. Each is shown with
    the shortest example; rules on time, arguments and results are left out.

    A rule that nothing was found out about is named, with its kind and why: code `not_analysed`.
    """
    with clear_errors():
        from synth.policies import ByChance, all_tools_in, load_policies, names_of_runs
        from synth.policies.lint import lint as problems_of
        from synth.policies.lint import lint_guard, not_analysed, not_guarded

        policies = load_policies(Path(file))
        runs = (run for source in sources for run in runs_in(source))
        chance = ByChance(policies)
        watched = chance.watching(runs)
        names = names_of_runs(watched, all_tools_in(policies)) if sources else None
        while not chance.is_done and next(watched, None) is not None:
            pass
        problems = problems_of(policies, tools=tools or None, names=names, chance=chance)
        guarded = (*lint_guard(policies), *not_guarded(policies)) if guards else ()
        left_out = tuple(not_analysed(policies.policies))
        problems = (*problems, *guarded, *left_out)
        for problem in problems:
            if as_json:
                write_json(problem.to_json())
            else:
                click.echo(f"{file}:{problem.line or '-'}: {problem.code}: {problem.explanation}")
        wrong, count = any(not problem.is_warning for problem in problems), len(policies.policies)
        if not wrong and not as_json:
            among = f" among the other {count - len(left_out)}" if left_out else ""
            click.echo(f"{file}: {counted(count, 'policy')}, no contradiction{among}")
        raise SystemExit(Exit.FAILED if wrong else Exit.PASSED)


@command.command("explain")
@click.argument("file")
@json_option
def explain(file: str, as_json: bool) -> None:
    """Say of each policy of FILE what makes it apply, what breaks it, and which short runs keep and break it.

    The runs are made for the rule and judged by the checker; the shortest of each kind is shown.
    """
    with clear_errors():
        from synth.policies import load_policies
        from synth.policies.explain import explained

        policies = load_policies(Path(file))
        if not policies.policies:
            raise BadInput("no policy stands in it", file=file)
        for number, one in enumerate(explained(policies)):
            if as_json:
                write_json(one.to_json())
                continue
            click.echo("\n".join(filter(None, ["" if not number else " ", *one.lines()])))


@command.command("push")
@click.argument("file")
@collector_option
@click.option("--name", default=None, help="What the collector calls the file; default: its file name.")
def push(file: str, url: str, name: str | None) -> None:
    """Load the policies of FILE into a running collector; a new version of a known name replaces it."""
    with clear_errors():
        from synth.policies import load_policies

        policies = load_policies(Path(file))
        named = {"name": name or Path(file).stem, "text": policies.source}
        with Collector(url) as collector:
            stored = collector.post("/policies", named)
            others = said_twice(collector, stored["name"], policies)
        held = counted(len(policies.policies), "policy")
        click.echo(f"{held} stored as {stored['name']}, version {stored['version']}")
        for unseen in stored["warnings"]:
            click.echo(warning(unseen["policies"], unseen["explanation"]))
        for other, ids in others:
            click.echo(warning(ids, f"{other} says the same: what breaks it is found twice. {again(other)}"))


def again(name: str) -> str:
    return f"`pdoctor policies rm {name}` switches it off."


def said_twice(collector: Collector, name: str, policies: PolicySet) -> list[tuple[str, list[str]]]:
    """Other files in use that state rules of this one, each with the ids of those here."""
    from collector.judging.policies import read_policies

    here = {key: policy.id for policy in policies.policies if (key := meaning(policy)) is not None}
    found = []
    for item in collector.get("/policies")["items"]:
        with suppress(BadInput):
            there = set(map(meaning, read_policies(item["name"], item["text"]).policies))
            if item["name"] != name and (both := [here[key] for key in here if key in there]):
                found.append((item["name"], both))
    return found


def meaning(policy: Policy) -> tuple[str, tuple[str, ...]] | None:
    """What two policies that say the same have in common; None where nothing tells."""
    return (policy.sentence, policy.named_tools) if policy.sentence else None


@command.command("draft")
@click.option(
    "--from-runs",
    "sources",
    multiple=True,
    required=True,
    metavar="FILE|URL",
    help="Good runs: a file as for `pdoctor check`, or a collector (what failed nothing there); repeatable.",
)
@click.option(
    "--min-support",
    type=click.IntRange(3),
    default=3,
    show_default=True,
    metavar="N",
    help="Runs in which a rule must have mattered.",
)
@click.option(
    "--min-surprise",
    type=click.FloatRange(0),
    default=None,
    metavar="BITS",
    help="How unlikely by chance; default: beyond the luck of the best of all rules tried.",
)
@click.option("--top", type=click.IntRange(1, 1000), default=20, show_default=True, help="Rules at most.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where the policy file goes.")
@json_option
def draft(
    sources: tuple[str, ...],
    min_support: int,
    min_surprise: float | None,
    top: int,
    output: str,
    as_json: bool,
) -> None:
    """Propose rules that every given run keeps, as a policy file: order, counts, sums, times, equal fields.

    They are hypotheses for a person to review: each says in how many runs it mattered, how unlikely it is
    by chance, and how many changed copies of runs would break it; a limit says what it leaves beyond the
    largest that was seen. No limit is learned from fewer than 20 runs. Hours and days are those of UTC.
    """
    with clear_errors():
        from synth.policies.draft import draft as drafted

        runs = [run for source in sources for run in good_runs(source)]
        if not runs:
            raise BadInput(f"no run that ended well in {', '.join(sources)}: there is nothing to learn from")
        found = drafted(
            runs, min_support=min_support, min_surprise=min_surprise, top=top, origin=", ".join(sources)
        )
        if not found.rules:
            click.echo(
                f"pdoctor: no rule stands out in {len(runs)} runs ({found.candidates} tried): "
                "give more runs, or lower --min-support or --min-surprise",
                err=True,
            )
        if as_json:
            write_json(found.to_json())
        elif output == "-":
            click.echo(found.text, nl=False)
        else:
            Path(output).write_text(found.text, encoding="utf-8")
            click.echo(f"{len(found.rules)} rules written to {output}; review them before use", err=True)


MOST_RUNS = 5_000
"""Runs of one source that are learned from."""


def good_runs(source: str) -> Iterator[Run]:
    """Runs that ended well: those of a file, or of a collector those that failed no case and no policy."""
    found = collected(source) if source.startswith(("http://", "https://")) else runs_in(source)
    read = told_of(found, f"runs of {source} read")
    good = (run for run in read if run.status == "ok" and run.trouble is None and not run.problems)
    yield from islice(good, MOST_RUNS)


def collected(url: str) -> Iterator[Run]:
    from synth.observed.run import run_from_json

    with Collector(url) as collector:
        for item in collector.pages("/runs", limit=200):
            if item["complete"] and item["outcome"] in ("pass", None):
                said = collector.record(item["id"])
                yield run_from_json({**said, "status": said.get("status", "ok")})
