"""The shipped topics, and what a topic must be."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from synth.cases.generate import Options, generate
from synth.cases.topics import Topic, activity, find_topic, shipped_topics, topic_from_table, topics_in
from synth.errors import BadInput
from synth.language.words import needs_quotes

TOPICS = shipped_topics()


def by_job(topic: Topic) -> str:
    return topic.job


def test_there_are_enough_jobs_in_several_industries():
    assert len(TOPICS) >= 50
    assert len({topic.job for topic in TOPICS}) == len(TOPICS)
    assert all(count >= 5 for count in Counter(topic.industry for topic in TOPICS).values())


@pytest.mark.parametrize("topic", TOPICS, ids=by_job)
def test_every_topic_has_twenty_plain_activities(topic: Topic):
    assert len(topic.activities) == len(set(topic.activities)) == 20
    assert [phrase for phrase in topic.activities if needs_quotes(phrase) or phrase.startswith("the ")] == []
    assert [phrase for phrase in topic.activities if len(phrase.split()) > 4] == []


@pytest.mark.parametrize("topic", TOPICS, ids=by_job)
def test_a_dropped_word_never_makes_another_activity(topic: Topic):
    words = [set(phrase.split()) for phrase in topic.activities]
    assert [(a, b) for a, b in combinations(words, 2) if a <= b or b <= a] == []


@pytest.mark.parametrize("topic", TOPICS, ids=by_job)
def test_every_topic_marks_natural_pairs(topic: Topic):
    assert len(topic.natural_order) >= 4
    assert len(topic.natural_order) < 190, "a total order would leave nothing to plan"


def test_activities_of_an_industry_differ():
    for industry in {topic.industry for topic in TOPICS}:
        tools = Counter(
            activity(1, phrase).tool
            for topic in TOPICS
            if topic.industry == industry
            for phrase in topic.activities
        )
        assert [tool for tool, count in tools.items() if count > 1] == []


def test_the_tool_and_its_description_follow_from_the_phrase():
    action = activity(3, "thank-you letter")
    assert (action.id, action.phrase, action.tool) == ("a3", "the thank-you letter", "thank_you_letter")
    assert action.description == "Carries out the thank-you letter."


@pytest.mark.parametrize(
    ("job", "role"),
    [
        ("baker", "a baker"),
        ("electrician", "an electrician"),
        ("university lecturer", "a university lecturer"),
    ],
)
def test_the_role_has_its_article(job: str, role: str):
    assert find_topic(job).role == role


def test_topics_are_found_whatever_the_case_and_suggested_when_misspelled():
    assert find_topic(" Baker ").job == "baker"
    with pytest.raises(BadInput, match="no topic 'bekr'; did you mean baker"):
        find_topic("bekr")
    with pytest.raises(BadInput, match="no topic 'zzz'; known are baker, restaurant chef"):
        find_topic("zzz")


def table(**values: object) -> dict[str, object]:
    return {"job": "clerk", "industry": "office", "activities": ["mail sorting", "desk tidying"], **values}


def test_natural_order_is_transitively_closed():
    names = ["a x", "b x", "c x"]
    topic = topic_from_table(table(activities=names, natural_order=[["a x", "b x"], ["b x", "c x"]]))
    assert topic.natural_order == ((0, 1), (0, 2), (1, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"job": ""}, "needs a job"),
        ({"activities": "mail"}, "needs a list of activities"),
        ({"activities": ["mail", "Mail"]}, "read the same"),
        ({"activities": ["mail run", "mail-run"]}, "would both be the tool 'mail_run'"),
        ({"activities": ["日本語"]}, "no tool name can be made"),
        ({"activities": ['"quoted"']}, "quotation mark"),
        ({"natural_order": [["mail sorting", "lunch"]]}, "not a pair of its activities"),
        (
            {"natural_order": [["mail sorting", "desk tidying"], ["desk tidying", "mail sorting"]]},
            "has a cycle",
        ),
    ],
)
def test_unusable_topics_are_refused(change: dict[str, object], message: str):
    with pytest.raises(BadInput, match=message):
        topic_from_table(table(**change))


OWN = """
[[topic]]
job = "diver"
industry = "sport"
activities = ["tank filling", "boat launch", "depth check"]

[[topic]]
job = "swimmer"
industry = "sport"
activities = ["lane booking", "cap purchase", "depth test"]
"""


def test_topics_of_a_file_are_drawn_and_joined_within_it(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    drawn = list(generate(20, 1, Options(actions=(2, 3), topic=str(path)), confirm=False))
    assert {case.topic for case in drawn} == {"diver", "swimmer"}
    (one,) = generate(1, 1, Options(actions=(2, 2), topic=f"{path}:Diver"), confirm=False)
    assert one.topic == "diver"
    (joined,) = generate(1, 1, Options(actions=(6, 6), topic=str(path)), confirm=False)
    assert joined.topic in ("diver, swimmer", "swimmer, diver")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[topic]", "own.toml: not TOML"),
        ("", "at least one"),
        ("topic = 3", "at least one"),
        ("topic = [3]", "a topic is a table"),
        ('[[topic]]\njob = "x"', "own.toml, field activities: topic 'x' needs a list of activities"),
    ],
)
def test_an_unusable_file_of_topics_is_refused(content: str, message: str, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(BadInput, match=message):
        topics_in(path)
    with pytest.raises(BadInput, match="cannot read the topics"):
        topics_in(tmp_path / "absent.toml")
