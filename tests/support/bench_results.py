"""Results as a harness would give them, without agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from synth.agents.usage import Usage
from synth.experiments.trial import Result, Trial
from synth.formal import Trouble
from tests.support.bench_cases import order_case


def finding(type: str, explanation: str = "It went wrong.", sentence: int | None = 0) -> dict[str, Any]:
    return {
        "type": type,
        "code": "order",
        "sentence": sentence,
        "span": None,
        "constraint": None,
        "calls": [0, 1],
        "explanation": explanation,
    }


def result(
    outcome: str = "pass",
    error_type: str | None = None,
    *,
    agent: str = "raw-loop",
    model: str = "m",
    key: str = "k",
    tokens: int = 0,
    fault: Mapping[str, Any] | None = None,
    planted: bool = False,
    findings: Iterable[Mapping[str, Any]] = (),
    case: Mapping[str, Any] | None = None,
    trouble: Trouble | None = None,
) -> Result:
    """A judged result; `planted` says that it comes from the simulated model."""
    verdict = {"outcome": outcome, "error_type": error_type, "findings": list(findings), "z3_ms": 2.0}
    return Result(
        trial=key, agent=agent, model=model, case_id=key, trace_id=f"trace-{key}", status="ok", error=None,
        answer="", iterations=1, usage=Usage(output=tokens), wall_seconds=0.5,
        run={"verdict": verdict, "calls": []}, tool_log=(),
        planted={"fault": fault} if planted or fault else None, case=case, trouble=trouble,
    )  # fmt: skip


REFUSED = Trouble("endpoint", 401, "Incorrect API key provided: k.")


def untested(key: str = "k", trouble: Trouble = REFUSED, **more: Any) -> Result:
    """A run in which the agent was not tested."""
    return result("error", key=key, trouble=trouble, **more)


def trials(count: int, agent: str = "raw-loop", model: str = "m") -> list[Trial]:
    return [Trial(agent, model, case=order_case(id=f"case-{number}")) for number in range(count)]


def running(
    passes: Callable[[Trial], bool] = lambda trial: True,
) -> Callable[[Iterable[Trial]], Iterator[Result]]:
    """Something that runs trials at once."""

    def run(trials: Iterable[Trial]) -> Iterator[Result]:
        for trial in trials:
            assert trial.case is not None
            passed = passes(trial)
            yield result(
                "pass" if passed else "fail", None if passed else "order_error", agent=trial.agent,
                model=trial.model, key=trial.key, tokens=100, case=trial.case.to_json(),
            )  # fmt: skip

    return run
