"""With what runs begin and end: `as its first call`, `never start with anything but`."""

from __future__ import annotations

from collections.abc import Callable

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import AGAIN, Adjunct, Demand, Event
from synth.policies.clausal.words import AGENT, ALLOWED, BANNED, MAY, NO, NOBODY, RUNS, SHOULD

_RUNS = f"{RUNS}|each_and_every_run|all_the_runs|no_matter_which_run"
_ONE_RUN = "every_run|each_run|a_run|the_run|any_run|all_runs|runs|your_run|its_run|your_work|its_work"
_STEPS = (
    "call|step|action|thing|tool_call|tool|move|calls|task|thing_to_do|thing_to_happen|act|operation|thing_done"
    "|tool_called|tool_used"
)
_OF_RUNS = "|".join((
    *(f"{within}_{every}run" for within in ("of", "in", "within")
      for every in ("every_", "each_", "a_", "any_", "the_", "the_whole_", "the_entire_",
                    "its_", "your_", "one_")),
    "of_all_runs", "in_all_runs", "of_runs", "in_runs",
    *(f"{that}{run}_{does}" for that in ("", "that_") for run in ("a_run", "the_run", "every_run")
      for does in ("does", "makes", "contains", "has", "calls")),
))  # fmt: skip
_DOES = "does|makes|calls|takes|do|make|call|use|uses|runs"
_CALLED = "called|made|done|used|run|taken|executed|performed|invoked|to_be_called|to_be_used|to_be_made"
_WHOSE = (
    "the|its|your|their|our|the_agent's|agents'|an_agent's|the_assistant's|the_bot's|every_run's|each_run's"
    "|a_run's|the_run's"
)
_ANY_BUT = (
    "anything|something|anything_else|any_call|any_tool|any_tool_call|any_action|any_step|any_other_call"
    "|any_other_tool|any_other_tool_call|any_other_action|any_other_step|a_call|a_tool|another_call"
    "|another_tool|another_action|another_step|calls|tools|other_calls|other_tools"
)
_NONE_BUT = (
    "nothing|nothing_else|no_call|no_tool|no_tool_call|no_other_call|no_other_tool|no_other_tool_call"
    "|no_action|no_other_action|no_step|no_other_step|no_other"
)
_BUT = "but|except|other_than|apart_from|than|besides|save|except_for|aside_from"
_ALL_OTHERS = (
    "everything_else|anything_else|all_else|every_other_call|any_other_call|all_other_calls|every_other_tool"
    "|any_other_tool|all_other_tools|every_other_step|any_other_step|every_other_action|any_other_action"
)
_IS = (
    "comes|come|goes|go|happens|happen|is|are|runs|run|is_called|are_called|is_made|are_made|is_done|are_done"
    "|gets_called|takes_place|stands|is_used|is_run"
)
_DOES_NOT = "never|not|do_not|does_not"
_BE = "be|be_called|be_made|be_done|be_used|be_run|be_executed|come|happen|be_invoked|go|be_taken|run"


def _not_so(kind: str) -> Callable[[Parts], Demand]:
    """What no run may begin or end with; of several each is forbidden."""
    return lambda p: Demand(f"not {kind}", p["e"][0], joint="or")


def _opening(kind: str, order: str, begins: str, where: str, side: str) -> dict[str, Rule]:
    """All that is said of the first call, or of the last."""
    said, verb = f"{kind}_call", f"{kind}_verb"
    ends, banned = demanding(kind), _not_so(kind)

    def it(p: Parts) -> Demand:
        return Demand(f"comes {kind}", (Event(AGAIN),))

    done = demanding(kind, make=passive)
    of_runs = f"[{_OF_RUNS}]" if kind == "first" else _OF_RUNS
    """`A must come last` alone may allow that it never comes; in a run with a B it may not."""
    surely = _OF_RUNS if kind == "first" else f"[{_OF_RUNS}]"
    """`Always verify the caller first` may be before something, and not before all."""
    of_such = demanding(f"comes {kind}")
    return {
        said: [
            (
                f"{_WHOSE} [very|absolute] {order} [{_STEPS}] [that|which] [{AGENT}] [{_DOES}|{_CALLED}]"
                f" [{_OF_RUNS}]",
                lambda p: kind,
            ),
            (f"[very] {order} {_STEPS} [{_OF_RUNS}]", lambda p: kind),
        ],
        verb: [(f"{begins} [off|out] [{_ONE_RUN}] [off|out] with|by|in|on", lambda p: kind)],
        f"{kind}_but": [
            (f"{{v:{verb}}} {_ANY_BUT} {_BUT} [with|by] {{e:events}}", lambda p: p["e"]),
            (f"{_BE} {order} [{_OF_RUNS}]", lambda p: None),
        ],
        "demand": [
            (f"{_RUNS}|{AGENT} {SHOULD} [always|only] {{v:{verb}}} [nothing_but|only] {{e:events}}", ends),
            (f"{_RUNS}|{AGENT} {MAY} only {{v:{verb}}} {{e:events}}", ends),
            (f"{_RUNS}|{AGENT} {MAY} {{v:{verb}}} nothing_but|only {{e:events}}", ends),
            (f"{_RUNS} [always|only] {{v:{verb}}} {{e:events}}", ends),
            (f"[always|only] {{v:{verb}}} {{e:events}}", ends),
            (f"never|do_not [ever] {{e:{kind}_but}}", ends),
            (f"{_RUNS}|{AGENT} {NO} [ever] {{e:{kind}_but}}", ends),
            (f"{NOBODY}|no_run {ALLOWED} [ever] {{e:{kind}_but}}", ends),
            (f"it is [strictly] {BANNED} to {{e:{kind}_but}}", ends),
            (f"it is [strictly] {BANNED} for {_RUNS}|{AGENT} to {{e:{kind}_but}}", ends),
            (f"{_NONE_BUT} {_BUT} {{e:events}} {ALLOWED} [ever] {_BE} {order}|{where} [{_OF_RUNS}]", ends),
            (f"{_NONE_BUT} {_BUT} {{e:events}} {ALLOWED} [ever] be {{o:{said}}}", ends),
            (f"only {{e:events}} {MAY}|{SHOULD} {_BE} {order}|{where} [{_OF_RUNS}]", ends),
            (f"only {{e:events}} {MAY}|{SHOULD} be {{o:{said}}}", ends),
            (f"{{o:{said}}} {SHOULD}|is|are [always|only] [be|to_be] {{e:events}}", ends),
            (f"{{o:{said}}} {MAY} only be {{e:events}}", ends),
            (f"{{o:{said}}} {SHOULD}|is|are [always] [be] to {{e:acts}}", ends),
            (f"{{o:{said}}} [,|=] {{e:events}}", ends),
            (f"{{o:{said}}} , {{e:acts}}", ends),
            (
                f"{{o:{said}}} [{_OF_RUNS}] {NO} [ever] be anything|something|any_tool|any_other_tool"
                f"|any_call|any_other_call {_BUT} {{e:events}}",
                ends,
            ),
            (f"{{e:events}} {SHOULD}|is|are [always] [be|to_be] [{_CALLED}] [as] {{o:{said}}}", ends),
            (f"{{e:events}} {SHOULD} [always] {_BE} {where} [{_OF_RUNS}]", ends),
            (f"{{e:events}} {SHOULD} [always] {_BE} {order} {of_runs} [,] [always]", ends),
            (f"{{e:events}} {SHOULD} always {_BE} {order}", ends),
            (f"{{e:events}} [always] {_IS} {order} {of_runs} [,] [always]", ends),
            (f"{{e:events}} always {_IS} {order}", ends),
            (f"{{e:events}} {_IS} {order}", of_such),
            (f"{{e:events}} {SHOULD} {_BE} {order}", of_such),
            (f"{{t:object}} {SHOULD} be {{d:past}} {order}", demanding(f"comes {kind}", make=passive)),
            (f"{{e:acts}} {order}", of_such),
            (f"{{e:events}} {_IS} {order} [,] always", ends),
            (f"{{e:events}} [always] {_IS} {where} [{_OF_RUNS}] [,] [always]", ends),
            (f"always {{e:acts}} {order} {surely}", ends),
            (f"{{e:acts}} {order} {_OF_RUNS} [,] [always]", ends),
            (f"{{e:acts}} {order} [,] always", ends),
            (f"{{t:object}} {SHOULD} always be {{d:past}} {order} {surely}", done),
            (f"{{t:object}} is|are always {{d:past}} {order} {surely}", done),
            (f"{{t:object}} {SHOULD} be {{d:past}} {order} {_OF_RUNS}", done),
            (f"it {SHOULD}|is|are [always] [be|to_be] [{_CALLED}] [as] {{o:{said}}}", it),
            (f"it {SHOULD} [always] {_BE} {order}|{where} [{_OF_RUNS}]", it),
            (f"it [always] {_IS} {order}|{where} [{_OF_RUNS}]", it),
            # what it must not be
            (f"{_RUNS}|{AGENT} {NO} [ever] {{v:{verb}}} {{e:events}}", banned),
            (f"{_RUNS}|{AGENT} {_DOES_NOT} [ever] {{v:{verb}}} {{e:events}}", banned),
            (f"never|do_not [ever] {{v:{verb}}} {{e:events}}", banned),
            (f"{NOBODY}|no_run|no_runs {ALLOWED} [ever] {{v:{verb}}} {{e:events}}", banned),
            (f"no_run|no_runs [ever] {{v:{verb}}} {{e:events}}", banned),
            (f"it is [strictly] {BANNED} to {{v:{verb}}} {{e:events}}", banned),
            (f"it is [strictly] {BANNED} for {_RUNS}|{AGENT} to {{v:{verb}}} {{e:events}}", banned),
            (f"{{o:{said}}} {NO} [ever] be {{e:events}}", banned),
            (f"{{o:{said}}} is|are never|not {{e:events}}", banned),
            (f"{{e:events}} {NO} [ever] be [{_CALLED}] [as] {{o:{said}}}", banned),
            (f"{{e:events}} is|are never|not [{_CALLED}] [as] {{o:{said}}}", banned),
            (f"{{e:events}} {NO} [ever] {_BE} {order} {_OF_RUNS}", banned),
            (f"{{e:events}} {_DOES_NOT} [ever] {_IS} {order} {_OF_RUNS}", banned),
            (f"no {{e:events}} {ALLOWED} [ever] be [{_CALLED}] [as] {{o:{said}}}", banned),
            (f"no {{e:events}} as {{o:{said}}}", banned),
            (f"{{e:event}} [,] always {order} [{_OF_RUNS}]", lambda p: Demand(kind, (p["e"],))),
            (f"{{e:event}} {order} , always", lambda p: Demand(kind, (p["e"],))),
            (f"{{e:event}} , [always] {{o:{said}}}", lambda p: Demand(kind, (p["e"],))),
            (f"{{e:events}} {SHOULD} [always] {begins} {_ONE_RUN}", ends),
            (f"{{e:events}} [always] {begins} {_ONE_RUN}", ends),
            (f"[always] make {{e:events}} {{o:{said}}}", ends),
            (f"{{e:events}} {SHOULD} [always] {side} {_ALL_OTHERS}", ends),
            (f"{{e:events}} [always] {side} {_ALL_OTHERS}", ends),
            (
                f"{{e:events}} {SHOULD} [always] be_called|be_made|be_used|be_invoked|be_run {order}"
                f" {of_runs}",
                ends,
            ),
        ],
        "adjunct": [
            (
                f"as|for|with [a|an] {{o:{said}}}",
                lambda p: Adjunct("at first" if kind == "first" else "at last"),
            ),
        ],
    }


def _together(one: dict[str, Rule], other: dict[str, Rule]) -> dict[str, Rule]:
    return {**one, **other, **{k: (*one[k], *other[k]) for k in ("demand", "adjunct")}}  # type: ignore[misc]


_FIRST_OF_ALL = (
    "first_of_all|first_and_foremost|first_thing|before_anything_else_happens|as_the_very_first_thing|to_begin_with"
    "|to_start_with|at_the_very_beginning|at_the_very_start"
)
OPENINGS = _together(
    _opening(
        "first",
        "first|opening|initial",
        "start|begin|open|kick_off|commence|lead_off|starts|begins|opens|kicks_off|commences",
        "before_anything_else|before_all_others|before_any_other_call|before_all_other_calls"
        "|ahead_of_everything_else|before_everything_else|before_all_else|before_any_other_tool"
        "|before_any_other_action|before_any_other_step|before_all_other_tools|before_every_other_call",
        "precede|precedes|come_before|comes_before|go_before|goes_before|happen_before|happens_before|before",
    ),
    _opening(
        "last",
        "last|final|closing|concluding",
        "end|finish|close|conclude|wrap_up|round_off|ends|finishes|closes|concludes",
        "after_everything_else|after_all_others|after_all_other_calls",
        "come_after|comes_after|go_after|goes_after|happen_after|happens_after",
    ),
)
_HAPPENS_AT_ALL = "happens|is_called|is_made|occurs|is_used|takes_place|is_done|was_called|was_made|happened"
OPENINGS["adjunct"] = (
    *OPENINGS["adjunct"],  # type: ignore[misc]
    (f"if|when|whenever it {_HAPPENS_AT_ALL} [at_all]", lambda p: Adjunct("if so")),
    ("if at all|any|called|made|used", lambda p: Adjunct("if so")),
)
OPENINGS["leading"] = [(f"{_FIRST_OF_ALL} [,]", lambda p: (Adjunct("before all"),))]
_BEFORE = "precede|come_before|go_before|happen_before|be_called_before|be_made_before"
OPENINGS["demand"] = (
    *OPENINGS["demand"],  # type: ignore[misc]
    (f"{{n:no_tool}} {ALLOWED} [ever] {_BEFORE} {{e:events}}", demanding("first")),
    ("{n:no_tool} before {e:events}", demanding("first")),
    (f"{{n:any_tool}} before {{e:events}} is|are [strictly] {BANNED}", demanding("first")),
)
