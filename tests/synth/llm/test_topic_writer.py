"""Topics from a model are checked as strictly as the shipped ones."""

from __future__ import annotations

import tomllib

import orjson
import pytest

from synth.cases.topics import topic_from_table
from synth.errors import BadInput
from synth.llm.topics import topics_as_toml, write_topics
from tests.support.scripted_model import in_turn, serving

JOBS = '[{"job": "beekeeper", "industry": "agriculture"}, {"job": "diver", "industry": "sport"}]'
BEES = {"activities": ["hive check", "jar order"], "natural_order": [["hive check", "jar order"]]}
DIVES = {"activities": ["tank filling", "boat launch"]}


def text(value: object) -> str:
    return orjson.dumps(value).decode()


def test_jobs_then_activities():
    script = in_turn(JOBS, f"Here you are:\n```json\n{text(BEES)}\n```", text(DIVES))
    with serving(script) as client:
        topics = list(write_topics(client, "scripted", jobs=2, activities=2))
    assert [(t.job, t.industry, t.activities, t.natural_order) for t in topics] == [
        ("beekeeper", "agriculture", ("hive check", "jar order"), ((0, 1),)),
        ("diver", "sport", ("tank filling", "boat launch"), ()),
    ]
    assert "List 2 different jobs" in script.asked[0][-1]["content"]
    assert "that a diver carries out" in script.asked[2][-1]["content"]


def test_they_can_be_stored_and_read_again():
    with serving(in_turn(JOBS, text(BEES), text(DIVES))) as client:
        topics = list(write_topics(client, "scripted", jobs=2, activities=2))
    tables = tomllib.loads(topics_as_toml(topics))["topic"]
    assert [topic_from_table(table) for table in tables] == topics


def test_an_unusable_answer_is_sent_back_with_the_reason():
    bad = {"activities": ["mail run", "mail-run"]}
    script = in_turn(JOBS, "no", text(bad), text(BEES), text(DIVES))
    with serving(script) as client:
        list(write_topics(client, "scripted", jobs=2, activities=2))
    assert "not JSON" in script.asked[2][-1]["content"]
    assert "would both be the tool 'mail_run'" in script.asked[3][-1]["content"]


def test_three_unusable_answers_are_enough():
    short = {"activities": ["hive check"]}
    with (
        serving(in_turn(JOBS, text(short), text(short), text(short))) as client,
        pytest.raises(BadInput, match="unusable 3 times: there are 1 activities, 2 were asked for"),
    ):
        list(write_topics(client, "scripted", jobs=2, activities=2))


@pytest.mark.parametrize("answer", ["[]", "{}", "[3]", '[{"industry": "x"}]'])
def test_jobs_must_be_jobs(answer: str):
    with (
        serving(in_turn(answer, answer, answer)) as client,
        pytest.raises(BadInput, match="unusable 3 times"),
    ):
        list(write_topics(client, "scripted", jobs=1))
