"""Drives agents through cases: worker processes, the collector over its public API, results.

The agent runs in a process of its own, started through `pdoctor run`; this process neither imports the
tracer nor the collector. For each run it chooses a trace id, tells the collector which case belongs to
it, lets the worker run the case inside that trace, tells the collector how the run ended, and waits for
the verdict. The mock tools' own log comes back beside the verdict: `agreement` compares the two. A run that
did not test its agent is made again where that may help; no other run begins meanwhile.
"""

from __future__ import annotations

import json
import queue
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from synth.agents import is_external
from synth.agents.model import Settings
from synth.agents.process import Ended
from synth.agents.usage import Usage, total_of, usage_from_json
from synth.cases.case import Case
from synth.client import Collector, NoAnswer
from synth.errors import BadInput, SynthError
from synth.experiments.agreement import decided_by_log
from synth.experiments.patience import Patience, may_pass, pause_after
from synth.experiments.source import Gate, Source
from synth.experiments.trial import KEPT, UNGUARDED, Result, Trial
from synth.experiments.workers import Given, Lane, Workers
from synth.formal.trouble import Trouble, trouble_from_json
from synth.simulated_model import Planted, SimulatedModel
from synth.simulated_model.replay import PREFIX

SIMULATED = ("simulated-", PREFIX)
"""Model names that the simulated model serves."""


AHEAD = 4
"""Trials a worker that may have begun while no result is known: more of them only wait for verdicts."""


def settled(run: Mapping[str, Any] | None, status: str) -> bool:
    """Whether the run is judged as one that ended with this status, so that waiting brings nothing new."""
    if run is None or not run["judged"] or run["status"] != status:
        return False
    verdict = run.get("verdict")  # policies may wait for later runs of a conversation
    return bool((verdict or run)["outcome"] != "open")


def arrived(run: Mapping[str, Any] | None, status: str) -> bool:
    """Whether all there will be of a run is there. What ended at its time limit has no end of its own."""
    if run is None:
        return False
    return bool(run["complete"] and run["judged"] and run["status"] == status) or status == "timeout"


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
    """Seconds to wait for a verdict after the run has ended; longer while the collector is behind."""
    pauses: tuple[float, ...] = (1.0, 5.0)
    """Seconds before each further try of a run that did not test its agent."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of the workers."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of each request to a model, by their names in the provider's API."""
    system: str | None = None
    """The agents' system prompt; `{role}` stands for whom a case is about."""


class Harness:
    """Runs trials against a collector; use with `with`, which ends its processes."""

    def __init__(
        self,
        collector_url: str,
        options: Options | None = None,
        model: SimulatedModel | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`model` is a running simulated model, needed for trials whose model is `simulated-...`; `say` is
        told, once, why it takes longer."""
        self.options = options = options or Options()
        self.collector = Collector(collector_url)
        self._model = model
        self._workers = Workers(collector_url, options.environment)
        self._folder = tempfile.TemporaryDirectory(prefix="pdoctor-harness-")
        self._gate = Gate()
        self._trying_again = threading.BoundedSemaphore(max(1, options.parallel))
        self._say: Callable[[str], None] | None = say
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
        parallel = max(1, self.options.parallel)
        source = Source(trials, self._gate, AHEAD * parallel)
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
        self, source: Source, judging: ThreadPoolExecutor, begun: queue.SimpleQueue[Future[Result] | None]
    ) -> None:
        """One worker's share: runs trials until there are no more, then says so with None."""
        try:
            with Lane(self._workers, self.options.timeout) as lane:
                for trial in source:
                    for ended in lane.give(self._given(trial, judging)):
                        begun.put(judging.submit(self._settled, source, *ended))
                for ended in lane.rest():
                    begun.put(judging.submit(self._settled, source, *ended))
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
        announce = partial(self._announce, trial.case, trace_id)
        return Given(trial, trace_id, request, beside.submit(announce) if beside else _at_once(announce))

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

    def _heard(self, trace_id: str) -> Path:
        """What the user of a recorded case said in a run."""
        return self._log(trace_id).with_suffix(".heard")

    def _request(self, trial: Trial, trace_id: str) -> dict[str, Any]:
        what: dict[str, Any]
        if trial.record is not None:
            what = {"record": dict(trial.record)}
        elif trial.case is not None:
            what = {"case": trial.case.to_json()}
        elif trial.task is not None:
            what = {"task": replace(trial.task, heard=str(self._heard(trace_id))).to_json()}
        else:
            raise BadInput("a trial needs a case, a recorded run or a task")
        settings = asdict(self._settings(trial.model, trace_id))
        head: dict[str, Any]
        head = {"agent": trial.agent, "trace_id": trace_id, "case_id": trial.case_id}
        head["tool_log"] = str(self._log(trace_id))
        head["guard"] = None if trial.guard == UNGUARDED else trial.guard
        return {**head, **what, "settings": settings}

    def _settings(self, model: str, trace_id: str) -> Settings:
        """The simulated model gets the trace id as key, so that its faults are known by run."""
        options = self.options
        url: str | None
        key: str | None
        if model.startswith(SIMULATED) and options.base_url is None:
            if self._model is None:
                raise BadInput(f"model {model!r} is simulated, but no simulated model was started")
            url, key = self._model.base_url, trace_id
        else:
            url, key = options.base_url, options.api_key
        return Settings(
            model, url, key, options.temperature, options.max_iterations, options.params, options.system
        )

    def _settled(self, source: Source, given: Given, ended: Ended) -> Result:
        """The result of a trial, of a later try where the first did not test the agent."""
        try:
            result = self._judged(given, ended)
            lost = [result.lost]
            for usual in self.options.pauses:
                if not may_pass(result):
                    break
                with self._gate.closed():
                    if not source.pause(pause_after(ended.answer, usual)):
                        break
                    with self._trying_again:
                        given, ended = self._once_more(given.trial)
                    before, result = result, self._judged(given, ended)
                    lost += [before.usage, result.lost]
            return replace(result, lost=None if None in lost else total_of(lost))
        finally:
            source.done()

    def _once_more(self, trial: Trial) -> tuple[Given, Ended]:
        given = self._given(trial)
        with self._workers.borrow(trial.agent) as worker:
            return given, worker.run(given.request, self.options.timeout)

    def _judged(self, given: Given, ended: Ended) -> Result:
        """The result, once the collector has the run's spans and has judged them."""
        answer, trouble = ended.answer, trouble_from_json(ended.answer["trouble"])
        began = time.perf_counter()
        try:
            self._tell_end(given, answer, trouble)
            if trouble is not None:
                return self._result(given, answer, None, 0.0, trouble)
            sent = ended.flushed.result()
            run, late = self._await(given, answer["status"])
            if not sent and (run is None or run["outcome"] not in ("pass", "fail", "error")):
                # The worker died in the next trial before all spans of this one were out: they are missed.
                again = self._judged(*self._once_more(given.trial))
                before = _usage_of(answer, run, trouble)
                return replace(
                    again, lost=None if before is None or again.lost is None else again.lost + before
                )
            waited, trouble = time.perf_counter() - began, late or self._trouble_of(given, answer, run)
            if run is not None and given.trial.case is not None:
                run = decided_by_log(run, given.trial.case, _read_log(self._log(given.trace_id)))
        except NoAnswer as error:
            return self._result(given, answer, None, 0.0, Trouble("collector", message=str(error)))
        return self._result(given, answer, run, waited, trouble)

    def _trouble_of(
        self, given: Given, answer: Mapping[str, Any], run: Mapping[str, Any] | None
    ) -> Trouble | None:
        """What kept the agent of a judged run from being tested, by its verdict or by what is not there."""
        if run is None or not run.get("verdict"):
            return None
        unseen = not run["spans"] and not _read_log(self._log(given.trace_id))
        if answer["status"] != "crash" or not unseen:
            return trouble_from_json(run["verdict"].get("trouble"))
        trouble = Trouble("crash_before_start", message=answer["error"])
        self._tell_end(given, answer, trouble)  # of such a run nobody else can tell the collector
        return trouble

    def _tell_end(self, given: Given, answer: Mapping[str, Any], trouble: Trouble | None) -> None:
        """Tell the collector how the run ended."""
        if given.announced is not None:
            given.announced.result()
        if given.trial.case is not None:
            ending = {name: answer[name] for name in ("status", "wall_seconds")}
            ending["iterations"] = answer["iterations"] or None
            ending["trouble"] = None if trouble is None else trouble.to_json()
            self.collector.bind(given.trace_id, given.trial.case.id, **ending)

    def _result(
        self,
        given: Given,
        answer: Mapping[str, Any],
        run: Mapping[str, Any] | None,
        waited: float,
        trouble: Trouble | None,
    ) -> Result:
        trial, trace_id = given.trial, given.trace_id
        planted = self._planted(trace_id)
        return Result(
            trial=trial.key,
            agent=trial.tested,
            model=trial.model,
            case_id=trial.case_id,
            trace_id=trace_id,
            status=answer["status"],
            error=answer["error"],
            answer=answer["answer"],
            iterations=answer["iterations"],
            wall_seconds=answer["wall_seconds"] or 0.0,
            run=None if run is None else {name: run[name] for name in self._kept(trial)},
            tool_log=_read_log(self._log(trace_id)),
            planted=None if planted is None else planted.to_json(),
            verdict_seconds=waited,
            synthesis_seconds=trial.synthesis_seconds,
            case=None if trial.case is None else trial.case.to_json(),
            trouble=trouble,
            heard=_read_lines(self._heard(trace_id)),
            usage=_usage_of(answer, run, trouble),
            guard=trial.guard,
            refused=answer.get("refused_calls"),
        )

    @staticmethod
    def _kept(trial: Trial) -> tuple[str, ...]:
        """Fields of the collector's run; what is judged here is kept whole."""
        return KEPT if trial.task is None else (*KEPT, "record")

    def _await(self, given: Given, status: str) -> tuple[dict[str, Any] | None, Trouble | None]:
        """The run with its verdict; or as it stands when nothing can be waited for, and why."""
        patience = Patience(self.options.verdict_limit, self.collector.backlog, self._say_once)
        pause = 0.002
        while True:
            run = self._found(given)
            if settled(run, status) or (given.trial.task is not None and arrived(run, status)):
                return run, None
            if patience.is_over:
                late = given.trial.task is None  # else it is judged here, with the log of its tools
                return run, Trouble("no_verdict", message=patience.why) if late else None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)

    def _found(self, given: Given) -> dict[str, Any] | None:
        """The run as it stands. Without a case it has an id of its own, where our tracer announced it."""
        if given.trial.case is not None or is_external(given.trial.agent):
            return self.collector.run(given.trace_id)
        return self.collector.run_of(given.trial.agent, given.trace_id)

    def _say_once(self, text: str) -> None:
        with self._lock:
            say, self._say = self._say, None
        if say is not None:
            say(text)

    def _planted(self, trace_id: str) -> Planted | None:
        if self._model is None:
            return None
        return self._model.brain.planted_for(trace_id)


def _usage_of(
    answer: Mapping[str, Any], run: Mapping[str, Any] | None, trouble: Trouble | None
) -> Usage | None:
    """What the model of a run took: as the agent says, else as the collector saw it; None = nobody knows."""
    if answer["usage"] is not None:
        return usage_from_json(answer["usage"])
    if trouble is not None and trouble.kind == "unreachable":
        return Usage()
    seen = {} if run is None else run["metrics"]
    given, written = seen.get("input_tokens"), seen.get("output_tokens")
    if not given or written is None or min(given, written) < 0:
        return None
    return Usage(given, written, seen.get("model_calls") or 0)


def _read_log(path: Path) -> tuple[Mapping[str, Any], ...]:
    return tuple(sorted(_read_lines(path), key=lambda call: call["index"]))


def _read_lines(path: Path) -> tuple[Mapping[str, Any], ...]:
    """The objects of a file that its writer may have left in the middle of a line."""
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines if line.endswith("}"))


def _at_once(work: Callable[[], None]) -> Future[None]:
    """What a thread would do, done here."""
    done: Future[None] = Future()
    try:
        work()
        done.set_result(None)
    except SynthError as error:
        done.set_exception(error)
    return done
