"""How often, how much and how many different: in short (`refunds: max 3 per customer`), and in full."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.demands import apart_by, at_most_of
from synth.policies.clausal.events import Action
from synth.policies.clausal.facts import passive, with_mods
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import ANY, Adjunct, Demand, Event, with_same
from synth.policies.clausal.words import AGENT, BANNED, MAY, NO, NOT_A_THING, RUNS, SHOULD
from synth.policies.patterns import compiled
from synth.policies.verbs import gerund_of, past_of

_MOST = "at_most|at_the_most|no_more_than|not_more_than|up_to|max|max.|maximum|a_maximum_of|maximally"
_AT_MOST = "at_most|at_the_most|max|max.|maximum|tops|or_fewer|or_less|and_no_more|and_not_more|only"
_ONE = "one|1|exactly_one|exactly_1|at_most_one|at_most_1|only_one|only_1|a_single|just_one|one_single"
_TO = "to|of|for|on|with|in|from|at|by|about|into|onto"
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


_THING = r"(?P<f>[a-z][a-z_]*(?: (?:id|number|code)\b)?)(?![\w'-])"
_NO_ONE = NOT_A_THING | {"go", "request", "transaction", "operation", "batch", "swoop", "place", "piece"}
_ONE_OF = r"(?:one and the same|one single|any one|any single|any given|a given|a single|an individual|one)"


def of_one(grammar: Grammar, at: int) -> Iterator[Found]:
    """`on one claim_id`, `for any single customer`, `on its claim_id`: whose calls count together."""
    m = compiled(
        rf",? *(?:to|for|of|from|on|by|in|at|with|about|into|onto) {_ONE_OF} {_THING}(?! (?:and|or)\b)"
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
        rf",? *(?:(?:for|on|with|of|to) )?(?:the )?same {_THING}(?P<more>(?:,? and|,) (?:the )?same "
        r"[a-z][a-z_]*)*(?:,? (?:that is|i\.e\.))?"
    ).match(grammar.text, at)
    if m is None or m.start("f") == at:
        return
    fields = compiled(r"\bsame ([a-z][a-z_]*(?: (?:id|number|code)\b)?)").findall(m[0])
    if not any(field.lower() in NOT_A_THING - {"kind", "type", "reason"} for field in fields):
        yield frozenset(field.lower().replace(" ", "_") for field in fields), m.end()


_WHATEVER = (
    r"(?:no matter(?: (?:what|which|who|whose|how|when|where|why|whether|the|of))?|regardless(?: of)?"
    r"|irrespective of|whatever|whichever|whoever|however)"
)
_TRIES = r"(?:failed|unsuccessful|failing) (?:tries|attempts|ones|calls|try|attempt)"
_ASIDES = (
    rf"{_TRIES}(?: are)? (?:count|counted|included|counting|count in)(?: too| as well| also| in)?"
    rf"|(?:including|counting|with) {_TRIES}|{_TRIES} included|whether (?:it|they) (?:fails?|succeeds?)"
    r" or (?:not|fails?|succeeds?)|successful or not|failed or not"
)


def aside(grammar: Grammar, at: int) -> Iterator[Found]:
    """What changes no count: `, no matter the amount`, `(failed tries count too)`."""
    text = grammar.text
    if m := compiled(rf",? *\(?(?:{_ASIDES})\)?(?![\w'-])").match(text, at):
        yield Adjunct("aside"), m.end()
    if m := compiled(
        rf",? *\(?{_WHATEVER}(?P<what>(?: (?!(?:if|unless|except|but|only|and|or|not|never|before|after"
        r"|until|when|while|per|within|at|in|every|each|may|must)\b)[\w-]+){0,5})\)?(?=$|,)"
    ).match(text, at):
        yield Adjunct("aside", said=m["what"].strip()), m.end()


def different(grammar: Grammar, at: int) -> Iterator[Found]:
    """(how many at most, of what) of `two different patients`, which must never be."""
    m = compiled(
        r" *(?:(?P<over>more than|over) )?(?P<n>\d{1,6}|one|several|multiple|various) (?:different |"
        rf"distinct ){_THING}"
    ).match(grammar.text, at)
    if m is None:
        return
    number = int(m["n"]) if m["n"].isdigit() else 1 if m["n"] == "one" or not m["over"] else 0
    if m["n"].isdigit() and not m["over"]:
        number -= 1
    if number > 0:
        yield (number, field_of(m["f"])), m.end()


def so_many_different(grammar: Grammar, at: int) -> Iterator[Found]:
    """(how many, of what) of `at most two different patients`."""
    m = compiled(
        r" *(?:at most|no more than|not more than|up to|max(?:imum|\.)?|a maximum of) (?P<n>\d{1,6}|one) "
        rf"(?:different |distinct ){_THING}"
    ).match(grammar.text, at)
    if m:
        yield (int(m["n"]) if m["n"].isdigit() else 1, field_of(m["f"])), m.end()


def one_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """The name of what there is one of: `cluster`, `order_id`, `customer id`."""
    m = compiled(rf" *{_THING}").match(grammar.text, at)
    if m and m["f"].lower() not in NOT_A_THING:
        yield field_of(m["f"]), m.end()


def field_of(words: str) -> str:
    """The argument that a noun names, of which there may be several."""
    words = words.lower().replace(" ", "_")
    return words.removesuffix("s") if words.endswith("_ids") else singular(words)


# ------------------------------------------------------------------ actions, done to one thing


def by_one_thing(actions: Sequence[Action]) -> dict[str, Rule]:
    """The rules that find what is done to one thing: `pay the same claim_id`, `scaling one deployment`."""
    return {
        "deed_one": _finder(actions, str),
        "doing_one": _finder(actions, gerund_of),
        "done_to": _done_to(actions),
        "given": _given(actions),
    }


def _done_to(actions: Sequence[Action]) -> Rule:
    """`charged a fee`, of `charge fee`: what is done, behind whom it is done to."""
    named = [
        (one, rf" *{past_of(one.verb)}{one.up} (?:(?:an?|the|any) )?{one.objects}{one.behind}(?![\w'-])")
        for one in actions
        if one.nouns and not one.particle
    ]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        found = {m.end(): one for one, pattern in named if (m := compiled(pattern).match(grammar.text, at))}
        if len(found) == 1:
            [(end, one)] = found.items()
            yield Event(one.number, noun=one.nouns), end

    return find


def _finder(actions: Sequence[Action], form: Callable[[str], str]) -> Rule:
    named = [(one, _done_to_one(one, form)) for one in actions if one.nouns]

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        longest: dict[int, list[Event]] = {}
        for one, pattern in named:
            if (m := compiled(pattern).match(grammar.text, at)) and (same := _same_of(m, one)):
                event = Event(one.number, same=same, noun=one.nouns)
                longest.setdefault(m.end(), []).append(event)
        for end, found in sorted(longest.items(), reverse=True):
            if len({event.action for event in found}) == 1:
                yield found[0], end

    return find


def _given(actions: Sequence[Action]) -> Rule:
    """The actions that a verb of the passive may be of."""

    def find(grammar: Grammar, at: int) -> Iterator[Found]:
        ends: dict[int, set[int]] = {}
        for one in actions:
            if m := compiled(rf" *{past_of(one.verb)}{one.up}(?![\w'-])").match(grammar.text, at):
                ends.setdefault(m.end(), set()).add(one.number)
        for end, numbers in ends.items():
            yield frozenset(numbers), end

    return find


_SAME = r"(?:one and the same|the very same|the same|one single|any one|any single|a single|one)"
_DET = r"(?:(?:the|an?|any|our|your|their) )?"


def _done_to_one(one: Action, form: Callable[[str], str]) -> str:
    verb = rf" *{form(one.verb)}{one.up}"
    some_id = r"[a-z]+(?:_[a-z]+)+|[a-z]+ (?:id|number|code)"
    field = rf"(?P<f>[a-z][a-z_]*) (?:of|in|on|for) {_DET}"
    what = rf"(?:{_SAME} (?P<o>{one.objects})(?!_| (?:id|number|code)\b)|{_SAME} (?P<id>{some_id})"
    return rf"{verb} {what}|the same {field}(?:{one.objects})){one.behind}(?![\w'-])"


def _same_of(m: re.Match[str], one: Action) -> frozenset[str]:
    """What must be the same; none where it is the argument of another action's thing."""
    if m["o"]:
        return frozenset({singular(m["o"].split()[-1])})
    if m["f"]:
        return frozenset({m["f"]} - NOT_A_THING | ({m["f"]} & {"kind", "type", "reason"}))
    words = m["id"].replace(" ", "_").split("_")
    return frozenset({"_".join(words)} if one.verb_alone or words[0] == singular(one.nouns[-1]) else ())


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


def _varied(p: Parts) -> Demand | None:
    """`Never open the records of two different patients`."""
    number, field = p["w"]
    events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
    if joint:
        return None
    return Demand("variety", (replace(events[0], single=False),), number=number, how=field)


def _any_varied(p: Parts) -> Demand:
    """`A run must not touch two different customers`."""
    number, field = p["w"]
    return Demand("variety", (Event(ANY),), number=number, how=field)


def _in_a_run(demand: Demand) -> Demand:
    [event] = demand.events
    return replace(demand, events=(replace(event, beside=(*event.beside, Adjunct("run", said="run"))),))


def _one_only(p: Parts) -> Demand | None:
    """`All calls of a run go to one and the same cluster`."""
    event: Event = p.get("e") or Event(ANY)
    field, said = p["f"] if isinstance(p["f"], tuple) else (p["f"], "")
    if "s" in p:
        event = with_same(event, p["s"])
    if over := p.get("r") or said:
        event = replace(event, beside=(*event.beside, Adjunct("run", said=over)))
    return Demand("variety", (replace(event, single=False),), number=1, how=field)


def _passively_varied(p: Parts) -> Demand | None:
    """`A driver must never be sent out with two different trucks`: of each of those that are named."""
    number, field = p["w"]
    done: Event = p["d"]
    who: str = p["t"]
    own = done.noun[-1:] and singular(done.noun[-1])
    if done.role or own not in (who, field) or who == field:
        return None
    event = with_same(replace(done, single=False), frozenset({who}))
    return Demand("variety", (event,), number=number, how=field)


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
    "different": different,
    "so many different": so_many_different,
    "one field": one_field,
    "event": [("{e:noun} calls|call", with_mods), ("{e:noun} calls|call {m:mods}", with_mods)],
    "quota": [
        ("{c:limit}", lambda p: p["c"]),
        (f"{_MOST} {{n:number}} [times|calls|tries|attempts|of_them]", lambda p: ("at most", p["n"])),
        (f"{{n:number}} [times|calls|tries|attempts] {_AT_MOST}", lambda p: ("at most", p["n"])),
        ("never {n:number} [times]", lambda p: ("at most", p["n"] - 1)),
        ("never more_than {n:number} [times]", lambda p: ("at most", p["n"])),
        ("{n:number} [times|calls|tries|attempts]", lambda p: ("just", p["n"])),
        ("once", lambda p: ("just", 1)),
    ],
    "quota in all": [
        (f"{_MOST} {{n:number}} [times|calls|tries|attempts] {_OVERALL}", lambda p: ("at most", p["n"])),
        (f"{{n:number}} [times|calls|tries|attempts] {_OVERALL} {_AT_MOST}", lambda p: ("at most", p["n"])),
        (f"{{n:number}} [times|calls|tries|attempts] {_AT_MOST} {_OVERALL}", lambda p: ("at most", p["n"])),
        (f"{{n:number}} [times|calls|tries|attempts] {_OVERALL}", lambda p: ("just", p["n"])),
    ],
    "adjunct": [
        ("{a:an_hour}", lambda p: p["a"]),
        ("{a:an aside}", lambda p: p["a"]),
        (
            "[,] [and] calendar_day|on_a_calendar_day",
            lambda p: Adjunct("day"),
        ),
        ("and hour", lambda p: Adjunct("an hour", time="1 hour")),
        ("and minute", lambda p: Adjunct("an hour", time="1 minute")),
        (
            "[,] [but] failed|unsuccessful tries|attempts|ones|calls do_not_count|are_not_counted|excluded",
            lambda p: Adjunct("successes"),
        ),
        (
            "[,] [but] only successful|succeeding tries|attempts|ones|calls count|are_counted",
            lambda p: Adjunct("successes"),
        ),
        ("{s:one of them}", lambda p: Adjunct("of one", same=p["s"])),
        ("{s:same list}", lambda p: Adjunct("of one", same=p["s"])),
        (
            "[,] [and] not_more|no_more|not_more_often|no_more_often|no_more_and_no_less|no_more_,_no_less"
            "|not_more_and_not_less|no_more_no_less|no_less_and_no_more|no_more_than_that|not_more_than_that"
            "|maximum|max|at_most|at_the_most|tops|that_is_it|that_is_all|that_is_enough",
            lambda p: Adjunct("no more"),
        ),
        ("over|across|for all|all_the {f:one field}", lambda p: Adjunct("overall")),
        ("after|following [at_least] {n:number} {f:what} or_more|at_least", _enough),
        ("after|following at_least|a_minimum_of|no_fewer_than {n:number} {f:what}", _enough),
    ],
    "demand": [
        ("{e:events} , {c:quota}", _quota),
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
        ("{c:limit} {e:event} is|are fine|ok|okay|acceptable|enough", _quota),
        ("{e:events} [,] {all:together} [,] {c:quota}", _quota),
        ("{all:together} , {e:events} {c:quota}", _quota),
        ("{e:events} [,] {c:quota in all}", lambda p: _quota({**p, "all": True})),
        (f"{_MOST} {{n:number}} {{e:events}}", lambda p: None if p["e"][1] else at_most_of(p)),
        ("{n:number} {e:events}", _just),
        (
            f"{_MOST} {{n:number}} {{e:events}} {{all:together}}",
            lambda p: _quota({**p, "c": ("at most", p["n"])}),
        ),
        (f"{_MOST} {{n:number}} calls|tool_calls", lambda p: _all_calls({"c": ("at most", p["n"])})),
        ("calls|tool_calls , {c:quota}", _all_calls),
        # one and the same
        ("not|never|no the_same {e:noun} {c:beyond} {s:same list}", _not_the_same),
        ("never|do_not [try|attempt] [to] {e:one_act} {c:beyond}", _same_object),
        (f"{AGENT} {NO} [try|attempt] [to] {{e:one_act}} {{c:beyond}}", _same_object),
        (f"{AGENT} {MAY}|{SHOULD} [try|attempt] [to] {{e:one_act}} {{c:limit}}", _same_object),
        ("[try|attempt] [to] {e:one_act} {c:limit}", _same_object),
        (f"{{e:doing_one}} {{c:beyond}} [{{s:same}}] is|are {BANNED}", _same_object),
        (f"{{e:doing_one}} {MAY}|{SHOULD} happen|be_done|be_tried {{c:limit}}", _same_object),
        # different values
        (f"never|do_not [ever] {{e:acts}} {_TO} {{w:different}}", _varied),
        (f"{AGENT} {NO} [ever] {{e:acts}} {_TO} {{w:different}}", _varied),
        (f"no {{e:events}} {_TO} {{w:different}}", _varied),
        (f"[one|a|any_one|the_same|each|every] {{t:thing_behind}} {NO} [ever] be {{d:done}} "
         f"{_TO} {{w:different}}", _passively_varied),
        (f"the {{f:one field}} {SHOULD} [always] be|stay|remain the_same over|across|for|in|of|on "
         "all|all_the {e:event} [{s:one of them}]", _one_only),
        ("all [the|of_the] {e:varying} [{r:scope}] {g:go} one_and_the_same|the_same|only_one|a_single"
         "|just_one|one_single|the_very_same {f:one field}", _one_only),
        (f"{RUNS} [{MAY}|{SHOULD}] {{g:deal}} {{f:only one}}", lambda p: _one_only({**p, "r": "run"})),
        (f"{AGENT} [{MAY}|{SHOULD}] {{g:deal}} {{f:only one}}", _one_only),
        ("{g:deal} {f:only one}", _one_only),
        (f"{AGENT} [{MAY}|{SHOULD}] {{e:acts}} {_TO} {{w:so many different}}", _varied),
        (f"{{e:acts}} {_TO} {{w:so many different}}", _varied),
        (f"{{e:events}} {_TO} {{w:so many different}}", _varied),
        (f"{RUNS} {NO} [ever] {{g:deal}} {{w:different}}", lambda p: _in_a_run(_any_varied(p))),
        (f"no run {MAY}|{SHOULD} [ever] {{g:deal}} {{w:different}}", lambda p: _in_a_run(_any_varied(p))),
        (f"{AGENT} {NO} [ever] {{g:deal}} {{w:different}}", lambda p: _any_varied(p)),
        ("never|do_not {g:deal} {w:different}", lambda p: _any_varied(p)),
        (f"{{e:event}} only {_TO} one|1|a_single|one_and_the_same|the_same {{f:one field}}", _one_only),
        # so many before
        (f"[a|an|any|every|each|the] {{w:thing_behind}} {SHOULD} have had|got|received|been_given|seen "
         "[at_least] {n:number} {b:events} before|prior_to|ahead_of {a:events}", _had_before),
    ],
    "whoever": [("a|an|any|every|each|the_same|one|any_one|a_given {w:thing_behind}", lambda p: p["w"])],
    "together": [(f"{_ALL_TOGETHER}", lambda p: True)],
    "one_act": [("{e:deed_one}", with_mods), ("{e:deed_one} {m:mods}", with_mods)],
    "varying": [("calls|tool_calls", lambda p: Event(ANY)), ("{e:event}", lambda p: p["e"])],
    "go": [
        (f"[{SHOULD}] [always] go|goes|be|stay|remain|happen|run|are|is {_TO}", lambda p: True),
        (f"[{SHOULD}] [always] use|have|concern|name|share|be_for|target|hit", lambda p: True),
    ],
    "deal": [
        ("deal|deals|work|works|be_concerned|is_concerned with|on", lambda p: True),
        ("mix|mixes|concern|concerns|handle|handles|touch|touches|serve|serves|be_about|is_about|stick_to|sticks_to"
         "|stay_with|stays_with|see|sees", lambda p: True),
    ],
    "only one": [
        (f"{_ONE} {{f:one field}} [{{r:scope}}] and_no_other|only|alone|and_not_more|and_no_more",
         lambda p: (p["f"], p.get("r", ""))),
        ("only_one|at_most_one|exactly_one|only_1|at_most_1|exactly_1|a_single|just_one|one_and_only_one"
         "|no_more_than_one|no_more_than_1|1_and_only_1 {f:one field}", lambda p: p["f"]),
    ],
}  # fmt: skip
