from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from synth.agents.usage import Usage
from synth.cases.generate import GENERATOR, Options, generate
from synth.experiments.campaign import digest_of, in_short, unmentioned
from synth.experiments.facts import facts_of, hash_of, in_words
from synth.experiments.money import Price, Prices
from synth.experiments.report import campaign_report, html
from tests.support.bench_results import result, untested

CASES = [case.to_json() for case in generate(4, 7, Options(stop="count"), confirm=False)]
PRICES = Prices(every=Price(2.0, 4.0), date="2026-01-02")
NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


def answered(key: str, case: int, name: str = "m-2026-01-01") -> object:
    return replace(
        result(key=key, case=CASES[case]),
        case_id=CASES[case]["id"],
        usage=Usage(500_000, 250_000, 3, 0, (name,), ("fp_1",)),
    )


RESULTS = [answered("a", 0), answered("b", 1, "m-later"), replace(untested("c"), usage=None)]


def test_what_a_citation_needs_is_told() -> None:
    facts = facts_of(RESULTS, PRICES, {"temperature": 0.0}, NOW)  # type: ignore[arg-type]
    assert facts["date"] == "2026-03-04T05:06:00+00:00"
    assert facts["models"] == {"m": {"answered": ["m-2026-01-01", "m-later"], "fingerprints": ["fp_1"]}}
    assert (facts["runs"], facts["excluded"], facts["cases"], facts["seeds"]) == (3, 1, 2, [7])
    assert (facts["tokens"], facts["tokens_not_told"], facts["cost"]) == (1_500_000, 1, None)
    assert {"python", "pdoctor-trace"} <= facts["versions"].keys()
    assert facts_of(RESULTS[:2], PRICES)["cost"] == 4.0  # type: ignore[arg-type]


def test_a_set_of_cases_has_one_hash_in_any_order() -> None:
    assert hash_of(["a", "b"]) == hash_of(["b", "a"]) != hash_of(["a", "c"])
    one, other = (facts_of(some)["case_set"] for some in (RESULTS, RESULTS[1::-1]))  # type: ignore[arg-type]
    assert one == other == hash_of(map(digest_of, CASES[:2]))


def test_another_text_under_the_same_id_is_another_set_of_cases_also_of_shortened_ones() -> None:
    changed = {**CASES[0], "query": f"{CASES[0]['query']} Be quick."}
    told = [digest_of(case) for case in (CASES[0], changed, {**CASES[0], "statistics": {}})]
    assert told[0] == told[2] != told[1]
    shortened = in_short(in_short(result(case=CASES[0]))).case or {}
    assert "query" not in shortened
    assert digest_of(shortened) == told[0]


def test_the_version_of_the_generator_is_told_also_of_shortened_cases() -> None:
    for made in (RESULTS, [in_short(one) for one in RESULTS]):  # type: ignore[arg-type]
        facts = facts_of(made)  # type: ignore[arg-type]
        assert facts["generators"] == [GENERATOR]
    assert dict(in_words(facts))["generator"] == f"version {GENERATOR}"


def test_the_facts_are_words_too() -> None:
    said = dict(in_words(facts_of(RESULTS, PRICES, {"temperature": None}, NOW)))  # type: ignore[arg-type]
    assert said["model m"] == "answered as m-2026-01-01, m-later; fingerprint fp_1"
    assert said["runs"] == "3, of which 1 did not test the agent and are left out"
    assert (
        said["tokens, cost"]
        == "1,500,000 tokens (not told by 1 run), price not known by prices that were given"
    )
    assert said["temperature"] == "None"


def test_actions_that_no_sentence_speaks_of_are_counted_also_of_shortened_cases() -> None:
    counts = [unmentioned(case) for case in CASES]
    shortened = [in_short(result(case=case)).case or {} for case in CASES]
    assert [unmentioned(case) for case in shortened] == counts
    for case, count in zip(CASES, counts, strict=True):
        spoken = {action["id"] for action in case["actions"] if action["phrase"] in case["paragraph"]}
        assert count == len(case["actions"]) - len(spoken)


def test_every_number_of_an_agent_leads_to_its_runs() -> None:
    report = campaign_report(RESULTS, "T", prices=PRICES)  # type: ignore[arg-type]
    page = html(report)
    assert '<td class="number"><a href="#runs-1">3</a></td>' in page
    assert page.index('id="runs-1"') > page.index('id="overview"')
    assert all(one.trace_id in page for one in report.runs)
    told = report.to_json()
    assert [run["run_id"] for run in told["runs"]] == [one.trace_id for one in report.runs]
    assert told["facts"]["excluded"] == 1
