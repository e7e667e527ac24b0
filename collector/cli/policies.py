"""`pdoctor policies`: check a policy file, load it into a collector, draft one from good runs."""

from __future__ import annotations

from pathlib import Path

import click

from collector.cli.client import Collector, collector_option
from collector.cli.console import Exit, clear_errors, json_option, write_json


@click.group("policies")
def command() -> None:
    """Check and load policies for production runs: lint, push."""


@command.command("lint")
@click.argument("file")
@click.option("--tool", "tools", multiple=True, help="A tool that exists; repeat for more.")
@json_option
def lint(file: str, tools: tuple[str, ...], as_json: bool) -> None:
    """Prove the policies of FILE consistent, or print the minimal conflict (exit code 1).

    Also names unknown tools and policies that can never apply.
    """
    with clear_errors():
        from synth.policies import load_policies
        from synth.policies.lint import lint as problems_of

        policies = load_policies(Path(file))
        problems = problems_of(policies, tools=tools or None)
        for problem in problems:
            if as_json:
                write_json(problem.to_json())
            else:
                click.echo(f"{file}:{problem.line or '-'}: {problem.code}: {problem.explanation}")
        if not problems and not as_json:
            click.echo(f"{file}: {len(policies.policies)} policies, no contradiction")
        raise SystemExit(Exit.FAILED if problems else Exit.PASSED)


@command.command("push")
@click.argument("file")
@collector_option
@click.option("--name", default=None, help="What the collector calls the file; default: its file name.")
def push(file: str, url: str, name: str | None) -> None:
    """Load the policies of FILE into a running collector; a new version of a known name replaces it."""
    with clear_errors():
        from synth.policies import load_policies

        policies = load_policies(Path(file))
        stored = Collector(url).post(
            "/policies", {"name": name or Path(file).stem, "text": Path(file).read_text(encoding="utf-8")}
        )
        click.echo(
            f"{len(policies.policies)} policies stored as {stored['name']}, version {stored['version']}"
        )
