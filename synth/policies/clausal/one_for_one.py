"""One of its own for each: `every refund needs a separate approval`, `no more refunds than approvals so"
" far`."""

from __future__ import annotations

from dataclasses import replace

from synth.policies.clausal.matching import Parts, Rule
from synth.policies.clausal.parts import Demand, Event, Fact
from synth.policies.clausal.words import AGENT, ALLOWED, BANNED, BEFORE, HAPPEN, HAS_BEEN, MAY, NO, SHOULD

_APART = "separate|individual|distinct|dedicated|own|unshared"
_NEW = "new|fresh|separate|individual|dedicated|distinct|renewed"
_OF_ITS_OWN = "of_its_own|of_their_own|each|apiece|for_itself|just_for_it|for_it_alone"
_SEPARATELY = "separately|individually|each_time|every_time|one_by_one|anew_each_time"
_EACH = "each|every|each_single|every_single|each_individual|each_and_every|any_single"
_THIS = "just_this|this_very|exactly_this|that_very|just_that|exactly_that|this_particular|precisely_this"
_NEEDS = (
    "requires|require|needs|need|takes|must_have|has_to_have|have_to_have|should_have|calls_for|demands"
    "|must_get"
    "|needs_to_have|presupposes"
)
_SPENDS = "uses_up|consumes|spends|use_up|consume|spend|must_use_up|exhausts"
_COVERS = (
    "covers|allows|is_good_for|is_enough_for|is_valid_for|permits|entitles_to|authorises|authorizes"
    "|justifies"
    "|pays_for|counts_for|suffices_for|may_be_used_for|can_be_used_for|may_cover|can_cover|is_for"
    "|licenses|buys"
)
_OFTEN = "more_often|more_times|more_frequently|oftener"
_EXCEED = (
    "exceed|be_more_than|be_over|be_above|be_higher_than|outnumber|be_greater_than|go_above|surpass"
    "|be_larger_than"
)
_NO_TIME = "at_no_time|at_no_point|under_no_circumstances|in_no_case|never|at_no_moment"
_GOT = (
    "obtained|given|granted|received|got|secured|made|done|issued|completed|there|available|on_record|on_file"
)
_ALONE = (
    "never_reused|not_reused|never_shared|not_shared|not_to_be_reused|never_to_be_reused|no_reuse"
    "|never_used_twice"
    "|no_sharing|must_not_be_reused|must_not_be_shared|not_reusable|no_two_may_share_one|no_two_share_one"
    "|none_may_be_reused|never_two_for_one|none_is_used_twice"
)


def own(p: Parts) -> Demand | None:
    """For each of the ones there is another one by itself, which came before it."""
    then, first = (_one(p[slot]) for slot in ("a", "b"))
    if then is None or first is None or then.action == first.action:
        return None
    return Demand("own", (then,), (replace(first, same=first.same - {"it"}),))


def _one(said: object) -> Event | None:
    """The only action that is spoken of; none of those that failed."""
    if isinstance(said, Fact):
        events: tuple[Event, ...] = said.events if said.aspect not in ("not", "running", "fails") else ()
    elif isinstance(said, Event):
        events = (said,)
    else:
        events = said[0] if isinstance(said, tuple) else ()
    if len(events) != 1 or events[0].outcome in ("failed", "tried"):
        return None
    return replace(events[0], single=False, itself=False)


def _got(p: Parts) -> Demand | None:
    """`Obtain a separate approval before each refund`."""
    return own(p) if p["b"].action in p["g"] else None


def _more_done(p: Parts) -> Demand | None:
    """`Never issue more refunds than approvals`."""
    verbs = p["g"] if "g" in p else {p["v"].action}
    return own(p) if p["a"].action in verbs and not p["a"].role else None


def _done(p: Parts) -> Demand | None:
    """`Approval has to be obtained separately for each refund`."""
    thing, done = p["t"], p["d"]
    return own({**p, "b": done}) if thing.action == done.action and thing.role == done.role else None


def _more_often(p: Parts) -> Demand | None:
    thing, done = p["t"], p["d"]
    return own({**p, "a": done}) if thing.action == done.action and thing.role == done.role else None


def _of_its_own(what: str) -> Rule:
    """`A separate approval`, `an approval of its own`."""
    return [
        (f"[a|an|one|exactly_one|its|their|just_one] {_APART} {{e:{what}}}", lambda p: p["e"]),
        (f"its|their own {{e:{what}}}", lambda p: p["e"]),
        (f"[a|an|one|exactly_one|just_one|only_one|1] {{e:{what}}} {_OF_ITS_OWN}", lambda p: p["e"]),
    ]


_AS_OFTEN = "as_often_as|as_many_times_as|as_frequently_as"
_ANEW = "anew|again|afresh|separately|individually|each_time|every_time"
_NEVER = "never|not"
_HAPPENS = "happen|occur|take_place|run|happens|occurs|runs|takes_place"
_ONE = "one|1|a_single|exactly_one|just_one|only_one"
_DUE = "required|needed|mandatory|necessary|obligatory"
_EACH_SINGLE = "each_single|every_single|each_individual|each_and_every"
_ALL_TIMES = "at_any_time|at_all_times|at_every_moment|at_any_moment|always|at_any_point|at_every_point"
_AN_OLD = "one|an|a|the_same|any|one_and_the_same|a_single|an_old|an_earlier|1|a_previous|a_used"
_SEVERAL = "2|several|more_than_one|multiple|a_second|another|a_further|many|various"


def _as_many(p: Parts) -> Demand | None:
    """`Two refunds need two approvals`."""
    return own(p) if p["n"] == p["m"] > 1 else None


ONE_FOR_ONE: dict[str, Rule] = {
    "one of its own": _of_its_own("noun"),
    "one check of its own": _of_its_own("check"),
    "its one": [
        ("{e:one of its own}", lambda p: p["e"]),
        ("one|1|a_single|exactly_one|just_one {e:noun}", lambda p: p["e"]),
    ],
    "a check": [("{e:check}", lambda p: p["e"]), ("{e:check by name}", lambda p: p["e"])],
    "so counted": [
        ("{e:event}", lambda p: p["e"]),
        ("{e:event} calls|runs|attempts", lambda p: p["e"]),
        ("calls of|to {e:event}", lambda p: p["e"]),
    ],
    "a new one": [
        (f"a|an|one|its|their [own] {_NEW} {{e:check}}", lambda p: p["e"]),
        ("another {e:check}", lambda p: p["e"]),
    ],
    "so far": [
        ("{e:noun}", lambda p: p["e"]),
        (
            f"{{e:noun}} [that|which] [{HAS_BEEN}|were|was] {_GOT} [so_far|before|beforehand|until_then"
            f"|by_then]",
            lambda p: p["e"],
        ),
        ("{e:noun} so_far|before|beforehand|until_then|by_then|at_any_time|at_that_point", lambda p: p["e"]),
        ("{f:fact}", lambda p: p["f"]),
        (f"{AGENT} [has|have|had] got|obtained|received {{e:noun}}", lambda p: p["e"]),
        ("there are|were|have_been {e:noun} [so_far]", lambda p: p["e"]),
    ],
    "own tail": [
        (f"[,] [and] [is|are] [{_GOT}] {BEFORE}|in_advance|up_front|upfront", lambda p: True),
        ("[,] [and] [always] before [that|this] {e:event}", lambda p: True),
        ("[,] [and] [always] before it|they is|are {e:past}", lambda p: True),
        (f"[,] [and|which] [is|are] {_ALONE}", lambda p: True),
        (
            "[,] [and] no {e:event} [goes_out|happens|is_made|may_happen|may_go_ahead] without one|it",
            lambda p: True,
        ),
        ("[,] so|hence|therefore {d:own_said}", lambda p: True),
    ],
    "own said": [
        # needs one of its own
        (f"{{a:events}} [always] {_NEEDS} {{b:one of its own}}", own),
        (f"{{a:events}} [always] {_SPENDS} {{b:its one}}", own),
        ("no {a:event} without {b:one of its own}", own),
        ("never|do_not {a:act} without {b:one of its own}", own),
        (f"{AGENT} {NO} {{a:act}} without {{b:one of its own}}", own),
        (f"no {{a:event}} {ALLOWED} {HAPPEN}|go_out|go|be_issued|be_sent without {{b:one of its own}}", own),
        (f"{{a:events}} {MAY}|{SHOULD} only {HAPPEN} with {{b:one of its own}}", own),
        (f"{{t:object}} {MAY}|{SHOULD} only be {{d:past}} with {{b:one of its own}}", _more_often),
        (f"no {{t:object}} {MAY}|{SHOULD} be {{d:past}} without {{b:one of its own}}", _more_often),
        (
            f"for {_EACH} {{a:event}} [,] [there] [{SHOULD}] [be] {{b:one of its own}} [is|are] [required"
            f"|needed|necessary|mandatory]",
            own,
        ),
        (f"for {_EACH} {{a:event}} [,] {{b:event}} {SHOULD} be obtained {_SEPARATELY}", own),
        ("{a:events} , {b:its one} each|per_case|apiece", own),
        (f"{{a:events}} , {{b:one of its own}} [{_EACH}]", own),
        (f"{{b:one of its own}} before {_EACH} {{a:event}}", own),
        (f"{{b:one check of its own}} for {_EACH} {{a:event}}", own),
        (
            f"{{b:one of its own}} is|are [always] required|needed|mandatory|necessary before {_EACH}"
            f" {{a:event}}",
            own,
        ),
        (
            f"{{b:one check of its own}} is|are [always] required|needed|mandatory|necessary for {_EACH}"
            f" {{a:event}}",
            own,
        ),
        # to get one for each
        (f"[always] {{g:verb alone}} {{b:one of its own}} before {_EACH} {{a:event}}", _got),
        (f"[always] {{g:verb alone}} {{b:one check of its own}} for {_EACH} {{a:event}}", _got),
        (f"{AGENT} {SHOULD} [always] {{g:verb alone}} {{b:one of its own}} before {_EACH} {{a:event}}", _got),
        (
            f"{AGENT} {SHOULD} [always] {{g:verb alone}} {{b:one check of its own}} for {_EACH} {{a:event}}",
            _got,
        ),
        (f"{{t:object}} {SHOULD} [always] be {{d:past}} {_SEPARATELY} for|before {_EACH} {{a:event}}", _done),
        (f"for|before {_EACH} {{a:event}} [,] {{t:object}} {SHOULD} be {{d:past}} {_SEPARATELY}", _done),
        (
            f"{{b:events}} {SHOULD} be obtained|got|given|granted|asked_for {_SEPARATELY} for|before"
            f" {_EACH} {{a:event}}",
            own,
        ),
        # no more than there are
        (f"{{a:events}} {NO} [ever] {HAPPEN} {_OFTEN} than {{b:so far}}", own),
        (f"{{t:object}} {NO} [ever] be {{d:past}} {_OFTEN} than {{b:so far}}", _more_often),
        (f"never|do_not {{a:act}} {_OFTEN} than {{b:so far}}", own),
        (f"{AGENT} {NO} {{a:act}} {_OFTEN} than {{b:so far}}", own),
        ("never|do_not {v:verb} more {a:object} than {b:so far}", _more_done),
        (f"{AGENT} {NO} [ever] {{v:verb}} more {{a:object}} than {{b:so far}}", _more_done),
        (f"{_NO_TIME} {ALLOWED} {AGENT} have {{g:given}} more {{a:object}} than {{b:so far}}", _more_done),
        (f"{AGENT} {NO} [ever] have {{g:given}} more {{a:object}} than {{b:so far}}", _more_done),
        (f"there {NO} [ever] be more {{a:event}} than {{b:so far}}", own),
        (f"{_NO_TIME} {ALLOWED} there be more {{a:event}} than {{b:so far}}", own),
        ("no|not|never more {a:event} than {b:so far}", own),
        (f"the number of {{a:event}} {NO} [ever] {_EXCEED} the number of {{b:so far}}", own),
        (f"the number of {{a:event}} {NO} [ever] {_EXCEED} that of {{b:so far}}", own),
        (f"{{a:events}} {NO} [ever] {_EXCEED} the number of {{b:so far}}", own),
        (f"{{a:events}} {NO} [ever] outnumber {{b:so far}}", own),
        (f"{{a:events}} not|never|no [ever] {_OFTEN} than {{b:so far}}", own),
        (
            f"{{a:events}} is|are|{SHOULD} [be] limited|capped|restricted to|at|by the number of"
            f" {{b:so far}}",
            own,
        ),
        ("limit|cap|restrict {a:events} to|at|by the number of {b:so far}", own),
        ("at_most|no_more_than as_many {a:event} as {b:so far}", own),
        (
            f"{{a:events}} [{MAY}|{SHOULD}] [{HAPPEN}] at_most|no_more|only|not_more|maximally {_AS_OFTEN} "
            "{b:so far}",
            own,
        ),
        (f"{{a:events}} {MAY} [only] {HAPPEN} {_AS_OFTEN} {{b:so far}} [, [but] no_more|not_more]", own),
        (f"{{a:acts}} at_most|only|no_more|not_more {_AS_OFTEN} {{b:so far}}", own),
        (f"{AGENT} {MAY} {{a:acts}} [at_most|only|no_more] {_AS_OFTEN} {{b:so far}}", own),
        (f"{AGENT} {SHOULD} {{a:acts}} at_most|only|no_more {_AS_OFTEN} {{b:so far}}", own),
        (f"{{a:events}} [is|are] not|never|no [{HAPPEN}|done|made|called] {_OFTEN} than {{b:so far}}", own),
        (f"{{a:events}} {MAY}|{SHOULD} {HAPPEN} no|not {_OFTEN} than {{b:so far}}", own),
        ("there is|are never|not|no more {a:event} than {b:so far}", own),
        (
            f"{_ALL_TIMES} [,] there {SHOULD}|is|are [be] at_least as_many {{b:event}} as {{a:event}}",
            own,
        ),
        (f"there {SHOULD}|is|are {_ALL_TIMES} [be] at_least as_many {{b:event}} as {{a:event}}", own),
        (f"there {SHOULD}|is|are [be] at_least as_many {{b:event}} as {{a:event}} {_ALL_TIMES}", own),
        (f"there {SHOULD}|is|are [be] at_least as_many {{b:check}} as {{a:event}}", own),
        ("as_many {a:event} as {b:so far} [,] [and|but] at_most|no_more|not_more", own),
        (
            "{a:events} , one|1 {b:a check} per_call|each|apiece|each_time|per_use|every_time"
            "|for_every_call|for_each_call",
            own,
        ),
        ("[exactly] one|1|a_single {b:a check} per|for_each|for_every|for_any {a:event}", own),
        (
            f"{{b:a new one}} is|are [always] required|needed|mandatory|necessary for|before "
            f"{_EACH} {{a:event}}",
            own,
        ),
        (f"{{b:a new one}} for|before {_EACH} {{a:event}}", own),
        (f"{{a:events}} [always] {_NEEDS} {{b:a new one}} {_SEPARATELY}", own),
        (
            f"for {_EACH} {{a:event}} [,] one|1 {{b:a check}} is|are required|needed|necessary [{BEFORE}]",
            own,
        ),
        (
            f"for {_EACH} {{a:event}} [,] {{b:a new one}} {SHOULD}|is [be] "
            f"[required|needed|necessary] [{BEFORE}]",
            own,
        ),
        (f"{AGENT} {_NEEDS} {{b:one of its own}} for|before {_EACH} {{a:event}}", own),
        (f"{AGENT} {_NEEDS} {{b:a new one}} for|before {_EACH} {{a:event}}", own),
        (f"{AGENT} {_NEEDS} one|1 {{b:a check}} for|before {_EACH} {{a:event}}", own),
        (
            f"never|do_not use|reuse|re-use|share|count {_AN_OLD} {{b:a check}} [again] "
            f"for|between|on {_SEVERAL} {{a:event}}",
            own,
        ),
        (
            f"{AGENT} {NO} use|reuse|re-use|share|count {_AN_OLD} {{b:a check}} [again] "
            f"for|between|on {_SEVERAL} {{a:event}}",
            own,
        ),
        (
            f"{{b:a check}} {NO} [ever] be reused|re-used|used_again|shared|used for|between|on "
            f"{_SEVERAL} {{a:event}}",
            own,
        ),
        (
            f"no {{b:a check}} {ALLOWED} [ever] be reused|re-used|used_again|shared|used "
            f"for|between|on {_SEVERAL} {{a:event}}",
            own,
        ),
        (
            f"{{b:a check}} {MAY}|{SHOULD} [only] be used [only] [once|for] [for] one|1|a|a_single "
            f"{{a:event}} [only]",
            own,
        ),
        (f"{{b:a check}} {MAY}|{SHOULD} only be used once for {{a:event}}", own),
        ("{n:number} {a:event} needs|need|requires|require {m:number} {b:a check}", _as_many),
        ("without {b:one of its own} [,] no {a:event}", own),
        (f"without {{b:one of its own}} [,] {{a:events}} is|are {BANNED}", own),
        (f"without {{b:one of its own}} [,] {{a:events}} {NO} [ever] {HAPPEN}", own),
        ("{a:events} has|have|gets|get [always] {b:one of its own}", own),
        ("{a:events} comes|come|goes|go|happens|happen [always|only] with {b:one of its own}", own),
        # as people say it of numbers and of single ones
        (
            f"{{a:events}} [{MAY}|{SHOULD}|is|are] [{HAPPEN}|allowed|permitted] only {_AS_OFTEN} "
            f"{{b:so far}}",
            own,
        ),
        (f"{{a:events}} {MAY} {_NEVER} {HAPPEN} {_OFTEN} than {{b:so far}} [has|have|did|does]", own),
        (f"{{a:events}} {NO} [ever] {HAPPEN} {_OFTEN} than {{b:so far}} has|have|did|does", own),
        (f"{{a:events}} does_not|do_not|never [ever] {_HAPPENS} {_OFTEN} than {{b:so far}}", own),
        (f"{{a:events}} , not|never|no {_OFTEN} than {{b:so far}}", own),
        ("{a:events} , no_more|not_more|never_more [calls|times|of_them] than {b:so far}", own),
        (f"never|do_not let|allow|have {{a:event}} [to] {HAPPEN} {_OFTEN} than {{b:so far}}", own),
        (f"{{a:events}} {NO} [ever] exceed {{b:so far}} in number|count", own),
        (f"{{a:events}} {NO} [ever] be more [in_number] than {{b:so far}}", own),
        (f"{{a:events}} {NO} [ever] be more_frequent|more_numerous than {{b:so far}}", own),
        (
            f"[{_ALL_TIMES}|{_NO_TIME}] [,] [the] number|count|total [number] of {{a:so counted}} "
            f"{NO} [ever] {_EXCEED} [the|that] [number|count|total] [of] {{b:so counted}}",
            own,
        ),
        (f"{{a:event}} count|number {NO} [ever] {_EXCEED} {{b:event}} count|number", own),
        (
            f"[{_ALL_TIMES}] [,] [the] number|count of {{a:so counted}} {SHOULD}|is [be|stay|remain] "
            f"at_most|no_more_than"
            "|not_more_than|limited_to|limited_by|capped_at|capped_by|no_greater_than [the|that] "
            "[number|count] "
            "[of] {b:so counted}",
            own,
        ),
        (
            "limit|cap|restrict [the] number|count of {a:so counted} to|at|by the number|count of "
            "{b:so counted}",
            own,
        ),
        (f"{_ONE} {{b:a check}} is|are [always] {_DUE} per|for|for_each|for_every {{a:event}}", own),
        (f"there {SHOULD} [always] be {{b:a new one}} for|before {_EACH} {{a:event}}", own),
        (f"there {SHOULD} [always] be {{b:one of its own}} for|before {_EACH} {{a:event}}", own),
        (f"there {SHOULD} [always] be {_ONE} {{b:a check}} for|before {_EACH} [single] {{a:event}}", own),
        (f"there {SHOULD} [always] be a|an {{b:a check}} for {_EACH_SINGLE} {{a:event}}", own),
        (f"before|for {_EACH} {{a:event}} [,] there {SHOULD} be {{b:a new one}}", own),
        (f"before|for {_EACH} {{a:event}} [,] there {SHOULD} be {{b:one of its own}}", own),
        (f"before|for {_EACH} {{a:event}} [,] {{b:a new one}} {SHOULD} be {_GOT}|requested", own),
        (f"before|for {_EACH} {{a:event}} [,] {{b:one of its own}} {SHOULD} be {_GOT}|requested", own),
        (f"before|for {_EACH} {{a:event}} [,] {{b:a new one}} [is] {_DUE}", own),
        (f"before|for {_EACH} {{a:event}} [,] {{b:one of its own}} [is] {_DUE}", own),
        (
            f"before|for {_EACH} {{a:event}} [,] [{AGENT}] [{SHOULD}] {{g:verb alone}} {{b:a new "
            f"one}} [first]",
            _got,
        ),
        (
            f"before|for {_EACH} {{a:event}} [,] [{AGENT}] [{SHOULD}] {{g:verb alone}} {{b:one of "
            f"its own}} [first]",
            _got,
        ),
        (f"before|for {_EACH} {{a:event}} [,] {AGENT} {SHOULD} {{b:act}} {_ANEW}", own),
        (f"before|for {_EACH} {{a:event}} [,] {{b:act}} {_ANEW}", own),
        (f"{{b:a new one}} {SHOULD} be {_GOT}|requested for|before {_EACH} {{a:event}}", own),
        (f"{{b:one of its own}} {SHOULD} be {_GOT}|requested for|before {_EACH} {{a:event}}", own),
        (f"[{AGENT}] [{SHOULD}] {{g:verb alone}} {{b:a new one}} for|before {_EACH} {{a:event}}", _got),
        (f"[{AGENT}] [{SHOULD}] {{b:act}} {_ANEW} for|before {_EACH} {{a:event}}", own),
        (
            f"{{a:events}} {SHOULD} [always] be covered|preceded|backed|authorised|authorized by "
            f"{{b:one of its own}}",
            own,
        ),
        (f"{{a:events}} {SHOULD} [always] be covered|preceded|backed by {{b:a new one}}", own),
        (f"{{a:events}} [always] {_NEEDS} {{b:a new one}} [{BEFORE}]", own),
        (f"{{a:events}} , each|every|every_one [of_them] [always] {_NEEDS} {{b:one of its own}}", own),
        (f"{{a:event}} {_NEEDS} exactly_one|just_one {{b:a check}} each", own),
        (f"each|every {{a:event}} takes|uses|costs {_ONE} {{b:a check}}", own),
        (
            f"no 2 {{a:event}} [{MAY}|{ALLOWED}] [be_made|happen] on|with|under|for|from|based_on "
            f"[the_same|one|a] {{b:a check}}",
            own,
        ),
        (f"{{b:a check}} {NO} [ever] be used|reused|counted for|by|in {_SEVERAL} {{a:event}}", own),
        (f"{_ONE} {{b:a check}} {NO} [ever] be used|reused|counted for|by|in {_SEVERAL} {{a:event}}", own),
        (f"no {{b:a check}} is|are|gets [ever] used|reused for {_SEVERAL} {{a:event}}", own),
        (f"{{b:a check}} {NO} be reused|used_again|re-used for|by further|other|later|more {{a:event}}", own),
        ("{b:a check} is|are single-use|not_reusable , one|1 {a:event} each", own),
        (
            f"{{a:events}} [{MAY}|{SHOULD}] [{HAPPEN}] at_most 1 times "
            f"per|for_each|for_every|on_each {{b:a check}}",
            own,
        ),
        (f"{{a:events}} {MAY} [only] {HAPPEN} [only] once per|for_each|for_every {{b:a check}}", own),
        (
            f"{_ONE} {{a:event}} per|for_each|for_every {{b:a check}} [,] [and|but] "
            f"no_more|not_more|at_most|only",
            own,
        ),
        (f"{{a:events}} , {_ONE} per|for_each|for_every {{b:a check}}", own),
        (f"at_most {_ONE} {{a:event}} per|for_each|for_every {{b:a check}}", own),
        # each is used up
        (
            f"each|every|one|an|a|a_single {{b:check}} {_COVERS} [only|exactly|just|at_most] one|1|a_single"
            f" {{a:event}} [only]",
            own,
        ),
        ("{a:event} uses_up|consumes {b:its one}", own),
        (f"no 2 {{a:event}} {ALLOWED} share|use|rely_on [the_same|one|an|a|the] {{b:check}}", own),
        (
            f"{{b:noun}} {NO} be reused|shared , {_EACH} {{a:event}} {_NEEDS} its_own|one_of_its_own"
            f"|its_own_one|a_separate_one|a_new_one",
            own,
        ),
        (f"{{a:events}} {NO} share|reuse {{b:check}}", own),
        (
            "never|do_not {a:act} unless there is {b:event} that|which no earlier|previous|other"
            "|prior {c:event} "
            "has used|used_up|consumed|relied_on|spent [up]",
            lambda p: own(p) if p["c"].action == p["a"].action else None,
        ),
        (
            f"no {{t:object}} is|are|{ALLOWED} [be] {{d:past}} before|unless|without|until {{b:noun}}"
            f" for|of {_THIS} "
            f"{{c:event}} {HAS_BEEN} {_GOT}",
            lambda p: _more_often(p) if p["c"].action == p["d"].action else None,
        ),
        (
            f"no {{a:event}} {ALLOWED} {HAPPEN}|go|go_out|go_ahead without {{b:event}} , and no 2"
            f" [of_them] {ALLOWED} share one|it",
            own,
        ),
        (
            f"no {{a:event}} {ALLOWED} {HAPPEN}|go|go_out|go_ahead without {{b:event}} and no 2"
            f" [of_them] {ALLOWED} share one|it",
            own,
        ),
    ],
    "own tails": [("{t:own tail}", lambda p: True), ("{t:own tail} {s:own tail}", lambda p: True)],
    "own_said": [("{d:own said}", lambda p: p["d"])],
    "verb alone": [("{v:verb}", lambda p: frozenset({p["v"].action}))],
    "inside": [
        ("{d:own said} [{t:own tails}]", lambda p: (p["d"], ())),
        (
            "make_sure|make_sure_that|ensure|ensure_that|see_to_it_that {d:own said} [{t:own tails}]",
            lambda p: (p["d"], ()),
        ),
    ],
}
