"""Repetition rate: the paper's example, parity, edges, and pairs one by one as the oracle."""

from __future__ import annotations

import json
import random
import sys
import types
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.errors import BadInput
from synth.observed.run import read_runs
from synth.progress import repetition, state_progress, steps_of
from synth.progress.nearby import Nearby, common_subsequence, least_common, ratio
from synth.progress.repetition import Against
from synth.progress.similarity import indel, similarity_named

HERE = Path(__file__).parent
PARITY = [json.loads(line) for line in (HERE / "agentquest_parity/cases.jsonl").read_text().splitlines()]
AIRLINE = HERE.parent.parent / "real_data/tau_airline"
EXAMPLE = ["1234", "2143", "1234", "5618"]
HOSTILE = st.text(st.sampled_from("ab0 \x00\x7f\x80é\ud800\udfff\U0001f600"), max_size=12)


def subsequence_of_all(a: str, b: str) -> int:
    """By trying every subsequence."""
    shorter, longer = sorted((a, b), key=len)
    for size in range(len(shorter), 0, -1):
        for picked in combinations(shorter, size):
            rest = iter(longer)
            if all(c in rest for c in picked):
                return size
    return 0


def by_the_letter(actions: list[str], threshold: float, against: str) -> list[bool]:
    """The paper's listing and formula, each pair asked."""
    repeated: list[bool] = []
    for at, action in enumerate(actions):
        earlier = [b for i, b in enumerate(actions[:at]) if against == "all" or not repeated[i]]
        repeated.append(
            any(2 * common_subsequence(action, b) >= threshold * (len(action) + len(b)) for b in earlier)
        )
    return repeated


def parity_actions(case: dict[str, Any]) -> list[str]:
    return ["".join(map(str, a)) if isinstance(a, list) else a for a in case["actions"]]


def test_the_papers_example() -> None:
    found = repetition(EXAMPLE)
    assert found.repeated == (False, False, True, False)
    assert found.rates() == (0, 0, 1 / 3, 1 / 3)
    assert found.rate == 1 / 3
    assert found.rates(60)[-1] == 1 / 59
    assert found.rates(3) == (0, 0, 0.5)


def test_edges() -> None:
    assert (repetition([]).rate, repetition([]).rates(), repetition([]).count) == (0, (), 0)
    assert (repetition(["a"]).rate, repetition(["a"]).rates(1)) == (0, (0,))
    assert repetition(["", ""], threshold=0.5).repeated == (False, True)
    assert repetition(["", "a", "b"], threshold=0.01).repeated == (False, False, False)


def test_both_readings_of_repeated() -> None:
    chain = ["aaaa", "aabb", "bbbb"]
    assert repetition(chain, threshold=0.5).repeated == (False, True, True)
    assert repetition(chain, threshold=0.5, against="unique").repeated == (False, True, False)


@pytest.mark.parametrize("case", PARITY, ids=lambda case: case["case"])
def test_parity_with_an_independent_program(case: dict[str, Any]) -> None:
    actions = parity_actions(case)
    for threshold, expected in case["expected"]["repetitions"].items():
        found = repetition(actions, threshold=float(threshold))
        assert found.count == expected["count_against_all"]
        assert list(found.counts) == expected["cumulative_against_all"]
        assert found.rate == pytest.approx(expected["rate_by_length"] or 0, abs=1e-9)
        assert found.rates(60)[-1] == pytest.approx(expected["rate_T60"], abs=1e-9)
        unique = repetition(actions, threshold=float(threshold), against="unique")
        assert unique.count == expected["count_against_unique"]
        assert repetition(actions, threshold=float(threshold), similarity=lambda a, b: indel(a, b)) == found


def test_parity_on_real_runs_of_an_airline_agent() -> None:
    runs = {run.id: run for run in read_runs(AIRLINE / "runs.jsonl")}
    rows = [json.loads(line) for line in (AIRLINE / "repetition.jsonl").read_text().splitlines()]
    assert {row["run_id"] for row in rows} == set(runs)
    for row in rows:
        actions = [step.action for step in steps_of(runs[row["run_id"]])]
        for threshold, expected in row["expected"].items():
            found = repetition(actions, threshold=float(threshold))
            unique = repetition(actions, threshold=float(threshold), against="unique")
            assert found.count == expected["count_against_all"]
            assert unique.count == expected["count_against_unique"]
            assert found.rate == pytest.approx(expected["rate_by_length"] or 0, abs=1e-9)


@pytest.mark.parametrize(
    "case", [c for c in PARITY if c["kind"] == "mastermind"][:5], ids=lambda c: c["case"]
)
def test_progress_as_a_function_of_state_mastermind(case: dict[str, Any]) -> None:
    def in_place(guess: str) -> float:
        return sum(a == b for a, b in zip(guess, case["goal"], strict=True)) / 4

    assert list(state_progress(case["actions"], in_place)) == case["expected"]["progress"]


@given(HOSTILE, HOSTILE)
def test_the_common_subsequence_is_a_longest_one(a: str, b: str) -> None:
    assert common_subsequence(a, b) == common_subsequence(b, a) == subsequence_of_all(a[:8], b) or len(a) > 8


@given(
    st.lists(HOSTILE, max_size=14),
    st.sampled_from([0.05, 0.3, 0.5, 2 / 3, 0.67, 0.7, 0.75, 0.8, 0.9, 0.999, 1.0]),
    st.sampled_from(["all", "unique"]),
)
def test_hostile_texts_are_compared_as_pair_by_pair(
    actions: list[str], threshold: float, against: Against
) -> None:
    wanted = by_the_letter(actions, threshold, against)
    assert list(repetition(actions, threshold=threshold, against=against).repeated) == wanted
    own = repetition(actions, threshold=threshold, against=against, similarity=lambda a, b: indel(a, b))
    assert list(own.repeated) == wanted


@pytest.mark.parametrize("threshold", [0.55, 0.7, 0.8, 0.9])
def test_thousands_of_near_texts_are_compared_as_pair_by_pair(threshold: float) -> None:
    """Copies with edits about as far away as the threshold, in lanes of one and of more bytes."""
    rng = random.Random(threshold)
    texts, nearby, similar = [], Nearby(threshold), 0
    for _ in range(160):
        old = (
            list(rng.choice(texts))
            if texts and rng.random() < 0.8
            else rng.choices("abcdefgh é", k=rng.randint(1, 40))
        )
        for _ in range(rng.randint(0, int(len(old) * (1 - threshold) * 1.6) + 1)):
            at = rng.randrange(len(old) + 1)
            old[at : at + rng.randint(0, 1)] = rng.choices("abcdefgh é", k=rng.randint(0, 1))
        text = "".join(old)
        wanted = any(indel(text, other) >= threshold for other in texts)
        assert nearby.has_similar(text) is wanted
        similar += wanted
        texts.append(text)
        nearby.add(text)
    assert 20 < similar < 140


def test_many_candidates_of_several_lengths_are_told_apart() -> None:
    """Same characters in another order: nothing but the subsequence itself tells them apart."""
    rng = random.Random(1)
    letters = "aabbccddeeffgghhiijjkkllmmnn"
    texts = ["".join(rng.sample(letters, len(letters) - rng.randint(0, 6))) for _ in range(700)]
    nearby = Nearby(0.6)
    for text in texts:
        nearby.add(text)
    for _ in range(20):
        text = "".join(rng.sample(letters, len(letters)))
        assert nearby.has_similar(text) is any(indel(text, other) >= 0.6 for other in texts)


@given(st.integers(0, 400), st.floats(0.01, 1))
def test_the_least_common_length_is_the_first_that_reaches_the_threshold(
    total: int, threshold: float
) -> None:
    least = least_common(total, threshold)
    assert ratio(least, total) >= threshold
    assert least == 0 or ratio(least - 1, total) < threshold


def test_similarities_by_name_and_function() -> None:
    assert repetition(["a b", "a  b"], similarity="exact", threshold=0.5).count == 0
    assert repetition(["a b", "a  b"], threshold=0.5).count == 1
    never = repetition(EXAMPLE, similarity=lambda a, b: 0.0)
    assert never.count == 0, "a function decides about equal texts too"
    asked: list[tuple[str, str]] = []

    def same_length(later: str, earlier: str) -> float:
        asked.append((later, earlier))
        return 0.9 if len(later) == len(earlier) else 0.0

    assert repetition(["aa", "b", "cc", "b", "b"], similarity=same_length, threshold=0.9).counts == (
        0,
        0,
        1,
        2,
        3,
    )
    assert asked == [("b", "aa"), ("cc", "aa"), ("b", "b")]


@pytest.mark.parametrize(
    ("name", "package"), [("bleu", "sacrebleu"), ("rouge", "rouge_score"), ("bertscore", "bert_score")]
)
def test_a_similarity_whose_package_is_missing_says_what_to_install(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BadInput, match=f"pip install {package.replace('_', '-')}"):
        repetition(["a"], similarity=name)


class Scored:
    """What each of the packages gives, for words in common / words of the later text."""

    def __init__(self, later: str, earlier: str) -> None:
        words = later.split()
        self.fmeasure = sum(word in earlier.split() for word in words) / max(len(words), 1)
        self.score = 100 * self.fmeasure + 1e-9

    def item(self) -> float:
        return self.fmeasure


class Scorer:
    """`RougeScorer` and `BERTScorer`, which take their texts in different orders and shapes."""

    def __init__(self, kinds: Any = None, lang: str = "en") -> None:
        assert kinds in (None, ["rougeL"])

    def score(self, first: Any, second: Any) -> Any:
        if isinstance(first, list):
            return None, None, Scored(first[0], second[0])
        return {"rougeL": Scored(second, first)}


@pytest.mark.parametrize("name", ["bleu", "rouge", "bertscore"])
def test_similarities_of_other_packages_are_asked_as_they_want_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = types.SimpleNamespace(RougeScorer=Scorer, BERTScorer=Scorer)
    scored.sentence_bleu = lambda a, b, use_effective_order: Scored(a, b[0])
    scored.rouge_scorer = scored
    for package in ("sacrebleu", "rouge_score", "rouge_score.rouge_scorer", "bert_score"):
        monkeypatch.setitem(sys.modules, package, scored)
    measure = similarity_named(name)
    assert measure("open door now", "open door") == pytest.approx(2 / 3)
    assert (measure("a", "a b"), measure("a", "b")) == (1, pytest.approx(0, abs=1e-9))
    assert (measure("", ""), measure("?", "?")) == (1, 1)
    assert repetition(["", "x y", "", "x z"], similarity=name, threshold=0.5).repeated == (
        False, False, True, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 0}, "threshold is above 0"),
        ({"threshold": 1.01}, "threshold is above 0"),
        ({"threshold": float("nan")}, "threshold is above 0"),
        ({"threshold": True}, "threshold is above 0"),
        ({"threshold": "0.5"}, "threshold is above 0"),
        ({"similarity": "levenshtein"}, "there are indel, exact"),
        ({"against": "some"}, "all or unique"),
    ],
    ids=["zero", "above-one", "nan", "bool", "text", "name", "against"],
)
def test_bad_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        repetition(["a"], **options)


@pytest.mark.parametrize("horizon", [0, -1, True, 1.5])
def test_a_horizon_is_a_number_of_steps(horizon: Any) -> None:
    with pytest.raises(BadInput, match="whole number from 1"):
        repetition(["a"]).rates(horizon)
