"""What alone may still be called: `nothing but a transfer`, `the only call allowed is`, `apart from`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from synth.policies.clausal.demands import demanding
from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import ANY, Adjunct, Demand, Event, Fact
from synth.policies.clausal.words import AGAIN, AGENT, ALLOWED, BANNED, HAPPEN, MAY, NO, NOBODY, SHOULD

_BUT = (
    "but|but_for|except|except_for|excepting|excluding|other_than|apart_from|aside_from|save|save_for|besides"
    "|with_the_exception_of|than|if_not"
)
_LEADING_BUT = (
    "apart_from|aside_from|except_for|except|other_than|besides|with_the_exception_of|save_for|excluding"
)
_CALLS = "call|calls|tool|tools|tool_call|tool_calls|action|actions|step|steps"
_MORE = "other|further|more|additional|new|subsequent|later|single"
_USED = (
    f"{HAPPEN}|follow|be_used|be_invoked|be_taken|come|be_allowed|be_permitted|come_after_it|happen_any_more"
)
_THE_RUN = "the_run|a_run|its_run|that_run"
_OPEN = "allowed|permitted|ok|okay|possible|acceptable|left|open|available|legal|admissible"


def _none(p: Parts) -> Demand:
    """No tool at all; with what it depends on, and maybe but some."""
    beside = (p["x"],) if "x" in p else ()
    return Demand("never", (Event(ANY, beside=beside),), how="again")


def _but(p: Parts) -> Adjunct | None:
    events, joint = p["es"]
    if any(e.same or e.about or e.outcome or e.beside or e.action == ANY for e in events):
        return None
    return Adjunct("but", Fact(events, "noun", "or" if joint else ""))


def _only_these(kind: str) -> Callable[[Parts], Demand | None]:
    """What alone is allowed; `beside` are the adjuncts that stand inside."""

    def made(p: Parts) -> Demand | None:
        but = _but(p)
        if but is None or but.fact is None:
            return None
        beside = p.get("a", ())
        event = Event(ANY, beside=tuple(replace(a, leads=True) for a in beside))
        return Demand(kind, (event,), but.fact.events, joint=but.fact.joint)

    return made


def _none_follow(p: Parts) -> Demand | None:
    """`A notice must never be followed by any tool but a transfer`."""
    events, joint = p["a"]
    if any(e.outcome or e.beside for e in events):
        return None
    after = Adjunct("after", Fact(events, "noun", joint), leads=True)
    but = (p["x"],) if "x" in p else ()
    return Demand("never", (Event(ANY, beside=(after, *but)),), how="again")


def _none_of_such(p: Parts) -> Demand | None:
    """`Any call after B other than A is forbidden`."""
    beside = (replace(p["a"], leads=True), *((p["x"],) if "x" in p else ()))
    return Demand("never", (Event(ANY, beside=beside),), how="again") if "x" in p else None


def _followed_only(p: Parts) -> Demand | None:
    """`B may only be followed by A`."""
    after = (Adjunct("after", Fact(p["a"][0], "noun", p["a"][1])),)
    return None if any(e.outcome for e in p["a"][0]) else _only_these("only these")({**p, "a": after})


NOTHING_BUT: dict[str, Rule] = {
    "but": [
        (f"{_BUT} [to|for] {{es:events}}", _but),
        (f"{_BUT} [to|for] {{es:acts}}", _but),
    ],
    "no_tool": [
        (f"nothing [else|more|further|{_MORE}]", lambda p: "no"),
        (f"no [{_MORE}] [{_MORE}] {_CALLS} [at_all|whatsoever|of_any_kind]", lambda p: "no"),
        (f"not one|a|any [single] [{_MORE}] {_CALLS}", lambda p: "no"),
    ],
    "any_tool": [
        ("anything|everything [else|more|further]", lambda p: "any"),
        (f"any|all|every|each [the] [{_MORE}] {_CALLS}", lambda p: "any"),
    ],
    "any_deed": [
        ("do|call|try anything|something [else|more|further]", lambda p: "any"),
        (
            f"call|use|make|run|take|invoke|perform|do|start any|another|a|some [{_MORE}] {_CALLS}",
            lambda p: "any",
        ),
        ("take any [further|other] action", lambda p: "any"),
    ],
    "no_deed": [
        ("do|does|call|calls nothing [else|more|further]", lambda p: "no"),
        (f"call|use|make|run|take|invoke|perform|do no [{_MORE}] {_CALLS}", lambda p: "no"),
    ],
    "demand": [
        (f"{{n:no_tool}} [{{x:but}}] {ALLOWED} [ever|still] {_USED} [{AGAIN}]", _none),
        (f"{{n:no_tool}} {ALLOWED} [ever|still] {_USED} [{AGAIN}] {{x:but}}", _none),
        (f"{{n:no_tool}} [{{x:but}}] is|are [ever|still] {_OPEN} [{AGAIN}]", _none),
        (
            "{n:no_tool} [{x:but}] [ever] happens|follows|is_called|is_made|is_used|comes|are_made",
            _none,
        ),
        (f"no [{_MORE}] {_CALLS} [{{x:but}}]", _none),
        ("{n:no_tool} {x:but}", _none),
        (f"{{n:any_tool}} {{x:but}} is|are [strictly|then] {BANNED} [{AGAIN}]", _none),
        (f"{{n:any_tool}} {{x:but}} {NO} [ever] {_USED} [{AGAIN}]", _none),
        ("never|do_not [ever] {n:any_deed} [{x:but}]", _none),
        (f"{AGENT} {NO} [ever] {{n:any_deed}} [{{x:but}}]", _none),
        (f"{NOBODY} {ALLOWED} [ever] {{n:any_deed}} [{{x:but}}]", _none),
        (f"it is [strictly] {BANNED} to {{n:any_deed}} [{{x:but}}]", _none),
        (f"{AGENT} {MAY}|{SHOULD} {{n:no_deed}} [{AGAIN}] [{{x:but}}]", _none),
        (f"[{AGENT}] {{n:no_deed}} [{AGAIN}] [{{x:but}}]", _none),
        (f"{{a:events}} {NO} [ever] be followed by {{n:any_tool}} [{{x:but}}]", _none_follow),
        (f"{{a:events}} {MAY}|{SHOULD} be followed by {{n:no_tool}} [{{x:but}}]", _none_follow),
        (
            f"no [{_MORE}] {_CALLS}|tool [{{x:but}}] {ALLOWED} [ever] follow|come_after {{a:events}}",
            _none_follow,
        ),
        (f"{{n:no_tool}} {{x:but}} {ALLOWED} [ever] follow|come_after {{a:events}}", _none_follow),
        (f"{{n:any_tool}} {{x:but}} {{a:adjunct}} is|are [strictly] {BANNED}", _none_of_such),
        (f"{{n:any_tool}} {{a:adjunct}} {{x:but}} is|are [strictly] {BANNED}", _none_of_such),
        (f"there {SHOULD}|{MAY} be {{n:no_tool}} [{{x:but}}]", _none),
        ("{w:forbidding} {n:any_tool} {x:but}", _none),
        (f"{{a:events}} [always] ends|concludes|finishes|closes|terminates {_THE_RUN}", _none_follow),
        (
            f"{{a:events}} {SHOULD} [always] end|conclude|finish|close|terminate {_THE_RUN} at_once"
            "|immediately|for_good",
            _none_follow,
        ),
        (f"{_THE_RUN} is over|done|finished|at_an_end", _none),
        # what alone is allowed
        (
            f"the only|sole|single {_OPEN}|remaining|legitimate [{_MORE}] {_CALLS}|thing [{{a:adjuncts}}]"
            " is|are [be|to_be] {es:events}",
            _only_these("never but"),
        ),
        (
            f"the only|sole|single {_OPEN}|remaining|legitimate [{_MORE}] {_CALLS}|thing [{{a:adjuncts}}]"
            " is|are to {es:acts}",
            _only_these("never but"),
        ),
        (
            f"{{es:events}} is|are|{MAY} [be] the only|sole {_OPEN} {_CALLS}|thing",
            _only_these("never but"),
        ),
        (f"only {{es:events}} {MAY} [ever] follow|come_after {{a:events}}", _followed_only),
        (f"{{a:events}} {MAY}|{SHOULD} only [ever] be followed by {{es:events}}", _followed_only),
        (f"{{a:events}} {MAY}|{SHOULD} be followed only|solely|exclusively by {{es:events}}", _followed_only),
        ("only {es:events}", _only_these("then only")),
        (
            f"the only|sole|single [{_MORE}] {_CALLS}|thing {{o:open}} [{{a:adjuncts}}] is|are|{SHOULD}"
            " [be|to_be] {es:events}",
            _only_these("never but"),
        ),
        (
            f"the only|sole|single [{_MORE}] {_CALLS}|thing {{o:open}} [{{a:adjuncts}}] is|are|{SHOULD}"
            " [be] to {es:acts}",
            _only_these("never but"),
        ),
        (f"only {{es:events}} {MAY} [still|then|ever] {_USED} [{AGAIN}]", _only_these("only these")),
        (f"only {{es:events}} is|are [still|then] {_OPEN}", _only_these("only these")),
        (f"only {{e:events}} {MAY} [still|then|ever] {_USED} [{AGAIN}]", demanding("only")),
        (f"only {{e:events}} is|are [still|then] {_OPEN}", demanding("only")),
        (
            f"{{es:events}} is|are|{MAY} [be] the only|sole {_CALLS}|thing {{o:open}}",
            _only_these("never but"),
        ),
        (f"{AGENT} {MAY} [then|still] only {{es:acts}}", _only_these("then only")),
        (f"{AGENT} {MAY} [then|still] do {{es:acts}} only", _only_these("then only")),
        ("{es:events} only", _only_these("then only")),
        (f"{AGENT} is|are limited|restricted|confined to {{es:events}}", _only_these("only these")),
    ],
    "open": [
        (f"[that|which] [is|are] [still|then|ever] {_OPEN}", lambda p: "open"),
        (f"[that|which] {MAY} [still|then|ever] {_USED}", lambda p: "open"),
        ("[that|which] [is|are] left to_do|to_make|to_be_done|to_call|for_it_to_do", lambda p: "open"),
        (f"[that|which] {AGENT} {MAY} [still|then|ever] do|call|use|make|take", lambda p: "open"),
    ],
    "adjunct": [
        ("{x:but}", lambda p: p["x"]),
        (
            f"[and|but] nothing else|more|other [at_all|whatsoever] [{AGAIN}]",
            lambda p: Adjunct("nothing else"),
        ),
        (f"[and|but] no [{_MORE}] {_CALLS} [at_all|whatsoever] [{AGAIN}]", lambda p: Adjunct("nothing else")),
        (
            "from_then_on|from_there_on|from_that_point_on|from_that_moment_on|from_this_point_on|from_now_on"
            "|from_then_onwards|from_that_point_onwards|from_then|thereafter",
            lambda p: Adjunct("from then"),
        ),
    ],
    "leading": [
        (f"{_LEADING_BUT} {{es:events}} [,]", lambda p: (x := _but(p)) and (x,)),
        (f"{_LEADING_BUT} {{es:events}} [,] {{b:leading}}", lambda p: (x := _but(p)) and (x, *p["b"])),
    ],
}
