"""How many different values: `never open the records of two different patients`, `one run, one customer`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from synth.policies.action_forms import singular
from synth.policies.clausal.facts import passive
from synth.policies.clausal.matching import Found, Grammar, Parts, Rule
from synth.policies.clausal.parts import ANY, Adjunct, Demand, Event, with_same
from synth.policies.clausal.words import AGENT, MAY, NO, NOT_A_THING, RUNS, SHOULD
from synth.policies.patterns import compiled

_ONE = "one|1|exactly_one|exactly_1|at_most_one|at_most_1|only_one|only_1|a_single|just_one|one_single"
_TO = "to|of|for|on|with|in|from|at|by|about|into|onto|over|through|via|using|across"
THING = r"(?P<f>[a-z][a-z_]*(?: (?:ids?|numbers?|codes?|refs?|names?|references?|keys?)\b)?)(?![\w'-])"


def different(grammar: Grammar, at: int) -> Iterator[Found]:
    """(how many at most, of what) of `two different patients`, which must never be."""
    m = compiled(
        r" *(?:(?P<over>more than|over) )?(?P<n>\d{1,6}|one|several|multiple|various) (?:different |"
        rf"distinct ){THING}"
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
        rf"(?:different |distinct ){THING}"
    ).match(grammar.text, at)
    if m:
        yield (int(m["n"]) if m["n"].isdigit() else 1, field_of(m["f"])), m.end()


def more_of(grammar: Grammar, at: int) -> Iterator[Found]:
    """`more than one claim_id`."""
    m = compiled(
        rf" *(?:more than|over) (?P<n>\d{{1,6}}|one)(?: single| different| distinct)? {THING}"
    ).match(grammar.text, at)
    if m and m["f"].lower() not in NOT_A_THING:
        yield (int(m["n"]) if m["n"].isdigit() else 1, field_of(m["f"])), m.end()


def several_ids(grammar: Grammar, at: int) -> Iterator[Found]:
    """(how many at most, of what) of `two booking ids`, `a second customer_id`, which must never be."""
    m = compiled(
        r" *(?:(?P<n>\d{1,6})|a second|another|a different|any other|a further|several|multiple|more) "
        r"(?P<f>[a-z][a-z_]*(?:_| )(?:ids?|numbers?|codes?|refs?|references?|keys?))(?![\w'-])"
    ).match(grammar.text, at)
    number = int(m["n"]) - 1 if m and m["n"] else 1
    if m and number > 0:
        yield (number, field_of(m["f"])), m.end()


def least_different(grammar: Grammar, at: int) -> Iterator[Found]:
    """`at least two different channels`."""
    m = compiled(rf" *at least (?P<n>\d{{1,6}}) (?:different |distinct ){THING}").match(grammar.text, at)
    if m:
        yield (int(m["n"]), field_of(m["f"])), m.end()


def one_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """The name of what there is one of: `cluster`, `order_id`, `customer id`."""
    m = compiled(rf" *(?!(?:{_TO.replace('_', ' ')}|and|or|the|of)\b){THING}").match(grammar.text, at)
    if m and m["f"].lower() not in NOT_A_THING:
        yield field_of(m["f"]), m.end()


def field_of(words: str) -> str:
    """The argument that a noun names, of which there may be several."""
    *before, last = words.lower().replace(" ", "_").split("_")
    return "_".join((*before, singular(last)))


def _varied(p: Parts) -> Demand | None:
    """`Never open the records of two different patients`."""
    number, field = p["w"]
    events, joint = p["e"] if isinstance(p["e"], tuple) else ((p["e"],), "")
    if joint:
        return None
    return Demand("variety", (replace(events[0], single=False),), number=number, how=field)


def _at_least_varied(p: Parts) -> Demand | None:
    """`Letters must be sent over at least two different channels`."""
    event = p["e"][0][0] if "e" in p else passive(p)
    number, field = p["w"]
    if event is None or ("e" in p and p["e"][1]):
        return None
    return Demand("least variety", (replace(event, single=False),), number=number, how=field)


def _any_varied(p: Parts) -> Demand:
    """`A run must not touch two different customers`."""
    number, field = p["w"]
    return Demand("variety", (Event(ANY),), number=number, how=field)


def _each_another(p: Parts) -> Demand | None:
    """`Every shipment needs a different tracking code`: none has that of another."""
    event: Event = p["e"]
    if event.action == ANY or event.outcome:
        return None
    event = with_same(replace(event, single=False, each=False), frozenset({p["f"]}))
    return Demand("count", (event,), number=1, how="at most")


def _in_all(p: Parts) -> Demand:
    """`Never work on two booking ids in one run`."""
    demand = _any_varied(p)
    over = (Adjunct("run", said=p["r"]),) if p.get("r") else ()
    return replace(demand, events=(replace(demand.events[0], beside=over),))


def id_field(grammar: Grammar, at: int) -> Iterator[Found]:
    """What says which one it is, and so is an argument for certain: `booking id`, `customer_id`."""
    yield from _named_so(grammar, at, r"(?:_| )(?:id|number|code|ref|reference|key)|_[a-z]+")


def ids(grammar: Grammar, at: int) -> Iterator[Found]:
    """`booking ids`."""
    yield from _named_so(grammar, at, r"(?:_| )(?:ids|numbers|codes|refs|references|keys)")


def _named_so(grammar: Grammar, at: int, behind: str) -> Iterator[Found]:
    m = compiled(rf" *(?P<f>[a-z]+(?:_[a-z]+)*(?:{behind}))(?![\w'-])").match(grammar.text, at)
    if m:
        yield field_of(m["f"]), m.end()


def in_a_run(demand: Demand) -> Demand:
    [event] = demand.events
    return replace(demand, events=(replace(event, beside=(*event.beside, Adjunct("run", said="run"))),))


def _objects_varied(p: Parts, over: Callable[[Demand], Demand] | None = None) -> Demand | None:
    """`A run must not scale more than three different deployments`."""
    number, field = p["w"]
    event: Event = p["v"]
    if event.role or not event.noun or singular(event.noun[-1]) != field:
        return None
    demand = Demand("variety", (replace(event, single=False),), number=number, how=field)
    return over(demand) if over is not None else demand


def _all_done(p: Parts) -> Demand | None:
    """`All manifests of a run must be applied in the same namespace`."""
    event = passive(p)
    return None if event is None else _one_only({**p, "e": event})


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


def one_of_all(grammar: Grammar, at: int) -> Iterator[Found]:
    """`one passenger`, of what is no action by itself: `one run, one refund` is no number of refunds."""
    m = compiled(rf" *(?:one|1|a single|the same|one single|exactly one|exactly 1) {THING}").match(
        grammar.text, at
    )
    if m is None or m["f"].lower() in NOT_A_THING:
        return
    if not any(end >= m.end() for _, end in grammar.matches("noun", m.start("f"))):
        yield field_of(m["f"]), m.end()


_THE_RUN = (
    "a_run|the_run|the_whole_run|the_entire_run|one_run|each_run|every_run|any_run|the_same_run|a_whole_run"
)
_HAS = "needs|need|has|have|gets|get|must_have|should_have|must_get|requires|require|must_use|uses|must_carry"
_SHARE = "have|use|share|carry|get|be_made_with|go_out_with|be_given"
_BETWEEN_CALLS = "between|from calls|tool_calls|call_to_call|one_call_to_the_next"
_NO_SECOND = (
    "[,] [and] [never] a_second|a_second_one|another|another_one|two|2|more|a_different_one|no_other"
    "|no_second|not_two|not_more|no_more|no_second_one|nothing_else|not_2|no_others"
)
_SAME_ONE = "the_same_one|the_same|one_and_the_same|one_and_the_same_one|the_very_same_one|the_same_value"
_A_RUN = "one_run|1_run|a_run|each_run|every_run|run|any_run|a_single_run"
TOUCHED = (
    "touched|used|concerned|affected|served|handled|dealt_with|worked_on|changed|involved|named|addressed"
    "|mentioned|looked_at|looked_up|opened|accessed|visited"
)

VARIETIES: dict[str, Rule] = {
    "different": different,
    "so many different": so_many_different,
    "more of": more_of,
    "least different": least_different,
    "one field": one_field,
    "demand": [
        # different values
        (f"never|do_not [ever] {{e:acts}} {_TO} {{w:different}}", _varied),
        (f"{AGENT} {NO} [ever] {{e:acts}} {_TO} {{w:different}}", _varied),
        (f"{RUNS} {NO} [ever] {{v:verb}} {{w:different}}", lambda p: _objects_varied(p, in_a_run)),
        (f"no run {MAY}|{SHOULD} [ever] {{v:verb}} {{w:different}}", lambda p: _objects_varied(p, in_a_run)),
        (f"{AGENT} {NO} [ever] {{v:verb}} {{w:different}}", _objects_varied),
        ("never|do_not [ever] {v:verb} {w:different}", _objects_varied),
        ("{v:verb} {w:so many different}", _objects_varied),
        (f"{AGENT} {MAY} {{v:verb}} {{w:so many different}}", _objects_varied),
        (f"{{w:so many different}} {MAY} be {{d:done}}", lambda p: _objects_varied({**p, "v": p["d"]})),
        (f"{{e:acts}} {_TO} one|a_single|one_single {{f:one field}} only",
         lambda p: None if p["e"][1] else _one_only({**p, "e": p["e"][0][0]})),
        (f"all [the|of_the] {{t:object}} [{{r:scope}}] {SHOULD} [always] be {{d:past}} {_TO} "
         "one_and_the_same|the_same|the_very_same|a_single|only_one|one {f:one field}", _all_done),
        (f"{RUNS} [{SHOULD}] stay|stays|remain|remains in|with|on|at one|the_same|a_single|one_and_the_same"
         " {f:one field}", lambda p: _one_only({**p, "r": "run"})),
        ("every|each call|tool_call [{r:scope}] {g:go} one_and_the_same|the_same|the_very_same|a_single "
         "{f:one field}", _one_only),
        (f"no {{e:events}} {_TO} {{w:different}}", _varied),
        # each its own
        (f"every|each {{e:varying}} {_HAS} a_different|a_unique|its_own|another|a_distinct|a_separate "
         "{f:id field}", _each_another),
        (f"[all] {{e:varying}} {_HAS} different|unique|distinct {{f:ids}}", _each_another),
        (f"[the] {{f:id field}} {SHOULD} [always] be unique for|per|in|of|across|among|to "
         "each|every|all|all_the {e:varying}", _each_another),
        (f"[the] {{f:ids}} of|in {{e:varying}} {SHOULD} [always] be unique|different|distinct",
         _each_another),
        (f"no two|2 {{e:varying}} {MAY}|{SHOULD} [ever] {_SHARE} [the] same {{f:id field}}", _each_another),
        (f"two|2 {{e:varying}} {NO} [ever] {_SHARE} [the] same {{f:id field}}", _each_another),
        # one of it, whatever is called
        (f"{{z:stay}} {_ONE}|the_same|one_and_the_same {{f:one field}} {{r:whole}}", _one_only),
        (f"{{z:stay}} {_ONE}|the_same|one_and_the_same {{f:one field}}", _one_only),
        (f"{AGENT} {MAY}|{SHOULD} [always] {{z:stay}} {_ONE}|the_same|one_and_the_same {{f:one field}} "
         "[{r:whole}]", _one_only),
        (f"{RUNS} [{MAY}|{SHOULD}] [always] {{z:stay}} {_ONE}|the_same|one_and_the_same {{f:one field}}",
         lambda p: _one_only({**p, "r": "run"})),
        ("never|do_not {c:change} [the] {f:id field} {r:whole}", _one_only),
        (f"{AGENT} {NO} {{c:change}} [the] {{f:id field}} {{r:whole}}", _one_only),
        (f"[the] {{f:id field}} {NO} change|vary|differ|be_changed|be_switched [{{r:whole}}]", _one_only),
        (f"[the] {{f:id field}} {NO} change|vary|differ {_BETWEEN_CALLS}", _one_only),
        ("no {c:changing} of [the] {f:id field} {r:whole}", _one_only),
        (f"[the] {{f:id field}} {SHOULD} [always] stay|remain|be the_same|unchanged|constant [{{r:whole}}]",
         _one_only),
        ("[the] {f:id field} stays|remains|is [always] the_same|unchanged|constant [{r:whole}]", _one_only),
        (f"[just|only] one|1|a_single|exactly_one|at_most_one|max_one {{f:id field}} {{r:whole}} "
         f"[{_NO_SECOND}]", _one_only),
        (f"{{r:whole}} [just|only] one|1|a_single|exactly_one|at_most_one|max_one {{f:id field}} "
         f"[{_NO_SECOND}]", _one_only),
        (f"all|every|each|any call|calls|tool_call|tool_calls that|which {{g:carry}} [a|an|the] "
         f"{{f:one field}} [{SHOULD}] [all|always] {{g:carry}} {_SAME_ONE}", _one_only),
        (f"all|every|each|any call|calls|tool_call|tool_calls with [a|an|the] {{f:one field}} [{SHOULD}] "
         f"[all|always] {{g:carry}} {_SAME_ONE}", _one_only),
        (f"[the] {{f:id field}} [{SHOULD}] [always] be|is|are|stay|stays the_same|identical|equal in|for"
         "|across|over|on all|every|all_the|each calls|call|tool_calls|tools [{r:whole}]", _one_only),
        (f"all|all_the {{f:ids}} [{{r:whole}}] {SHOULD}|are|is [always] [be] the_same|identical|equal"
         "|one_and_the_same", _one_only),
        ("never|do_not {g:deal} {w:several ids} [{r:whole}]", _in_all),
        (f"{AGENT} {NO} [ever] {{g:deal}} {{w:several ids}} [{{r:whole}}]", _in_all),
        (f"{RUNS} {NO} [ever] {{g:deal}} {{w:several ids}}", lambda p: in_a_run(_any_varied(p))),
        (f"no run {MAY}|{SHOULD} [ever] {{g:deal}} {{w:several ids}}", lambda p: in_a_run(_any_varied(p))),
        ("no {w:several ids} {r:whole}", _in_all),
        ("no second {f:id field} {r:whole}", _one_only),
        (f"[one|a|any_one|the_same|each|every] {{t:thing_behind}} {NO} [ever] be {{d:done}} "
         f"{_TO} {{w:different}}", _passively_varied),
        (f"the {{f:one field}} {SHOULD} [always] be|stay|remain the_same over|across|for|in|of|on "
         "all|all_the {e:event} [{s:one of them}]", _one_only),
        (f"{{e:event}} [{SHOULD}|{MAY}] all {{g:go}} one_and_the_same|the_same|the_very_same|only_one"
         "|a_single|one|just_one {f:one field}", lambda p: None if p["e"].single else _one_only(p)),
        ("every|each {e:varying} [{r:scope}] {g:go} one_and_the_same|the_same|the_very_same {f:one field}",
         _one_only),
        (f"{{e:event}} {SHOULD}|always [always] {{g:go}} one_and_the_same|the_same|only_one|a_single|one "
         "{f:one field}", _one_only),
        ("all [the|of_the] {e:varying} [{r:scope}] [{s:one of them}] {g:go} one_and_the_same|the_same"
         "|only_one|a_single|just_one|one_single|the_very_same {f:one field}", _one_only),
        (f"{RUNS} [{MAY}|{SHOULD}] {{g:deal}} {{f:only one}}", lambda p: _one_only({**p, "r": "run"})),
        (f"{AGENT} [{MAY}|{SHOULD}] {{g:deal}} {{f:only one}}", _one_only),
        ("{g:deal} {f:only one}", _one_only),
        (f"{AGENT} [{MAY}|{SHOULD}] {{e:acts}} {_TO} {{w:so many different}}", _varied),
        (f"{{e:acts}} {_TO} {{w:so many different}}", _varied),
        (f"{{e:events}} {_TO} {{w:so many different}}", _varied),
        ("{e:events} {g:go} {w:so many different}", _varied),
        (f"{RUNS} {NO} [ever] {{g:deal}} {{w:different}}", lambda p: in_a_run(_any_varied(p))),
        (f"no run {MAY}|{SHOULD} [ever] {{g:deal}} {{w:different}}", lambda p: in_a_run(_any_varied(p))),
        (f"{RUNS} {NO} [ever] {{g:deal}} {{w:more of}}", lambda p: in_a_run(_any_varied(p))),
        (f"no run [{MAY}|{SHOULD}] [ever] {{g:deal}} {{w:more of}}", lambda p: in_a_run(_any_varied(p))),
        ("no run {g:deal} {w:different}", lambda p: in_a_run(_any_varied(p))),
        ("never|do_not {g:deal} {w:more of}", _any_varied),
        (f"{AGENT} {NO} [ever] {{g:deal}} {{w:more of}}", _any_varied),
        (f"{{t:object}} {SHOULD} be {{d:past}} {_TO} {{w:least different}}", _at_least_varied),
        (f"{{e:acts}} {_TO} {{w:least different}}", _at_least_varied),
        (f"{AGENT} {NO} [ever] {{g:deal}} {{w:different}}", _any_varied),
        ("never|do_not {g:deal} {w:different}", _any_varied),
        ("{r:all there is} {g:go} one_and_the_same|the_same|only_one|a_single|just_one|one_single|one "
         "{f:one field}",
         lambda p: _one_only({**p, "r": p["r"][0]})),
        (f"{{f:only one}} {MAY}|{SHOULD} [ever] be {TOUCHED}", _one_only),
        (f"{{f:only one}} is|are [ever] {TOUCHED}", _one_only),
        (f"[per|in|within|for] {_A_RUN} , [just|only] {{f:one_of_all}} [only]",
         lambda p: _one_only({**p, "r": "run"})),
        ("[just|only] {f:one_of_all} [only] per run", lambda p: _one_only({**p, "r": "run"})),
        (f"{{e:event}} only {_TO} one|1|a_single|one_and_the_same|the_same {{f:one field}}", _one_only),
    ],
    "several ids": several_ids,
    "whole": [
        ("{r:scope}", lambda p: p["r"]),
        ("per run", lambda p: "run"),
        (f"during|throughout|for|in|through|within|until_the_end_of|from_start_to_end_of {_THE_RUN}",
         lambda p: "run"),
        ("from_start_to_end|all_the_way_through|throughout|all_the_time|at_all_times|the_whole_time",
         lambda p: "run"),
    ],
    "stay": [
        ("stay|stays|keep|keeps|stick|sticks|remain|remains with|to|on|at", lambda p: True),
        ("use|uses|touch|touches|handle|handles|serve|serves|work_on|works_on|deal_with|deals_with|work_with"
         "|works_with only|just", lambda p: True),
        ("always use|work_on|work_with|handle", lambda p: True),
        ("only use|touch|handle|serve|work_on|deal_with|work_with|look_at", lambda p: True),
    ],
    "change": [("change|switch|vary|alter|mix|swap|switch_to_another|change_to_another", lambda p: True)],
    "changing": [("change|switch|switching|changing|mixing|swapping", lambda p: True)],
    "carry": [
        ("carry|carries|have|has|give|gives|name|names|use|uses|contain|contains|take|takes|share|shares"
         "|mention|mentions|refer_to|refers_to|pass|passes|state|states|include|includes|come_with",
         lambda p: True),
    ],
    "id field": id_field,
    "ids": ids,
    "all there is": [("everything|all_of_it|all_that_happens|whatever_happens|all_work|all_the_work "
                      "[{r:scope}]",
                      lambda p: (p.get("r", ""),))],
    "one_of_all": one_of_all,
    "varying": [("calls|tool_calls", lambda p: Event(ANY)), ("{e:event}", lambda p: p["e"])],
    "go": [
        (f"[{SHOULD}|{MAY}] [always] go|goes|be|stay|remain|happen|run|are|is|go_out|goes_out|be_made"
         f"|are_made|be_sent|are_sent|happens|takes_place|take_place|come|comes|be_done|are_done|runs"
         f"|is_done {_TO}",
         lambda p: True),
        (f"[{SHOULD}|{MAY}] [always] use|have|has|carry|carries|uses|concern|name|share|be_for"
         "|target|hit|touch|affect|reach|span|cover|involve",
         lambda p: True),
    ],
    "deal": [
        ("deal|deals|work|works|be_concerned|is_concerned with|on", lambda p: True),
        ("mix|mixes|use|uses|concern|concerns|handle|handles|touch|touches|serve|serves|be_about|is_about|stick_to|sticks_to"
         "|stay_with|stays_with|see|sees", lambda p: True),
    ],
    "only one": [
        (f"{_ONE} {{f:one field}} [{{r:scope}}] and_no_other|only|alone|and_not_more|and_no_more",
         lambda p: (p["f"], p.get("r", ""))),
        ("only_one|at_most_one|exactly_one|only_1|at_most_1|exactly_1|a_single|just_one|one_and_only_one"
         "|no_more_than_one|no_more_than_1|1_and_only_1 {f:one field}", lambda p: p["f"]),
    ],
}  # fmt: skip
