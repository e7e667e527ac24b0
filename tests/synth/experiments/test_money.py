from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from synth.agents.usage import Usage
from synth.errors import BadInput
from synth.experiments.campaign import Meter, results_journal, run_campaign
from synth.experiments.money import (
    FREE,
    MARGIN,
    Paid,
    Planned,
    Price,
    Prices,
    Purse,
    Spent,
    estimate,
    in_money,
    prices_from,
    shipped_prices,
    usual,
)
from synth.experiments.trial import Result, Trial, result_from_json
from tests.support.bench_results import result, trials, untested

ONE = Prices(every=Price(1.0, 3.0))


def test_a_price_is_of_a_million_tokens_and_by_kind() -> None:
    assert ONE.cost("any", Usage(2_000_000, 1_000_000)) == 5.0
    assert ONE.cost("any", None) is None


def test_shipped_prices_are_dated_and_know_models_by_their_dated_names() -> None:
    prices = shipped_prices()
    assert prices.date is not None
    assert prices.currency == "USD"
    mini = prices.of("gpt-4o-mini")
    assert mini == prices.of("gpt-4o-mini-2024-07-18") != prices.of("gpt-4o")
    assert (prices.of("my-own"), prices.of("simulated-swaps")) == (None, FREE)


@pytest.mark.parametrize(("said", "price"), [("2.5", Price(2.5, 2.5)), ("1,4", Price(1.0, 4.0)), ("0", FREE)])
def test_one_price_may_be_said_for_every_model(said: str, price: Price) -> None:
    assert prices_from(said).of("gpt-4o") == prices_from(said).of("simulated-swaps") == price


def test_a_file_of_prices_replaces_the_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('date = "2026-01-02"\ncurrency = "EUR"\n[models]\n"my-own" = { input = 1, output = 2 }\n')
    prices = prices_from(str(file))
    assert (prices.of("my-own"), prices.of("gpt-4o"), prices.currency) == (Price(1, 2), None, "EUR")
    assert prices.to_json()["date"] == "2026-01-02"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = [", "not TOML"),
        ('date = "2026"', "no prices"),
        ('[models]\n"m" = 3', "m: expected { input = 0.15, output = 0.60 }, got 3"),
        ('[models]\n"m" = { input = -1, output = 2 }', "m: expected"),
        ('[models]\n"m" = { input = inf, output = 2 }', "m: expected"),
        ('[models]\n"m" = { input = nan, output = 2 }', "m: expected"),
        ('[models]\n"m" = { input = true, output = 2 }', "m: expected"),
    ],
)
def test_a_file_that_holds_no_prices_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(BadInput, match=r"prices\.toml") as refused:
        prices_from(str(file))
    assert said in str(refused.value)


@pytest.mark.parametrize("said", ["cheap", "1,2,3", "-1", "nan,1", "inf"])
def test_what_is_no_price_is_refused(said: str) -> None:
    with pytest.raises(BadInput, match="price"):
        prices_from(said)


# ---------------------------------------------------------------- the purse


def of(trial: Trial, usage: Usage) -> Result:
    assert trial.case is not None
    return replace(result(model="m", key=trial.key, case=trial.case.to_json()), usage=usage)


def charged(tokens: int, ran: list[str]) -> object:
    """Runs that take so many tokens of input each, one after the other."""

    def run(given: Iterable[Trial]) -> Iterator[Result]:
        for trial in given:
            ran.append(trial.key)
            yield of(trial, Usage(tokens, 0, 1))

    return run


@pytest.mark.parametrize("tokens", [10, 1_000, 50_000])
@pytest.mark.parametrize("limit", ["cost", "tokens"])
def test_a_bill_stays_under_its_cap_and_comes_near_it(tokens: int, limit: str) -> None:
    cap = 50 * tokens
    purse = Purse(ONE, cost=cap / 1e6) if limit == "cost" else Purse(ONE, tokens=cap)
    for _ in range(10):  # from now on it knows what to expect
        purse.pay(Paid("raw-loop", "m", usual(4), Usage(tokens)))
    ran: list[str] = []
    with results_journal(None, {}) as journal:
        reached = run_campaign(charged(tokens, ran), trials(200), journal, Meter(purse=purse))  # type: ignore[arg-type]
    assert reached == limit
    assert purse.tokens <= cap
    assert len(ran) >= 35


def test_runs_under_way_are_counted_as_expected_and_waited_for() -> None:
    """Of a harness that takes all it may before any of them ends."""
    each = usual(4).total
    purse = Purse(ONE, tokens=6 * each)
    at_once: list[int] = []

    def run(given: Iterable[Trial]) -> Iterator[Result]:
        begun = list(given)
        at_once.append(len(begun))
        yield from (of(trial, usual(4)) for trial in begun)

    with results_journal(None, {}) as journal:
        assert run_campaign(run, trials(9), journal, Meter(purse=purse)) == "tokens"
    assert at_once[0] == 3
    assert sum(at_once) == purse.tokens // each >= 4
    assert purse.tokens <= 6 * each


def test_a_run_that_was_dear_makes_the_next_ones_expected_to_be() -> None:
    purse = Purse(ONE, tokens=30 * usual(3).total)
    assert purse.take("k", "m", usual(3))
    purse.pay(Paid("a", "m", usual(3), Usage(20 * usual(3).input, 20 * usual(3).output, 50), "k"))
    assert not purse.take("k", "m", usual(3))
    assert purse.reached == "tokens"


def test_what_nobody_told_counts_as_expected_and_is_said() -> None:
    purse = Purse(ONE)
    purse.pay(Paid("a", "m", usual(3), None))
    purse.pay(Paid("a", "m", usual(3), Usage(1, 0, 2, untold=1)))
    assert purse.tokens == 2 * 2 * usual(3).total
    assert "2 runs did not tell theirs" in purse.bill()


def test_what_earlier_parts_and_lost_tries_took_counts() -> None:
    tried_twice = replace(result(), usage=Usage(100), lost=Usage(70))
    purse = Purse(ONE, earlier=[tried_twice.paid, untested().paid])
    assert purse.tokens == 170
    assert replace(tried_twice, lost=None).paid.usage is None


def test_a_void_record_that_was_made_again_is_still_paid_for(tmp_path: Path) -> None:
    vain = replace(untested("k"), usage=Usage(30))
    for record in (vain, replace(result(key="k"), usage=Usage(50))):
        with results_journal(tmp_path / "c.jsonl", {}) as journal:
            journal.add(record)
            assert journal.get("k") == (None if record.is_void else record)
    with results_journal(tmp_path / "c.jsonl", {}) as journal:
        assert [one.outcome for one in journal.records] == ["pass"]
        assert sum(one.tokens for one in journal.made) == 80
        assert journal.add(result(key="k")) is None
        assert len(journal.made) == 3


def test_whoever_waits_for_money_gets_it_when_a_run_ends_or_an_end() -> None:
    purse = Purse(ONE, tokens=3 * usual(3).total)
    purse.afford("first", "m", usual(3))
    got: list[str] = []

    def wait() -> None:
        try:
            purse.afford("next", "m", usual(3))
            got.append("money")
        except Spent as spent:
            got.append(str(spent))

    dear = 3 * usual(3).total
    for key, paid, said in (("first", 10, "money"), ("next", dear, "the budget is spent (tokens)")):
        waiting = threading.Thread(target=wait)
        waiting.start()
        purse.pay(Paid("a", "m", usual(3), Usage(paid), key))
        waiting.join(30)
        assert got.pop().startswith(said)


def test_what_was_set_aside_is_free_again_where_a_run_left_no_result() -> None:
    """A harness that drops every other run."""
    purse = Purse(ONE, tokens=12 * usual(4).total)

    def run(given: Iterable[Trial]) -> Iterator[Result]:
        for trial in list(given)[::2]:
            yield of(trial, Usage(1))

    with results_journal(None, {}) as journal:
        assert run_campaign(run, trials(20), journal, Meter(purse=purse)) is None
    assert len(journal.records) == 11


def room(times: int) -> Purse:
    """A purse for so many runs of a hundred tokens, as long as it knows of none what it took."""
    return Purse(ONE, tokens=round(times * 100 * MARGIN))


HUNDRED = Usage(60, 40)


def test_what_a_run_in_a_block_set_aside_is_free_again_however_the_block_ends() -> None:
    purse = room(1)
    with pytest.raises(RuntimeError), purse.run("agent", "model", HUNDRED):
        raise RuntimeError("the endpoint is gone")
    assert purse.take("next", "model", HUNDRED)


def test_what_a_run_takes_of_a_further_model_is_set_aside_as_well() -> None:
    purse = room(3)
    with purse.run("agent", "model", HUNDRED, [("judge", HUNDRED)]):
        assert purse.take("small", "model", HUNDRED)
        assert not purse.take("beside", "model", HUNDRED)
    with pytest.raises(Spent), room(1).run("agent", "model", HUNDRED, [("judge", HUNDRED)]):
        raise AssertionError("the judge was not counted")


def test_more_answers_allowed_make_the_upper_bound_of_a_case_higher() -> None:
    few, many = (Planned.of_cases("model", 3, 4, iterations) for iterations in (5, 50))
    assert few.usual == many.usual
    assert few.most.total < many.most.total


def test_a_cap_needs_a_price() -> None:
    Purse(Prices()).check_prices(["my-own"])
    Purse(Prices(), cost=1.0).check_prices(["simulated-swaps"])
    with pytest.raises(BadInput, match="--max-cost needs the price of my-own: give --price"):
        Purse(Prices(), cost=1.0).check_prices(["my-own", "simulated-swaps"])


def test_a_cost_is_known_only_where_every_price_is() -> None:
    purse = Purse(shipped_prices(), earlier=[Paid("a", "gpt-4o", usual(3), Usage(1_000_000))])
    assert purse.bill() == "1,000,000 tokens, 2.50 USD"
    purse.pay(Paid("a", "my-own", usual(3), Usage(10)))
    assert (purse.cost, purse.bill()) == (None, "1,000,010 tokens")


def test_a_result_reads_back_with_what_it_took() -> None:
    one = replace(result(), usage=Usage(5, 6, 2, 0, ("m-1",), ("fp",)), lost=Usage(1))
    body = one.to_json()
    assert body["tokens"] == 11
    assert result_from_json(body) == one
    del body["usage"], body["lost"]
    assert result_from_json(body).usage is None


# ---------------------------------------------------------------- an estimate


def test_an_estimate_adds_up_runs_and_has_an_upper_bound() -> None:
    found = estimate([Planned.of_cases("m", 10, 3), Planned.of_cases("m", 5, 8, iterations=20)], ONE)
    assert found.runs == 15
    assert found.usual.total == 10 * usual(3).total + 5 * usual(8).total
    assert found.most.total > 5 * found.usual.total
    assert found.most_cost is not None
    assert found.text().startswith("at most 15 runs: ")
    assert estimate([Planned.of_cases("own", 1, 3)], Prices()).most_cost is None
    assert "price not known" in estimate([Planned.of_cases("own", 1, 3)], Prices()).text()


def test_what_is_usual_is_near_what_our_agents_send() -> None:
    """Bodies of the last request of a ReAct run over real cases, a token being four characters."""
    assert 1_000 < usual(2).total < usual(5).total < usual(10).total < 30_000


@pytest.mark.parametrize(
    ("cost", "said"),
    [(0, "0.00 USD"), (1234.5, "1,234.50 USD"), (0.0123, "0.012 USD"), (2e-6, "2.0e-06 USD")],
)
def test_money_has_two_figures_at_least(cost: float, said: str) -> None:
    assert in_money(cost, "USD") == said
