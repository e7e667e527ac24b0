"""Who forbids or allows something, and how, beside every way to say when."""

from __future__ import annotations

import pytest

from tests.synth.policies.test_times_said import TIMES, read

BANS = (
    "Do not allow servers to be restarted {}.",
    "Do not permit server restarts {}.",
    "Block server restarts {}.",
    "Refuse to restart a server {}.",
    "The agent is not permitted to restart servers {}.",
    "The agent never restarts a server {}.",
    "Ensure that servers do not get restarted {}.",
    "Server restarts never happen {}.",
    "Server restarts are not possible {}.",
    "Server restarts: none {}.",
    "restart server: no {}",
    "It's forbidden to restart servers {}.",
)
ALLOWED = (
    "We only restart servers {}.",
    "The agent is only allowed to restart servers {}.",
    "Only allow server restarts {}.",
    "Allow server restarts only {}.",
    "Server restarts only happen {}.",
    "Server restarts happen only {}.",
    "Restarting a server is permitted exclusively {}.",
    "Server restarts are only open {}.",
    "The agent only restarts servers {}.",
)


@pytest.mark.parametrize(("rule", "banned", "allowed"), TIMES, ids=[rule for rule, _, _ in TIMES])
def test_every_time_is_read_in_every_mood(
    rule: str, banned: tuple[str, ...], allowed: tuple[str, ...]
) -> None:
    said = [frame.format(time) for time in banned for frame in BANS]
    said += [frame.format(time) for time in allowed for frame in ALLOWED]
    assert not [(one, found) for one in said if (found := read(one)) != read(rule)]


HOURS = "Restart server must happen between 09:00 and 17:00."
LATE = "Restart server must never happen after 18:00."
SUNDAYS = "Restart server must never happen on Sundays."
WEEKDAYS = "Restart server must happen on weekdays."
PAUSE = "Restart server must never happen within 20 minutes after restart server."
COOL = "Restart server must never happen within 30 minutes after publish listing."
ANSWER = "Freeze card must be followed by publish listing within 10 minutes."
LONG = "Restart server must take at most 5 minutes."
ADJACENT = "Run tests must happen immediately before deploy."
SAID: tuple[tuple[str, tuple[str, ...]], ...] = (
    (HOURS, (
        "restart server: 09:00-17:00",
        "restart server allowed 9:00-17:00 only",
        "Servers are restarted between 9:00 and 17:00, never outside those hours.",
        "Servers may be restarted between 9:00 and 17:00 but not before or after.",
    )),
    (LATE, (
        "Server restarts end at 18:00.",
        "Last server restart: 18:00",
        "Stop restarting servers at 6 pm.",
        "Once it is 18:00, servers may no longer be restarted.",
        "Servers can't be restarted any later than 18:00.",
    )),
    (SUNDAYS, (
        "Sunday restarts of servers are forbidden.",
        "Never on Sundays: restart server",
        "restart server: Sundays excluded",
        "Any day but Sunday is fine for restarting servers.",
        "No server restarts (on Sundays).",
    )),
    (WEEKDAYS, (
        "restart server: weekdays",
        "Only weekdays are allowed for restarting servers.",
        "Weekend restarts of servers are not allowed.",
        "Server restarts happen Monday to Friday only.",
    )),
    (PAUSE, (
        "restart server: at least 20 minutes between two calls",
        "restart server: wait 20 minutes before the next",
        "restart server: cool-down of 20 minutes",
        "Server restarts: 20 minutes apart minimum",
        "Server restarts: no closer than 20 minutes apart",
        "Do not restart a server again within 20 minutes.",
        "Do not restart a server again until 20 minutes have passed.",
        "A server restart must be at least 20 minutes after the previous one.",
        "Servers may be restarted only if the last server restart was at least 20 minutes ago.",
        "A new server restart is allowed only after 20 minutes.",
        "20 minutes must pass between one server restart and the next.",
        "Cooldown between server restarts: 20 minutes",
    )),
    (COOL, (
        "Do not restart servers until 30 minutes have passed since a listing publication.",
        "No server restart until 30 minutes have elapsed after a listing was published.",
        "restart server: wait 30 minutes after publish listing",
        "publish listing: no server restart for the next 30 minutes",
        "Ensure a 30-minute gap between publishing a listing and restarting a server.",
    )),
    (ANSWER, (
        "Upon freezing a card, publish a listing within 10 minutes.",
        "For each card freeze, a listing must be published within 10 minutes.",
        "10 minutes after a card freeze at the latest, a listing must be published.",
        "No card may be frozen without a listing being published within 10 minutes.",
        "freeze card => publish listing (within 10 min)",
        "You have 10 minutes to publish a listing after freezing a card.",
        "A listing publication must follow every card freeze within 10 minutes.",
        "10 minutes after a card freeze at the latest comes a listing publication.",
    )),
    (LONG, (
        "Never restart a server for more than 5 minutes.",
        "Restarting a server for longer than 5 minutes is forbidden.",
        "Limit the duration of server restarts to 5 minutes.",
        "Maximum server restart duration: 5 minutes",
        "The agent must complete each server restart within 5 minutes.",
        "Make sure that server restarts are finished within 5 minutes.",
    )),
    (ADJACENT, (
        "deploy: directly preceded by run tests",
        "Run tests must be the call right before deploy.",
        "The step before deploy must be run tests.",
        "Right before every deploy comes run tests.",
        "Every deploy comes straight after a test run.",
    )),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "sentences"), SAID, ids=[rule for rule, _ in SAID])
def test_one_time_in_other_words(rule: str, sentences: tuple[str, ...]) -> None:
    assert not [(one, found) for one in sentences if (found := read(one)) != read(rule)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Mondays are fine for restarting servers.",
        "Never freeze a card for more than 5 minutes.",
        "Server restarts happen on Sundays.",
        "Allow server restarts on Sundays.",
        "A new server restart is allowed only after 18:00 and 20 minutes.",
    ],
)
def test_what_leaves_a_meaning_open_is_refused(sentence: str) -> None:
    assert read(sentence) is None


def test_a_pause_until_something_needs_it() -> None:
    """`Until ten minutes after the listing was published` is no mere pause."""
    said = read("Do not restart servers until 30 minutes after the listing was published.")
    assert said == read("Restart server must start at least 30 minutes after publish listing.")
