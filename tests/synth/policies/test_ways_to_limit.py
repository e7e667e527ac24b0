"""One limit in all the ways to say it: each frame, each word for a number, each place of what it is over."""

from __future__ import annotations

from itertools import cycle

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = (
    "issue voucher", "cancel order", "restart service", "scale service", "send reminder", "order lab test",
    "view patient file", "refund customer", "write report", "book taxi", "page engineer",
)  # fmt: skip
NAMES = Names({phrase: Tools(phrase, (phrase,)) for phrase in PHRASES})
ORDINAL = {1: "second", 2: "third", 3: "fourth", 5: "sixth"}
WORDS = {1: "one", 2: "two", 3: "three", 5: "five"}
UP_TO = ("at most", "no more than", "not more than", "up to", "a maximum of")
BANNED = ("forbidden", "not allowed", "prohibited")
COUNTED = (
    ("issue voucher", "issue", "issuing", "issued", "voucher", "voucher", "customer"),
    ("cancel order", "cancel", "cancelling", "cancelled", "order", "cancellation", "customer"),
    ("restart service", "restart", "restarting", "restarted", "service", "service restart", "region"),
    ("send reminder", "send", "sending", "sent", "reminder", "reminder", "patient"),
    ("order lab test", "order", "ordering", "ordered", "lab test", "lab test", "patient"),
)
"""(action, verb, gerund, participle, object, what one of them is called, of what they are counted)"""
OVER = {
    "": ("",),
    "per run": ("per run", "in one run", "in any run"),
    "with the same {f}": ("per {f}", "for the same {f}", "for each {f}", "for any one {f}"),
    "within 1 hour": ("per hour", "within an hour", "in any rolling hour", "in any 60-minute window"),
    "per calendar day": ("per calendar day", "on any calendar day", "on the same calendar day"),
}
FRAMES = (
    "{verb} {most} {k} {objects} {over}",
    "{verb} {k} {objects} {over} at most",
    "never {verb} more than {k} {objects} {over}",
    "the agent must not {verb} more than {k} {objects} {over}",
    "the agent may {verb} {most} {k} {objects} {over}",
    "you can {verb} only {k} {objects} {over}",
    "no more than {k} {objects} may be {done} {over}",
    "at most {k} {objects} {are} {done} {over}",
    "make sure that no more than {k} {objects} {are} {done} {over}",
    "{doing} more than {k} {objects} {over} is {banned}",
    "it is {banned} to {verb} more than {k} {objects} {over}",
    "don't {verb} a {nth} {object} {over}",
    "a {nth} {object} must not be {done} {over}",
    "a {nth} {one} {over} is {banned}",
    "{ones}: max {n} {over}",
    "{most} {k} {some} {over}",
    "limit {ones} to {k} {over}",
    "{ones} are capped at {k} {over}",
    "{ones} must not exceed {k} {over}",
    "the number of {ones} {over} must not exceed {n}",
    "the maximum number of {ones} {over} is {n}",
    "there must not be more than {k} {some} {over}",
    "keep it to a maximum of {k} {some} {over}",
    "{k} {some} {over}, no more",
    "{k} {some} {over} {are} the maximum",
    "we allow {most} {k} {some} {over}",
    "more than {k} {some} {over} {are} {banned}",
)


def reading(sentence: str) -> str:
    return demands_of(read_rule(sentence, NAMES, OURS))


def said_so(frame: str, action: tuple[str, ...], number: int, over: str, nth: int) -> str:
    _, verb, doing, done, thing, one, field = action
    several = number > 1
    said = frame.format(
        verb=verb, doing=doing, done=done, object=thing, objects=f"{thing}s" if several else thing,
        one=one, ones=f"{one}s", some=f"{one}s" if several else one, k=WORDS[number], n=number,
        nth=ORDINAL[number], are="are" if several else "is", most=UP_TO[nth % len(UP_TO)],
        banned=BANNED[nth % len(BANNED)], over=over.format(f=field),
    )  # fmt: skip
    return " ".join(said.split()).replace(" ,", ",")


@pytest.mark.parametrize("meant", OVER)
@pytest.mark.parametrize("frame", FRAMES)
def test_a_limit_is_read_in_each_frame(frame: str, meant: str) -> None:
    numbers = cycle(ORDINAL)
    for nth, action in enumerate(COUNTED):
        number, over = next(numbers), OVER[meant][nth % len(OVER[meant])]
        canonical = f"{action[0]} must happen at most {number} times {meant.format(f=action[-1])}"
        said = said_so(frame, action, number, over, nth)
        assert reading(said) == reading(canonical.strip()), said


@pytest.mark.parametrize("in_front", ["In one run, ", "Within any 60 minutes, ", "On any calendar day, "])
@pytest.mark.parametrize("frame", [frame for frame in FRAMES if "{over}" in frame and ":" not in frame])
def test_what_it_is_over_may_stand_in_front(frame: str, in_front: str) -> None:
    said = said_so(frame, COUNTED[3], 2, "", 0)
    behind = {"I": "per run", "W": "within 1 hour", "O": "per calendar day"}[in_front[0]]
    assert reading(f"{in_front}{said}") == reading(f"send reminder must happen at most 2 times {behind}")


@pytest.mark.parametrize(
    "said",
    [
        "Each patient gets at most three reminders.",
        "No patient may receive more than three reminders.",
        "Every patient is entitled to three reminders at most.",
        "Never send any patient more than three reminders.",
        "Don't give the same patient a fourth reminder.",
        "Make sure no patient receives more than three reminders.",
        "No patient is sent more than three reminders.",
        "Reminders may be sent three times per patient at most.",
        "The agent can send reminders three times per patient, no more.",
        "Patients hate them, so send at most three reminders per patient.",
        "To avoid complaints, send no more than three reminders to the same patient.",
        "For privacy reasons, send each patient no more than three reminders.",
    ],
)
def test_who_gets_so_many_is_one_and_the_same(said: str) -> None:
    assert reading(said) == reading("Send reminder must happen at most 3 times with the same patient")


@pytest.mark.parametrize(
    "said",
    [
        "reports: min 1 per run",
        "The agent must write one or more reports per run.",
        "No run without a report.",
        "Never end a run without writing a report.",
        "Don't finish the run until a report has been written.",
        "The agent may not end the run unless it has written a report.",
        "A run may only end after a report was written.",
        "Writing a report is mandatory in every run.",
        "Make sure that every run writes a report.",
        "Writing no report at all is not allowed in a run.",
        "Each run needs at least one report.",
    ],
)
def test_what_each_run_must_have(said: str) -> None:
    canonical = "Write report must happen at least 1 time"
    assert reading(said) in (reading(canonical), reading(f"{canonical} per run"))


@pytest.mark.parametrize(
    "said",
    [
        "View the files of at most three different patients.",
        "Patient files may be viewed for no more than 3 different patients.",
        "patient files viewed: max 3 different patients",
        "No more than 3 distinct patients' files may be viewed.",
        "Viewing the file of a fourth different patient is not allowed.",
        "Limit patient file views to three distinct patients.",
        "The number of different patients whose file is viewed must not exceed three.",
        "Never view patient files of more than three different patients.",
        "The patient files viewed must belong to at most three different patients.",
        "File views: three different patients, no more",
        "View patient file may be called with up to three different patients, not more.",
    ],
)
def test_so_many_different_ones(said: str) -> None:
    assert reading(said) == reading("View patient file must happen with at most 3 different patient")


@pytest.mark.parametrize(
    "said",
    [
        "Refunds must not add up to more than 400.",
        "Refund no more than 400 in total.",
        "total refunds: max 400",
        "The sum of all refund amounts may not exceed 400.",
        "Never refund customers more than 400 in total.",
        "Refunding customers more than 400 in total is forbidden.",
        "Limit the total of all refunds to 400.",
        "Refunds are capped at a total of 400.",
        "Do not let the refund amounts sum to more than 400.",
        "Keep refunds within a total budget of 400.",
        "Customers may be refunded no more than 400 in total.",
        "Across all refunds, the amount shall not total more than 400.",
        "The agent must not issue refunds adding up to over 400.",
        "Cumulative refunds of more than 400 are not allowed.",
        "Refund amounts together must be at most 400.",
    ],
)
def test_what_amounts_come_to(said: str) -> None:
    assert reading(said) == reading("The sum of args.amount of refund customer must be at most 400")


@pytest.mark.parametrize(
    "sentence",
    [
        "Limit refunds to 30.",
        "Refunds must not exceed 400.",
        "Refund no more than 30 in total.",
        "A customer may receive two reminders.",
        "Booking three taxis is allowed.",
        "Send two reminders.",
        "Never send exactly two reminders.",
        "Do not limit reminders to three.",
        "At most two reminders or reports.",
        "Never end a run with a report.",
        "A run without a report is allowed.",
        "Every run may contain a report.",
        "Never end the run while a taxi is being booked.",
        "A second reminder may be sent if the first failed.",
        "View the files of three different patients.",
        "Services may be restarted at most twice.",
        "The customer was refunded, so send a reminder.",
        "Reports must never be written twice, so page the engineer.",
    ],
)
def test_what_may_mean_something_else_is_refused(sentence: str) -> None:
    with pytest.raises(BadInput):
        reading(sentence)


def test_a_second_one_is_no_time() -> None:
    with pytest.raises(BadInput) as refused:
        reading("A second reminder may be sent if the first failed")
    assert "a time lies between" not in refused.value.message
    assert reading("Never send reminder within a second after write report") == reading(
        "Send reminder must never happen within 1 second after write report"
    )
