"""`pdoctor topics`: the jobs that cases are drawn over, and new ones from a model."""

from __future__ import annotations

from typing import Any

import click

from collector.cli.console import clear_errors, json_option, table, write_json
from collector.cli.llm_options import Endpoint, model_options
from collector.cli.spending import until_spent

TOLD, TOKENS = 150, 20
"""Tokens, about: of a prompt; of an activity in an answer, with what comes before it."""


@click.group("topics")
def command() -> None:
    """List the shipped topics, or let a model propose new ones."""


@command.command("list")
@json_option
def list_topics(as_json: bool) -> None:
    """The shipped jobs with their industries."""
    with clear_errors():
        from synth.cases.topics import shipped_topics

        shipped = shipped_topics()
        if as_json:
            for topic in shipped:
                write_json(
                    {"job": topic.job, "industry": topic.industry, "activities": list(topic.activities)}
                )
            return
        rows = [[topic.job, topic.industry, len(topic.activities)] for topic in shipped]
        click.echo(table(["job", "industry", "activities"], rows))


@command.command("generate")
@click.option("--jobs", type=click.IntRange(1, 200), default=5, show_default=True)
@click.option("--activities", type=click.IntRange(2, 50), default=20, show_default=True, help="Per job.")
@model_options
def generate_topics(jobs: int, activities: int, **settings: Any) -> None:
    """Ask a model for jobs, then for the activities of each, by two prompts as the paper does but in words of
    our own; writes TOML, job by job."""
    with clear_errors():
        from synth.llm.topics import ATTEMPTS, topics_as_toml, write_topics

        written = TOKENS * activities
        with Endpoint.take(settings).asked(1 + jobs, TOLD, written, ATTEMPTS) as (client, name):
            topics = write_topics(client, name, jobs=jobs, activities=activities)
            for topic in until_spent(topics, f"of {jobs} jobs"):
                click.echo(topics_as_toml([topic]))
