"""Agents at questions of GSM8K, HotpotQA and TriviaQA, and the tables of their accuracy (Crouse et al.,
tables 1 and 2)."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from synth.agents.model import Settings
from synth.agents.usage import Usage, usage_from_json
from synth.errors import BadInput
from synth.experiments.campaign import Journal
from synth.experiments.money import Paid, Prices, Purse, Spent, in_money, of_question
from synth.experiments.rates import Rate
from synth.experiments.report import Report, drawings_of
from synth.experiments.tables import Table
from synth.experiments.workers import Workers
from synth.formal.trouble import Trouble, trouble_from_json
from synth.questions import TOOLS, Question, is_right

METHODS: Mapping[str, str] = {
    "spec:direct": "Direct", "spec:chain_of_thought": "CoT", "spec:react": "ReAct", "spec:rewoo": "ReWOO",
    "spec:pass": "PASS",
    "spec:direct+react": "Direct -> ReAct", "spec:direct+rewoo": "Direct -> ReWOO",
    "spec:direct+pass": "Direct -> PASS", "spec:chain_of_thought+react": "CoT -> ReAct",
    "spec:chain_of_thought+rewoo": "CoT -> ReWOO", "spec:chain_of_thought+pass": "CoT -> PASS",
    "spec:pass_raw": "PASS without summarizer",
}  # fmt: skip
"""Agent -> what the paper calls it; the last stands in its table 2 alone."""
PAPER: Mapping[str, tuple[str, str, str]] = {
    "spec:direct": ("15.8", "29.3", "74.4"), "spec:chain_of_thought": ("64.6", "35.0", "69.4"),
    "spec:react": ("53.8", "28.7", "44.1"), "spec:rewoo": ("51.9", "27.0", "52.4"),
    "spec:pass": ("53.2", "34.7", "57.8"), "spec:direct+react": ("33.3", "33.1", "75.3"),
    "spec:direct+rewoo": ("32.6", "31.3", "75.4"), "spec:direct+pass": ("33.1", "33.3", "75.9"),
    "spec:chain_of_thought+react": ("65.3", "37.8", "71.4"),
    "spec:chain_of_thought+rewoo": ("65.6", "37.0", "71.6"),
    "spec:chain_of_thought+pass": ("64.7", "38.5", "72.6"), "spec:pass_raw": ("53.8", "25.7", "45.2"),
}  # fmt: skip
"""Exact match in percent on GSM8K, HotpotQA and TriviaQA, as the paper measured it on Llama-2-70b."""
PAPERS_MODEL = "Llama-2-70b"
ABLATION = ("spec:react", "spec:rewoo", "spec:pass", "spec:pass_raw")
"""The agents of table 2."""
IN_A_ROW = 5
"""So many failures of the endpoint one after the other end the work."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one agent said to one question."""

    data: str
    question: str
    """Its id in the data set."""
    agent: str
    model: str
    answer: str
    right: bool
    status: str
    """`ok`, `timeout` or `crash`; only an answer that is right counts as right."""
    error: str | None = None
    iterations: int = 0
    tokens: int = 0
    wall_seconds: float | None = None
    trouble: Trouble | None = None
    """Why the agent was not tested; then the question counts in no rate."""
    usage: Usage | None = None
    """What its model took; None where nobody told."""

    @property
    def paid(self) -> Paid:
        return Paid(self.agent, self.model, of_question(), self.usage)

    @property
    def key(self) -> str:
        return f"{self.agent}|{self.model}|{self.data}|{self.question}"

    @property
    def is_void(self) -> bool:
        return self.trouble is not None

    def to_json(self) -> dict[str, Any]:
        trouble = None if self.trouble is None else self.trouble.to_json()
        return {**asdict(self), "trouble": trouble}


def asked_from_json(said: Mapping[str, Any]) -> Asked:
    """The reverse of `Asked.to_json`; BadInput for what is none."""
    try:
        usage = None if said.get("usage") is None else usage_from_json(said["usage"])
        return Asked(**{**said, "trouble": trouble_from_json(said["trouble"]), "usage": usage})
    except (KeyError, TypeError) as error:
        raise BadInput(f"this is no answer to a question: {error}") from error


@dataclass(frozen=True, slots=True)
class Subject:
    """An agent on a model."""

    agent: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Job:
    """One question for one agent."""

    subject: Subject
    question: Question

    @property
    def key(self) -> str:
        agent, settings = self.subject.agent, self.subject.settings
        return f"{agent}|{settings.model}|{self.question.data}|{self.question.id}"


class AgentQuestions:
    """Asks agents, in worker processes as `pdoctor test` has them; use with `with`."""

    def __init__(
        self, collector_url: str | None, corpus: Path | None = None, *, limit: float = 180.0,
        purse: Purse | None = None, examples: int = 0,
    ) -> None:  # fmt: skip
        """`limit` in seconds for a question; without a collector nothing is traced, without a purse all is
        paid for. `examples`: so many worked examples of our own stand in the prompts of `spec:` agents."""
        self._purse, self._examples = purse or Purse(), examples
        self._workers = Workers(collector_url, {})
        self._corpus, self._limit, self._traced = corpus, limit, collector_url is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.close()

    def ask(self, job: Job) -> Asked:
        """One question; whatever the agent does, there is an answer. `Spent` where it cannot be paid for."""
        with self._purse.run(
            job.subject.agent, job.subject.settings.model, of_question(self._examples)
        ) as pays:
            answer = self._answered(job)
            pays(answer.usage)
        return answer

    def _answered(self, job: Job) -> Asked:
        agent, settings, question = job.subject.agent, job.subject.settings, job.question
        corpus = None if self._corpus is None else str(self._corpus.absolute())
        tools = [tool for tool in TOOLS[question.data] if corpus is not None or question.data == "gsm8k"]
        request = {
            "agent": agent, "trace_id": secrets.token_hex(16), "case_id": None, "settings": asdict(settings),
            "question": {
                "text": question.text, "tools": tools, "corpus": corpus, "data": question.data,
                "examples": self._examples,
            },
        }  # fmt: skip
        with self._workers.borrow(agent) as worker:
            ended = worker.run(request, self._limit)
            if self._traced:
                ended.flushed.result()
        said = ended.answer
        usage = None if said["usage"] is None else usage_from_json(said["usage"])
        return Asked(
            question.data, question.id, agent, settings.model, said["answer"],
            said["status"] == "ok" and is_right(said["answer"], question), said["status"], said["error"],
            said["iterations"], 0 if usage is None else usage.total, said["wall_seconds"],
            trouble_from_json(said["trouble"]), usage,
        )  # fmt: skip


def ask_all(
    jobs: Sequence[Job],
    ask: Callable[[Job], Asked],
    kept: Journal[Asked],
    parallel: int,
    on_answer: Callable[[Asked], object],
) -> str | None:
    """Ask what the journal does not have yet; says why it stopped early, where the endpoint keeps failing or
    the budget is spent."""
    spent: str | None = None
    left = iter([job for job in jobs if job.key not in kept.done])
    failed, lock = 0, threading.Lock()
    with ThreadPoolExecutor(parallel) as pool:
        waiting = {pool.submit(ask, job) for _, job in zip(range(parallel), left, strict=False)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    answer = future.result()
                except Spent as reached:
                    spent = str(reached)
                    continue
                with lock:
                    kept.add(answer)
                on_answer(answer)
                failed = failed + 1 if answer.trouble is not None else 0
                if failed >= IN_A_ROW:
                    return f"{failed} questions in a row were not answered: {answer.trouble}"
                waiting |= {pool.submit(ask, job) for _, job in zip(range(1), left, strict=False)}
    return spent


# ---------------------------------------------------------------- tables


def accuracy_table(
    answers: Sequence[Asked], name: str = "table1", agents: Sequence[str] | None = None
) -> Table:
    """Exact match of each agent and model on each data set (Crouse et al., table 1)."""
    subjects = dict.fromkeys(
        (one.agent, one.model) for one in answers if agents is None or one.agent in agents
    )
    sets = [data for data in TOOLS if any(one.data == data for one in answers)]
    heads = (head for data in sets for head in (_NAMES[data], f"{_NAMES[data]} (paper)"))
    headers = ("method", "model", *heads)
    rows = tuple(
        (
            METHODS.get(agent, agent), model,
            *(cell for data in sets for cell in _cells(answers, agent, model, data)),
        )
        for agent, model in subjects
    )  # fmt: skip
    return Table(name, _TITLES[name], headers, rows, _NOTE)


_TITLES: Mapping[str, str] = {
    "table1": "Exact match in percent",
    "table2": "Exact match in percent: PASS with and without its summarizer",
}
_NAMES: Mapping[str, str] = {"gsm8k": "GSM8K", "hotpotqa": "HotpotQA", "triviaqa": "TriviaQA"}
_NOTE = (
    "With 95 % Wilson intervals. Of: questions in which the agent was tested; those at which the model's "
    "endpoint failed are left out, runs that came to no answer count as wrong. Paper: on Llama-2-70b."
)


def _cells(answers: Sequence[Asked], agent: str, model: str, data: str) -> tuple[str, str]:
    here = [one for one in answers if (one.agent, one.model, one.data) == (agent, model, data)]
    tested = [one for one in here if one.trouble is None]
    rate = Rate(sum(one.right for one in tested), len(tested))
    paper = PAPER[agent][list(TOOLS).index(data)] if agent in PAPER else "-"
    if rate.value is None:
        return "-", paper
    low, high = rate.interval
    return f"{100 * rate.value:.1f} ({100 * low:.0f} to {100 * high:.0f}) of {rate.trials}", paper


def costs_table(answers: Sequence[Asked], prices: Prices | None = None) -> Table:
    """What the answers took: answers of the model, tokens and seconds a question."""
    rows = []
    for agent, model in dict.fromkeys((one.agent, one.model) for one in answers):
        every = [one for one in answers if (one.agent, one.model) == (agent, model)]
        tested = [one for one in every if one.trouble is None]
        ended = [one for one in tested if one.status == "ok"]
        counts = (len(tested), len(tested) - len(ended))
        means = (
            _mean([one.iterations for one in ended]), _mean([one.tokens for one in ended]),
            _mean([one.wall_seconds for one in tested if one.wall_seconds is not None]),
        )  # fmt: skip
        untested = str(len(every) - len(tested))
        paid = _paid(every, prices)
        rows.append((METHODS.get(agent, agent), model, *map(str, counts), *means, untested, paid))
    headers = (
        "method", "model", "tested", "no answer", "model answers", "tokens", "seconds", "not tested", "cost",
    )  # fmt: skip
    note = (
        "Means a question: of answers and tokens over the runs that came to an answer. Cost: of all runs, by "
        "the prices that were given; - where no price or usage is known."
    )
    return Table("costs", "What an answer took", headers, tuple(rows), note)


def _paid(answers: Sequence[Asked], prices: Prices | None) -> str:
    costs = [None if prices is None else prices.cost(one.model, one.usage) for one in answers]
    known = [cost for cost in costs if cost is not None]
    return "-" if prices is None or len(known) < len(costs) else in_money(sum(known), prices.currency)


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.1f}" if values else "-"


def ran_on(models: Sequence[str], examples: int = 0) -> str:
    """Which model it was, in plain words, so that nobody takes it for the paper's."""
    named = ", ".join(dict.fromkeys(models))
    others = "" if PAPERS_MODEL.lower() in named.lower() else f", not on {PAPERS_MODEL}"
    said = _SIMULATED if all(model.startswith("simulated-") for model in models) else ""
    return (
        f'These figures were measured on {named}{others}.{said} The columns "paper" are what Crouse et al. '
        f"measured on {PAPERS_MODEL} with their examples in the prompt; here the prompt has the format and "
        f"{examples or 'no'} worked example{'s' * (examples != 1)} of our own."
    )


_SIMULATED = (
    " It is simulated and was given the right answers: this shows that the command works, and not how well "
    "a model answers."
)


def questions_report(answers: Sequence[Asked], prices: Prices | None = None, examples: int = 0) -> Report:
    """The tables, which model they are of, and diagrams of the agents."""
    shown = [accuracy_table(answers)]
    if any(one.agent == "spec:pass_raw" for one in answers):
        shown.append(accuracy_table(answers, "table2", ABLATION))
    wrong = [one for one in answers if one.trouble is None and not one.right]
    told = [
        f"{METHODS.get(one.agent, one.agent)} on {one.model}, {one.data} {one.question}: "
        + (f"answered {one.answer[:80]!r}" if one.status == "ok" else f"{one.status}: {str(one.error)[:200]}")
        for one in sorted(wrong, key=lambda one: one.status == "ok")[:5]
    ]
    note = ran_on([one.model for one in answers], examples)
    return Report(
        "Questions: " + ", ".join(_NAMES[data] for data in dict.fromkeys(one.data for one in answers)),
        tuple(told), (*shown, costs_table(answers, prices)), note=note,
        none="Every answer was right.", drawings=drawings_of(one.agent for one in answers),
    )  # fmt: skip


def without_content(answer: Asked) -> Asked:
    """What tables need of an answer, where whole ones would fill the memory."""
    return replace(answer, answer=answer.answer[:200], error=(answer.error or "")[:200] or None)
