"""Limits that a sentence speaks of as such, what lies beyond one, what each run has at least; composed."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = (
    "print label",
    "open incident",
    "issue refund",
    "transfer money",
    "send reminder",
    "run query",
    "restart pump",
)
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in PHRASES})
LABELS = ("print label", "print labels", "printing labels", "label", "labels", "order")
INCIDENTS = ("open incident", "open incidents", "opening incidents", "incident", "incidents", "service")
MOST = (
    "at most three", "at the very most three", "no more than three (3)", "not exceeding 3", "<= 3", "up to 3",
    "no more than a total of three",
)  # fmt: skip
OVER_MANY = ("more than three", "in excess of three", "any more than three", "over three", "four or more")
OVER_OFTEN = ("more than three times", "in excess of three times", "a fourth time", "four or more times")
OVER = {
    "": ("", "per run", "in the course of a run", "throughout a run", "over any given run"),
    "with the same {f}": (
        "per {f}", "for each individual {f}", "per distinct {f}", "for every single {f}",
        "for any particular {f}",
        "for each and every {f}", "for each {f} separately", "per value of {f}", "per {f} and run",
    ),
    "within 1 hour": (
        "within the space of an "
        "hour", "in any given hour", "inside one hour", "in any 60 consecutive minutes",
        "per hour (rolling)", "in less than an hour",
    ),
    "per calendar day": ("over a calendar day", "on any single calendar day", "per calendar date"),
}  # fmt: skip
LIMITS = (
    "{one} cap {over}: 3",
    "{one} count {over} must not exceed three",
    "{ones}: limited to 3 {over}",
    "the limit is three {ones} {over}",
    "there is a limit of three {ones} {over}",
    "a cap of three {ones} {over} applies",
    "three {ones} {over} is the most",
    "the agent is limited to three {ones} {over}",
    "the agent gets {most} {ones} {over}",
    "we want {most} {ones} {over}",
    "keep {ones} at or below three {over}",
    "{ones} happen {most} times {over}",
    "{most} times {over}, {do}",
)
EXCESSES = (
    "anything over three {ones} {over} is forbidden",
    "{many} {ones} {over} are too many",
    "no {ones} beyond the third {over}",
    "the fourth {one} {over} is forbidden",
    "we do not allow {many} {ones} {over}",
    "the agent is prohibited from {doing} {often} {over}",
    "under no circumstances may the agent {do} {often} {over}",
    "never {do} {often} {over}",
)
SUMS = (
    "{x} must not total more than 500", "the sum of all {x} is at most 500", "{x}: total max 500",
    "all {x} together must not exceed 500", "taken together, {x} must not exceed 500",
    "the total amount of all {x} must stay at or below 500", "{x} never add up to more than 500",
    "no more than 500 in {x} per run", "there is a budget of 500 for {x}", "keep total {x} within 500",
    "never exceed a total of 500 in {x}", "no {x} totalling more than 500", "{x} total 500 at most",
    "{x} are capped at 500 in total", "no run may have {x} of more than 500 in total",
    "make sure the total of all {x} does not exceed "
    "500", "the amounts of all {x}, added up, must not exceed 500",
)  # fmt: skip
LEAST = (
    "{least} are required", "there must be no run without {least}", "runs without {least} are not allowed",
    "never end a run without {least}", "it is forbidden to end a run without {least}",
    "before a run ends, {least} must have happened", "we require {least} per run",
    "{ones}: two or more per run", "the number of {ones} must not be less than two",
    "fewer than two {ones} are not acceptable", "the minimum number of {ones} per run is two",
)  # fmt: skip


def reading(sentence: str) -> str:
    said = demands_of(read_rule(" ".join(sentence.split()), NAMES, OURS))
    return said.replace(" in one run", "").replace(" of one run", "")


def said_so(frame: str, action: tuple[str, ...], over: str, nth: int = 0) -> str:
    _, do, doing, one, ones, field = action
    return frame.format(
        do=do, doing=doing, one=one, ones=ones, over=over.format(f=field), most=MOST[nth % len(MOST)],
        many=OVER_MANY[nth % len(OVER_MANY)], often=OVER_OFTEN[nth % len(OVER_OFTEN)],
    )  # fmt: skip


@pytest.mark.parametrize("meant", OVER)
@pytest.mark.parametrize("frame", [*LIMITS, *EXCESSES])
def test_a_limit_is_spoken_of(frame: str, meant: str) -> None:
    nth = (*LIMITS, *EXCESSES).index(frame)
    for k, action in enumerate((LABELS, INCIDENTS)):
        said = said_so(frame, action, OVER[meant][(nth + k) % len(OVER[meant])], nth + k)
        canonical = f"{action[0]} must happen at most 3 times {meant.format(f=action[-1])}"
        assert reading(said) == reading(canonical), said


@pytest.mark.parametrize("meant", OVER)
def test_each_word_for_what_a_limit_is_over(meant: str) -> None:
    for over in OVER[meant]:
        for frame in ("print labels at most three times {over}", "{many} {ones} {over} are not allowed"):
            canonical = f"print label must happen at most 3 times {meant.format(f='order')}"
            assert reading(said_so(frame, LABELS, over)) == reading(canonical), over


@pytest.mark.parametrize("frame", SUMS)
def test_what_amounts_come_to_in_each_frame(frame: str) -> None:
    for action, ones in (("issue refund", "refunds"), ("transfer money", "transfers")):
        for money in ("500", "500 EUR", "$500", "500 euros"):
            said = frame.format(x=ones).replace("500", money)
            assert reading(said) == reading(f"The sum of amount of {action} must be at most 500"), said


@pytest.mark.parametrize("frame", LEAST)
def test_what_each_run_has_at_least(frame: str) -> None:
    said = frame.format(least="at least two labels", ones="labels")
    assert reading(said) == reading("Print label must happen at least 2 times"), said


@pytest.mark.parametrize(
    ("said", "canonical"),
    [
        ("Each conversation gets at most three "
         "labels.", "Print label must happen at most 3 times per conversation"),
        ("Limit each order to three labels.", "Print label must happen at most 3 times with the same order"),
        ("one label per order, failed tries count "
         "too", "Print label must happen at most 1 time with the same order"),
        ("Total labels: max 3", "Print label must happen at most 3 times"),
        ("Refunds per order: 500 in total at "
         "most.", "The sum of amount of issue refund must be at most 500 with the same order"),
        ("Never call print label with more than three different "
         "order.", "Print label must happen with at most 3 different order"),
        ("The count of failed pump restarts must be 4 or less.", "Restart pump must fail at most 4 times"),
        ("Don't forget to print a label at least once.", "Print label must happen at least once"),
    ],
)  # fmt: skip
def test_what_else_is_said_of_limits(said: str, canonical: str) -> None:
    assert reading(said) == reading(canonical)


@pytest.mark.parametrize(
    "sentence",
    [
        "Label limit: 3",
        "Query limit is 3",
        "Labels beyond three are not allowed.",
        "Three labels are enough.",
        "Don't forget to print a label.",
        "Total refunds: max 3",
        "A run may only end with two labels.",
        "The amount of a refund must not reach more than 500 in total.",
        "The agent gets three labels.",
        "A fourth label may be printed.",
        "Labels are limited to 3 in the same hour.",
    ],
)
def test_what_may_be_another_limit_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        assert reading(sentence) == ""
