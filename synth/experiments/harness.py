"""Drives agents through cases: worker processes, the collector over its public API, results.

The agent runs in a process of its own, started through `pdoctor run`; this process neither imports the
tracer nor the collector. For each run it chooses a trace id, tells the collector which case belongs to
it, lets the worker run the case inside that trace, tells the collector how the run ended, and waits for
the verdict. The mock tools' own log comes back beside the verdict: `agreement` compares the two.
"""

from __future__ import annotations

import json
import queue
import secrets
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from synth.agents.model import Settings
from synth.agents.process import Ended
from synth.cases.case import Case
from synth.client import Collector
from synth.errors import BadInput
from synth.experiments.trial import KEPT, Result, Trial
from synth.experiments.workers import Given, Lane, Workers
from synth.simulated_model import Planted, SimulatedModel
from synth.simulated_model.replay import PREFIX

SIMULATED = ("simulated-", PREFIX)
"""Model names that the simulated model serves."""


def settled(run: Mapping[str, Any] | None, status: str) -> bool:
    """Whether the run is judged as one that ended with this status, so that waiting brings nothing new."""
    if run is None or not run["judged"] or run["status"] != status:
        return False
    return bool(run["outcome"] != "open")


@dataclass(frozen=True, slots=True)
class Options:
    """How trials are run."""

    parallel: int = 1
    """Worker processes."""
    timeout: float = 180.0
    """Seconds per run, until its worker is killed (paper, section 5)."""
    max_iterations: int = 50
    temperature: float | None = 0.0
    base_url: str | None = None
    """Where models that are not simulated live; None: OPENAI_BASE_URL, else OpenAI itself."""
    api_key: str | None = field(default=None, repr=False)
    verdict_limit: float = 10.0
    """Seconds to wait for a verdict after the run has ended."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the workers."""


class Harness:
    """Runs trials against a collector; use with `with`, which ends its processes."""

    def __init__(
        self,
        collector_url: str,
        options: Options | None = None,
        model: SimulatedModel | None = None,
    ) -> None:
        """`model` is a running simulated model, needed for trials whose model is `simulated-...`."""
        self.options = options = options or Options()
        self.collector = Collector(collector_url)
        self._model = model
        self._workers = Workers(collector_url, options.environment)
        self._folder = tempfile.TemporaryDirectory(prefix="pdoctor-harness-")
        self._greeted = False
        self._registered: set[str] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.close()
        self.collector.close()
        self._folder.cleanup()

    def run(self, trials: Iterable[Trial]) -> Iterator[Result]:
        """Results as they come. Trials are taken one by one as workers get free, so the source may stop
        early; closing the iterator takes no further ones."""
        self._greet()
        source = _Source(trials)
        parallel = max(1, self.options.parallel)
        begun: queue.SimpleQueue[Future[Result] | None] = queue.SimpleQueue()
        # The collector is talked to beside the workers, so that no worker idles for it.
        with ThreadPoolExecutor(parallel) as running, ThreadPoolExecutor(2 * parallel) as judging:
            for _ in range(parallel):
                running.submit(self._work, source, judging, begun)
            try:
                for _ in range(parallel):
                    while (judged := begun.get()) is not None:
                        yield judged.result()
            finally:
                source.stop()

    def run_one(self, trial: Trial) -> Result:
        (result,) = self.run([trial])
        return result

    def _greet(self) -> None:
        """Fail before any agent runs where there is no collector."""
        with self._lock:
            if not self._greeted:
                self.collector.greet()
                self._greeted = True

    def _work(
        self, source: _Source, judging: ThreadPoolExecutor, begun: queue.SimpleQueue[Future[Result] | None]
    ) -> None:
        """One worker's share: runs trials until there are no more, then says so with None."""
        try:
            with Lane(self._workers, self.options.timeout) as lane:
                for trial in source:
                    for ended in lane.give(self._given(trial, judging)):
                        begun.put(judging.submit(self._judged_part, *ended))
                for ended in lane.rest():
                    begun.put(judging.submit(self._judged_part, *ended))
        except BaseException as error:
            source.stop()
            failed: Future[Result] = Future()
            failed.set_exception(error)
            begun.put(failed)
        finally:
            begun.put(None)

    def _given(self, trial: Trial, beside: ThreadPoolExecutor | None = None) -> Given:
        """A trial with a trace of its own, of which the collector is told, `beside` the work if given."""
        trace_id = secrets.token_hex(16)
        request = self._request(trial, trace_id)
        if trial.case is None:
            return Given(trial, trace_id, request)
        if beside is None:
            self._announce(trial.case, trace_id)
            return Given(trial, trace_id, request)
        return Given(trial, trace_id, request, beside.submit(self._announce, trial.case, trace_id))

    def _announce(self, case: Case, trace_id: str) -> None:
        """Tell the collector of the case, once, and that this trace is about it."""
        with self._lock:
            if case.id not in self._registered:
                self.collector.add_cases([case])
                self._registered.add(case.id)
        self.collector.bind(trace_id, case.id)

    def _log(self, trace_id: str) -> Path:
        """The tools' own log of a run."""
        return Path(self._folder.name) / f"{trace_id}.jsonl"

    def _request(self, trial: Trial, trace_id: str) -> dict[str, Any]:
        what: dict[str, Any]
        if trial.record is not None:
            what = {"record": dict(trial.record)}
        elif trial.case is not None:
            what = {"case": trial.case.to_json()}
        else:
            raise BadInput("a trial needs a case or a recorded run")
        settings = asdict(self._settings(trial.model, trace_id))
        head: dict[str, Any]
        head = {"agent": trial.agent, "trace_id": trace_id, "case_id": trial.case_id}
        head["tool_log"] = str(self._log(trace_id))
        return {**head, **what, "settings": settings}

    def _settings(self, model: str, trace_id: str) -> Settings:
        """The simulated model gets the trace id as key, so that its faults are known by run."""
        options = self.options
        if model.startswith(SIMULATED) and options.base_url is None:
            if self._model is None:
                raise BadInput(f"model {model!r} is simulated, but no simulated model was started")
            return Settings(
                model, self._model.base_url, trace_id, options.temperature, options.max_iterations
            )
        return Settings(model, options.base_url, options.api_key, options.temperature, options.max_iterations)

    def _judged_part(self, given: Given, ended: Ended) -> Result:
        """The result, once the collector has the run's spans and has judged them."""
        trial, trace_id, answer = given.trial, given.trace_id, ended.answer
        if given.announced is not None:
            given.announced.result()
        if trial.case is not None:
            ending = {name: answer[name] for name in ("status", "wall_seconds")}
            self.collector.bind(trace_id, trial.case.id, iterations=answer["iterations"] or None, **ending)
        began = time.perf_counter()
        sent = ended.flushed.result()
        run = self._await(trial, trace_id, answer["status"])
        if not sent and (run is None or run["outcome"] not in ("pass", "fail")):
            return self._once_more(trial)
        return self._result(trial, trace_id, answer, run, time.perf_counter() - began)

    def _once_more(self, trial: Trial) -> Result:
        """The worker died in the next trial before all spans of this one were out, and they are missed."""
        given = self._given(trial)
        with self._workers.borrow(trial.agent) as worker:
            ended = worker.run(given.request, self.options.timeout)
        return self._judged_part(given, ended)

    def _result(
        self,
        trial: Trial,
        trace_id: str,
        answer: Mapping[str, Any],
        run: Mapping[str, Any] | None,
        waited: float,
    ) -> Result:
        planted = self._planted(trace_id)
        return Result(
            trial=trial.key,
            agent=trial.agent,
            model=trial.model,
            case_id=trial.case_id,
            trace_id=trace_id,
            status=answer["status"],
            error=answer["error"],
            answer=answer["answer"],
            iterations=answer["iterations"],
            tokens=answer["tokens"],
            wall_seconds=answer["wall_seconds"] or 0.0,
            run=None if run is None else {name: run[name] for name in KEPT},
            tool_log=_read_log(self._log(trace_id)),
            planted=None if planted is None else planted.to_json(),
            verdict_seconds=waited,
            synthesis_seconds=trial.synthesis_seconds,
            case=None if trial.case is None else trial.case.to_json(),
        )

    def _await(self, trial: Trial, trace_id: str, status: str) -> dict[str, Any] | None:
        """The run with its verdict, or as it stands when the limit has passed."""
        limit = time.monotonic() + self.options.verdict_limit
        pause = 0.002
        while True:
            if trial.case is not None:
                run = self.collector.run(trace_id)
            else:
                run = self.collector.run_of(trial.agent, trace_id)
            if settled(run, status) or time.monotonic() > limit:
                return run
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)

    def _planted(self, trace_id: str) -> Planted | None:
        if self._model is None:
            return None
        return self._model.brain.planted_for(trace_id)


class _Source:
    """Trials for several threads; each is handed out once, until `stop`."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._lock = threading.Lock()
        self._trials = iter(trials)
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def __iter__(self) -> Iterator[Trial]:
        while True:
            with self._lock:
                trial = None if self._stopped else next(self._trials, None)
            if trial is None:
                return
            yield trial


def _read_log(path: Path) -> tuple[Mapping[str, Any], ...]:
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    calls = [json.loads(line) for line in lines if line.endswith("}")]
    return tuple(sorted(calls, key=lambda call: call["index"]))
