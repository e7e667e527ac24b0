"""New topics from a model by two prompts, as in the paper but in our words: jobs, then activities of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import orjson

from synth.cases.topics import Topic, topic_from_table
from synth.errors import BadInput
from synth.llm.chat import Message, ask, assistant, user, without_fences

T = TypeVar("T")

JOBS_PROMPT = """\
List {count} different jobs from different industries. Answer with a JSON list of objects \
{{"job": "...", "industry": "..."}} in lower case, and nothing else."""

ACTIVITIES_PROMPT = """\
List {count} different activities that {job} carries out in a working day. Each is a noun phrase of two
or three words that reads well after "the", in the singular, for example "stock count" or "invoice
approval". Do not use the words and, before, after, once, which, while, but, yet. Answer with a JSON object
{{"activities": ["...", ...], "natural_order": [["first", "then"], ...]}}, where natural_order has the
pairs of these activities that can only be done in that order, and nothing else."""

_REPAIR = "That cannot be used: {error} Answer again, corrected, with the JSON only."
ATTEMPTS = 3
"""Answers of a model to one prompt, of which one must be usable."""


def write_topics(
    client: Any, model: str, *, jobs: int = 5, activities: int = 20, temperature: float | None = None
) -> Iterator[Topic]:
    """Topics proposed by a model and checked as strictly as the shipped ones, as they come.

    Raises BadInput when the model's answers stay unusable after being told why.
    """
    found = _asked(client, model, JOBS_PROMPT.format(count=jobs), _jobs, temperature)
    for job, industry in found[:jobs]:
        yield _asked(
            client,
            model,
            ACTIVITIES_PROMPT.format(count=activities, job=f"a {job}"),
            partial(_topic, job=job, industry=industry, count=activities),
            temperature,
        )


def topics_as_toml(topics: Iterable[Topic]) -> str:
    """The topics in the form of `topics.toml`."""
    return "\n".join(_toml(topic) for topic in topics)


def _asked(client: Any, model: str, prompt: str, read: Callable[[Any], T], temperature: float | None) -> T:
    messages: list[Message] = [user(prompt)]
    for _ in range(ATTEMPTS):
        text = ask(client, model, messages, temperature)
        try:
            return read(_json(text))
        except BadInput as error:
            last = error
            messages += [assistant(text), user(_REPAIR.format(error=error.message))]
    raise BadInput(f"the model's answer is unusable {ATTEMPTS} times: {last.message}") from last


def _json(text: str) -> Any:
    found = re.search(r"[\[{].*[\]}]", without_fences(text), re.DOTALL)
    try:
        return orjson.loads(found[0] if found else text)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"this is not JSON ({error}).") from None


def _jobs(value: Any) -> list[tuple[str, str]]:
    if not isinstance(value, list) or not value:
        raise BadInput("expected a JSON list of objects with job and industry.")
    jobs: dict[str, str] = {}
    for entry in value:
        if not isinstance(entry, dict) or not isinstance(entry.get("job"), str):
            raise BadInput(f"{entry!r} has no job.")
        jobs[entry["job"].strip()] = str(entry.get("industry", "other")).strip()
    return list(jobs.items())


def _topic(value: Any, job: str, industry: str, count: int) -> Topic:
    if not isinstance(value, dict):
        raise BadInput("expected a JSON object with activities.")
    topic = topic_from_table({**value, "job": job, "industry": industry})
    if len(topic.activities) != count:
        raise BadInput(f"there are {len(topic.activities)} activities, {count} were asked for.")
    return topic


def _toml(topic: Topic) -> str:
    def text(value: str) -> str:
        return orjson.dumps(value).decode()

    pairs = [(topic.activities[a], topic.activities[b]) for a, b in topic.natural_order]
    lines = ["[[topic]]", f"job = {text(topic.job)}", f"industry = {text(topic.industry)}"]
    lines += ["activities = [", *(f"  {text(phrase)}," for phrase in topic.activities), "]"]
    lines += ["natural_order = [", *(f"  [{text(a)}, {text(b)}]," for a, b in pairs), "]", ""]
    return "\n".join(lines)
