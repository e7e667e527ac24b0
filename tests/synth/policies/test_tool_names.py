"""Actions named by their tools, with words around the name, in each frame; and what is turned around."""

from __future__ import annotations

import json

import pytest

from synth.policies import load_policies
from synth.policies.meanings import demands_of

HEAD = """
actions:
  weigh parcel: weigh_parcel
  load truck: load_truck
  print label: print_label
policies:
"""
NAMED = (
    "{t}", "`{t}`", "the {t} tool", "the tool {t}", "a call to {t}", "any {t} call",
    "calling {t}",
    "the {p} action",
    "the {p} step", "a call of {p}", "{h}", "{c}", "{t}()", "'{p}'", "the action {p}", "using {t}",
    "running {p}",
    "calls to {t}", "{t} calls",
)  # fmt: skip
FRAMES = (
    ("{w} must happen before {l}", "weigh parcel must happen before load truck"),
    ("{l} needs {w} first", "weigh parcel must happen before load truck"),
    ("{l} only after {w}", "weigh parcel must happen before load truck"),
    ("{l} must be followed by {k}", "load truck must be followed by print label"),
    ("{l} must never happen after {k}", "load truck must never happen after print label"),
    ("{l} is not allowed after {k}", "load truck must never happen after print label"),
    ("{l} must happen at most 2 times", "load truck must happen at most 2 times"),
    ("{l}: at most 2", "load truck must happen at most 2 times"),
    ("{l} at most twice", "load truck must happen at most 2 times"),
    ("{l} only between 09:00 and 17:00", "load truck must happen between 09:00 and 17:00"),
    ("{l} and {k} must never both happen", "load truck and print label must never both happen"),
    ("If {l} fails, {k} must follow", "If load truck fails, print label must follow"),
    ("{l} must not happen more often than {k}", "load truck must not happen more often than print label"),
    ("{l} never more often than {k}", "load truck must not happen more often than print label"),
    ("Right before {l} comes {w}", "weigh parcel must happen immediately before load truck"),
    ("Right after {l} comes {k}", "load truck must be immediately followed by print label"),
    ("Before {l} comes {w}", "weigh parcel must happen before load truck"),
    ("{l} is forbidden", "load truck must never happen"),
)  # fmt: skip


def demands(sentence: str) -> str:
    text = f"{HEAD}  - id: P\n    rule: {json.dumps(sentence)}\n"
    return demands_of(load_policies(text).policies[0].rule)


def named(way: str, phrase: str) -> str:
    first, second = phrase.split()
    return way.format(t=f"{first}_{second}", p=phrase, h=f"{first}-{second}", c=f"{first}{second.title()}")


@pytest.mark.parametrize(("frame", "canonical"), FRAMES)
def test_an_action_may_be_named_in_many_ways_in_each_frame(frame: str, canonical: str) -> None:
    for way in NAMED[len(frame) % 3 :: 3]:
        said = frame.format(
            w=named(way, "weigh parcel"), l=named(way, "load truck"), k=named(way, "print label")
        )
        assert demands(said) == demands(canonical), said


def test_words_around_a_name_are_no_arguments_and_no_row() -> None:
    twice = demands("load truck must happen at most 2 times")
    assert demands("The load_truck tool: at most 2") == twice
    assert demands("Running load truck at most twice") == twice


def test_a_tool_whose_name_is_a_verb_is_no_name_by_itself() -> None:
    head = "actions:\n  inspect aircraft: inspect\n  release aircraft: release_aircraft\npolicies:\n"
    said = "Before releasing the aircraft, inspect it."
    rule = load_policies(f"{head}  - {{id: P, rule: '{said}'}}\n").policies[0].rule
    assert "aircraft" in str(getattr(rule, "same", ()))
