"""Round trips of the language over many texts: nothing is lost, nothing changes silently."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from synth.cases.generate import Options, generate
from synth.cases.topics import shipped_topics
from synth.errors import BadInput
from synth.formal.constraints import Constraint
from synth.language.derive import constraints_of
from synth.language.expansion import Expansion, Sizes
from synth.language.grammar import Sentence
from synth.language.lexer import Vocabulary
from synth.language.parse import read_paragraph
from synth.language.render import render
from synth.llm.extract import meaning
from tests.support.soak import tries

PLAIN = [phrase for topic in shipped_topics()[:6] for phrase in topic.activities]
TRICKY = [
    "research and development", "before-hours inspection", "which vendor selection", "after action review",
    "stand-up and deliver talk", "follow up call", "happen log export", "pre-launch check", "once-over",
    "must-read list, part two", "precede list", "yet another sync", "while-you-wait repair",
    "order of service", "report. final", "be done", "place order", "10:30 call", "the", "the the",
    "C++ build (fast)", "naïve Bayes", "straße", "日本 trip", "🎈 launch", "don't-panic drill", "A", "a b",
    "step 1: check", "wait for it", "is done", "is", "in", "at some point", "have a look",
    "rock'n'roll night", "50% off; today only", "-", "x_y", "İstanbul",
]  # fmt: skip
CONFLICTING = [
    "review", "release", "review and release", "audit", "audit, review and release", "release review",
    "deploy", "deploy must happen before release", "release and sign", "sign", "the sign off", "sign off",
    "take place", "review release", "review, which", "which review", "before release", "release happens",
    "must", "happens",
]  # fmt: skip
TIMES = (540, 1080)


def usable(names: Sequence[str]) -> dict[str, str]:
    """Names as actions, without those that cannot be told apart."""
    chosen: dict[str, str] = {}
    for name in names:
        try:
            Vocabulary([*({"id": i, "phrase": p} for i, p in chosen.items()), {"id": "new", "phrase": name}])
        except BadInput:
            continue
        chosen[f"a{len(chosen) + 1}"] = name
    return chosen


def draw_names(rng: Random) -> dict[str, str]:
    pool = rng.choice((PLAIN, TRICKY, CONFLICTING, TRICKY + PLAIN, CONFLICTING + TRICKY))
    return usable(rng.sample(pool, rng.randint(4, 9)))


def draw_sizes(rng: Random) -> Sizes:
    return Sizes(depth=rng.choice((1, 1, 2, 3)), relative=0.5, list_length=4, parts=3, clock=0.3)


def exactly(one: Sequence[Constraint], other: Sequence[Constraint]) -> bool:
    return one == other


def round_trips(seed: int, rounds: int, sentences_each: int) -> int:
    """Render random sentences over random names and read them back; the number of sentences."""
    rng = Random(seed)
    done = 0
    while done < rounds:
        phrases = draw_names(rng)
        if len(phrases) < 2:
            continue
        horizon = TIMES if rng.random() < 0.4 else None
        expansion = Expansion(rng, list(phrases), draw_sizes(rng), horizon)
        drawn = [expansion.sentence() for _ in range(sentences_each)]
        vocabulary = Vocabulary({"id": i, "phrase": p} for i, p in phrases.items())
        text, placed = render(drawn, phrases, rng)
        read = read_paragraph(text, vocabulary)
        assert read.sentences == tuple(drawn), text
        assert read.constraints == constraints_of(placed), text
        done += sentences_each
    return done


@pytest.mark.slow
def test_sentences_read_back_to_their_trees_and_spans():
    assert round_trips(1, 2_000, 1) == 2_000
    assert round_trips(2, 1_000, 5) >= 1_000


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(2))
def test_many_sentences_read_back(seed: int):
    assert round_trips(100 + seed, tries(250_000), 1) == tries(250_000)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(2))
def test_many_queries_read_back(seed: int):
    assert round_trips(200 + seed, tries(250_000), 4) >= tries(250_000)


@pytest.mark.heavy
@pytest.mark.parametrize("mode", ["order", "timed"])
def test_generated_queries_read_back(mode: str):
    for case in generate(tries(50_000), 17, Options(actions=(2, 9), mode=mode), confirm=False):
        assert read_paragraph(case.paragraph, Vocabulary(case.actions)).constraints == case.constraints


# ---------------------------------------------------------------- damaged texts


def damaged(rng: Random, text: str) -> str:
    """The text with one word dropped or two neighbours swapped."""
    words = text.split()
    at = rng.randrange(len(words) - 1)
    if rng.random() < 0.5:
        del words[at]
    else:
        words[at], words[at + 1] = words[at + 1], words[at]
    return " ".join(words)


def silently_different(seed: int, trials: int) -> list[tuple[str, str]]:
    """Texts whose damage changed the meaning without an error."""
    rng = Random(seed)
    changed: list[tuple[str, str]] = []
    refused = 0
    for case in generate(trials, seed, Options(mode=rng.choice(("order", "timed"))), confirm=False):
        vocabulary = Vocabulary(case.actions)
        ids = list(vocabulary.phrases)
        text = damaged(rng, case.paragraph)
        try:
            read = read_paragraph(text, vocabulary).constraints
        except BadInput:
            refused += 1
            continue
        if meaning(ids, read) != meaning(ids, case.constraints):
            changed.append((case.paragraph, text))
    assert refused > trials * 0.7
    return changed


def test_damaged_texts_never_change_their_meaning_silently():
    assert silently_different(1, 700) == []


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(10, 14))
def test_many_damaged_texts_never_change_their_meaning_silently(seed: int):
    assert silently_different(seed, tries(50_000)) == []


def test_the_damage_test_would_see_a_changed_meaning():
    ids = ["a1", "a2"]
    vocabulary = Vocabulary({"id": i, "phrase": p} for i, p in zip(ids, ("audit", "cleanup"), strict=True))
    one, other = (read_paragraph(f"Audit must {verb} cleanup.", vocabulary) for verb in ("precede", "follow"))
    assert meaning(ids, one.constraints) != meaning(ids, other.constraints)
    assert not exactly(one.constraints, other.constraints)


def test_any_text_is_read_or_refused_but_never_crashes():
    rng = Random(9)
    pieces = [
        "audit", "the", "cleanup", "must precede", "must happen", "before", "after", "once", "which", ",",
        ";", ".", "and", ", and", ", which must follow", "15:00", "99:99", "\"", "\"audit\"", "'", "while",
        "\n", "é", "🎈", "  ", "prior to", "happens", "is done", "must", "at some", "2:5", "İ", "ﬁ",
        "\u0000", "\u200f", "review and release", "preced",
    ]  # fmt: skip
    vocabulary = Vocabulary({"id": p, "phrase": p} for p in ("audit", "cleanup", "review and release", "ﬁx"))
    messages = set()
    for _ in range(4_000):
        text = " ".join(rng.choice(pieces) for _ in range(rng.randint(0, 14)))
        try:
            read_paragraph(text, vocabulary)
        except BadInput as error:
            messages.add(error.message.partition("'")[0])
    assert len(messages) > 8


def test_every_sentence_of_the_smallest_language_reads_back():
    from synth.language.grammar import Names, SubSentence, expansions

    def named(target, left):
        if not isinstance(target, Names):
            return target
        action = left.pop(0)
        inner = target.relative
        return Names((action,), inner and type(inner)(inner.form, inner.relation, named(inner.target, left)))

    rng = Random(3)
    phrases = {f"a{i}": phrase for i, phrase in enumerate(PLAIN[:6])}
    vocabulary = Vocabulary({"id": i, "phrase": p} for i, p in phrases.items())
    count = 0
    for depth in (0, 1):
        for part in expansions(depth):
            left = list(phrases)
            tree = SubSentence(part.form, part.relation, named(part.subject, left), named(part.target, left))
            sentence = Sentence((tree,))
            text, _ = render([sentence], phrases, rng)
            assert read_paragraph(text, vocabulary).sentences == (sentence,)
            count += 1
    assert count == 260
