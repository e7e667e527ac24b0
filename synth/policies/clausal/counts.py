"""How often, how much and how many different: in short (`refunds: max 3 per customer`), and in full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.demands import apart_by, at_most_of, counted_object
from synth.policies.clausal.facts import passive, with_mods
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import ANY, Adjunct, Demand, Event, with_same
from synth.policies.clausal.varieties import THING, in_a_run
from synth.policies.clausal.words import AGENT, AT_MOST, BANNED, MAY, NO, NO_MORE, NOT_A_THING, RUNS, SHOULD
from synth.policies.patterns import compiled

_NO_MORE = f"{NO_MORE}|only"
_TIMES = "times|calls|tries|attempts|try|attempt|call"
CEILING = (
    "limit|rate_limit|cap|maximum|max|quota|ceiling|upper_limit|allowance|budget|hard_limit|hard_cap|strict_limit"
    "|upper_bound"
    "|absolute_maximum|strict_maximum"
)
_THAT_IS = "that_is|which_is|is|are|that_being|being|makes"
_THE = "the|our|a|an|your|its"
_WOULD_BE = "is|are|would_be|will_be|is_already|would_already_be"
_A_RUN = "the_run|a_run|each_run|every_run|any_run|runs"
_ALL_TOGETHER = (
    "all_together|together|taken_together|altogether|in_total|in_all|combined|all_in_all|in_sum|all_told"
)
_OVERALL = f"{_ALL_TOGETHER}|overall"


# ------------------------------------------------------------------ what stands behind a count


def an_hour(grammar: Grammar, at: int) -> Iterator[Found]:
    """`3 times an hour`, `once every 30 minutes`: what the calls that count together lie in."""
    m = compiled(
        r" *(?:every (?P<n>\d+(?:\.\d+)?)|1) (?P<u>(?:second|minute|hour)s?)(?![\w-])"
        r"(?! (?:of|after|before|later|apart|between|ago|has|have|must|window|earlier|old)\b)"
    ).match(grammar.text, at)
    if m and compiled(r"(?:\d|\btimes?|\bonce|[a-z]|[\"\u201d])$").search(grammar.text[:at]):
        yield Adjunct("an hour", time=f"{m['n'] or 1} {m['u']}"), m.end()


_NO_ONE = NOT_A_THING | {"go", "request", "transaction", "operation", "batch", "swoop", "place", "piece"}
_ONE_OF = r"(?:one and the same|one single|any one|any single|any given|a given|a single|an individual|one)"


def of_one(grammar: Grammar, at: int) -> Iterator[Found]:
    """`on one claim_id`, `for any single customer`, `on its claim_id`: whose calls count together."""
    m = compiled(
        rf",? *(?:to|for|of|from|on|by|in|at|with|about|into|onto) {_ONE_OF} {THING}(?! (?:and|or)\b)"
    ).match(grammar.text, at)
    its = compiled(
        r" *(?:to|for|of|on|with|about) (?:its|their|his|her) (?P<f>[a-z]+_[a-z_]+)(?![\w'-])"
    ).match(grammar.text, at)
    for found in filter(None, (m, its)):
        if found["f"].lower() not in _NO_ONE:
            yield frozenset({found["f"].lower().replace(" ", "_")}), found.end()


def same_list(grammar: Grammar, at: int) -> Iterator[Found]:
    """`, same post and same reason that is`: what must be the same, told behind."""
    m = compiled(
        rf",? *(?:(?:for|on|with|of|to) )?(?:the )?same {THING}(?P<more>(?:,? and|,) (?:the )?same "
        r"[a-z][a-z_]*)*(?:,? (?:that is|i\.e\.))?"
    ).match(grammar.text, at)
    if m is None or m.start("f") == at:
        return
    fields = compiled(r"\bsame ([a-z][a-z_]*(?: (?:id|number|code|ref|reference)\b)?)").findall(m[0])
    if not any(field.lower() in NOT_A_THING - {"kind", "type", "reason"} for field in fields):
        yield frozenset(field.lower().replace(" ", "_") for field in fields), m.end()


_WHATEVER = (
    r"(?:no matter(?: (?:what|which|who|whose|how|when|where|why|whether|the|of))?|regardless(?: of)?"
    r"|irrespective of|whatever|whichever|whoever|however)"
)
_NO_FIRST = (
    r"(?! (?:\w+ ){0,3}(?:later|sooner|earlier|first|last|greater|higher|lower|smaller|less|longer"
    r"|shorter)\b)"
)
"""`Whichever comes first` says which of two is meant."""
_TRIES = r"(?:(?:failed|unsuccessful|failing) (?:tries|attempts|ones|calls|try|attempt)|failures|failed)"
_OR_NOT = (
    r"(?:(?:successful|failed|unsuccessful|succeeded|successfully)(?: ones)? or (?:not|failed"
    "|unsuccessful|successful)"
    r"|whether (?:or not )?(?:(?:it|they|these|those) (?:fails?|failed|succeeds?|succeeded|was|were|is"
    "|are)|successful"
    r"|failed)(?: successful)?(?: or (?:not|fails?|succeeds?|failed|succeeded|unsuccessful|successful))?)"
)
_COUNTED = r"(?:counted|included|counting|counts?|inclusive|counts? in|being counted|counted in|considered)"
_ASIDES = (
    rf"(?:and )?(?:the )?{_TRIES}(?: (?:are|do|also|being|must be|should be|are also|are to be))*"
    f" {_COUNTED}"
    r"(?: too| as well| also| in)?"
    rf"|(?:and )?(?:also )?(?:including|counting|with|inclusive of|and) (?:also )?(?:the |any |all"
    f" )?{_TRIES}"
    rf"(?: {_COUNTED})?(?: too| as well| also| in)?"
    rf"|even (?:if|when|though|where) (?:the |all )?(?:earlier|previous|first|prior|preceding|other)"
    r"(?: \d+)?(?: ones?| tries| try| attempts?| calls?)? (?:failed|fail|has failed|have failed|did not"
    " succeed|fails)"
    rf"|{_OR_NOT}"
    r"|(?:even|also) (?:if|when|though) (?:some|any|one|all|they|it|most|others?|a few|several|none)(?: "
    r"of (?:them|these))?"
    r"(?: (?:calls?|tries|attempts?))? (?:fail|fails|failed|succeed|succeeds|go(?:es)? wrong)"
)


def aside(grammar: Grammar, at: int) -> Iterator[Found]:
    """What changes no count: `, no matter the amount`, `(failed tries count too)`."""
    text = grammar.text
    if m := compiled(rf",? *\(?(?:{_ASIDES})\)?(?![\w'-])").match(text, at):
        yield Adjunct("aside"), m.end()
    if m := compiled(
        rf",? *\(?{_WHATEVER}{_NO_FIRST}(?P<what>(?: (?!(?:if|unless|except|but|only|and|or|not|never|before"
        r"|after"
        r"|until|when|while|per|within|at|in|every|each|may|must)\b)[\w-]+){0,5})\)?(?=$|,)"
    ).match(text, at):
        yield Adjunct("aside", said=m["what"].strip()), m.end()


# ------------------------------------------------------------------ demands


def _quota(p: Parts) -> Demand | None:
    """`Refunds: max 3 per customer`."""
    events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
    how, number = p["c"]
    if number < 1 or (joint and not p.get("all")):
        return None
    return Demand("count", events, joint="or" if joint else "", number=number, how=how)


def _just(p: Parts) -> Demand | None:
    """`2 escalations`, of which it is said behind that there are no more."""
    events, joint = p["e"]
    return None if joint else Demand("count", events, number=p["n"], how="just")


def _done_so_often(p: Parts) -> Demand | None:
    """`The address of an order may be changed once every 30 minutes`."""
    event = passive(p)
    how, number = p["c"]
    return None if event is None else Demand("count", (event,), number=number, how=how)


def _to_each(p: Parts) -> Demand | None:
    """`A patient may be charged a fee at most once`: for each of those that it is done to."""
    event: Event = p["e"]
    how, number = p["c"]
    who: str = p["w"]
    if how == "just" or any(singular(noun) == who for noun in event.noun):
        return None
    event = with_same(event, frozenset({who}))
    return Demand("count", (event,), number=number, how=how)


def _got_by_each(p: Parts) -> Demand | None:
    """`Each reviewer gets at most 4 approvals`."""
    (events, joint), (how, number) = p["e"], p["c"]
    if joint or how == "just":
        return None
    event = with_same(replace(events[0], single=False), frozenset({p["w"]}))
    return Demand("count", (event,), number=number, how=how)


def _of_one_thing(p: Parts) -> Demand | None:
    """`Restarts of one deployment: 3 per run at most`."""
    return _quota({**p, "e": with_same(replace(p["e"], single=False), p["s"])})


def _done_each(p: Parts) -> Demand | None:
    """`Deployments may be restarted at most three times each`."""
    event = passive(p)
    how, number = p["c"]
    if event is None or not event.noun or how == "just":
        return None
    event = with_same(replace(event, single=False), frozenset({singular(event.noun[-1])}))
    return Demand("count", (event,), number=number, how=how)


def _calls_beyond(p: Parts) -> Demand:
    """`More than 10 calls within a minute are not allowed`."""
    beside = (p["w"],) if "w" in p else ()
    return Demand("count", (Event(ANY, beside=beside),), number=p["n"], how="at most")


def _given_to_each(p: Parts) -> Demand | None:
    """`Every customer is sent at most two emails`."""
    (events, joint), verbs = p["e"], p["g"]
    return _got_by_each(p) if not joint and events[0].action in verbs else None


def _none_of_that_number(p: Parts) -> Demand | None:
    """`No second restart of the same line`."""
    event: Event = p.get("e") or p["t"]
    if p["m"] < 2 or event.role or ("v" in p and p["v"].action != event.action):
        return None
    return Demand("count", (replace(event, single=False),), number=p["m"] - 1, how="at most")


def _run_of(demand: Demand | None) -> Demand | None:
    return demand and in_a_run(demand)


def _limited_by(p: Parts) -> Demand:
    return Demand("count", (replace(p["e"], single=False),), number=p["n"], how="at most")


def _limited_to(p: Parts) -> Demand:
    """`Letters are limited to 4 per 10 minutes`."""
    event = replace(p["e"], single=False, beside=(*p["e"].beside, p["w"]))
    return Demand("count", (event,), number=p["n"], how="at most")


def _counted_object(p: Parts, how: str) -> Demand | None:
    """`The agent may send five letters per run, not more`."""
    counted = counted_object({"v": p["v"], "t": p["t"], "n": p["n"]})
    return counted and replace(counted, how=how)


def _done_by_each(p: Parts) -> Demand | None:
    """`A reviewer approves at most four ads an hour`."""
    event: Event = p["t"]
    how, number = p["c"]
    if event.role or event.action not in p["g"] or how != "at most":
        return None
    event = with_same(replace(event, single=False), frozenset({p["w"]}))
    return Demand("count", (event,), number=number, how=how)


def _done_in_a_run(p: Parts) -> Demand | None:
    """`A run launches one campaign at most`."""
    event: Event = p["t"]
    how, number = p["c"]
    if event.role or event.action not in p["g"]:
        return None
    return in_a_run(Demand("count", (replace(event, single=False),), number=number, how=how))


def _failing(p: Parts) -> Demand | None:
    events, joint = p["e"]
    how, number = p["c"]
    return None if joint else Demand("fail", events, number=number, how=how)


def _one_done(p: Parts) -> Demand | None:
    """`One claim is never approved more than once`."""
    event = passive(p)
    how, number = p["c"]
    return None if event is None else Demand("count", (event,), number=number, how=how)


def _so_many_each(p: Parts) -> Demand | None:
    """`Two coverage checks before each payment`."""
    events, joint = p["b"]
    if joint or p["n"] < 2:
        return None
    then = replace(p["a"], single=False)
    return Demand("so many before", events, (then,), how="at least", number=p["n"])


def _acts_apart(p: Parts) -> Demand | None:
    events, joint = p["e"]
    return None if joint else apart_by({"e": replace(events[0], single=False), "d": p["d"]})


def _all_calls(p: Parts) -> Demand:
    how, number = p["c"]
    return Demand("count", (Event(ANY),), how=how, number=number)


def _not_the_same(p: Parts) -> Demand | None:
    """`Not the same flag twice, same post and same reason`: what is the same is told behind."""
    how, number = p["c"]
    event = replace(p["e"], single=False, same=p["s"])
    return Demand("count", (event,), how=how, number=number)


def _same_object(p: Parts) -> Demand | None:
    """`Scaling one deployment twice to the same replicas`."""
    how, number = p.get("c") or ("at most", p["n"])
    event: Event = p["e"]
    if "s" in p:
        event = with_same(event, p["s"])
    return Demand("count", (replace(event, single=False),), how=how, number=number)


def _had_before(p: Parts) -> Demand | None:
    """`A user must have had two warnings before a ban`."""
    (first, joint), (then, other) = p["b"], p["a"]
    if joint or other or len(first) != 1 or len(then) != 1 or p["n"] < 1:
        return None
    return Demand(
        "so many before",
        (with_same(replace(first[0], single=False), frozenset({p["w"]})),),
        (replace(then[0], single=False),),
        how="at least",
        number=p["n"],
    )


def _needed_before(p: Parts) -> Demand | None:
    """`A post needs two flags before it is removed`."""
    (events, joint), fact = p["b"], p["f"]
    if joint or fact.aspect != "present" or len(fact.events) > 1 or fact.events[0].outcome or p["n"] < 2:
        return None
    same = frozenset({p["w"]})
    first, then = (replace(e, single=False, itself=False, same=same) for e in (events[0], fact.events[0]))
    return Demand("so many before", (first,), (then,), how="at least", number=p["n"])


def _enough(p: Parts) -> Adjunct | None:
    """`only after two letters or more`."""
    fact = p["f"]
    failed = any(event.outcome == "failed" for event in fact.events)
    if failed or fact.aspect != "noun" or p["n"] < 1:
        return None
    return Adjunct("after so many", fact, number=p["n"])


COUNTS: dict[str, Rule] = {
    "an_hour": an_hour,
    "one of them": of_one,
    "same list": same_list,
    "an aside": aside,
    "event": [
        ("{e:noun} calls|call|operations|operation|actions|action", with_mods),
        ("{e:noun} calls|call|operations|operation|actions|action {m:mods}", with_mods),
    ],
    "quota": [
        ("{c:limit}", lambda p: p["c"]),
        (f"{AT_MOST} {{n:number}} [{_TIMES}|of_them]", lambda p: ("at most", p["n"])),
        (f"{AT_MOST} once", lambda p: ("at most", 1)),
        (f"{{n:number}} [{_TIMES}] {_NO_MORE}", lambda p: ("at most", p["n"])),
        ("never {n:number} [times]", lambda p: ("at most", p["n"] - 1)),
        ("never more_than {n:number} [times]", lambda p: ("at most", p["n"])),
        (f"{{n:number}} [{_TIMES}]", lambda p: ("just", p["n"])),
        ("once", lambda p: ("just", 1)),
    ],
    "quota in all": [
        (f"{AT_MOST} {{n:number}} [{_TIMES}] {_OVERALL}", lambda p: ("at most", p["n"])),
        (f"{{n:number}} [{_TIMES}] {_OVERALL} {_NO_MORE}", lambda p: ("at most", p["n"])),
        (f"{{n:number}} [{_TIMES}] {_NO_MORE} {_OVERALL}", lambda p: ("at most", p["n"])),
        (f"{{n:number}} [{_TIMES}] {_OVERALL}", lambda p: ("just", p["n"])),
    ],
    "adjunct": [
        ("{a:an_hour}", lambda p: p["a"]),
        ("{a:an aside}", lambda p: p["a"]),
        (
            "[,] [and] calendar_day|on_a_calendar_day",
            lambda p: Adjunct("day"),
        ),
        (
            "in|within|during|of any_one|one_single|any_single|each_single run",
            lambda p: Adjunct("run", said="run"),
        ),
        (
            f"before|until {_A_RUN} ends|finishes|is_over|is_finished|is_done|closes|has_ended|end|finish",
            lambda p: Adjunct("run", said="run"),
        ),
        (f"by|before|until the_end_of {_A_RUN}", lambda p: Adjunct("run", said="run")),
        ("and hour", lambda p: Adjunct("an hour", time="1 hour")),
        ("and minute", lambda p: Adjunct("an hour", time="1 minute")),
        (
            "[,] [but] failed|unsuccessful tries|attempts|ones|calls do_not_count|are_not_counted|excluded",
            lambda p: Adjunct("successes"),
        ),
        (
            "[,] not_counting|excluding|without_counting|leaving_out [the] failed|unsuccessful "
            "tries|attempts|ones|calls",
            lambda p: Adjunct("successes"),
        ),
        (
            "[,] [but] only successful|succeeding tries|attempts|ones|calls count|are_counted",
            lambda p: Adjunct("successes"),
        ),
        ("[,] [but] [the] failed|unsuccessful|failing {w:word} "
         "do_not_count|are_not_counted|excluded|not_counted|not_included|do_not_count_towards_it",
         lambda p: Adjunct("successes", said=p["w"])),
        ("[,] [but] failures do_not_count|are_not_counted|excluded|not_counted|not_included",
         lambda p: Adjunct("successes")),
        ("{s:one of them}", lambda p: Adjunct("of one", same=p["s"])),
        ("{s:same list}", lambda p: Adjunct("of one", same=p["s"])),
        (
            "[,] [and] not_more|no_more|not_more_often|no_more_often|no_more_than_that|not_more_than_that"
            "|maximum|max|at_most|at_the_most|tops|that_is_it|that_is_all|that_is_enough",
            lambda p: Adjunct("no more"),
        ),
        (f"[,] [and] {_THAT_IS} {_THE} {CEILING}|most [that] [is] [allowed|permitted]",
         lambda p: Adjunct("no more")),
        ("[,] [and|but] not_one_more|not_1_more|not_a_single_one_more|none_more|none_beyond_that"
         "|and_not_one_more|not_any_more_than_that|and_no_further_ones|and_then_no_more"
         "|at_the_very_most|at_maximum",
         lambda p: Adjunct("no more")),
        (", full_stop|period", lambda p: Adjunct("no more")),  # `and period` is an argument more
        (f"[,] [and|but] a|the|any {{k:nth}} [one|call|try|attempt|time] {_WOULD_BE} [strictly|one] "
         f"too_many|too_much|{BANNED}", lambda p: Adjunct("no more", number=p["k"])),
        ("[,] [and] neither_more_nor_less|neither_more_nor_fewer|neither_less_nor_more|neither_fewer_nor_more"
         "|neither_fewer_nor_more_than_that", lambda p: Adjunct("no more", said="no less")),
        ("[,] [and] no_more|not_more|no_less|not_less|no_fewer|not_fewer [,] [and|or|nor] "
         "no_more|not_more|no_less|not_less|no_fewer|not_fewer|fewer|less|more",
         lambda p: Adjunct("no more", said="no less")),
        ("over|across|for all|all_the {f:one field}", lambda p: Adjunct("overall")),
        (f"[,] {_OVERALL}", lambda p: Adjunct("in all")),
        ("after|following [at_least] {n:number} {f:what} or_more|at_least", _enough),
        ("after|following {n:number} {f:what}", lambda p: _enough(p) if p["n"] > 1 else None),
        ("after|following at_least|a_minimum_of|no_fewer_than {n:number} {f:what}", _enough),
    ],
    "demand": [
        ("{e:events} , {c:quota}", _quota),
        ("{e:event} {s:one of them} , {c:quota}", _of_one_thing),
        (f"{{t:object}} {MAY}|{SHOULD} be {{d:past}} {{c:limit}} each", _done_each),
        ("{t:object} is|are|get|gets {d:past} {c:limit} each", _done_each),
        (f"{{w:whoever}} {MAY}|{SHOULD} be {{e:done_alone}} {{c:limit}}", _to_each),
        ("{w:whoever} is|are|gets {e:done_alone} {c:limit}", _to_each),
        (f"more_than {{n:number}} calls|tool_calls [{{w:window}}] is|are {BANNED}", _calls_beyond),
        (f"the_number_of {{e:events}} {SHOULD} be|stay|remain below|under|less_than {{n:number}}",
         lambda p: at_most_of({**p, "n": p["n"] - 1}) if p["n"] > 1 and not p["e"][1] else None),
        ("{n:number} {e:counted} is|are too_many|one_too_many|1_too_many|too_often",
         lambda p: _quota({**p, "c": ("at most", p["n"] - 1)})),
        ("{w:whoever} {g:does_alone} {c:limit} {t:object}", _done_by_each),
        (f"{{w:whoever}} {{g:does_alone}} {{n:number}} {{t:object}} {_NO_MORE}",
         lambda p: _done_by_each({**p, "c": ("at most", p["n"])})),
        (f"{RUNS} {{g:does_alone}} {{c:limit}} {{t:object}}", _done_in_a_run),
        (f"{RUNS} {{g:does_alone}} {{n:number}} {{t:object}} {_NO_MORE}",
         lambda p: _done_in_a_run({**p, "c": ("at most", p["n"])})),
        ("{c:limit} {t:object} is|are|gets|get {d:past}", _done_so_often),
        ("no run with more_than {n:number} {e:event}",
         lambda p: in_a_run(_limited_by(p))),
        ("no run with more_than {n:number} calls|tool_calls",
         lambda p: in_a_run(_all_calls({"c": ("at most", p["n"])}))),
        (f"[a|one|each|every|the_whole|per] run , {AT_MOST} {{n:number}} calls|tool_calls",
         lambda p: in_a_run(_all_calls({"c": ("at most", p["n"])}))),
        (f"[a|one|each|every|the_whole|per] run , {{n:number}} calls|tool_calls {_NO_MORE}",
         lambda p: in_a_run(_all_calls({"c": ("at most", p["n"])}))),
        ("{w:whoever} needs|requires|must_have|has_to_have [at_least] {n:number} {b:events} before"
        "|prior_to "
         "{f:fact}", _needed_before),
        ("no|not more {a:event} than {b:event}", lambda p: Demand("own", (p["a"],), (p["b"],))),
        ("{e:event} {c:quota}", _quota),
        (f"{{t:object}} {MAY} be {{d:past}} {{c:quota}}", _done_so_often),
        (f"{{t:object}} {MAY} be {{d:past}} only {{c:quota}}", _done_so_often),
        (f"{{w:whoever}} {MAY}|{SHOULD} be {{e:done_to}} {{c:limit}}", _to_each),
        ("{w:whoever} is|are|gets {e:done_to} {c:limit}", _to_each),
        ("{w:whoever} is|gets|may_be|can_be {g:given} {c:limit} {e:events}", _given_to_each),
        ("{w:whoever} may_get|can_get|may_have|can_have|gets|has|receives {c:limit} {e:events}",
         _got_by_each),
        ("{e:acts} at_least|a_minimum_of|no_less_than {d:time} apart", _acts_apart),
        ("{e:events} [,] at_least|a_minimum_of|no_less_than {d:time} apart", _acts_apart),
        ("no {m:nth} {e:event}", _none_of_that_number),
        (f"no {{m:nth}} {{e:event}} {MAY} happen|be_made|be_done|be_tried", _none_of_that_number),
        ("never|do_not {v:verb} a {m:nth} {t:object}", _none_of_that_number),
        ("the_number_of {e:events} is limited|capped|restricted to|at {n:number}",
         lambda p: None if p["e"][1] else at_most_of(p)),
        ("{c:limit} {e:event} is|are fine|ok|okay|acceptable", _quota),
        ("there is|are {c:limit} {e:event}", _quota),
        (f"{RUNS} contains|has|includes|makes {{c:limit}} {{e:event}}", lambda p: _run_of(_quota(p))),
        (f"no {{w:one field}} {MAY} have|see more_than {{n:number}} {{e:events}}",
         lambda p: _got_by_each({**p, "c": ("at most", p["n"])})),
        ("no {w:one field} has|sees more_than {n:number} {e:events}",
         lambda p: _got_by_each({**p, "c": ("at most", p["n"])})),
        ("{e:event} is|are limited|restricted|capped to|at {n:number} {w:window}", _limited_to),
        (f"{RUNS} {MAY} {{v:verb}} {{n:number}} {{t:object}} {_NO_MORE}",
         lambda p: _run_of(_counted_object(p, "at most"))),
        (f"{AGENT} {MAY} {{v:verb}} {{n:number}} {{t:object}}", lambda p: _counted_object(p, "just")),
        (f"{{e:events}} {MAY} fail {{c:quota}}", _failing),
        ("{c:limit} tries|attempts|try|attempt to {e:one_act}", _same_object),
        (f"{{t:one_thing}} {NO} [ever] be {{d:past}} {{c:beyond}}", _one_done),
        ("{t:one_thing} is|are|gets|get never {d:past} {c:beyond}", _one_done),
        (f"{{t:one_thing}} {MAY}|{SHOULD} be {{d:past}} {{c:limit}}", _one_done),
        ("{t:one_thing} is|are|gets|get {d:past} {c:limit}", _one_done),
        ("{e:events} [,] {all:together} [,] {c:quota}", _quota),
        ("{all:together} , {e:events} {c:quota}", _quota),
        ("{e:events} [,] {c:quota in all}", lambda p: _quota({**p, "all": True})),
        (f"{AT_MOST} {{n:number}} {{e:events}}", lambda p: None if p["e"][1] else at_most_of(p)),
        ("{n:number} {e:events}", _just),
        (
            f"{AT_MOST} {{n:number}} {{e:events}} {{all:together}}",
            lambda p: _quota({**p, "c": ("at most", p["n"])}),
        ),
        (f"{AT_MOST} {{n:number}} calls|tool_calls", lambda p: _all_calls({"c": ("at most", p["n"])})),
        ("calls|tool_calls , {c:quota}", _all_calls),
        # one and the same
        ("not|never|no the_same {e:noun} {c:beyond} {s:same list}", _not_the_same),
        ("never|do_not [try|attempt] [to] {e:one_act} {c:beyond}", _same_object),
        (f"{AGENT} {NO} [try|attempt] [to] {{e:one_act}} {{c:beyond}}", _same_object),
        (f"{AGENT} {MAY}|{SHOULD} [try|attempt] [to] {{e:one_act}} {{c:limit}}", _same_object),
        ("[try|attempt] [to] {e:one_act} {c:limit}", _same_object),
        (f"{{e:doing_one}} {{c:beyond}} [{{s:same}}] is|are {BANNED}", _same_object),
        (f"{{e:doing_one}} {MAY}|{SHOULD} happen|be_done|be_tried {{c:limit}}", _same_object),
        # so many before
        (f"[a|an|any|every|each|the] {{w:thing_behind}} {SHOULD} have had|got|received|been_given|seen "
         "[at_least] {n:number} {b:events} before|prior_to|ahead_of {a:events}", _had_before),
        ("{n:number} {b:events} before|prior_to|ahead_of each|every {a:event}", _so_many_each),
    ],
    "whoever": [("a|an|any|every|each|the_same|one|any_one|a_given {w:one field}", lambda p: p["w"])],
    "together": [(f"{_ALL_TOGETHER}", lambda p: True)],
    "one_act": [("{e:deed_one}", with_mods), ("{e:deed_one} {m:mods}", with_mods)],
}  # fmt: skip
