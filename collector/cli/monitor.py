"""`pdoctor monitor`: a sequence of events against a behaviour specification."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from collector.cli.console import Exit, clear_errors, json_option, table, write_json


@click.command("monitor")
@click.argument("spec")
@click.argument("events", default="-")
@click.option(
    "--transcript", is_flag=True, help="EVENTS is an agent's text, which is split at the prompts of SPEC."
)
@click.option("--diagram", metavar="FILE", help="Write SPEC as a state diagram (SVG) and follow nothing.")
@json_option
def command(spec: str, events: str, transcript: bool, diagram: str | None, as_json: bool) -> None:
    """Follow EVENTS (one state a line, or a JSON list; - is standard input) through SPEC.

    SPEC is a file, or one of the shipped specifications react, rewoo, reflexion, pass,
    chain_of_thought, direct. Recorded runs are judged by a policy with `behaviour: SPEC` (pdoctor check).
    Exit code 0: the sequence is complete; 1: violated; 3: incomplete.
    """
    with clear_errors():
        monitor = monitor_for(spec)
        if diagram is not None:
            from synth.formal.diagram import svg_of

            Path(diagram).write_text(svg_of(monitor), encoding="utf-8")
            return
        text = sys.stdin.read() if events == "-" else Path(events).read_text(encoding="utf-8")
        names = states_of(text, monitor) if transcript else events_in(text)
        course = monitor.follow(names)
        if as_json:
            write_json(course_json(names, course))
        else:
            rows = [
                [i, name, verdict]
                for i, (name, verdict) in enumerate(zip(names, course.verdicts, strict=True))
            ]
            click.echo(table(["event", "state", "verdict"], rows))
            click.echo(conclusion(course))
        raise SystemExit(exit_code(course))


def monitor_for(spec: str) -> Any:
    from synth.formal.monitor import SHIPPED, monitor_of, shipped

    if spec in SHIPPED:
        return shipped(spec)
    return monitor_of(Path(spec).read_text(encoding="utf-8"))


def states_of(text: str, monitor: Any) -> list[str]:
    """The states of an agent's text."""
    from synth.agents.decoding import states_in
    from synth.errors import BadInput

    if not monitor.specification.states:
        raise BadInput("the specification has no prompts to split the text at: it needs :states")
    return states_in(text, monitor.specification.states)


def events_in(text: str) -> list[str]:
    if text.lstrip().startswith("["):
        from synth.observed.lines import parse_json

        return [str(event) for event in parse_json(text)]
    return [line.strip() for line in text.splitlines() if line.strip()]


def course_json(names: list[str], course: Any) -> dict[str, Any]:
    return {
        "events": names,
        "verdicts": list(course.verdicts),
        "violated_at": course.violated_at,
        "complete": course.complete,
        "outcome": course.outcome,
        "allowed_next": list(course.allowed),
    }


def conclusion(course: Any) -> str:
    if course.violated_at is not None:
        return (
            f"violated at event {course.violated_at}; allowed there: {', '.join(course.allowed) or 'nothing'}"
        )
    if course.complete:
        return "complete"
    return f"incomplete; allowed next: {', '.join(course.allowed)}"


def exit_code(course: Any) -> Exit:
    if course.violated_at is not None:
        return Exit.FAILED
    return Exit.PASSED if course.complete else Exit.UNSETTLED
