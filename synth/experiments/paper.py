"""The paper's experiments from one call, on any agents and models: Tables 1 to 7, Figures 8 and 9.

RQ1: how many errors are found, and where the time goes (Table 2). RQ2: where planning ability ends
(Fig. 8) and which errors occur within it (Table 3). RQ3: why (Tables 4 and 5). RQ4: the same with times
(Fig. 9, Tables 6 and 7). Every run is written to a journal in one folder, so the whole can be resumed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from math import ceil
from pathlib import Path
from typing import Any, Literal, TypeVar

from synth.cases.case import Case
from synth.cases.generate import Options as CaseOptions
from synth.cases.generate import generate
from synth.experiments.base_rates import BaseRates
from synth.experiments.campaign import (
    Budget,
    Journal,
    Meter,
    RunTrials,
    Stopped,
    in_short,
    read_journal,
    results_journal,
    run_campaign,
)
from synth.experiments.capability import FIRST, LARGEST, Curve, Sampling, curve, errors_within, measure
from synth.experiments.causes import BASE_CASES, LOOKS, PAPER_MUTANTS, REPEATS
from synth.experiments.dissect import (
    AS_PAPER,
    Dissection,
    Method,
    PassesOf,
    dissect,
    dissections_journal,
    failures_of,
    only_outcome,
)
from synth.experiments.money import Paid, Planned, Purse, Spent
from synth.experiments.tables import Subject
from synth.experiments.trial import Result, Trial, result_from_json

T = TypeVar("T")
Mode = Literal["order", "timed"]
MODES: tuple[Mode, ...] = ("order", "timed")

SIMULATED_SUBJECTS: tuple[Subject, ...] = tuple(
    (agent, model)
    for agent in ("react", "openai-tools", "responses")
    for model in ("simulated-mixed", "simulated-difficulty")
)
"""What is measured where no real model is configured."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is run."""

    rq1_seconds: float | None
    """Wall time per subject."""
    rq1_cases: int | None
    sampling: Sampling = field(default_factory=Sampling)
    largest: int = LARGEST
    errors: int = 100
    """Failures per subject and mode that are dissected by the paper's rule."""
    repeats: int = REPEATS
    mutants: int = PAPER_MUTANTS
    """Of each layer, by the paper's rule."""
    contrasts: int = 20
    """Failures per subject and mode whose cause is told from chance."""
    looks: tuple[int, ...] = LOOKS
    """Mutants of each layer for that, until each look."""
    rq1_actions: tuple[int, int] = (3, 5)
    seed: int = 1
    stop: Literal["covered", "saturated", "count"] = "covered"
    """When a case has sentences enough; `count` is the paper's Algorithm 1."""
    decider: Literal["closure", "z3"] = "closure"
    """Of Table 2's cases: what says that they can be satisfied. It changes times, not cases."""
    first: int = FIRST
    """Number of actions at which curves begin."""
    fixed: bool = False
    """Every subject is measured up to `largest`, also where it fails before."""

    @property
    def as_paper(self) -> Method:
        return replace(AS_PAPER, repeats=self.repeats, looks=(self.mutants,))

    @property
    def contrast(self) -> Method:
        return Method(self.repeats, self.looks)


PAPER = Sizes(rq1_seconds=3_600.0, rq1_cases=None, stop="count", decider="z3")
PAPER_AGENTS = ("react", "openai-tools", "assistants")
"""The paper's three."""
QUICK = Sizes(
    rq1_seconds=None,
    rq1_cases=20,
    sampling=Sampling(per_pair=5, cap=20),
    largest=8,
    errors=5,
    mutants=5,
    contrasts=1,
)


@dataclass(frozen=True, slots=True)
class Chapter:
    """One mode's part of the experiments."""

    mode: Mode
    results: tuple[Result, ...]
    """Of the capability runs."""
    curves: tuple[Curve, ...]
    failures: tuple[Result, ...]
    """All within each subject's capability limit."""
    errors: tuple[Result, ...]
    """Those of them that were drawn to be looked into."""
    dissections: tuple[Dissection, ...]
    """By the paper's rule."""
    contrasted: tuple[Result, ...] = ()
    """Those of the errors whose cause was to be told from chance."""
    contrasts: tuple[Dissection, ...] = ()

    @property
    def causeless(self) -> int:
        """Failures that were to be looked into and could not be."""
        left = len(self.errors) - len(self.dissections), len(self.contrasted) - len(self.contrasts)
        return sum(max(0, count) for count in left)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Everything that was measured."""

    sizes: Sizes
    rq1: tuple[Result, ...]
    chapters: tuple[Chapter, ...]
    """Those that were begun."""
    stopped: Stopped | Spent | None = None
    """Why it ended before everything was measured."""
    purse: Purse = field(default_factory=Purse)
    """What all of it took."""

    @property
    def results(self) -> tuple[Result, ...]:
        """Every judged run outside of dissection."""
        return (*self.rq1, *(result for chapter in self.chapters for result in chapter.results))

    @property
    def errors(self) -> int:
        """Runs, and failures that were to be looked into, in which an agent was not tested."""
        return sum(one.causeless for one in self.chapters) + sum(result.is_void for result in self.results)


@dataclass(frozen=True, slots=True)
class Bench:
    """What runs things."""

    run: RunTrials
    """`Harness.run`"""
    passes_in: Callable[[Journal[Result]], PassesOf]
    """(journal of the runs that look into failures) -> `dissect.passes_with(harness, ...)`."""
    parallel: int = 1
    on_result: Callable[[Result], None] = lambda result: None
    on_dissection: Callable[[Dissection], None] = lambda dissection: None
    on_part: Callable[[Part], None] = lambda part: None
    """Told when a part begins, in the order of `parts_of`."""
    meter: Meter = field(default_factory=Meter)
    """Has counted what looked into failures; its purse, and its errors in a row, are those of everything."""
    apart: Mapping[str, Any] = field(default_factory=dict)
    """How agents are driven where not as usual: what was measured otherwise is another campaign's."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the experiments, and how much it can be at most."""

    name: str
    """`RQ1`, `capability order`, `causes timed`, ..."""
    subject: Subject | None = None
    """None: all of them."""
    seconds: float | None = None
    """Where a part ends by the clock."""
    runs: int = 0
    sizes: tuple[tuple[int, int], ...] = ()
    """(number of actions, runs of such cases at most)."""

    def __str__(self) -> str:
        return self.name if self.subject is None else f"{self.name}, {self.subject[0]} on {self.subject[1]}"


def parts_of(sizes: Sizes, subjects: Sequence[Subject], modes: Sequence[Mode] = MODES) -> tuple[Part, ...]:
    """Everything to do, in order."""
    curve = tuple((size, sizes.sampling.count(size)) for size in range(sizes.first, sizes.largest + 1))
    curve_runs = sum(runs for _, runs in curve)
    cause_runs = len(subjects) * sizes.errors * sizes.as_paper.most_runs
    contrast_runs = len(subjects) * sizes.contrasts * sizes.contrast.most_runs
    if sizes.contrasts:
        contrast_runs += len(subjects) * BASE_CASES * (sizes.largest + 1 - sizes.first)
    found = sizes.rq1_cases or 0
    made = [Part("RQ1", one, sizes.rq1_seconds, found, ((sizes.rq1_actions[1], found),)) for one in subjects]
    for mode in modes:
        made += [Part(f"capability {mode}", one, None, curve_runs, curve) for one in subjects]
        for name, runs in (("causes", cause_runs), ("causes against chance", contrast_runs)):
            made.append(Part(f"{name} {mode}", None, None, runs, ((sizes.largest, runs),)))
    return tuple(made)


FASTEST = 1.0
"""Seconds: so long a run takes at least, where the runs of an hour are to be estimated."""


def planned(
    sizes: Sizes, subjects: Sequence[Subject], parallel: int, iterations: int, modes: Sequence[Mode] = MODES
) -> Iterator[Planned]:
    """The runs that the experiments take at most. Those without a subject are shared by all models."""
    models = list(dict.fromkeys(model for _, model in subjects))
    for part in parts_of(sizes, subjects, modes):
        sizes_here = part.sizes
        if part.seconds is not None:
            sizes_here = ((sizes.rq1_actions[1], ceil(part.seconds / FASTEST * parallel)),)
        for actions, runs in sizes_here:
            if part.subject is not None:
                yield Planned.of_cases(part.subject[1], runs, actions, iterations)
            else:
                each = -(-runs // len(models))
                yield from (Planned.of_cases(model, each, actions, iterations) for model in models)


def paid_in(folder: Path) -> Iterator[Paid]:
    """What the experiments of a folder took until now."""
    for kind in ("rq1", "capability", "mutants"):
        for path in sorted(folder.glob(f"{kind}-*.jsonl")):
            found = read_journal(path, result_from_json, only_outcome)
            yield from (result.paid for result in (*found.records, *found.replaced))


class Forecast:
    """How much longer the experiments can take: an upper bound, since most parts end early."""

    def __init__(self, parts: Sequence[Part], parallel: int) -> None:
        self._left = list(parts)
        self._parallel = parallel
        self._runs = 0
        self._agent_seconds = 0.0
        self._here_runs = 0
        self._here_since = time.monotonic()

    def begin(self, part: Part) -> None:
        while self._left and self._left[0] != part:
            del self._left[0]
        self._here_runs, self._here_since = 0, time.monotonic()

    def count(self, result: Result) -> None:
        self._runs += 1
        self._here_runs += 1
        self._agent_seconds += result.wall_seconds

    @property
    def seconds(self) -> float:
        """At most so many are left, if runs go on taking what they took so far."""
        bound = sum(self._whole(part) for part in self._left)
        if not self._left:
            return bound
        here = self._left[0]
        spent = time.monotonic() - self._here_since if here.seconds else self._here_runs * self._each
        return bound - min(spent, self._whole(here))

    @property
    def _each(self) -> float:
        return self._agent_seconds / max(1, self._runs) / self._parallel

    def _whole(self, part: Part) -> float:
        return part.runs * self._each if part.seconds is None else part.seconds


def reproduce(
    bench: Bench, subjects: Sequence[Subject], sizes: Sizes, folder: Path, modes: Sequence[Mode] = MODES
) -> Reproduction:
    """Run what the folder does not have yet, and give everything, up to where errors stopped it."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = iter(parts_of(sizes, subjects, modes))
    end = _End(bench.meter.purse)
    rq1: list[Result] = []
    for subject in end.before(subjects):
        bench.on_part(next(parts))
        rq1 += _errors_found(bench, subject, sizes, folder, end)
    chapters = [_chapter(bench, subjects, sizes, folder, mode, parts, end) for mode in end.before(modes)]
    return Reproduction(sizes, tuple(rq1), tuple(chapters), end.why, bench.meter.purse)


class _End:
    """Where errors in a row, or an empty purse, end the experiments."""

    def __init__(self, purse: Purse) -> None:
        self.why: Stopped | Spent | None = None
        self._purse = purse

    def before(self, steps: Iterable[T]) -> Iterator[T]:
        """The steps, until they end."""
        return takewhile(lambda _: self.why is None, steps)

    @contextmanager
    def noted(self) -> Iterator[None]:
        try:
            yield
        except (Stopped, Spent) as why:
            self.why = why
        if self.why is None and self._purse.reached is not None:
            self.why = Spent(self._purse.reached, self._purse.bill())


def timed(cases: Iterable[Case]) -> Iterator[tuple[Case, float]]:
    """Each case with the seconds that making it took."""
    source = iter(cases)
    while True:
        began = time.perf_counter()
        case = next(source, None)
        if case is None:
            return
        yield case, time.perf_counter() - began


def _errors_found(bench: Bench, subject: Subject, sizes: Sizes, folder: Path, end: _End) -> list[Result]:
    """RQ1: random cases for as long as allowed."""
    agent, model = subject
    options = CaseOptions(actions=sizes.rq1_actions, stop=sizes.stop, decider=sizes.decider)
    cases = timed(generate(sys.maxsize, sizes.seed, options))
    trials = (Trial(agent, model, case=case, synthesis_seconds=took) for case, took in cases)
    path = folder / f"rq1-{_file_name(subject)}.jsonl"
    with results_journal(path, _head(bench, sizes, "rq1"), remembered=in_short) as journal:
        if not journal.finished:
            tested = (result.wall_seconds for result in journal.records if not result.is_void)
            used = sum(tested) / max(1, bench.parallel)
            left = None if sizes.rq1_seconds is None else max(0.0, sizes.rq1_seconds - used)
            budget = Budget(cases=sizes.rq1_cases, seconds=left)
            meter = bench.meter.part(budget, journal.records)
            with end.noted():
                run_campaign(bench.run, trials, journal, meter, bench.on_result)
                if meter.purse.reached is None:
                    journal.finish()
        return journal.records


def _chapter(
    bench: Bench, subjects: Sequence[Subject], sizes: Sizes, folder: Path, mode: Mode, parts: Iterator[Part],
    end: _End,
) -> Chapter:  # fmt: skip
    """RQ2 and RQ3 in one mode."""
    path = folder / f"capability-{mode}.jsonl"
    with results_journal(path, _head(bench, sizes, mode), remembered=_only_failures_whole) as journal:
        for agent, model in end.before(subjects):
            bench.on_part(next(parts))
            with end.noted():
                measure(
                    bench.run, agent, model, _cases_of(sizes, mode), journal, sizes.sampling,
                    bench.meter.part(), sizes.largest, bench.on_result, sizes.first, sizes.fixed,
                )  # fmt: skip
        results = tuple(journal.records)
    curves = tuple(curve(agent, model, results) for agent, model in subjects)
    failures = tuple(error for one in curves for error in _sampled(results, one, None, sizes.seed))
    errors = tuple(error for one in curves for error in _sampled(failures, one, sizes.errors, sizes.seed))
    to_contrast = tuple(e for one in curves for e in _sampled(errors, one, sizes.contrasts, sizes.seed))
    dissections: dict[str, tuple[Dissection, ...]] = {}
    looked_into = (("dissections", sizes.as_paper, errors), ("contrasts", sizes.contrast, to_contrast))
    path = folder / f"mutants-{mode}.jsonl"
    with results_journal(path, _head(bench, sizes, mode), remembered=only_outcome) as runs:
        passes = bench.passes_in(runs)
        rates = BaseRates(passes, results)
        for name, method, sample in end.before(looked_into):
            bench.on_part(next(parts))
            path = folder / f"{name}-{mode}.jsonl"
            with dissections_journal(path, _head(bench, sizes, mode)) as causes:
                with end.noted():
                    dissect(
                        failures_of(sample), passes, causes, method, rates, parallel=bench.parallel,
                        on_dissection=bench.on_dissection, meter=bench.meter,
                    )  # fmt: skip
                dissections[name] = tuple(causes.records)
    return Chapter(
        mode, results, curves, failures, errors, dissections.get("dissections", ()), to_contrast,
        dissections.get("contrasts", ()),
    )  # fmt: skip


def _only_failures_whole(result: Result) -> Result:
    """Dissection needs the case of a failure; of a pass nothing but that it was one."""
    return result if result.outcome == "fail" else in_short(result)


def _cases_of(sizes: Sizes, mode: Mode) -> Callable[[int, int], Iterable[Case]]:
    def make(actions: int, count: int) -> Iterable[Case]:
        return generate(
            count, sizes.seed, CaseOptions(actions=(actions, actions), mode=mode, stop=sizes.stop)
        )

    return make


def _sampled(results: Iterable[Result], one: Curve, count: int | None, seed: int) -> list[Result]:
    own = (result for result in results if (result.agent, result.model) == (one.agent, one.model))
    return errors_within(own, one.limit, count, seed)


def _head(bench: Bench, sizes: Sizes, part: str) -> dict[str, Any]:
    return {"part": part, "sizes": asdict(sizes), **bench.apart}


def _file_name(subject: Subject) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in "-".join(subject))
