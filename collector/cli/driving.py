"""What the verbs that drive agents share: their options, a collector, a simulated model, the harness."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.embedded import collector_process
from collector.cli.synth import cases_from
from synth.errors import BadInput

if TYPE_CHECKING:
    from synth.case import Case
    from synth.harness import Harness

POSITIVE = click.IntRange(1)

OPTIONS = (
    click.option("--model", default=None, help="Default: simulated-perfect, or gpt-4o-mini with a key."),
    click.option("--base-url", default=None, metavar="URL", help="OpenAI-compatible endpoint."),
    click.option("--temperature", type=float, default=0.0, show_default=True),
    click.option(
        "--parallel", type=click.IntRange(1, 64), default=2, show_default=True, help="Agent processes."
    ),
    click.option(
        "--agent-timeout",
        type=click.FloatRange(0.1),
        default=180.0,
        show_default=True,
        help="Seconds per run.",
    ),
    click.option(
        "--max-iterations", type=POSITIVE, default=50, show_default=True, help="Model answers per run."
    ),
    click.option("--collector", "url", metavar="URL", default=None, help="Default: a collector of its own."),
)


def driving_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How an agent is driven: `OPTIONS`, handed on as keyword arguments of `Setup`."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True)
class Setup:
    """How an agent is driven, and against which collector."""

    model: str | None
    base_url: str | None
    temperature: float
    parallel: int
    agent_timeout: float
    max_iterations: int
    url: str | None

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Setup:
        """Take the values of `OPTIONS` out of a verb's settings."""
        return cls(**{name: settings.pop(name) for name in cls.__dataclass_fields__})

    @property
    def model_name(self) -> str:
        real = self.base_url or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
        return self.model or ("gpt-4o-mini" if real else "simulated-perfect")

    def check_model(self) -> None:
        """Raise `BadInput` for a model that nobody serves."""
        from synth.harness import SIMULATED
        from synth.simulated_model import parse_model

        served = self.base_url or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
        if not self.model_name.startswith(SIMULATED) and not served:
            hint = "without them take simulated-perfect"
            raise BadInput(f"model {self.model_name!r} needs OPENAI_API_KEY or --base-url; {hint}")
        if self.model_name.startswith("simulated-") and not self.base_url:
            parse_model(self.model_name)

    @contextlib.contextmanager
    def harness(self) -> Iterator[Harness]:
        """Everything that trials need, for as long as the block lasts."""
        from synth.harness import Harness, Options
        from synth.simulated_model import SimulatedModel

        self.check_model()

        options = Options(
            self.parallel, self.agent_timeout, self.max_iterations, self.temperature, self.base_url
        )
        with contextlib.ExitStack() as stack:
            url = self.url or stack.enter_context(own_collector())
            yield stack.enter_context(Harness(url, options, stack.enter_context(SimulatedModel())))


@contextlib.contextmanager
def own_collector() -> Iterator[str]:
    """A collector whose data goes with it."""
    with (
        tempfile.TemporaryDirectory(prefix="pdoctor-") as folder,
        collector_process(Path(folder) / "runs.db") as url,
    ):
        yield url


def drawn(cases: str, settings: dict[str, Any]) -> list[Case]:
    """Cases from a file, or as many as asked for."""
    from synth.case import read_cases

    if not cases.isdigit():
        return list(read_cases(cases))
    if int(cases) == 0:
        raise BadInput("no cases to run: --cases takes a count from 1 upward, or a file")
    return list(cases_from(int(cases), settings))
