"""Code plans compared as text; raters, correlations and entailment."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.errors import BadInput
from synth.plans import Pair, PlanStep, agreement, code_bleu, entailment, same_syntax
from synth.plans.raters import pearson, ratings_from_json, spearman

GOLD = "def solve():\n    output0 = image_captioning(image='a.jpg')\n    output1 = text_summarization(text=output0['text'])\n    return {0: output0, 1: output1}\n"  # noqa: E501


def test_the_same_tree_is_the_same_whatever_its_layout() -> None:
    assert same_syntax(GOLD, "# a comment\n" + GOLD.replace("'", '"').replace(" = ", "  =  "))
    assert not same_syntax(GOLD, GOLD.replace("a.jpg", "b.jpg"))
    assert not same_syntax(GOLD, GOLD.replace("output0", "x"))
    assert not same_syntax(GOLD, GOLD + "(")
    assert same_syntax("(", "(")
    assert not same_syntax("(", "((")
    assert same_syntax("", "")


def test_equal_code_has_a_code_bleu_of_one() -> None:
    for code in (GOLD, "x", "", "f(x=1)"):
        found = code_bleu(code, code)
        assert (found.ngrams, found.weighted_ngrams, found.syntax, found.score) == (
            pytest.approx(1), pytest.approx(1), 1, pytest.approx(1),
        )  # fmt: skip


def test_each_part_sees_its_own() -> None:
    value = code_bleu(GOLD, GOLD.replace("a.jpg", "b.jpg"))
    assert (value.syntax, value.dataflow) == (1, 1)
    assert 0.5 < value.ngrams < 1
    renamed = code_bleu(GOLD, GOLD.replace("output0", "x").replace("output1", "y"))
    assert (renamed.syntax, renamed.dataflow) == (1, 1)
    assert renamed.ngrams < value.ngrams
    cut = code_bleu(GOLD, GOLD.replace("output0['text']", "'text'"))
    assert cut.dataflow == 0
    assert cut.syntax < 1
    lost_keyword, lost_name = code_bleu("return x", "back x"), code_bleu("return x", "return y")
    assert lost_keyword.ngrams == lost_name.ngrams
    assert lost_keyword.weighted_ngrams < lost_name.weighted_ngrams
    assert code_bleu(GOLD, GOLD.partition("\n")[0]).ngrams < 0.1
    assert code_bleu("f(x=1)", "f(x=2)").dataflow is None


def test_what_cannot_be_read_has_no_tree() -> None:
    broken = code_bleu(GOLD, GOLD[:-3])
    assert (broken.syntax, broken.dataflow) == (0, 0)
    assert broken.ngrams > 0.5
    nothing = code_bleu(GOLD, "")
    assert (nothing.ngrams, nothing.weighted_ngrams, nothing.syntax, nothing.score) == (0, 0, 0, 0)
    assert code_bleu("", GOLD).score == 0


@settings(max_examples=30)
@given(st.text("ab=()[]'\n 1", max_size=30), st.text("ab=()[]'\n 1", max_size=30))
def test_every_two_texts_have_a_code_bleu(gold: str, said: str) -> None:
    assert 0 <= code_bleu(gold, said).score <= 1


def test_long_code_is_compared_too() -> None:
    long = "a=f(x='some text')\n" * 1000
    assert same_syntax(long, long)
    assert code_bleu(long, long).score == pytest.approx(1)
    deep = "x=f" + "[0]" * 400
    assert same_syntax(deep, deep) in (True, False)


# ---------------------------------------------------------------- raters


def test_agreement_of_three_raters_by_hand() -> None:
    ratings = {
        1: {"a": "yes", "b": "yes", "c": "yes"},
        2: {"a": "yes", "b": "no", "c": "no"},
        3: {"a": "no", "b": "no", "c": "no"},
        4: {"a": "yes", "b": "yes", "c": "no"},
    }
    found = agreement(ratings)
    assert (found.items, found.raters, found.unanimous) == (4, 3, 0.5)
    assert found.pairwise == pytest.approx(8 / 12)
    assert found.fleiss_kappa == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    # Pairs a-b: 3 of 4 same, chance 0.5; b-c: 3 of 4, chance 0.5; a-c: 2 of 4, chance 3/8 + 1/8... by hand:
    ab, ac, bc = (0.75 - 0.5) / 0.5, (0.5 - (3 * 1 + 1 * 3) / 16) / (1 - 6 / 16), (0.75 - 0.5) / 0.5
    assert found.cohens_kappa == pytest.approx((ab + ac + bc) / 3)
    assert found.krippendorffs_alpha == pytest.approx((2 / 3 - 60 / 132) / (1 - 60 / 132))


def test_missing_ratings_leave_what_can_be_said() -> None:
    found = agreement({1: {"a": 1, "b": 1}, 2: {"a": 1, "b": 2, "c": 2}, 3: {"a": 1}})
    assert (found.items, found.raters, found.fleiss_kappa) == (2, 3, None)
    assert found.pairwise == pytest.approx(4 / 8)
    assert found.krippendorffs_alpha is not None
    alike = agreement({1: {"a": 1, "b": 1}})
    assert (alike.unanimous, alike.fleiss_kappa, alike.cohens_kappa, alike.krippendorffs_alpha) == (
        1,
        None,
        None,
        None,
    )
    assert agreement({}).pairwise is None


def test_ratings_are_read_and_refused() -> None:
    said = [{"item": 1, "rater": "a", "rating": True}, {"item": 1, "rater": "b", "rating": False}]
    assert ratings_from_json(said) == {"1": {"a": "True", "b": "False"}}
    for wrong in ([*said, said[0]], [1], [{"item": 1}]):
        with pytest.raises(BadInput):
            ratings_from_json(wrong)


def test_correlations() -> None:
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1)
    assert pearson([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert pearson([1, 1], [1, 2]) is None
    assert pearson([1], [1]) is None
    assert spearman([1, 2, 3], [1, 10, 1000]) == pytest.approx(1)
    assert spearman([1, 2, 2, 4], [1, 2, 3, 4]) == pytest.approx(0.9486832980505138)


# ---------------------------------------------------------------- entailment


def step(tool: str, **arguments: object) -> PlanStep:
    return PlanStep(0, tool, arguments)


def test_entailment_asks_the_judge_about_what_differs() -> None:
    asked = []

    def judge(tool: str, argument: str, gold: object, given: object) -> bool:
        asked.append((tool, argument, gold, given))
        return str(gold) in str(given)

    gold = (step("a", q="cat", n=1), step("a", q="dog"), step("b", q="x"))
    said = (step("a", q="a cat", n=1), step("a", q="bird"))
    assert entailment([Pair(gold, said)], judge) == 2 / 4
    assert asked == [("a", "q", "cat", "a cat"), ("a", "q", "dog", "bird")]
    assert entailment([Pair((), said)], judge) is None
    assert entailment([Pair(gold, None)], judge) == 0


def test_a_judge_that_does_not_answer_is_told() -> None:
    with pytest.raises(BadInput, match="True or False"):
        entailment([Pair((step("a", q=1),), (step("a", q=2),))], lambda *_: "yes")  # type: ignore[arg-type,return-value]
