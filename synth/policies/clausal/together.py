"""What must not run at the same time as what."""

from __future__ import annotations

from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Adjunct, Demand, Event, Fact
from synth.policies.clausal.words import AGENT, ALLOWED, BANNED, MAY, NO, SHOULD

Events = tuple[tuple[Event, ...], str]


def _both(p: Parts) -> Demand | None:
    """Two actions, or two lists of them, whichever began first."""
    (events, joint), (others, other) = (_listed(p[slot]) for slot in ("a", "b"))
    if joint or other or events[0].action == others[0].action:
        return None
    return Demand("beside", events, others)


def _listed(said: Events | Event) -> Events:
    return said if isinstance(said, tuple) else ((said,), "")


def _one_at_a_time(p: Parts) -> Demand | None:
    """`Payments one at a time`: of what is done to many, no two at once."""
    events, joint = _listed(p["e"])
    if joint or len(events) != 1 or events[0].single or events[0].outcome:
        return None
    return Demand("overlap itself", events, how="at a time")


def _one_by_one(p: Parts) -> Demand | None:
    """`Payments must not be sent concurrently`; of `a payment` it is not said with what."""
    event = passive(p)
    return None if event is None else _one_at_a_time({"e": event})


_ONE_BY_ONE = (
    "one_at_a_time|1_at_a_time|one_after_the_other|one_after_another|one_by_one|sequentially|strictly_one_by_one"
    "|in_sequence|serially|strictly_sequentially"
)
_NEVER_AT_ONCE = "never_in_parallel|not_in_parallel|never_at_once|never_two_at_once|never_concurrently"
_TOGETHER = (
    "in_parallel|at_the_same_time|simultaneously|concurrently|side_by_side|at_once|at_the_very_same_time"
    "|at_one_and_the_same_time|in_tandem|at_the_same_moment|in_parallel_with_each_other|at_any_one_time"
    "|in_parallel_to_each_other|simultaneously_with_each_other|alongside_each_other"
    "|at_the_same_time_as_each_other"
)
_ALONGSIDE = (
    "in_parallel_with|at_the_same_time_as|concurrently_with|simultaneously_with|side_by_side_with|alongside"
    "|alongside_of|in_parallel_to|parallel_to|parallel_with|during|concurrent_with|in_the_middle_of"
    "|in_the_course_of|in_tandem_with|simultaneous_with|while_there_is|whilst_there_is"
)
_GO_ON = (
    "run|happen|take_place|be_under_way|be_underway|be_in_progress|be_running|go_on|be_active"
    "|be_ongoing|proceed"
    "|be_done|be_executed|be_carried_out|occur|be_made|be_run|be_performed|be_started|be_in_flight|be_open"
    "|be_processed|be_executing|be_going_on|execute|be_live"
)
_GOES_ON = "runs|happens|takes_place|is_run|is_done|proceeds|goes_on|run|happen|take_place|occurs|occur"
_GOING = (
    "running|in_progress|under_way|underway|going_on|ongoing|in_flight|active|at_work|being_processed"
    "|executing"
    "|still_running|taking_place|on_the_go"
)
_OVERLAP = "overlap|overlap_with|coincide_with|intersect|run_into|cross|coincide"
_OVERLAPPING = (
    "overlapping|running_in_parallel|running_at_the_same_time|running_concurrently|coinciding"
    "|happening_at_once"
    "|happening_at_the_same_time|running_simultaneously|running_side_by_side|running_together"
    "|happening_in_parallel"
    "|happening_concurrently|happening_simultaneously|overlapping_each_other|overlapping_with_each_other"
)
_OVERLAP_TOO = "run_at_the_same_time|run_in_parallel|happen_at_the_same_time|run_concurrently"
_EXCLUDE = "must_be_sequential|have_to_be_sequential|must_be_serialised|must_be_kept_apart_in_time"
_NO_OVERLAP = "overlap|overlapping|concurrency|parallel_running|parallel_execution|parallelism"
_WHEN = "while|whilst|as_long_as|so_long_as|when|if|whenever|where|at_times_when|during_times_when"

TOGETHER: dict[str, Rule] = {
    "none_going": [
        (f"no [other] {{es:events}} is|are [currently|still] {_GOING}", lambda p: p["es"]),
        (f"{{es:events}} is|are not [currently|still] {_GOING}", lambda p: p["es"]),
        (f"there is|are no [other] {{es:events}} [{_GOING}]", lambda p: p["es"]),
        ("no {t:object} is|are [currently] being {d:past}",
         lambda p: ((p["d"],), "") if p["t"].action == p["d"].action else None),
    ],
    "adjunct": [
        (f"{_ALONGSIDE} {{es:events}}", lambda p: Adjunct("beside", Fact(p["es"][0], "noun", p["es"][1]))),
        (f"{_WHEN} {{f:going}}", lambda p: Adjunct("while", p["f"])),
        (f"while|whilst {AGENT} {{e:does}}", lambda p: Adjunct("while", Fact((p["e"],), "running"))),
        (f"{_WHEN} {AGENT} is|are [still|currently|busy] {{es:events}}",
         lambda p: Adjunct("while", Fact(p["es"][0], "running", p["es"][1]))),
        (f"{_WHEN}|provided|provided_that {{es:none_going}}",
         lambda p: None if p["es"][1] else Adjunct("while none", Fact(p["es"][0], "running"))),
    ],
    "demand": [
        (f"{{t:object}} {NO} [ever] be {{d:past}} {_TOGETHER}", _one_by_one),
        (f"never|do_not {{e:act}} {_TOGETHER}", _one_at_a_time),
        (f"{AGENT} {NO} {{e:act}} {_TOGETHER}", _one_at_a_time),
        (f"{{e:events}} [,] [only|always|strictly|max|at_most] {_ONE_BY_ONE}", _one_at_a_time),
        (f"{{e:events}} [,] [only|always] {_ONE_BY_ONE} [,] {_NEVER_AT_ONCE}", _one_at_a_time),
        (f"[always] {{e:acts}} [only] {_ONE_BY_ONE} [,] [{_NEVER_AT_ONCE}]", _one_at_a_time),
        (f"{{t:object}} {SHOULD} [only|always] be {{d:past}} [only] {_ONE_BY_ONE}", _one_by_one),
        (f"{{t:object}} {SHOULD} be {{d:past}} {_ONE_BY_ONE} [,] {_NEVER_AT_ONCE}", _one_by_one),
        (f"{{t:object}} is|are [only|always] {{d:past}} [only] {_ONE_BY_ONE}", _one_by_one),
        (f"no|never 2|several|multiple {{e:event}} {_TOGETHER}", _one_at_a_time),
        (f"{{a:event}} and|or {{b:event}} {NO} [ever] {_GO_ON} {_TOGETHER}", _both),
        (f"{{a:event}} and|or {{b:event}} {NO} [ever] {_OVERLAP}", _both),
        (f"{{a:event}} and {{b:event}} [,|:] never|not {_TOGETHER}", _both),
        (f"{{a:event}} and {{b:event}} never {_GO_ON} {_TOGETHER}", _both),
        (f"{{a:event}} +|/|& {{b:event}} [,|:] never|not|no {_TOGETHER}", _both),
        (f"{{a:event}} +|/|& {{b:event}} [,|:] no|never {_NO_OVERLAP}", _both),
        (f"no|never {{a:event}} and {{b:event}} {_TOGETHER}", _both),
        (f"{{a:events}} {NO} [ever] {_GO_ON} {_ALONGSIDE} {{b:events}}", _both),
        (f"{{a:events}} {NO} [ever] {_OVERLAP} [with] {{b:events}}", _both),
        (f"{{a:events}} never {_GOES_ON} {_ALONGSIDE} {{b:events}}", _both),
        ("{a:events} never overlaps|overlap [with] {b:events}", _both),
        (f"{{a:events}} [,|:] never|not {_ALONGSIDE} {{b:events}}", _both),
        (f"{AGENT} {NO} {{a:acts}} {_ALONGSIDE} {{b:events}}", _both),
        (f"never|do_not {{a:acts}} {_ALONGSIDE} {{b:events}}", _both),
        (f"no {{a:events}} [{ALLOWED}] [{_GO_ON}] {_ALONGSIDE} {{b:events}}", _both),
        (f"no {{a:events}} {ALLOWED} overlap [with] {{b:events}}", _both),
        (f"no {{a:event}} and|or {{b:event}} {_OVERLAP_TOO}|overlap|overlaps|coincide", _both),
        (f"no {{a:event}} and|or|nor {{b:event}} {ALLOWED} [ever] {_OVERLAP}", _both),
        (f"no {{a:event}} and|or|nor {{b:event}} {ALLOWED} [ever] {_GO_ON} {_TOGETHER}", _both),
        (f"{{a:event}} and {{b:event}} never|do_not [ever] {_OVERLAP}", _both),
        (f"{{a:event}} and {{b:event}} {_GOES_ON} never|not {_TOGETHER}", _both),
        (f"never|do_not do|have|run|perform|make|start {{a:event}} and|or {{b:event}} {_TOGETHER}", _both),
        (f"{AGENT} {NO} [ever] do|have|run|perform|make|start {{a:event}} and|or {{b:event}}"
         f" {_TOGETHER}", _both),
        (f"{{a:event}} and {{b:event}} {_EXCLUDE}", _both),
        (f"never|do_not {{a:act}} and|or {{b:act}} {_TOGETHER}", _both),
        (f"{AGENT} {NO} [ever] {{a:act}} and|or {{b:act}} {_TOGETHER}", _both),
        (f"it is [strictly] {BANNED} to {{a:act}} and {{b:act}} {_TOGETHER}", _both),
        (f"it is [strictly] {BANNED} to {{a:act}} {_ALONGSIDE} {{b:events}}", _both),
        (f"{{a:event}} and {{b:event}} {_TOGETHER} is|are [strictly] {BANNED}", _both),
        (f"{{a:events}} {_ALONGSIDE} {{b:events}} is|are [strictly] {BANNED}", _both),
        (f"[{AGENT}] [{SHOULD}] [always] keep|prevent|stop {{a:event}} and {{b:event}} [from]"
         f" {_OVERLAPPING}", _both),
        (f"[{AGENT}] [{SHOULD}] avoid {{a:event}} and {{b:event}} {_OVERLAPPING}", _both),
        (f"no|avoid|avoid_any|never_any {_NO_OVERLAP} between|of {{a:event}} and|with {{b:event}}", _both),
        (f"no|avoid|avoid_any {_NO_OVERLAP} [,|:] {{a:event}} and|+ {{b:event}}", _both),
        (f"there {SHOULD}|{MAY} be no {_NO_OVERLAP} between|of {{a:event}} and|with {{b:event}}", _both),
        (f"{{a:event}} and {{b:event}} {_OVERLAPPING} is|are [strictly] {BANNED}", _both),
    ],
}  # fmt: skip
