"""The paper's experiments, scaled down, on a provider that charges, limits, fails, and recovers."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from collector.server import running
from collector.settings import Settings
from synth.experiments import base_rates
from synth.experiments.campaign import Meter, Stopped
from synth.experiments.capability import Sampling
from synth.experiments.dissect import passes_with
from synth.experiments.harness import Harness, Options
from synth.experiments.money import Price, Prices, Purse, Spent
from synth.experiments.paper import Bench, Reproduction, Sizes, paid_in, reproduce
from synth.experiments.report import report_of
from tests.support.provider import Failure, Provider, Refusal

SIZES = Sizes(
    rq1_seconds=None,
    rq1_cases=9,
    sampling=Sampling(per_pair=2, cap=6),
    largest=4,
    errors=2,
    repeats=1,
    mutants=2,
    contrasts=1,
    looks=(2, 3),
)
SUBJECTS = (("raw-loop", "simulated-structures"), ("raw-loop", "simulated-topics"))
PRICES = Prices(every=Price(10.0, 30.0))
QUOTA = Refusal(401, "You exceeded your current quota")
LIMITED = Refusal(429, "Rate limit reached", {"Retry-After": "0.01"})


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("collector")
    settings = Settings(
        store_url=f"sqlite:///{folder}/store.db", http_port=0, grpc_port=None, grace_seconds=0.5
    )
    with running(settings) as url:
        yield url


class Script:
    """Which requests are refused, by their number."""

    def __init__(self) -> None:
        self.requests = 0
        self.limited = range(0)
        self.quota: int | None = None
        self._lock = threading.Lock()

    def __call__(self, body: Mapping[str, Any]) -> Failure | None:
        with self._lock:
            self.requests += 1
            if self.quota is not None and self.requests > self.quota:
                return QUOTA
            return LIMITED if self.requests in self.limited else None


def experiments(
    url: str, provider: Provider, folder: Path, cap: float | None = None, parallel: int = 1
) -> tuple[Reproduction, Purse]:
    options = Options(parallel, base_url=provider.base_url, api_key="k", pauses=(0.01, 0.05))
    purse = Purse(PRICES, cap, earlier=paid_in(folder))
    meter = Meter(purse=purse)
    with Harness(url, options) as harness:
        bench = Bench(
            harness.run, lambda runs: passes_with(harness, journal=runs, meter=meter), parallel, meter=meter
        )
        return reproduce(bench, SUBJECTS, SIZES, folder, ("order",)), purse


def tables(measured: Reproduction) -> dict[str, Any]:
    """All but times."""
    return {
        table["name"]: [{k: v for k, v in row.items() if not k.endswith(" s")} for row in table["rows"]]
        for table in report_of(measured).to_json()["tables"]
    }


def charged(provider: Provider) -> float:
    return PRICES.cost("any", provider.usage) or 0.0


@pytest.mark.heavy
def test_a_disturbed_report_resumes_stays_under_its_cap_and_ends_as_an_undisturbed_one(
    collector: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_rates, "BASE_CASES", 3)
    with Provider() as provider:
        calm, purse = experiments(collector, provider, tmp_path / "calm", parallel=2)
        whole = charged(provider)
    assert calm.stopped is None
    assert purse.cost == pytest.approx(whole)
    script = Script()
    folder = tmp_path / "disturbed"
    with Provider(script) as provider:
        script.limited = range(5, 8)
        script.quota = 20
        failed, _ = experiments(collector, provider, folder)
        assert isinstance(failed.stopped, Stopped)
        assert "You exceeded your current quota (endpoint 401)" in str(failed.stopped)
        script.quota = None
        for share in (0.5, 0.8):
            cap = share * whole
            script.limited = range(script.requests + 10, script.requests + 14)
            cut, purse = experiments(collector, provider, folder, cap)
            assert isinstance(cut.stopped, Spent)
            assert 0.7 * cap < charged(provider) <= cap
            assert purse.cost == pytest.approx(charged(provider))
        done, purse = experiments(collector, provider, folder, 2 * whole)
        assert done.stopped is None
        assert purse.cost == pytest.approx(charged(provider))
        assert charged(provider) < 1.1 * whole
        asked = script.requests
        experiments(collector, provider, folder)
        assert script.requests == asked
    assert tables(done) == tables(calm)
