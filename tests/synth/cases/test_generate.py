"""Generated cases: what every one of them keeps, and what the options do."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise, permutations, product
from random import Random

import orjson
import pytest

from synth.cases.case import Case
from synth.cases.confirm import ConfirmationFailed, confirm, confirmed
from synth.cases.deciders import ByClosure, ByZ3, Ground
from synth.cases.generate import GENERATOR, Options, draw_sentences, generate
from synth.cases.topics import find_topic, shipped_topics
from synth.errors import BadInput
from synth.formal.constraints import Before, EndsBy, Outline, StartsFrom
from synth.language.expansion import Expansion, Sizes
from synth.language.grammar import Sentence
from synth.language.parse import parse
from synth.language.query import paragraph_of

TIMED = Options(mode="timed")


def cases(count: int = 60, seed: int = 7, **options: object) -> list[Case]:
    return list(generate(count, seed, Options(**options), confirm=False))  # type: ignore[arg-type]


def valid_orders(case: Case) -> int:
    """By trying all of them; timed tasks start as early as they can."""
    return sum(keeps(case, order) for order in permutations(a.id for a in case.actions))


def keeps(case: Case, order: tuple[str, ...]) -> bool:
    now = case.horizon[0] if case.horizon else 0
    start, end = {}, {}
    for action in order:
        floor = max(
            [c.time for c in case.constraints if isinstance(c, StartsFrom) and c.action == action], default=0
        )
        start[action] = max(now, floor)
        now = end[action] = start[action] + (case.durations[action] if case.durations else 1)
    return all(
        (isinstance(c, Before) and end[c.first] <= start[c.then])
        or (isinstance(c, EndsBy) and end[c.action] <= c.time)
        or (isinstance(c, StartsFrom) and start[c.action] >= c.time)
        for c in case.constraints
    ) and (case.horizon is None or now <= case.horizon[1])


@pytest.mark.parametrize("mode", ["order", "timed"])
def test_every_case_is_satisfiable_and_counts_its_valid_plans(mode: str):
    for case in cases(mode=mode, actions=(2, 6)):
        assert valid_orders(case) == case.valid_plans
        assert case.valid_plans >= 1


@pytest.mark.parametrize("mode", ["order", "timed"])
def test_every_paragraph_says_exactly_the_constraints(mode: str):
    for case in cases(mode=mode, actions=(2, 9)):
        assert parse(case.paragraph, case.actions).constraints == case.constraints
        assert {a for c in case.constraints for a in c.actions} == {a.id for a in case.actions}


def test_the_query_contains_the_paragraph_once_and_no_hint():
    for case in [*cases(), *cases(mode="timed")]:
        assert case.query.count(case.paragraph) == 1
        assert paragraph_of(f"System text.\n{case.query}\nThought:") == case.paragraph
        assert not any(action.tool in case.query.replace(case.paragraph, "") for action in case.actions)


def test_a_timed_case_has_a_witness_that_keeps_everything():
    for case in cases(mode="timed", actions=(1, 8)):
        assert case.witness is not None
        assert case.durations is not None
        assert case.horizon is not None
        slots = sorted((start, start + case.durations[a]) for a, start in case.witness.items())
        assert all(end <= begin for (_, end), (begin, _) in pairwise(slots))
        assert case.horizon[0] <= slots[0][0]
        assert slots[-1][1] <= case.horizon[1]
        for c in case.constraints:
            match c:
                case Before(first, then):
                    assert case.witness[first] + case.durations[first] <= case.witness[then]
                case EndsBy(action, time):
                    assert case.witness[action] + case.durations[action] <= time
                case StartsFrom(action, time):
                    assert case.witness[action] >= time
        assert any(not isinstance(c, Before) for c in case.constraints)


def test_durations_are_hidden():
    for case in cases(mode="timed"):
        assert "minutes" not in case.query
        assert all(str(minutes) not in case.query.replace(":", " ").split() for minutes in (25, 35, 55))


def test_no_case_contradicts_common_sense():
    for case in [*cases(200, actions=(4, 8)), *cases(60, mode="timed", actions=(3, 6))]:
        topic = find_topic(case.topic)
        natural = {(topic.activities[a], topic.activities[b]) for a, b in topic.natural_order}
        name = {action.id: action.phrase.removeprefix("the ") for action in case.actions}
        reach = {(c.first, c.then) for c in case.constraints if isinstance(c, Before)}
        for middle, first, then in product(name, repeat=3):
            if (first, middle) in reach and (middle, then) in reach:
                reach.add((first, then))
        assert [(name[a], name[b]) for a, b in reach if (name[b], name[a]) in natural] == []


# ---------------------------------------------------------------- the same bytes


SCRIPT = """
import sys
from synth.cases.case import write_cases
from synth.cases.generate import GENERATOR, Options, generate
write_cases(generate(int(sys.argv[1]), 7, Options(mode=sys.argv[2]), confirm=False), sys.stdout.buffer)
"""


@pytest.mark.parametrize("mode", ["order", "timed"])
def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed(mode: str):
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, "150", mode],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0].splitlines())) == 150


def test_a_case_does_not_depend_on_its_neighbours():
    together = cases(10, seed=3)
    assert list(generate(3, 3, Options(), start=7, confirm=False)) == together[7:]
    assert len({case.id for case in (*together, *cases(10, seed=4))}) == 20


def test_the_id_depends_on_the_options():
    assert cases(1)[0].id != cases(1, max_tries=99)[0].id


def test_everything_needed_to_make_a_case_again_is_stored_with_it():
    case = cases(5, seed=11, actions=(4, 4), topic="baker", stop="saturated", max_tries=20)[4]
    again = Options.from_json(case.options)
    assert next(generate(1, case.seed, again, start=case.options["index"], confirm=False)) == case


# ---------------------------------------------------------------- stop rules and bounds


def test_saturated_goes_on_until_nothing_new_can_be_said():
    plans = [case.valid_plans for case in cases(30, actions=(3, 4), stop="saturated")]
    assert plans.count(1) >= 27


def test_count_is_algorithm_1_to_the_letter():
    for case in cases(30, actions=(5, 5), stop="count", max_sentences=2):
        sentences = {c.sentence for c in case.constraints}
        assert sentences == {0, 1}


def test_count_stops_early_after_k_failures():
    tight = cases(30, actions=(2, 2), stop="count", max_sentences=50, max_tries=2)
    assert min(max(c.sentence for c in case.constraints) for case in tight) < 49


class Scripted:
    """A decider that says what it was told to."""

    def __init__(self, answers: str) -> None:
        self.answers = iter(answers)
        self.facts = Outline(())

    def keep(self, sentence: Sentence, *, novel: bool) -> bool:
        return next(self.answers) == "y"

    def statistics(self) -> dict[str, object]:
        return {}


@pytest.mark.parametrize(
    ("answers", "kept", "candidates"),
    [
        ("nnynnynny", 3, 9),  # failures are counted anew after each kept sentence
        ("nnynnn", 1, 6),
        ("ynnn", 1, 4),
        ("ynnynnyn", 3, 7),
    ],
)
def test_k_failures_in_a_row_end_algorithm_1(answers: str, kept: int, candidates: int):
    options = Options(stop="count", max_sentences=3, max_tries=3)
    drawn = draw_sentences(Random(1), Scripted(answers), Ground(("a", "b", "c")), options)
    assert drawn is not None
    assert (len(drawn[0]), drawn[1]) == (kept, candidates)


def test_k_failures_before_the_first_sentence_make_no_case():
    options = Options(stop="count", max_tries=3)
    assert draw_sentences(Random(1), Scripted("nnny"), Ground(("a", "b")), options) is None


def test_valid_plans_are_bounded_on_request():
    assert {case.valid_plans for case in cases(30, actions=(4, 5), valid_plans=(2, 3))} == {2, 3}
    assert {case.valid_plans for case in cases(10, mode="timed", valid_plans=(1, 1))} == {1}


def test_large_cases_count_their_plans_only_on_request():
    assert cases(1, actions=(20, 20))[0].valid_plans is None
    assert cases(1, actions=(13, 13), valid_plans=(1, 10**12))[0].valid_plans is not None


def test_replans_are_bounded_on_request():
    (case,) = cases(1, mode="timed", actions=(5, 6), replans=(1, 9))
    assert case.statistics["replans"] >= 1


def test_many_actions_draw_on_several_topics_of_one_industry():
    (case,) = cases(1, actions=(50, 50))
    jobs = [find_topic(job.strip()) for job in case.topic.split(",")]
    assert len(jobs) == 3
    assert len({job.industry for job in jobs}) == 1
    assert len({action.tool for action in case.actions}) == 50


@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        ({"actions": (1, 3)}, "actions", "an order needs two actions"),
        ({"actions": (5, 3)}, "actions", "got 5..3"),
        ({"actions": (500, 500)}, "actions", "ask for fewer"),
        ({"mode": "timed", "actions": (120, 120)}, "actions", "fit into the working day"),
        ({"mode": "daily"}, "mode", "expected one of order, timed, got 'daily'"),
        ({"stop": "never"}, "stop", "covered, saturated, count"),
        ({"decider": "oracle"}, "decider", "closure, z3"),
        ({"max_tries": 0}, "max_tries", "at least 1"),
        ({"max_sentences": 0}, "max_sentences", "at least 1"),
        ({"valid_plans": (3, 2)}, "valid_plans", "got 3..2"),
        ({"topic": "bakr"}, "topic", "did you mean baker"),
        ({"topic": "baker", "tools": ()}, "topic", "not both"),
        ({"mode": "timed", "horizon": (600, 620)}, "horizon", "at least an hour"),
        ({"actions": (2, 2), "valid_plans": (7, 8)}, "options", "no case for these options"),
    ],
)
def test_impossible_options_are_refused(options, field: str, message: str):
    with pytest.raises(BadInput, match=message) as caught:
        list(generate(1, 0, Options(**options), confirm=False))
    assert caught.value.field == field


# ---------------------------------------------------------------- Z3


def test_closure_and_z3_accept_the_same_candidates():
    rng = Random(3)
    ids = ("a1", "a2", "a3", "a4")
    for natural in ((), ((0, 1), (2, 3))):
        ground = Ground(ids, natural)
        ours, solver = ByClosure(ground), ByZ3(ground)
        expansion = Expansion(rng, ids, Sizes())
        for _ in range(60):
            candidate = expansion.sentence()
            assert ours.keep(candidate, novel=False) == solver.keep(candidate, novel=False)


def test_schedule_search_and_z3_accept_the_same_candidates():
    rng = Random(4)
    ids = ("a1", "a2", "a3", "a4")
    for natural in ((), ((0, 1),)):
        ground = Ground(ids, natural, (90, 60, 120, 150), (540, 1080))
        ours, solver = ByClosure(ground), ByZ3(ground)
        expansion = Expansion(rng, ids, Sizes(clock=0.7), (540, 1080))
        for _ in range(40):
            candidate = expansion.sentence()
            assert ours.keep(candidate, novel=False) == solver.keep(candidate, novel=False)


@pytest.mark.parametrize("options", [{}, {"mode": "timed"}, {"stop": "count", "max_sentences": 2}])
def test_deciding_by_z3_makes_the_same_cases_and_records_its_cost(options):
    ours = cases(5, **options)
    by_z3 = cases(5, decider="z3", **options)
    assert [case.paragraph for case in by_z3] == [case.paragraph for case in ours]
    for case in by_z3:
        assert case.statistics["z3_calls"] == case.statistics["candidates"]
        assert case.statistics["z3_ms"] > 0


@pytest.mark.parametrize("options", [Options(), TIMED])
def test_z3_confirms_every_case(options: Options):
    assert len(list(generate(10, 5, options, confirm=True))) == 10


def test_confirmation_would_see_a_wrong_case():
    (case,) = cases(1)
    wrong = orjson.loads(orjson.dumps(case.to_json()))
    first = wrong["constraints"][0]
    first["first"], first["then"] = first["then"], first["first"]
    from synth.cases.case import case_from_json

    with pytest.raises(ConfirmationFailed, match="the paragraph says"):
        confirm(case_from_json(wrong))


def test_confirmation_would_see_an_unsatisfiable_case():

    (case,) = cases(1, actions=(2, 2))
    a, b = (action.phrase for action in case.actions)
    text = f"{a} must precede {b}. {b} must precede {a}."
    loop = replace(case, paragraph=text, constraints=parse(text, case.actions).constraints)
    with pytest.raises(ConfirmationFailed, match="Z3"):
        list(confirmed([loop]))


WITHOUT_Z3 = """
import sys
sys.modules["z3"] = None
from synth.cases.generate import GENERATOR, Options, generate
from synth.language.parse import parse
from synth.errors import MissingExtra
case = next(generate(1, 1, Options(mode="timed"), confirm=False))
parse(case.paragraph, case.actions)
try:
    next(generate(1, 1, Options(decider="z3"), confirm=False))
except MissingExtra as error:
    print(error)
"""


def test_without_z3_everything_but_z3_works_and_the_rest_names_the_extra():
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT_Z3], check=True, capture_output=True, text=True
    ).stdout
    assert "pip install 'pdoctor-trace[synth]'" in said


def test_shipped_topics_are_all_drawn():
    assert {case.topic for case in cases(900, actions=(3, 3))} == {topic.job for topic in shipped_topics()}


def clauses(case: Case) -> list[list[Before | EndsBy | StartsFrom]]:
    """The constraints of each clause, in reading order."""
    found: dict[object, list[Before | EndsBy | StartsFrom]] = {}
    for c in case.constraints:
        found.setdefault(c.span, []).append(c)
    return list(found.values())


@pytest.mark.parametrize("stop", ["covered", "saturated"])
def test_every_clause_says_something_new(stop: str):
    for case in cases(40, actions=(3, 6), stop=stop):
        known: set[tuple[str, str]] = set()
        for clause in clauses(case):
            said = {(c.first, c.then) for c in clause if isinstance(c, Before)}
            assert not said <= known
            known |= said
            for middle, first, then in product({a.id for a in case.actions}, repeat=3):
                if (first, middle) in known and (middle, then) in known:
                    known.add((first, then))


def test_no_limit_on_the_clock_is_stated_twice():
    for case in cases(60, mode="timed", actions=(2, 6)):
        limits = [(type(c), c.action) for c in case.constraints if not isinstance(c, Before)]
        assert len(set(limits)) == len(limits)


def test_z3_confirms_the_witness_of_large_timed_cases_at_once():
    assert len(list(generate(1, 5, Options(mode="timed", actions=(30, 30)), confirm=True))) == 1


def test_confirmation_would_see_a_wrong_witness():
    (case,) = cases(1, mode="timed", actions=(3, 3))
    late = {action: start + 600 for action, start in (case.witness or {}).items()}
    with pytest.raises(ConfirmationFailed, match="Z3"):
        confirm(replace(case, witness=late))


def test_the_generator_s_version_is_stored_and_no_option() -> None:
    options = Options(actions=(3, 4))
    (case,) = generate(1, 3, options, confirm=False)
    assert case.options["generator"] == GENERATOR
    assert Options.from_json(case.options) == options
