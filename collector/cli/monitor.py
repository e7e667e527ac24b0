"""`pdoctor monitor`: a sequence of events against a behaviour specification."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import click

from collector.cli.console import Exit, clear_errors, json_option, plain, table, text_in, write_json
from synth.errors import BadInput


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
        from synth.agents.specifications import monitor_named

        monitor = monitor_named(spec)
        if diagram is not None:
            from synth.formal.diagram import svg_of

            Path(diagram).write_text(svg_of(monitor), encoding="utf-8")
            return
        text, where = text_in(events)
        try:
            names = states_of(text, monitor) if transcript else events_in(text, monitor)
        except BadInput as bad:
            raise bad.at(file=where) from None
        course = monitor.follow(names)
        if as_json:
            write_json(course_json(names, course))
        else:
            rows = [
                [i, name, verdict]
                for i, (name, verdict) in enumerate(zip(names, course.verdicts, strict=True))
            ]
            click.echo(table(["event", "state", "verdict"], rows))
            click.echo(conclusion(course) + unknown(names, course, monitor))
        raise SystemExit(exit_code(course))


def states_of(text: str, monitor: Any) -> list[str]:
    """The states of an agent's text."""
    from synth.agents.decoding import states_in

    if not monitor.specification.states:
        raise BadInput("the specification has no prompts to split the text at: it needs :states")
    return states_in(text, monitor.specification.states)


def events_in(text: str, monitor: Any) -> list[str]:
    if text.lstrip().startswith(("[", "{")):
        begun = next((one.prompt for one in monitor.specification.states if one.prompt in text), None)
        from synth.observed.lines import parse_json

        try:
            said = parse_json(text)
        except BadInput:
            if begun is None:
                raise
            raise BadInput(f"a text with prompts such as {begun}: follow it with --transcript") from None
        if not isinstance(said, list) or not all(isinstance(event, str) for event in said):
            raise BadInput("expected one state a line, or a JSON list of them")
        return said
    return [line.strip() for line in text.splitlines() if line.strip()]


def unknown(names: list[str], course: Any, monitor: Any) -> str:
    """Of an event at which the sequence breaks: that it is no state at all, and which was meant."""
    states = [state.name for state in monitor.specification.states]
    if course.violated_at is None or not states or (name := names[course.violated_at]) in states:
        return ""
    near = difflib.get_close_matches(name, states, 1)
    return f"; no state is called {plain(name)!r}" + (f"; did you mean {near[0]}?" if near else "")


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
