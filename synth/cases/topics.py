"""Jobs, their activities, and the pairs of activities that have a natural order."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from synth.cases.case import Action
from synth.errors import BadInput
from synth.files import text_of
from synth.formal.order import Closure
from synth.language.lexer import Vocabulary
from synth.language.query import describe, tool_name


@dataclass(frozen=True, slots=True)
class Topic:
    """A job and what is done in it."""

    job: str
    industry: str
    activities: tuple[str, ...]
    """Noun phrases that read well after "the"."""
    natural_order: tuple[tuple[int, int], ...] = ()
    """Positions (first, then): common sense forbids the reverse. Transitively closed."""

    @property
    def role(self) -> str:
        """`a baker`, `an electrician`."""
        job = self.job.lower()
        vowel = job.startswith(tuple("aeiou")) and not job.startswith(("uni", "use", "eu", "one"))
        return f"{'an' if vowel else 'a'} {self.job}"


def activity(number: int, phrase: str) -> Action:
    """The action `a{number}` for an activity of a topic."""
    named = f"the {phrase}"
    return Action(f"a{number}", named, tool_name(phrase), describe(named))


def topics_in(path: Path) -> tuple[Topic, ...]:
    """The topics of a file in the form of the shipped one (`pdoctor topics generate` writes it)."""
    try:
        tables = tomllib.loads(text_of(path, what="the topics")).get("topic")
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"not TOML: {error}", file=str(path)) from None
    if not isinstance(tables, list) or not tables:
        raise BadInput("expected at least one [[topic]] table", file=str(path), field="topic")
    try:
        return tuple(topic_from_table(table) for table in tables)
    except BadInput as error:
        raise error.at(file=str(path)) from None


def topics_called(name: str) -> tuple[Topic, ...]:
    """The topic of a job, the topics of a file, or `FILE.toml:job`."""
    path, ending, job = name.partition(".toml")
    if not ending:
        return (find_topic(name),)
    topics = topics_in(Path(f"{path}{ending}"))
    return (find_topic(job.removeprefix(":"), topics),) if job else topics


@cache
def shipped_topics() -> tuple[Topic, ...]:
    """The topics that come with the package."""
    text = files("synth").joinpath("cases/topics.toml").read_text(encoding="utf-8")
    return tuple(topic_from_table(table) for table in tomllib.loads(text)["topic"])


def find_topic(job: str, topics: Sequence[Topic] | None = None) -> Topic:
    """The topic of that name; BadInput with the nearest names if there is none."""
    topics = shipped_topics() if topics is None else topics
    wanted = job.casefold().strip()
    for topic in topics:
        if topic.job.casefold() == wanted:
            return topic
    from difflib import get_close_matches

    near = get_close_matches(wanted, [topic.job for topic in topics], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(t.job for t in topics)}"
    raise BadInput(f"there is no topic {job!r}; {hint}", field="topic")


def topic_from_table(table: Mapping[str, Any]) -> Topic:
    """A topic from its TOML or JSON table, checked; BadInput says what is wrong with which activity."""
    if not isinstance(table, Mapping):
        raise BadInput(f"a topic is a table with job and activities, got {table!r}", field="topic")
    job = table.get("job")
    if not isinstance(job, str) or not job.strip():
        raise BadInput(f"a topic needs a job (text), got {job!r}", field="job")
    activities = table.get("activities")
    if not isinstance(activities, list) or not all(isinstance(phrase, str) for phrase in activities):
        raise BadInput(f"topic {job!r} needs a list of activities (texts)", field="activities")
    _check_names(job, activities)
    pairs = [_positions(job, activities, pair) for pair in table.get("natural_order", [])]
    try:
        natural = Closure(len(activities), pairs)
    except ValueError as cycle:
        raise BadInput(
            f"the natural order of topic {job!r} has a cycle: {cycle}", field="natural_order"
        ) from None
    return Topic(job, str(table.get("industry", "other")), tuple(activities), tuple(natural.edges()))


def _check_names(job: str, activities: Sequence[str]) -> None:
    actions = [activity(number, phrase) for number, phrase in enumerate(activities, 1)]
    try:
        Vocabulary(actions)
    except BadInput as error:
        raise BadInput(f"topic {job!r}: {error.message}", field="activities") from None
    tools: dict[str, str] = {}
    for action in actions:
        if not action.tool:
            raise BadInput(
                f"topic {job!r}: no tool name can be made from {action.phrase!r}; use Latin letters",
                field="activities",
            )
        if action.tool in tools:
            raise BadInput(
                f"topic {job!r}: {action.phrase!r} and {tools[action.tool]!r} would both be the tool "
                f"{action.tool!r}; rename one of them",
                field="activities",
            )
        tools[action.tool] = action.phrase


def _positions(job: str, activities: Sequence[str], pair: Any) -> tuple[int, int]:
    if not isinstance(pair, list) or len(pair) != 2 or any(phrase not in activities for phrase in pair):
        raise BadInput(f"topic {job!r}: {pair!r} is not a pair of its activities", field="natural_order")
    return activities.index(pair[0]), activities.index(pair[1])
