"""Hours and days: at which ones something may happen, and at which not, wherever a sentence says them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import IT, Adjunct, Demand, Event
from synth.policies.clausal.words import AGENT, ALLOWED, BANNED, HAPPEN, SHOULD
from synth.policies.kinds.weekdays import NAMES, WEEK, days_in
from synth.policies.patterns import compiled

_DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays?|week days?|workdays?"
    r"|(?:working|business) days?)"
)
_LIST = rf"(?:(?:an?|the|any|all) )?{_DAY}(?:(?:,? and|,? or|,|/| &|/) ?(?:on )?(?:(?:an?|the) )?{_DAY})*"
_RANGE = rf"(?:the )?{_DAY} ?(?:to|through|thru|until|till|-) ?{_DAY}"
_BARE = rf"(?:{_RANGE}|{_LIST})"
_DAYS = rf"(?P<days>{_BARE})(?: \((?:i\.e\.,? |that is,? )?(?P<same>{_BARE})\))?(?![\w:-])"
_T = r"(?:[01]?\d|2[0-4]):[0-5]\d"
_WINDOW = r"(?:(?:the )?(?:[a-z]+ )?(?:hours?|times?|window|period|interval|time window|span),? )?"
_SPAN = rf"(?:of |from |between )?(?P<since>{_T}) ?(?:and|to|until|till|through|-) ?(?P<until>{_T})"
_HOURS: tuple[tuple[str, str], ...] = (
    (rf"(?:(?:during|within|in|inside|at|between|from) )?{_WINDOW}{_SPAN}", "between {since} and {until}"),
    (rf"(?:outside|out)(?: of)? {_WINDOW}{_SPAN}", "outside {since} to {until}"),
    (rf"before (?P<since>{_T}),? (?P<and>and|or|nor|but)(?: also| again)?(?: not| never)? after"
     rf" (?P<until>{_T})",
     "before {since} {and} after {until}"),
    (rf"after (?P<since>{_T}),? (?P<and>and|or|nor|but)(?: also| again)?(?: not| never)? before"
     rf" (?P<until>{_T})",
     "after {since} {and} before {until}"),
    (rf"(?:from|as of|as from|starting at|starting from|beginning at) (?P<since>{_T})"
     r"(?: on(?:wards?)?| (?:or|and) later)?",
     "after {since}"),
    (rf"(?P<since>{_T}) (?:onwards?|(?:or|and) (?:later|after)|and up)", "after {since}"),
    (rf"(?P<since>{_T}) (?:(?:or|and) (?:earlier|before))", "before {since}"),
    (rf"(?:until|till|up to|up until|to) (?P<since>{_T})", "before {since}"),
    (rf"(?P<side>before|after) (?P<since>{_T})", "{side} {since}"),
)  # fmt: skip


def day_names(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Friday`, `Mondays and Tuesdays`, `weekdays (Monday to Friday)`."""
    m = compiled(rf" *{_DAYS}").match(grammar.text, at)
    if m is None:
        return
    days = _plainly(m["days"])
    if m["same"] is None or days_in(_plainly(m["same"])) == days_in(days):
        yield days, m.end()


def _plainly(text: str) -> str:
    plain = compiled(r"\b(?:business |work)(?=days?\b)").sub("working ", text)
    plain = compiled(r"\bweek (?=days?\b)").sub("week", plain)
    plain = compiled(r" ?\b(?:through|thru|till|until)\b ?| ?-(?=[a-z])").sub(" to ", plain)
    return re.sub(" *[/&] *", " and ", plain)


def days(grammar: Grammar, at: int) -> Iterator[Found]:
    """`on Fridays`, `from Monday to Friday`, `Monday to Friday`."""
    m = compiled(r" *(?:on|at|over|during|in|from)(?= )").match(grammar.text, at)
    for names, end in grammar.matches("day_names", m.end() if m else at):
        if m or compiled(rf" *{_RANGE}").match(grammar.text, at):
            yield f"on {names}", end


def _on_others(names: str) -> str | None:
    """All days but these."""
    if days_in(names) == WEEK:
        return None
    *first, last = [NAMES[day] for day in sorted(WEEK - days_in(names))]
    return f"on {', '.join(first)} and {last}" if first else f"on {last}"


def hours(grammar: Grammar, at: int) -> Iterator[Found]:
    """`between 09:00 and 17:00`, `outside 09:00 to 17:00`, `before 09:00`, `from 09:00 on`."""
    for pattern, said in _HOURS:
        if m := compiled(rf" *{pattern}(?![\w:])").match(grammar.text, at):
            yield said.format(**m.groupdict()), m.end()


def other_hours(said: str) -> str | None:
    """The hours that are not these."""
    first, *times = said.split()[0], *re.findall(_T, said)
    if len(times) == 1:
        return f"{'after' if first == 'before' else 'before'} {times[0]}"
    return {
        "between": f"outside {times[0]} to {times[1]}",
        "outside": f"between {times[0]} and {times[1]}",
    }.get(first)


def _days(p: Parts) -> Adjunct:
    return Adjunct("days", said=f"on {p['d']}")


def _hours(p: Parts) -> Adjunct:
    return Adjunct("hours", said=p["h"])


def _other(p: Parts) -> Adjunct | None:
    """`Unless it is a weekday`, `on any day but Friday`: at all other times."""
    if "d" in p:
        others = _on_others(p["d"])
        return Adjunct("days", said=others, contrary=True) if others else None
    said = other_hours(p["h"])
    return Adjunct("hours", said=said, contrary=True) if said else None


def _only(p: Parts) -> Adjunct | None:
    """`May be raised on any day but Friday`: on the others alone."""
    others = _other(p)
    return None if others is None else replace(others, only=True)


def _and_no_other(p: Parts) -> Adjunct:
    adjunct: Adjunct = p["a"]
    return replace(adjunct, only=True)


def _but_not_then(sides: str) -> Callable[[Parts], Adjunct | None]:
    """`Up to 18:00 but not later`, `not before 09:00`."""

    def made(p: Parts) -> Adjunct | None:
        first = p["a"].said.split()[0]
        return replace(p["a"], only=True) if first in sides.split() else None

    return made


def _not_at_the_others(p: Parts) -> Adjunct | None:
    """`On weekdays, never on weekends`: the same twice."""
    one, other = p["a"], p["b"]
    if one.kind != other.kind or one.contrary or other.contrary:
        return None
    if one.kind == "days":
        alike = days_in(one.said) == WEEK - days_in(other.said)
    else:
        alike = other_hours(one.said) == other.said
    return replace(one, only=True) if alike else None


def at_these(
    kind: str, make: Callable[[Parts], Event | None] | None = None
) -> Callable[[Parts], Demand | None]:
    """A demand whose sentence says in itself at which times."""

    def made(p: Parts) -> Demand | None:
        demand = demanding(kind, make=make)(p)
        if demand is None:
            return None
        events = tuple(replace(e, beside=(*e.beside, p["w"])) for e in demand.events)
        return replace(demand, events=events)

    return made


def _at_all_but_these(p: Parts) -> Demand | None:
    """`Any day but Sunday is fine for discharges`; that Mondays are fine forbids no other day."""
    return at_these("only")(p) if p["w"].contrary else None


def _side(side: str) -> Callable[[Parts], Demand | None]:
    """`The cutoff for refunds is 18:00`."""

    def made(p: Parts) -> Demand | None:
        since = re.findall(_T, p["h"])
        if len(since) > 1:
            return None
        return at_these("only")({**p, "w": Adjunct("hours", said=f"{side} {since[0]}")})

    return made


def instant(grammar: Grammar, at: int) -> Iterator[Found]:
    if m := compiled(rf" *(?:at )?(?P<t>{_T})(?![\w:])(?! ?(?:to|until|till|-))").match(grammar.text, at):
        yield m["t"], m.end()


def day_before_noun(grammar: Grammar, at: int) -> Iterator[Found]:
    """`Sunday discharges`, `weekend billing`."""
    m = compiled(rf" *(?P<days>{_DAY}(?: (?:and|or) {_DAY})?) (?=[a-z])").match(grammar.text, at)
    if m and not m["days"].lower().endswith("s"):
        yield _plainly(m["days"]), m.end() - 1


def _on_such_days(p: Parts) -> Event:
    event: Event = p["e"]
    return replace(event, beside=(*event.beside, Adjunct("days", said=f"on {p['d']}")))


def _of_somebody(p: Parts) -> Event | None:
    """`No customer may have their limit raised`: nobody's may be."""
    event = passive(p)
    return event and replace(event, same=event.same - {IT})


_WHEN = "when|if|whenever|while|as_long_as|so_long_as|where|once|on_days_when"
_IT_IS = (
    "it_is|the_time_is|the_day_is|today_is|local_time_is|the_local_time_is|the_clock_says|the_weekday_is"
    "|the_clock_shows|the_hour_is|the_day_of_the_week_is"
)
_UNLESS = "unless|except|except_when|except_if|other_than|except_for|apart_from|if_not|when_not"
_BUT = "but|except|other_than|except_for|apart_from|save|save_for|that_is_not|that_are_not|excluding|bar"
_ANY_DAY = "any_day|every_day|all_days|each_day|any_day_of_the_week|every_day_of_the_week|days|any_other_day"
_ANY_TIME = "at_any_time|any_time|at_all_times|at_all_hours|at_any_hour|at_times|anytime"
_THOSE = "|".join(
    f"{none}_{when}"
    for none in ("not", "never", "no")
    for when in (
        *(f"{at}_{other}" for at, other in (
            ("at", "any_other_time"), ("at", "other_times"), ("at", "any_other_hour"), ("at", "other_hours"),
            ("on", "any_other_day"), ("on", "other_days"), ("on", "any_other_days"), ("on", "another_day"))),
        *(f"{out}_{those}" for out in ("outside", "outside_of", "beyond") for those in (
            "these_hours", "those_hours", "that_window", "this_window", "that_time", "this_time",
            "those_times", "these_times", "that", "them", "it", "that_period",
            "this_period", "those_days", "these_days")),
        *(f"{one}{joint}{other}" for joint in ("_or_", "_and_", "_nor_")
          for one, other in (("before", "after"), ("earlier", "later"), ("sooner", "later"))),
    )
)  # fmt: skip
_OTHERWISE_NOT = "|".join(
    f"{when}_{none}"
    for when in ("at_any_other_time", "at_all_other_times", "at_other_times", "on_any_other_day",
                 "on_all_other_days", "on_other_days", "otherwise", "outside_of_that",
                 "outside_that", "outside_these_hours", "outside_those_hours")
    for none in ("not", "never", "it_is_forbidden", "it_is_not_allowed", "forbidden", "not_allowed")
)  # fmt: skip
_NO_OTHER = (
    "at_no_other_time|at_no_other_times|at_no_other_hour|at_no_other_hours|on_no_other_day|on_no_other_days"
    "|never_otherwise|not_otherwise|otherwise_not|otherwise_never|never_at_any_other_time"
    "|not_at_any_other_time|never_at_other_times|not_at_other_times|never_on_other_days|not_on_other_days"
    "|never_on_any_other_day|not_on_any_other_day|not_earlier_and_not_later|no_earlier_and_no_later"
    "|not_earlier_or_later|not_before_and_not_after|neither_before_nor_after|neither_earlier_nor_later"
    "|not_before_or_after|never_outside_these_hours|never_outside_those_hours|not_outside_these_hours"
    "|not_outside_those_hours|only_then|then_only|never_before_or_after|never_earlier_or_later|no_other_day"
    f"|no_other_days|no_other_time|no_other_times|{_THOSE}|{_OTHERWISE_NOT}"
)
_NOT_LATER = (
    "not_after_that|never_after_that|no_later|not_later|never_later|not_thereafter|never_thereafter"
    "|not_beyond_that|not_past_that|not_any_later|not_afterwards|never_afterwards|not_after|not_after_it"
    "|not_a_minute_later|never_after|not_beyond|not_later_than_that"
)
_NOT_EARLIER = (
    "not_before_that|never_before_that|no_earlier|not_earlier|never_earlier|not_any_earlier|no_sooner"
    "|not_before|never_before|not_sooner|not_a_minute_earlier|not_earlier_than_that"
)
_CUTOFF = (
    "cutoff|cut-off|cut_off|cutoff_time|cut-off_time|cut_off_time|latest_time|latest_hour|last_time"
    "|latest_allowed_time|latest_permitted_time|closing_time|latest_possible_time|latest_start"
)
_EARLIEST = (
    "earliest_time|earliest_hour|opening_time|earliest_allowed_time|earliest_permitted_time|earliest_start"
)
_TIMES = "hours|times|time|window|time_window|days|day|time_slot|slot|hours_of_day|weekdays"
_FREE = "allowed|permitted|possible|only|only_allowed|only_permitted|permissible|valid"
_SHUT = (
    f"{BANNED}|closed|blocked|taboo|no_days|no_day|not_days|a_no-go|no-go|blackout_days|not_open"
    "|not_available"
)
_IS = "is|are|,|:|=|->"
_CLOSES = (
    "closes|close|ends|end|stops|stop|ceases|cease|must_stop|must_end|have_to_stop|has_to_stop|has_to_end|have_to_end"
    "|must_be_over|must_be_in|has_to_be_in|have_to_be_in|is_over|are_over|is_closed|are_closed"
)
_OPENS = "opens|open"
_STOP = "stop|cease|quit|discontinue|end"
_FREE_FOR = "fine|ok|okay|allowed|permitted|open|possible|acceptable|available|good"

CLOCK: dict[str, Rule] = {
    "day_names": day_names,
    "days": days,
    "hours": hours,
    "instant": instant,
    "bare_times": [
        ("[on|from|during] {d:day_names}", _days),
        ("{h:hours}", _hours),
        (f"[on] {_ANY_DAY} {_BUT} [on] {{d:day_names}}", _other),
    ],
    "clocked": [
        ("{t:days}", lambda p: Adjunct("days", said=p["t"])),
        ("{h:hours}", _hours),
        (f"{_WHEN} {_IT_IS} [already|still|on|a] {{d:day_names}}", _days),
        (f"{_WHEN} {_IT_IS} [already|still|now] {{h:hours}}", _hours),
        (f"{_WHEN} {_IT_IS} not [yet|on|a] {{d:day_names}}", _other),
        (f"{_WHEN} {_IT_IS} not [yet|already] {{h:hours}}", _other),
        (f"{_UNLESS} [{_IT_IS}] [on|at|over] {{d:day_names}}", _other),
        (f"{_UNLESS} [{_IT_IS}] {{h:hours}}", _other),
        ("outside|outside_of {d:day_names}", _other),
        (f"{_WHEN}|as_soon_as|from_when|from_the_moment {_IT_IS} {{h:instant}} [or_later|or_past_that]",
         lambda p: Adjunct("hours", said=f"after {p['h']}")),
        ("on|at non-working_days|non_working_days|non-weekdays|non_weekdays|non-business_days"
         "|non_business_days",
         lambda p: Adjunct("days", said="on Saturday and Sunday")),
        (f"[on] {_ANY_DAY} {_BUT} [for] [on|at] {{d:day_names}}", _other),
        (f"[on] {_ANY_DAY} {_BUT} [for] [on|at] {{d:day_names}}", _only),
        ("on days other than {d:day_names}", _other),
        ("[on] other days than {d:day_names}", _other),
        (f"{_ANY_TIME} {_BUT} {{h:hours}}", _other),
        (f"{_ANY_TIME} {_BUT} {{h:hours}}", _only),
    ],
    "adjunct": [
        ("{a:clocked}", lambda p: p["a"]),
        (f"{{a:clocked}} [,] [and|but] {_NO_OTHER}", _and_no_other),
        (f"{{a:clocked}} [,] [and|but] {_NOT_LATER}", _but_not_then("before")),
        (f"{{a:clocked}} [,] [and|but] {_NOT_EARLIER}", _but_not_then("after")),
        ("{a:clocked} [,] [and|but] never|not {b:clocked}", _not_at_the_others),
    ],
    "leading": [
        ("{d:day_names} ,|:", lambda p: (replace(_days(p), leads=True),)),
    ],
    "demand": [
        # which times alone
        (f"{{e:events}} is|are|{SHOULD} [be] [only] restricted|limited|confined to {{w:bare_times}}",
         at_these("only")),
        (f"[{AGENT}] [{SHOULD}] restrict|limit|confine|keep {{e:events}} to|within|inside {{w:bare_times}}",
         at_these("only")),
        (f"{{e:events}} {SHOULD} [always|only] fall|lie|be|stay|remain|start|begin [within|inside|only] "
         "{w:clocked}", at_these("only")),
        (f"{{e:events}} [{_FREE}] {_TIMES} {_IS} [only] {{w:bare_times}}", at_these("only")),
        (f"[the] [{_FREE}] {_TIMES} for|of|to {{e:named}} {_IS} [only] {{w:bare_times}}", at_these("only")),
        (f"{{w:bare_times}} is|are the|our [only|allowed|permitted] {_TIMES} for|of|to {{e:named}}",
         at_these("only")),
        (f"[the|our] {_CUTOFF} for|of|on|to {{e:named}} {_IS} {{h:instant}}", _side("before")),
        (f"{{e:events}} {_CUTOFF} {_IS} {{h:instant}}", _side("before")),
        (f"[the|our] {_EARLIEST} for|of|to {{e:named}} {_IS} {{h:instant}}", _side("after")),
        # which times not
        (f"{{w:bare_times}} is|are {_SHUT} for|to {{e:named}}", at_these("never")),
        (f"{{w:bare_times}} is|are {_SHUT} when|if it comes to {{e:named}}", at_these("never")),
        (f"{{e:named}} ,|:|->|= [on] {{w:bare_times}} {_SHUT}|excluded|never|not|excepted"
         "|no", at_these("never")),
        (f"{{e:named}} {_CLOSES} [at|by] {{h:instant}}", _side("before")),
        (f"{{e:named}} {_OPENS} [at] {{h:instant}}", _side("after")),
        (f"[the] last|latest {{e:event}} [of_the_day] [{SHOULD}|is|,|:] [be] [at|by]"
         f" {{h:instant}}", _side("before")),
        (f"[the] first|earliest {{e:event}} [of_the_day] [{SHOULD}|is|,|:] [be] [at]"
         f" {{h:instant}}", _side("after")),
        (f"[{AGENT}] [{SHOULD}] {_STOP} {{e:named}} at|by|from|as_of {{h:instant}} [on"
         "|onwards]", _side("before")),
        ("never|not|no|none {w:clocked} ,|:|->|= {e:named}", at_these("never")),
        ("only {w:clocked} ,|:|->|= {e:named}", at_these("only")),
        ("{w:clocked} only ,|:|->|= {e:named}", at_these("only")),
        (f"only {{w:bare_times}} is|are {_FREE_FOR} for|to {{e:named}}", at_these("only")),
        (f"{{w:bare_times}} is|are {_FREE_FOR} for|to {{e:named}}", _at_all_but_these),
        (f"{{w:no_doer}} {ALLOWED} [ever] have|get {{t:object}} {{d:past}}",
         demanding("never", make=_of_somebody)),
        # after `only on Fridays`
        (f"may|can|should|must|shall|could {AGENT} {{e:acts}}", demanding("may")),
        ("may|can|should|must|shall|could {t:object} be|get {d:past}", demanding("may", make=passive)),
        (f"may|can|should|must|shall|could {{e:events}} {HAPPEN}", demanding("may")),
        ("is|are {e:events} allowed|permitted|possible|ok|okay|acceptable", demanding("may")),
        # with a colon
        ("{e:events} ,|:|->|=", demanding("headed")),
        ("{e:events} [,|:|->|=] never|not|none|no", demanding("headed never")),
        ("{e:acts} ,|:|->|=", demanding("headed")),
        ("{e:acts} [,|:|->|=] never|not|none|no", demanding("headed never")),
        ("{e:events} ,|:|->|= {w:bare_times}", at_these("only")),
        ("{e:events} ,|:|->|= only {w:bare_times}", at_these("only")),
        ("{e:events} ,|:|->|= {w:bare_times} only", at_these("only")),
        ("{e:events} [,|:|->|=] allowed|permitted|possible|ok|okay|open", demanding("headed")),
    ],
    "named": [("{e:events}", lambda p: p["e"]), ("{e:acts}", lambda p: p["e"])],
    "event": [("{d:day_before_noun} {e:noun}", lambda p: _on_such_days(p))],
    "day_before_noun": day_before_noun,
}  # fmt: skip
