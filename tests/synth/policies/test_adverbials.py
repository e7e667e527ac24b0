"""Hours and days, runs as wholes, and sums, said in any place of a sentence: read, or refused with "
"what says it."""

from __future__ import annotations

import re

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

PHRASES = ("open the vault", "count cash", "pay a bill", "call the manager")
NAMES = Names({phrase: Tools(phrase, (phrase.split()[0],)) for phrase in PHRASES})
WITH_ANY = Names({**NAMES.actions, "any tool": Tools("any tool", ("*",))})


def reading(sentence: str, names: Names = NAMES) -> str:
    return demands_of(read_rule(sentence, names, OURS))


def refusal(sentence: str, names: Names = NAMES) -> str:
    with pytest.raises(BadInput) as caught:
        read_rule(sentence, names, OURS)
    return caught.value.message


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("On Sundays no bill may be paid.", "Pay a bill must never happen on Sundays."),
        ("Bills may be paid only from Tuesday to Saturday, 10:00 to 18:00.",
         "Pay a bill must happen on Tuesday to Saturday between 10:00 and 18:00."),
        ("Bills can't be paid on Mondays before 10:00.",
         "Pay a bill must never happen on Mondays before 10:00."),
        ("On Fridays after 3 pm the vault must not be opened.",
         "Open the vault must never happen on Fridays after 15:00."),
        ("The vault is never opened at weekends.", "Open the vault must never happen on weekends."),
        ("Bills may on Mondays and Fridays not be paid.", "Pay a bill must never happen on Mondays "
         "and Fridays."),
        (
            "Before 08:00 and after 20:00, opening the vault isn't allowed, whatever the day.",
            "Open the vault must happen after 08:00, and open the vault must happen before 20:00.",
        ),
        (
            "From 10 pm to 6 am the vault must not be opened.",
            "Open the vault must happen after 06:00, and open the vault must happen before 22:00.",
        ),
        ("After a bill has been paid, at least half an hour must pass before the vault is opened.",
         "Open the vault must never happen within 30 minutes after pay a bill."),
        ("Leave at least ten minutes between two openings of the vault.",
         "Open the vault must never happen within 10 minutes after open the vault."),
        ("During the first hour after a bill has been paid, the vault must not be opened.",
         "Open the vault must never happen within 1 hour after pay a bill."),
        ("Before the vault is opened, the manager must have been called no more than ten minutes earlier.",
         "Open the vault must start within 10 minutes after call the manager."),
        ("After the vault has been opened, the cash has to be counted before the run ends.",
         "Open the vault must be followed by count cash."),
        ("Paying bills more than three times in an hour is not acceptable.",
         "Pay a bill must happen at most 3 times within 1 hour."),
    ],
)  # fmt: skip
def test_a_sentence_is_read_as_it_is_meant(said: str, meant: str) -> None:
    assert reading(said) == reading(meant)


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ("The vault may be opened at most twice per run, and never at weekends.",
         ["Open the vault must happen at most 2 times per run", "Open the vault must never happen on "
         "weekends"]),
        ("No bill may be paid in a conversation in which the vault is opened.",
         ["Pay a bill must never happen after open the vault",
          "Open the vault must never happen after pay a bill"]),
        ("A run that pays a bill must also count cash.",
         ["Count cash must happen before pay a bill", "Pay a bill must be followed by count cash"]),
    ],
)  # fmt: skip
def test_what_takes_two_rules_or_has_none_is_refused_with_those_that_come_near(
    said: str, rules: list[str]
) -> None:
    message = refusal(said)
    assert re.findall(r"'([A-Z][^']+ must [^']+)'", message) == rules
    assert all(reading(rule) for rule in rules)


def test_bounds_of_a_run_stand_at_the_head_of_the_file() -> None:
    assert "'minutes: 30' under 'limits:'" in refusal("The whole run must be done within half an hour.")
    assert "'calls: 40' under 'limits:'" in refusal(
        "A run must not consist of more than 40 calls altogether."
    )


def test_the_first_call_of_a_run_needs_no_action_any_tool() -> None:
    first = "The first thing done in every run must be counting cash."
    assert reading(first) == reading("The first call must be count cash.")
    assert reading(
        "After a bill has been paid, no calls of any kind may follow in that run.", WITH_ANY
    ) == reading("Any tool must never happen after pay a bill.", WITH_ANY)


def test_a_sum_names_the_argument_that_is_added() -> None:
    message = refusal("In one run, the euros paid for any one customer may not come to more than 25.")
    assert "'The sum of args.euros of pay a bill must be at most 25 per run" in message
    assert "with the same customer'" in message
    paid = "The bills paid in one run must never add up to more than 100."
    assert reading(paid) == reading("The sum of args.amount of pay a bill must be at most 100 per run.")


def test_one_and_the_same_is_not_read_as_any() -> None:
    assert refusal("No bill may be paid during the first hour after that vault was opened.").endswith(
        "with the same FIELD'"
    )
