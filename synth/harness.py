"""Drives agents through cases: worker processes, the collector over its public API, results.

The agent runs in a process of its own, started through `pdoctor run`; this process neither imports the
tracer nor the collector. For each run it chooses a trace id, tells the collector which case belongs to
it, lets the worker run the case inside that trace, tells the collector how the run ended, and waits for
the verdict. The mock tools' own log comes back beside the verdict: `calls_agree` compares the two.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import secrets
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from synth.agents import AGENTS, Settings
from synth.agents.process import Ended, Worker
from synth.case import Case
from synth.errors import BadInput, SynthError
from synth.simulated_model import Planted, SimulatedModel
from synth.simulated_model.replay import PREFIX, Record

SIMULATED = ("simulated-", PREFIX)
"""Model names that the simulated model serves."""
REPLAY = "replay"
"""Agent name under which recorded runs are made again."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to make: an agent, a model, and a case or a recorded run."""

    agent: str
    model: str
    case: Case | None = None
    record: Record | None = None
    repeat: int = 0
    """Distinguishes runs of the same case."""
    synthesis_seconds: float = 0.0
    """What making the case took."""

    @property
    def case_id(self) -> str | None:
        return None if self.case is None else self.case.id

    @property
    def key(self) -> str:
        """Identifies the trial across processes; campaigns resume by it."""
        what = self.case_id if self.record is None else self.record["run_id"]
        return f"{self.agent}|{self.model}|{what}|{self.repeat}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one trial."""

    trial: str
    """`Trial.key`."""
    agent: str
    model: str
    case_id: str | None
    trace_id: str
    """Also the collector's run id, except for recorded runs: `run["id"]`."""
    status: str
    """How the agent ended: `ok`, `timeout` or `crash`."""
    error: str | None
    answer: str
    iterations: int
    tokens: int
    wall_seconds: float
    run: Mapping[str, Any] | None
    """The run as the collector shows it, None when it never appeared."""
    tool_log: tuple[Mapping[str, Any], ...]
    """Executions as the mock tools saw them."""
    planted: Mapping[str, Any] | None = None
    """Simulated model only: the conversation's record, with its fault or without."""
    verdict_seconds: float = 0.0
    """From the end of the agent's run until its verdict was readable."""
    synthesis_seconds: float = 0.0
    case: Mapping[str, Any] | None = None
    """The case as JSON, so that a record can be read alone; None for recorded runs."""

    @property
    def key(self) -> str:
        return self.trial

    @property
    def verdict(self) -> Mapping[str, Any] | None:
        return None if self.run is None else self.run.get("verdict")

    @property
    def outcome(self) -> str:
        """`pass`, `fail`, `open` or `undecided`; `undecided` when no verdict came."""
        return "undecided" if self.verdict is None else str(self.verdict["outcome"])

    @property
    def error_type(self) -> str | None:
        return None if self.verdict is None else self.verdict["error_type"]

    @property
    def actions(self) -> int:
        """Number of actions of the case."""
        return 0 if self.case is None else len(self.case["actions"])

    @property
    def z3_seconds(self) -> float:
        """Time in Z3: while the case was made and while the run was judged."""
        making = 0.0 if self.case is None else self.case.get("statistics", {}).get("z3_ms", 0.0)
        judging = 0.0 if self.verdict is None else self.verdict["z3_ms"]
        return float(making + judging) / 1e3

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


KEPT = (
    "id",
    "agent",
    "status",
    "outcome",
    "error_type",
    "judged",
    "calls",
    "verdict",
    "policies",
    "problems",
)
"""Fields of the collector's run that a result keeps."""


def result_from_json(body: Mapping[str, Any]) -> Result:
    return Result(**{**body, "tool_log": tuple(body["tool_log"])})


# ---------------------------------------------------------------- the collector


RETRY_PAUSES = (0.05, 0.5)
"""Seconds before a request is sent again."""


class Collector:
    """The few requests that the harness makes."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        """`api_key` defaults to the environment variable PDOCTOR_API_KEY."""
        key = api_key or os.environ.get("PDOCTOR_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1", headers=headers, timeout=30.0, trust_env=False
        )

    def greet(self) -> None:
        """Raises BadInput when nothing answers there."""
        self._body(self._send("GET", f"{self.url}/healthz", None))

    def add_cases(self, cases: Sequence[Case]) -> None:
        self._request("POST", "/cases", [case.to_json() for case in cases])

    def bind(self, trace_id: str, case_id: str, **ending: Any) -> None:
        """Say which case a trace belongs to and, with a status, that its run has ended."""
        known = {name: value for name, value in ending.items() if value is not None}
        self._request("POST", "/bindings", {"trace_id": trace_id, "case_id": case_id, **known})

    def run(self, trace_id: str) -> dict[str, Any] | None:
        """The run as it stands, None while nothing of it is known."""
        response = self._send("GET", f"/runs/{trace_id}", None)
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        return dict(self._body(response))

    def run_of(self, agent: str, session: str) -> dict[str, Any] | None:
        """The newest run of an agent with this conversation id, None while there is none."""
        newest = self._body(self._send("GET", f"/runs?agent={quote(agent)}&limit=100", None))["items"]
        found = next((item["id"] for item in newest if item["session"] == session), None)
        return None if found is None else self.run(found)

    def close(self) -> None:
        self._http.close()

    def _request(self, method: str, path: str, body: Any) -> Any:
        return self._body(self._send(method, path, body))

    def _send(self, method: str, path: str, body: Any) -> httpx.Response:
        """Send, and again where the connection broke: every request here may arrive twice."""
        for pause in RETRY_PAUSES:
            try:
                return self._http.request(method, path, json=body)
            except httpx.TransportError:
                # A kept-alive connection that the collector has just closed, or a restart.
                time.sleep(pause)
        try:
            return self._http.request(method, path, json=body)
        except httpx.TransportError as error:
            hint = "start one with `pdoctor serve`"
            raise BadInput(f"no collector answers at {self.url} ({error}): {hint}") from error

    def _body(self, response: httpx.Response) -> Any:
        if not response.is_success:
            raise SynthError(f"{response.url} answered {response.status_code}: {response.text[:500]}")
        return response.json()


def settled(run: Mapping[str, Any] | None, status: str) -> bool:
    """Whether the run is judged as one that ended with this status, so that waiting brings nothing new."""
    if run is None or not run["judged"] or run["status"] != status:
        return False
    return bool(run["outcome"] != "open")


# ---------------------------------------------------------------- the harness


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
        self._workers = _Workers(collector_url, options)
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
            with _Lane(self._workers, self.options.timeout) as lane:
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

    def _given(self, trial: Trial, beside: ThreadPoolExecutor | None = None) -> _Given:
        """A trial with a trace of its own, of which the collector is told, `beside` the work if given."""
        trace_id = secrets.token_hex(16)
        request = self._request(trial, trace_id)
        if trial.case is None:
            return _Given(trial, trace_id, request)
        if beside is None:
            self._announce(trial.case, trace_id)
            return _Given(trial, trace_id, request)
        return _Given(trial, trace_id, request, beside.submit(self._announce, trial.case, trace_id))

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

    def _judged_part(self, given: _Given, ended: Ended) -> Result:
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


SHARED = frozenset({REPLAY, *(agent.name for agent in AGENTS)})
"""Agents that take turns in one process, so that their libraries are loaded once."""


class _Workers:
    """Idle worker processes; at most as many are busy as there are running threads."""

    def __init__(self, endpoint: str, options: Options) -> None:
        self._endpoint, self._options = endpoint, options
        self._lock = threading.Lock()
        self._idle: dict[str, list[Worker]] = {}
        self._all: list[Worker] = []

    @contextmanager
    def borrow(self, agent: str) -> Iterator[Worker]:
        worker = self.take(agent)
        yield worker
        self.give_back(agent, worker)

    def take(self, agent: str) -> Worker:
        with self._lock:
            idle = self._idle.get(_kind(agent))
            if idle:
                return idle.pop()
            worker = Worker(agent, self._endpoint, self._options.environment)
            self._all.append(worker)
            return worker

    def give_back(self, agent: str, worker: Worker) -> None:
        with self._lock:
            self._idle.setdefault(_kind(agent), []).append(worker)

    def close(self) -> None:
        for worker in self._all:
            worker.close()


@dataclass(frozen=True, slots=True)
class _Given:
    """A trial on its way."""

    trial: Trial
    trace_id: str
    request: Mapping[str, Any]
    announced: Future[None] | None = None
    """When the collector knows which case the trace is about."""


SHORT = 2.0
"""Seconds; where runs are shorter, a worker gets its next trial before the one at hand has ended, since
handing over would take a good part of its time. Of longer runs none waits for a worker that is busy."""


class _Lane:
    """One worker at a time and what it has been given; use with `with`, which gives the worker back."""

    def __init__(self, workers: _Workers, timeout: float) -> None:
        self._workers, self._timeout = workers, timeout
        self._given: deque[_Given] = deque()
        self._worker: Worker | None = None
        self._agent = ""
        self._short = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._worker is not None and exception == (None, None, None):
            self._workers.give_back(self._agent, self._worker)

    def give(self, given: _Given) -> Iterator[tuple[_Given, Ended]]:
        """Hand a trial over; gives the trials that ended meanwhile."""
        if self._worker is None or _kind(given.trial.agent) != _kind(self._agent):
            yield from self.rest()
            self._change(given.trial.agent)
        assert self._worker is not None
        self._worker.give(given.request)
        self._given.append(given)
        while len(self._given) > (1 if self._short else 0):
            yield self._next_end()

    def rest(self) -> Iterator[tuple[_Given, Ended]]:
        while self._given:
            yield self._next_end()

    def _change(self, agent: str) -> None:
        if self._worker is not None:
            self._workers.give_back(self._agent, self._worker)
        self._agent, self._worker = agent, self._workers.take(agent)

    def _next_end(self) -> tuple[_Given, Ended]:
        assert self._worker is not None
        ended = self._worker.next_end(self._timeout)
        self._short = (ended.answer["wall_seconds"] or SHORT) < SHORT
        return self._given.popleft(), ended


def _kind(agent: str) -> str:
    """What kind of process an agent runs in: agents of the user have one each."""
    return "shipped" if agent in SHARED else agent


def _read_log(path: Path) -> tuple[Mapping[str, Any], ...]:
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    calls = [json.loads(line) for line in lines if line.endswith("}")]
    return tuple(sorted(calls, key=lambda call: call["index"]))


# ---------------------------------------------------------------- what results say


def calls_agree(run: Mapping[str, Any], tool_log: Sequence[Mapping[str, Any]]) -> list[str]:
    """What differs between the traced calls and the tools' own log; nothing = each arrived exactly once.

    Calls that never executed (unknown tool, malformed arguments) have no entry in the log, and calls that
    failed need none: the tool may have refused before it did anything. Calls of one model message may
    run at once, so their order says nothing.
    """
    logged = [_shown(call) for call in tool_log]
    turns = _turns_that_must_be_logged(run["calls"], logged)
    traced = [call for turn in turns for call in turn]
    missing, extra = _without(logged, traced), _without(traced, logged)
    if missing or extra:
        lost = [f"not traced: {call}" for call in missing]
        return lost + [f"traced without execution: {call}" for call in extra]
    if traced != _in_turns(logged, turns):
        return [f"the order differs: traced {traced}, executed {logged}"]
    return []


def _turns_that_must_be_logged(calls: Iterable[Mapping[str, Any]], logged: Sequence[str]) -> list[list[str]]:
    """Executed calls by model message, sorted within it, without those that failed and left no entry."""
    executed = [call for call in calls if call.get("executed", True)]
    spare = _without(logged, [_shown(call) for call in executed if call.get("error") is None])
    turns: dict[Any, list[str]] = {}
    for position, call in enumerate(executed):
        shown = _shown(call)
        if call.get("error") is not None:
            if shown not in spare:
                continue
            spare.remove(shown)
        step = call.get("step")
        turns.setdefault(("alone", position) if step is None else step, []).append(shown)
    return [sorted(turn) for turn in turns.values()]


def _in_turns(logged: Sequence[str], turns: Sequence[Sequence[str]]) -> list[str]:
    """The log cut into pieces as long as the turns, each sorted."""
    rest = iter(logged)
    return [call for turn in turns for call in sorted(itertools.islice(rest, len(turn)))]


def _shown(call: Mapping[str, Any]) -> str:
    return f"{call['name']}({json.dumps(call['arguments'] or {}, sort_keys=True)})"


def _without(items: Sequence[str], others: Sequence[str]) -> list[str]:
    """Multiset difference, in the order of `items`."""
    left = list(others)
    found = []
    for item in items:
        if item in left:
            left.remove(item)
        else:
            found.append(item)
    return found
