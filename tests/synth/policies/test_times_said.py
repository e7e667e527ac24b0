"""Hours and days, gaps, durations, overlaps and what stands directly before, in every frame that bans"
" or allows."""

from __future__ import annotations

import pytest

from synth.errors import BadInput
from synth.policies.meanings import demands_of
from synth.policies.names import Names, Tools
from synth.policies.refused import read_rule
from synth.policies.sentences import OURS

ACTIONS = (
    "restart server",
    "publish listing",
    "weigh parcel",
    "ship parcel",
    "freeze card",
    "deploy",
    "run tests",
)
NAMES = Names({phrase: Tools(phrase, (phrase.replace(" ", "_"),)) for phrase in ACTIONS})

BANS = (
    "Never restart a server {}.",
    "Don't restart servers {}.",
    "No server restarts {}.",
    "Servers can't be restarted {}.",
    "Restarting a server is not allowed {}.",
    "Restarting a server {} is forbidden.",
    "The agent may not restart a server {}.",
    "Server restart: not {}.",
    "No server may be restarted {}.",
    "Make sure that no server is restarted {}.",
)
ALLOWED = (
    "Only restart a server {}.",
    "Servers may only be restarted {}.",
    "Servers may be restarted only {}.",
    "Restarting a server is only allowed {}.",
    "You can only restart a server {}.",
    "Server restarts: only {}.",
)
TIMES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "Restart server must happen between 09:00 and 17:00.",
        ("outside the hours of 9:00 to 17:00",
         "unless it is between 9 am and 5 pm", "when it's earlier"
         " than 9:00 or later than 17:00"),
        ("between 9:00 and 17:00", "when it is between 9 am and 5 pm", "from 09:00 until 17:00"),
    ),
    (
        "Restart server must never happen after 18:00.",
        ("past 6 pm", "later than 18:00", "after 6 in the evening", "once it is past 18:00", "from"
         " 18:00 onwards"),
        ("until 18:00", "up to 18:00"),
    ),
    (
        "Restart server must never happen on Sundays.",
        ("on a Sunday", "on Sun", "if it's Sunday", "when it is a Sunday"),
        ("on days other than Sunday", "on any day but Sunday", "when it is not Sunday"),
    ),
    (
        "Restart server must happen on weekdays.",
        ("at the weekend", "unless it's a weekday", "except on weekdays", "if it is not a weekday"),
        ("Mon-Fri", "on working days (Monday to Friday)", "when it is a weekday", "on business days"),
    ),
    (
        "Restart server must never happen within 30 minutes after publish listing.",
        (
            "less than 30 minutes after a listing publication",
            "in the 30 minutes after a listing was published",
            "if a listing was published less than 30 minutes ago",
            "when a listing has been published in the last 30 minutes",
            "if less than 30 minutes have passed since a listing publication",
        ),
        (),
    ),
    (
        "Restart server must never happen within 20 minutes after restart server.",
        ("less than 20 minutes after the previous one", "within 20 minutes of each other", "closer"
         " together than 20 minutes", "until 20 minutes have passed since the last one"),
        ("at intervals of at least 20 minutes",),
    ),
    (
        "Restart server must not overlap publish listing.",
        ("while a listing is being published", "during a listing publication",
         "when a listing"
         " publication is in progress", "in parallel with a listing publication"),
        ("when no listing is being published", "if no listing publication is running"),
    ),
)  # fmt: skip


def read(sentence: str) -> str | None:
    try:
        return demands_of(read_rule(sentence, NAMES, OURS))
    except BadInput:
        return None


@pytest.mark.parametrize(("rule", "banned", "allowed"), TIMES, ids=[rule for rule, _, _ in TIMES])
def test_every_time_is_read_in_every_frame(
    rule: str, banned: tuple[str, ...], allowed: tuple[str, ...]
) -> None:
    said = [frame.format(time) for time in banned for frame in BANS]
    said += [frame.format(time) for time in allowed for frame in ALLOWED]
    assert not [(one, found) for one in said if (found := read(one)) != read(rule)]
