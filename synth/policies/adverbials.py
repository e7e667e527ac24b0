"""When an action may happen, said anywhere in a sentence: `on Sundays`, `only from Tuesday to Saturday`.

The hours and days are taken out of the sentence; what remains must be a ban or a permission of actions of the
file, and nothing else. A ban that is both of days and of hours, or beside another condition, has no rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from synth.policies.composed import composed, quoted
from synth.policies.inflected import inflected
from synth.policies.names import Names, TwoReadings
from synth.policies.patterns import compiled
from synth.policies.rewording import clock_times

_T = r"\d\d?:\d\d"
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays?|working days?)"
_DAYS = (
    rf"(?:on |from )?{_DAY} (?:to|through|until|till) {_DAY}"
    rf"|(?:on|at|over|during) (?:an? |any |the |all )?{_DAY}(?:(?:, and|, or|,| and| or) (?:on )?{_DAY})*"
)
_HOURS = (
    rf"(?:between|from) {_T} (?:and|to|until|till) {_T}|{_T} ?(?:to|until|till|-) ?{_T}"
    rf"|outside(?: of)? {_T} (?:to|and|until|-) {_T}"
    rf"|before {_T} (?:and|or|nor) after {_T}|after {_T} (?:and|or|nor) before {_T}|(?:before|after) {_T}"
)
_WHEN = (
    rf"(?:^|(?<=[\s,]))(?P<only>only )?(?:(?P<days>{_DAYS})|(?P<hours>{_HOURS}))(?P<last>,? only)?(?![\w:])"
)
_ANY_DAY = r",? (?:whatever the day|whichever day it is|on any day|every day|any day)(?: of the week)?$"
_MAY = r"(?P<a>.+?) (?:may|can|must|should|has to|have to|is to|are to|is|are) (?:happen|allowed|permitted)"


@dataclass(frozen=True, slots=True)
class Times:
    """Which days and which hours a sentence names, and whether they are the only ones."""

    said: str
    days: str = ""
    hours: str = ""
    only: bool = False

    def on(self) -> str:
        """`on Mondays and Fridays`, `on Tuesday to Saturday`."""
        days = re.sub(rf"^.*?(?={_DAY})", "", self.days, count=1, flags=re.IGNORECASE)
        return f"on {compiled(rf'(?<=[, ])(?:on )?(?:an? )?(?={_DAY})').sub('', days)}"

    def both(self, phrase: str, *, allowed: bool) -> str | None:
        """The sentence of hours of certain days; None where they go over midnight, or may be either."""
        times = [time.zfill(5) for time in re.findall(_T, self.hours)]
        first = self.hours.split()[0].lower()
        side = {"until": "before", "till": "before", "before": "before", "after": "after"}.get(first)
        if compiled(r"\b(?:and|or|nor|but) (?:on |at |after |before |from |outside )").search(self.said):
            return None
        if len(times) == 1:
            side = "after" if first == "from" else side
            hours = side and f"{side} {times[0]}"
        elif first in ("between", "from") or first[:1].isdigit():
            hours = f"between {times[0]} and {times[1]}" if times[0] < times[1] else None
        else:
            hours = None
        return hours and f"{phrase} must {'' if allowed else 'never '}happen {self.on()} {hours}"

    def at(self, phrase: str, allowed: bool) -> str | None:
        """The sentence of the hours at which an action may happen; None where these are none, or all."""
        times = [time.zfill(5) for time in re.findall(_T, self.hours)]
        first = self.hours.split()[0].lower()
        if len(times) == 1:
            first = {"until": "before", "till": "before", "from": "after"}.get(first, first)
            side = first if allowed else {"before": "after", "after": "before"}[first]
            return f"{phrase} must happen {side} {times[0]}"
        since, until = reversed(times) if first == "before" else times
        if first in ("before", "after"):
            always = since < until and " and " not in self.hours
            if always or (since < until and first == "before" and not allowed):
                return None
        if since == until:
            return None
        if allowed is (first == "outside"):
            since, until = until, since
        return f"{phrase} must happen after {since}, and {phrase} must happen before {until}"


def at_times(body: str, names: Names) -> str | None:
    """The sentence in the language's words; None where it names no times, or says what is not known.

    BadInput where no rule says it; the message says what does.
    """
    text = compiled(_ANY_DAY).sub("", clock_times(body))
    found = list(compiled(_WHEN).finditer(text))
    if not found or (times := _times(found)) is None:
        return None
    rest = compiled(_WHEN).sub("\0", text)
    if two := re.fullmatch("(?P<first>[^\0]+?),? (?:and|but) (?P<not>never|not)(?: ever)? \0", rest):
        return _two(two["first"], times, names)
    core = _core(rest)
    plain = compiled(r"\b(?:is|are) never (?!to |allowed|permitted)").sub("must never be ", core)
    plain = inflected(plain, names)
    if times.only or re.search(r"\bonly\b", plain):
        may = compiled(_MAY).fullmatch(re.sub(r",? only\b", "", plain))
        _no_other_days(found, text, times)
        phrase = may["a"] if may else re.sub(r"^only ", "", plain)
        banned = composed(f"{phrase} must never happen", names)
        return banned and _ruled(banned.removesuffix(" must never happen"), times, allowed=True)
    words = composed(plain, names)
    if words is None:
        return None
    never = re.fullmatch(r"(?P<a>.+) must never happen", words)
    return _ruled(never["a"], times, allowed=False) if never else _beside(words, times)


def _times(found: Sequence[re.Match[str]]) -> Times | None:
    days, hours = ([m[kind] for m in found if m[kind]] for kind in ("days", "hours"))
    if len(days) > 1 or len(hours) > 1:
        return None
    said = " ".join(m[m.lastgroup or 0] if m.lastgroup != "last" else m["days"] or m["hours"] for m in found)
    only = any(m["only"] or m["last"] for m in found)
    return Times(said, days[0] if days else "", hours[0] if hours else "", only)


def _no_other_days(found: Sequence[re.Match[str]], text: str, times: Times) -> None:
    """TwoReadings for `on Fridays, deploy only before noon`, which may leave the other days free."""
    if (
        len(found) < 2
        or not found[0]["days"]
        or not re.search("[a-z]", text[found[0].end() : found[-1].start()])
    ):
        return
    raise TwoReadings(
        f"cannot read 'only' of hours behind '{times.on()}', which leaves open whether other days are free; "
        f"write which hours are forbidden, as in 'ACTION must never happen {times.on()} after 12:00'"
    )


def _core(rest: str) -> str:
    """The sentence without its times, which stand in it as a mark."""
    text = re.sub("[\0 ,]*\0[\0 ,]*", " ", rest).strip()
    return re.sub(" +", " ", text)


def _ruled(phrase: str, times: Times, *, allowed: bool) -> str | None:
    """That an action may happen at these times alone, or at no such time."""
    day = f"{phrase} must {'' if allowed else 'never '}happen {times.on()}"
    if not times.hours:
        return day
    hour = times.at(phrase, allowed=allowed)
    if hour is None or not times.days:
        return hour
    if (both := times.both(phrase, allowed=allowed)) is not None:
        return both
    raise TwoReadings(
        f"cannot read '{times.said}'; that a call is forbidden at some hours of some days only is not in the "
        f"language; write {quoted(day)} where the whole day is meant, or {quoted(hour)} where every day is"
    )


def _two(first: str, times: Times, names: Names) -> str | None:
    """`At most twice, and never at weekends`."""
    words = composed(inflected(first, names), names)
    one = words and re.fullmatch(r"(?P<a>.+?) must (?:never )?happen .+", words)
    if not words or not one or (times.days and times.hours):
        return None
    ban = _ruled(one["a"], times, allowed=False)
    if ban is None:
        return None
    raise TwoReadings(
        f"cannot read 'never {times.said}'; write two policies: {quoted(words)} and {quoted(ban)}"
    )


def _beside(words: str, times: Times) -> str | None:
    """Another rule that is to hold at certain times only."""
    counted = re.fullmatch(r"(?P<a>.+) must happen (?:at most|exactly) \d+ times.*", words)
    told = counted is not None and not (times.days and times.hours)
    never = _ruled(counted["a"], times, allowed=False) if counted and told else None
    none = f", or {quoted(never)} where none of them may be" if never else ""
    raise TwoReadings(
        f"cannot read '{times.said}' beside the rest; that a rule holds at some times only is not in the "
        f"language; write {quoted(words)} where it holds at all times{none}"
    )
