"""More ways to say what is demanded: needs, answers, bans, how runs begin and end, what lies next to what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.adjuncts import nouned
from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import ANY, Adjunct, Demand, Event, Fact, with_same
from synth.policies.clausal.words import (
    AGAIN,
    AGENT,
    ALLOWED,
    ALREADY,
    BANNED,
    BEFORE,
    HAPPEN,
    MAY,
    NO,
    RIGHT,
    RUNS,
    SHOULD,
)

Events = tuple[tuple[Event, ...], str]


def _pair(kind: str, first: str = "a", then: str = "b") -> Callable[[Parts], Demand | None]:
    """A demand on two actions, or lists of them; both are lists only where one word joins them."""

    def made(p: Parts) -> Demand | None:
        (events, joint), (others, other) = _events(p[first]), _events(p[then])
        if joint and other:
            return None
        return Demand(kind, events, others, joint=joint or other)

    return made


def _events(said: Events | Event | Fact) -> Events:
    if isinstance(said, Fact):
        return said.events, said.joint
    return said if isinstance(said, tuple) else ((said,), "")


def _all(kind: str, **more: str | int) -> Callable[[Parts], Demand]:
    def made(p: Parts) -> Demand:
        events, joint = _events(p["e"])
        if kind == "count":
            events = tuple(replace(event, single=False) for event in events)
        return replace(Demand(kind, events, joint=joint), **more)  # type: ignore[arg-type]

    return made


def _waits(p: Parts) -> Demand | None:
    """`A refund has to wait until the guest has been verified`."""
    fact: Fact = p["f"]
    if fact.aspect not in ("perfect", "present"):
        return None
    return _pair("needs", "a", "f")(p)


def _next(p: Parts) -> Demand | None:
    """`The next call after a refund must be a receipt`, of what has happened and not of what has not."""
    return None if p["a"].aspect in ("not", "running") else _pair("next")(p)


def _running(p: Parts) -> Adjunct | None:
    return Adjunct("while", p["f"]) if p["f"].aspect == "running" else None


def _all_before(p: Parts) -> Adjunct:
    return Adjunct("before all")


def _both_done(p: Parts) -> Demand | None:
    """`A claim must not be both approved and rejected`, of two actions that are done to it."""
    thing: Event = p["t"]
    one, other = p["a"], p["b"]
    if (
        one.noun != other.noun
        or thing.noun != one.noun
        or one.role
        or other.role
        or one.action == other.action
    ):
        return None
    same = frozenset(one.noun[-1:]) | thing.same
    return Demand("both", (with_same(one, same),), (other,)) if thing.action == one.action else None


_NOT_BOTH = (
    "but_not_both|not_both|never_both|but_never_both|but_never_both_of_them|but_not_both_of_them|and_not_both"
    "|and_never_both|but_never_do_both|but_do_not_do_both|never_do_both"
)
_EXCLUDE = "exclude_each_other|are_mutually_exclusive|rule_each_other_out|exclude_one_another"
_OTHERS = (
    "any_other_call|any_other_tool|any_other_tool_call|any_other_action|any_other_step|all_other_calls"
    "|all_other_tools|everything_else|all_else|every_other_call|every_other_tool|any_other_tool_is_called"
    "|any_other_tool_is_used|any_other_call_is_made|any_other_call_happens|anything_else_is_called"
    "|it_calls_any_other_tool|it_uses_any_other_tool|it_calls_anything_else|you_call_any_other_tool"
    "|calling_any_other_tool|calling_anything_else|using_any_other_tool|making_any_other_call"
    "|the_agent_calls_any_other_tool|the_agent_calls_anything_else|other_calls|other_tools"
    "|doing_something_else|anything_else_can_happen|anything_else_may_happen|it_may_do_anything_else"
    "|anything_else|anything_else_is_done|anything_else_happens|doing_anything_else"
    "|you_do_anything_else|it_does_anything_else|the_agent_does_anything_else"
)
_RUNS = f"{RUNS}|each_and_every_run"
_ONE_RUN = "every_run|each_run|a_run|the_run|any_run"
_AT_ONCE = (
    "as_the_very_next_call|as_the_next_call|as_its_next_call|as_the_next_step|as_the_very_next_step|at_once"
    "|with_nothing_in_between|with_no_other_call_in_between|with_no_call_in_between"
)
_A_CALL = "call|step|action|tool_call|thing"
_NEXT = f"the|your|its|their [very] next {_A_CALL} [made]"
_NO_CALL = "no_call|no_other_call|no_tool|no_other_tool|no_other_action|no_other_step"
_RIGHT_THEN = "immediately|directly|at_once|straight_away|right_away"
_ONLY_THEN = "only_then|only_after_that|only_afterwards|then_and_only_then|only_after_this|not_until_then"
_LATER = (
    "afterwards|afterward|later|later_on|subsequently|thereafter|after_it|after_that|after_them|following_it"
    "|at_some_later_point|eventually"
)
_PRIOR = "a_prior|prior|a_previous|previous|an_earlier|earlier|a_preceding|preceding"
_WAITS_FOR = (
    "depends_on|depend_on|is_conditional_on|are_conditional_on|is_contingent_on"
    "|are_contingent_on|has_to_wait_for"
    "|have_to_wait_for|must_wait_for|should_wait_for|needs_to_wait_for|need_to_wait_for"
    "|must_await|is_subject_to"
    "|are_subject_to|is_dependent_on|are_dependent_on|always_depends_on|has_to_await|hinges_on|hinge_on"
)
_PRECONDITION = (
    "precondition|prerequisite|necessary_condition|requirement|must|pre-condition|pre-requisite|condition"
)
_STEPS = "|".join(
    f"{thing}{of}"
    for thing in ("call", "step", "action", "thing", "tool_call", "thing_to_do", "thing_to_happen",
                  "tool_to_be_used", "task", "thing_you_do", "thing_that_happens", "thing_the_agent_does")
    for of in ("", "_of_every_run", "_of_each_run", "_of_a_run", "_of_any_run", "_of_the_run",
               "_in_every_run", "_in_each_run", "_in_a_run", "_in_any_run", "_in_the_run")
)  # fmt: skip
_FORGET = (
    "make_sure_to|be_sure_to|do_not_forget_to|never_forget_to|always_remember_to|take_care_to|see_to_it_that"
    "|be_certain_to|be_careful_to|it_is_mandatory_to|it_is_necessary_to|it_is_essential_to|it_is_important_to"
    "|it_is_required_to|you_are_required_to|the_agent_is_required_to|you_are_to|the_agent_is_to"
)
_SEE_THAT = (
    "make_sure_that|make_sure|be_sure_that|ensure_that|ensure|see_to_it_that|take_care_that|see_that"
    "|it_is_mandatory_that|it_is_necessary_that|it_is_essential_that|it_is_important_that|it_is_required_that"
    "|it_must_be_ensured_that"
)
_IN_NO_CASE = "under_no_circumstances|in_no_case|on_no_account|at_no_point|at_no_time"
_FIRST = "first|opening|initial"
_LAST = "last|final|closing|concluding"
_BEGIN = "start|begin|open|kick_off|commence|lead_off"
_END = "end|finish|close|conclude|wind_up|wrap_up|round_off|complete"
_ENDS = f"ends|finishes|closes|concludes|winds_up|wraps_up|{_END}"
_AVOID = "refrain_from|abstain_from|avoid"
_STOP = "stop|cease|quit|discontinue"


def _failed_first(kind: str) -> Callable[[Parts], Demand | None]:
    """`A failed payment must be followed by a notice`."""

    def made(p: Parts) -> Demand | None:
        (first, joint), (then, other) = _events(p["a"]), _events(p["b"])
        if joint or any(one.outcome != "failed" for one in first) or any(one.outcome for one in then):
            return None
        return Demand(kind, tuple(replace(one, outcome="") for one in first), then, joint=other)

    return made


FRAMES: dict[str, Rule] = {
    "events": [
        ("both {e:event} and {g:event}", lambda p: ((p["e"], p["g"]), "and")),
        ("at_least_one_of|one_of|any_of|any_one_of|either_of {es:several}", lambda p: (p["es"], "or")),
    ],
    "several": [
        ("{e:event} and|or {g:event}", lambda p: (p["e"], p["g"])),
        ("{e:event} , {es:several}", lambda p: (p["e"], *p["es"])),
        ("{e:event} , and|or {g:event}", lambda p: (p["e"], p["g"])),
    ],
    "act": [
        ("perform|do|make|conduct|carry_out|execute {e:noun}", lambda p: p["e"]),
        ("call|use|run {e:exactly}", lambda p: p["e"]),
    ],
    "event": [("performing|doing|making|conducting|carrying_out|executing {e:noun}", lambda p: p["e"])],
    "acts": [("both {e:act} and {g:act}", lambda p: ((p["e"], p["g"]), "and"))],
    "then": [
        (f"{_ONLY_THEN} {MAY}|{SHOULD} {{t:object}} be {{d:past}}", passive),
        (f"{_ONLY_THEN} {{t:object}} {MAY}|{SHOULD} be {{d:past}}", passive),
        (f"{_ONLY_THEN} {MAY}|{SHOULD} {AGENT} {{e:act}}", lambda p: p["e"]),
        (f"{_ONLY_THEN} {AGENT} {MAY}|{SHOULD} {{e:act}}", lambda p: p["e"]),
        (f"{_ONLY_THEN} {MAY}|{SHOULD} {{e:event}} {HAPPEN}|follow", lambda p: p["e"]),
        (f"{_ONLY_THEN} {{e:event}} {MAY}|{SHOULD} {HAPPEN}|follow", lambda p: p["e"]),
        (f"{_ONLY_THEN} is|are {{e:event}} allowed|permitted", lambda p: p["e"]),
        (f"{_ONLY_THEN} {{e:act}}", lambda p: p["e"]),
    ],
    "foremost": [
        ("first {e:act}", lambda p: p["e"]),
        ("{e:act} first", lambda p: p["e"]),
        (
            "{e:event} comes|goes|come|happens|must_come|must_happen|has_to_come|has_to_happen first",
            lambda p: p["e"],
        ),
        (f"{{t:object}} {SHOULD} be {{d:past}} first", passive),
        (f"{{t:object}} {SHOULD} first be {{d:past}}", passive),
        (f"{AGENT} {SHOULD} first {{e:act}}", lambda p: p["e"]),
        (f"first {{t:object}} {SHOULD} be {{d:past}}", passive),
        (f"first {AGENT} {SHOULD} {{e:act}}", lambda p: p["e"]),
    ],
    "demand": [
        # needs
        (
            f"{{a:events}} requires|needs|require|need|takes|take|presupposes|presuppose {_PRIOR}"
            f" {{b:events}}",
            _pair("needs"),
        ),
        (f"{{a:events}} {_WAITS_FOR} [{_PRIOR}] {{b:events}}", _pair("needs")),
        (f"{{a:events}} {SHOULD} wait until|till {{f:fact}}", _waits),
        (
            f"{{b:events}} is|are|{SHOULD} [be] [always] a|the|an [necessary] {_PRECONDITION}"
            f" for|of {{a:events}}",
            _pair("needs"),
        ),
        (
            "{b:check} is|are [always] required|needed|necessary|mandatory|obligatory for {a:events}",
            _pair("needs"),
        ),
        ("{b:foremost} [,] [and] {a:then}", _pair("needs")),
        (f"{{b:events}} {SHOULD} [always] precede {{a:events}}", _pair("needs")),
        ("{b:events} [always] precedes {a:events}", _pair("needs")),
        ("{a:events} is|are always|only preceded by {b:events}", _pair("needs")),
        (
            f"{{a:events}} without {{b:events}} first|beforehand|before_it|before_that is|are"
            f" [strictly] {BANNED}",
            _pair("needs"),
        ),
        (f"{{a:events}} without {_PRIOR} {{b:events}} is|are [strictly] {BANNED}", _pair("needs")),
        (f"{{a:events}} without first {{b:noun}} is|are [strictly] {BANNED}", _pair("needs")),
        (f"{{e:events}} {SHOULD} [always] come|go", _all("comes")),
        # right before
        (f"{{a:events}} {SHOULD} [always] be {RIGHT} preceded by {{b:events}}", _pair("adjacent")),
        (f"{{a:events}} {SHOULD} [always] be preceded {RIGHT} by {{b:events}}", _pair("adjacent")),
        (f"{{a:events}} is|are [always] {RIGHT} preceded by {{b:events}}", _pair("adjacent")),
        (
            f"the [very] call|step|action|tool_call|thing {RIGHT} before {{a:what}} {SHOULD}|is"
            " [always] [be|to_be]"
            " {b:events}",
            _pair("adjacent"),
        ),
        (f"{{b:events}} {SHOULD} [always] {RIGHT} precede {{a:events}}", _pair("adjacent")),
        (f"{{b:events}} {SHOULD} [always] come {RIGHT} before {{a:events}}", _pair("adjacent")),
        # right after
        (f"{{a:events}} {SHOULD} [always] be {RIGHT} followed by {{b:events}}", _pair("next")),
        (f"{{a:events}} {SHOULD} [always] be followed {RIGHT} by {{b:events}}", _pair("next")),
        (f"{{a:failure}} {SHOULD} [always] be {RIGHT} followed by {{b:events}}", _pair("next to failure")),
        (f"{{e:events}} {SHOULD} [always] follow {_RIGHT_THEN}", _all("comes next")),
        (f"{{e:events}} {SHOULD} [always] {RIGHT} follow", _all("comes next")),
        (f"{{a:events}} is|are [always|to_be] {RIGHT} followed by {{b:events}}", _pair("next")),
        (f"{{a:events}} is|are [always|to_be] followed {RIGHT} by {{b:events}}", _pair("next")),
        (f"{{a:events}} {SHOULD} [always] be followed by {{b:events}} {_AT_ONCE}", _pair("next")),
        (f"{_NEXT} after|following {{a:what}} {SHOULD}|is [always] [be|to_be] {{b:events}}", _next),
        (f"{_NEXT} after|following {{a:what}} {SHOULD}|is [always] [be|to_be] to {{b:acts}}", _next),
        (
            f"the [very] {_A_CALL} {RIGHT} after {{a:what}} {SHOULD}|is [always] [be|to_be] {{b:events}}",
            _next,
        ),
        (f"{{a:events}} [,] and {_NEXT} {SHOULD}|is [be|to_be] {{b:events}}", _pair("next")),
        (f"{_NEXT} {SHOULD} [always] be {{e:events}}", _all("comes next")),
        (f"{_NEXT} {SHOULD} [always] be to {{e:acts}}", _all("comes next")),
        (
            f"nothing|{_NO_CALL} [else] {ALLOWED} [ever] come|happen|be_called|be_done between {{a:event}}"
            " and {b:event} that|which follows|comes_after|must_follow|has_to_follow [it]",
            _pair("next"),
        ),
        # answers
        ("{a:events} is|are [always|to_be|then] {w:followed} {b:events}", _pair("answer")),
        (
            f"{{a:events}} [{SHOULD}] [always] triggers|trigger|leads_to|lead_to|entails|entail"
            "|results_in|result_in"
            "|is_answered_by|are_answered_by {b:events}",
            _pair("answer"),
        ),
        (
            f"{{a:events}} requires|needs|require|need|calls_for|call_for|takes|take {{b:events}} {_LATER}",
            _pair("answer"),
        ),
        (f"{{a:events}} {SHOULD} [always] be followed by {{b:events}}", _failed_first("failure answered")),
        (f"{{a:events}} {NO} be followed by {{b:events}}", _failed_first("failure bans")),
        (f"{{e:events}} {SHOULD} [always] pass|succeed|have_passed|have_succeeded", _all("pass")),
        (f"{{b:events}} {NO} follow {{a:events}}", _pair("no answer")),
        # bans
        (f"{_AVOID} {{e:events}}", _all("never", how="again")),
        (f"{AGENT} {SHOULD} {_AVOID} {{e:events}}", _all("never", how="again")),
        (f"{_STOP} {{e:events}}", _all("stop")),
        (f"{AGENT} {SHOULD} {_STOP} {{e:events}}", _all("stop")),
        (f"{{e:events}} {SHOULD} stop|cease|end", _all("stop")),
        (
            "{e:events} is|are no_longer|not_any_longer|no_more|not"
            " allowed|permitted|possible|acceptable|ok|okay "
            f"any_more|anymore|any_longer|from_then_on|from_there_on|thereafter|{AGAIN}",
            _all("never", how="again"),
        ),
        (
            "{e:events} is|are no_longer allowed|permitted|possible|acceptable|ok|okay|an_option",
            _all("never", how="again"),
        ),
        (
            "{a:events} rules_out|precludes|excludes|forbids|prohibits|bars|rule_out|preclude"
            "|exclude|forbid|prohibit "
            "any|all|every any_later|later|further|subsequent|following {b:events}",
            _pair("no answer"),
        ),
        (f"{{b:events}} {NO} [ever] come|follow|happen after {{a:events}}", _pair("no answer")),
        (f"{{b:events}} {NO} [ever] follow {{a:events}}", _pair("no answer")),
        (
            "nothing|no_other_call|no_other_tool|no_call [else|more|further]"
            " comes|happens|follows|is_done|is_called",
            lambda p: Demand("never", (Event(ANY),), how="again"),
        ),
        (
            f"nothing [else|more|further] {ALLOWED} [ever] come|be_called|be_used",
            lambda p: Demand("never", (Event(ANY),), how="again"),
        ),
        ("do nothing [else|more|further|any_more]", lambda p: Demand("never", (Event(ANY),), how="again")),
        (
            f"{AGENT} {MAY}|{SHOULD} do nothing [else|more|further|any_more]",
            lambda p: Demand("never", (Event(ANY),), how="again"),
        ),
        (
            f"{{e:event}} is|are final , [and|so|so_that] nothing [else|more] {ALLOWED} {HAPPEN}|come|follow "
            "[after_it|after_that|afterwards|any_more]",
            lambda p: Demand("no answer", (p["e"],), (Event(ANY),)),
        ),
        ("no {e:events} , ever", _all("never")),
        (f"{_IN_NO_CASE} {ALLOWED} {{e:event}} {HAPPEN}", _all("never")),
        (f"{_IN_NO_CASE} {ALLOWED} {AGENT} {{e:act}}", _all("never")),
        # beginning and end
        (f"{_RUNS} [always] starts|begins|opens|start|begin|open with|by {{e:events}}", _all("first")),
        (
            f"{_RUNS} [always] {_ENDS} with|by|in {{e:events}}",
            _all("last"),
        ),
        (f"[always] {_BEGIN} [off] [{_ONE_RUN}] [off] with|by {{e:events}}", _all("first")),
        (f"[always] {_END} [{_ONE_RUN}] [off] with|by {{e:events}}", _all("last")),
        (f"{AGENT} {SHOULD} [always] {_BEGIN} [{_ONE_RUN}] with|by {{e:events}}", _all("first")),
        (
            f"{AGENT} {SHOULD} [always] {_END} [{_ONE_RUN}] with|by {{e:events}}",
            _all("last"),
        ),
        (f"the [very] {_FIRST} {_STEPS} {SHOULD}|is [always] [to] [be] {{e:acts}}", _all("first")),
        (f"the [very] {_LAST} {_STEPS} {SHOULD}|is [always] [to] [be] {{e:acts}}", _all("last")),
        (f"the [very] {_FIRST} {_STEPS} {SHOULD}|is [always] [to] [be] {{e:events}}", _all("first")),
        (f"the [very] {_LAST} {_STEPS} {SHOULD}|is [always] [to] [be] {{e:events}}", _all("last")),
        (f"{{e:events}} is|are|{SHOULD} [always] [be] the [very] {_FIRST} {_STEPS}", _all("first")),
        (f"{{e:events}} is|are|{SHOULD} [always] [be] the [very] {_LAST} {_STEPS}", _all("last")),
        (f"{{e:events}} [always] comes|come|goes|go first in {_RUNS}", _all("first")),
        (f"{{e:events}} [always] comes|come|goes|go last in {_RUNS}", _all("last")),
        (f"{{e:events}} {SHOULD} [always] come|go|happen first in {_RUNS}", _all("first")),
        (f"{{e:events}} {SHOULD} [always] come|go|happen last in {_RUNS}", _all("last")),
        (
            f"{_RUNS} {NO} {_BEGIN} with anything|something but|except|other_than {{e:events}}",
            _all("first"),
        ),
        (
            f"{_RUNS} {NO} end|finish|close with anything|something but|except|other_than {{e:events}}",
            _all("last"),
        ),
        (
            f"no run {ALLOWED} {_BEGIN} with anything but|except|other_than {{e:events}}",
            _all("first"),
        ),
        (f"no run {ALLOWED} end|finish|close with anything but|except|other_than {{e:events}}", _all("last")),
        # at least one
        (
            f"every|each|any|a run {SHOULD} include|contain|have|comprise [at_least_one] {{e:event}}",
            _all("count", how="at least", number=1),
        ),
        (
            "every|each|any run includes|contains|has [at_least_one] {e:event}",
            _all("count", how="at least", number=1),
        ),
        (
            f"no run {ALLOWED} end|finish|close|be_over|be_without without {{e:event}}",
            _all("count", how="at least", number=1),
        ),
        (
            f"there {SHOULD} be [at_least] one|a|an {{e:noun}} in every_run|each_run",
            _all("count", how="at least", number=1),
        ),
        (
            f"there {SHOULD} be [at_least] one|a|an|1 {{e:noun}} somewhere|at_some_point in"
            " every_run|each_run",
            _all("count", how="at least", number=1),
        ),
        # never together
        ("never|do_not both {a:act} and {b:act}", _pair("both")),
        ("never|do_not do both {a:act} and {b:act}", _pair("both")),
        (f"{AGENT} {NO} do both {{a:act}} and {{b:act}}", _pair("both")),
        (f"{AGENT} {NO} both {{a:act}} and {{b:act}}", _pair("both")),
        (f"{AGENT} {MAY}|{SHOULD} never|not both {{a:act}} and {{b:act}}", _pair("both")),
        (f"[{AGENT}] [{MAY}|{SHOULD}] either {{a:act}} or {{b:act}} , {_NOT_BOTH}", _pair("both")),
        (f"[{AGENT}] [{MAY}|{SHOULD}] {{a:act}} or {{b:act}} , {_NOT_BOTH}", _pair("both")),
        (f"{{a:event}} and {{b:event}} {NO} both {HAPPEN}", _pair("both")),
        (f"{{a:event}} and {{b:event}} {_EXCLUDE}", _pair("both")),
        (f"there {MAY} be either {{a:event}} or {{b:event}} , {_NOT_BOTH}", _pair("both")),
        ("either {a:event} or {b:event} is|are allowed|permitted , " + _NOT_BOTH, _pair("both")),
        (f"{{t:object}} {NO} be both {{a:done}} and {{b:done}}", _both_done),
        ("never|do_not start|begin {e:events}", _all("never", how="again")),
        (f"{AGENT} {NO} start|begin {{e:events}}", _all("never", how="again")),
        (
            f"nobody|no_one {ALLOWED} [ever] be {{e:done}} any_more|anymore|any_longer|again",
            _all("never", how="again"),
        ),
        (
            "{a:events} calls_for|call_for|obliges_you_to_make|must_trigger|must_lead_to {b:events}",
            _pair("calls for"),
        ),
        # one for one
        (
            "each|every {b:event} covers|allows|is_good_for|is_enough_for|is_valid_for"
            " [only|exactly|just] one|a_single "
            "{a:event} [only]",
            _pair("own"),
        ),
        (f"there {NO} be more {{a:events}} than {{b:events}}", _pair("own")),
        (f"for each|every {{a:event}} there {SHOULD} be a|an|one separate|own {{b:event}}", _pair("own")),
        (f"for each|every {{a:event}} there {SHOULD} be {{b:event}} of_its_own", _pair("own")),
        ("{a:events} requires|needs|require|need {b:event} of_its_own|of_their_own", _pair("own")),
        (f"{{a:events}} {NO} outnumber {{b:events}}", _pair("own")),
    ],
    "ensured": [
        ("{t:object} is|are|gets|get {d:past}", demanding("must", make=passive)),
        (
            f"{{t:object}} has_been|have_been [{ALREADY}] {{d:past}} [{BEFORE}]",
            demanding("have", make=passive),
        ),
        (f"{AGENT} {{e:does}}", _all("must")),
        ("you|we|they {e:acts}", _all("must")),
        (f"{AGENT} has|have [{ALREADY}] {{e:having}} [{BEFORE}]", _all("have")),
        ("{e:events} happens|takes_place|is_made|is_done", _all("must")),
    ],
    "inside": [
        (f"{_FORGET} {{i:inside}}", lambda p: p["i"]),
        (f"{_SEE_THAT} {{d:ensured}}", lambda p: (p["d"], ())),
        (f"{_SEE_THAT} {{d:ensured}} {{a:adjuncts}}", lambda p: (p["d"], p["a"])),
    ],
    "adjunct": [
        (f"before {AGENT} {MAY} {{e:act}}", nouned("before")),
        (
            f"before {{t:object}} {MAY} be {{d:past}}",
            lambda p: (e := passive(p)) and Adjunct("before", Fact((e,), "noun")),
        ),
        (
            "before {e:events} is|are called|made|done|run|used|executed",
            nouned("before"),
        ),
        (
            f"before {{e:events}} {MAY}|is|are [be] allowed|permitted|possible|resumed|happen"
            f"|resume|continue|run "
            "[again]",
            nouned("before"),
        ),
        (f"before|ahead_of|prior_to {_OTHERS}", _all_before),
        (
            f"at_the_start_of|at_the_beginning_of|at_the_very_start_of|at_the_very_beginning_of {_RUNS}",
            lambda p: Adjunct("at first"),
        ),
        (f"at_the_end_of|at_the_very_end_of {_RUNS}", lambda p: Adjunct("at last")),
        ("having [already|successfully] {e:having} [,]", nouned("after")),
        (
            "from the_moment|the_time|the_point [that|when|at_which] {f:fact} [on]",
            lambda p: Adjunct("after", p["f"]) if p["f"].aspect in ("perfect", "present") else None,
        ),
        ("from [the_first] {e:noun} on|onwards|onward", nouned("after")),
        (
            "by_the_time [that] {f:fact}",
            lambda p: Adjunct("before", p["f"]) if p["f"].aspect == "present" else None,
        ),
        (f"without {{e:noun}} {BEFORE}", nouned("unless")),
        ("with|and nothing [else] after_it|afterwards|after_that|behind_it", lambda p: Adjunct("none after")),
        (
            f"nothing|no_call|no_other_call [else] {ALLOWED} {HAPPEN}|come|follow"
            " after_it|afterwards|after_that",
            lambda p: Adjunct("none after"),
        ),
        (
            "nothing|no_call|no_other_call [else] comes|happens|follows after_it",
            lambda p: Adjunct("none after"),
        ),
        (
            f"nothing|no_call|no_other_call [else] {ALLOWED} {HAPPEN}|come|be_made before_it|ahead_of_it",
            lambda p: Adjunct("none before"),
        ),
        (
            "nothing|no_call|no_other_call [else] comes|happens before_it|ahead_of_it",
            lambda p: Adjunct("none before"),
        ),
        ("while|whilst|as_long_as|so_long_as {f:fact}", _running),
        (
            "while|whilst|as_long_as|so_long_as {t:object} is|are still being {d:past}",
            lambda p: (e := passive(p)) and Adjunct("while", Fact((e,), "running")),
        ),
    ],
}
