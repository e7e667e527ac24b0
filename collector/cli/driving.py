"""What the verbs that drive agents share: their options, a collector, a simulated model, the harness."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from collector.cli.console import terminal_width
from collector.cli.embedded import collector_process
from collector.cli.spending import money_options
from collector.cli.synth import cases_from
from synth.errors import BadInput
from synth.files import text_of
from synth.kept import look, new_store

if TYPE_CHECKING:
    from synth.cases.case import Case
    from synth.experiments.campaign import Budget
    from synth.experiments.harness import Harness
    from synth.experiments.posting import Posting
    from synth.experiments.trial import Result

POSITIVE = click.IntRange(1)


def temperature(ctx: click.Context, param: click.Parameter, value: str) -> float | None:
    """A number, or `none`."""
    if value.strip().lower() == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise click.BadParameter(f"{value!r}: expected a number, or none")
    return number


def parameters(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """`KEY=JSON`, several times; what is not JSON is text."""
    said: dict[str, Any] = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{value!r}: expected KEY=JSON, as in seed=7")
        try:
            said[key] = json.loads(text)
        except ValueError:
            said[key] = text
    return said


def system_prompt(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The text of a file."""
    if value is None:
        return None
    try:
        text = text_of(value).strip()
    except BadInput as bad:
        raise click.BadParameter(str(bad)) from None
    if not text:
        raise click.BadParameter(f"{value}: this file is empty")
    return text


OPTIONS = (
    click.option("--model", default=None, help="Default: simulated-perfect, or gpt-4o-mini with a key."),
    click.option("--base-url", default=None, metavar="URL", help="OpenAI-compatible endpoint."),
    click.option(
        "--temperature",
        callback=temperature,
        default="0",
        show_default=True,
        metavar="NUMBER|none",
        help="Sent with each request; none: not sent, for models that refuse it.",
    ),
    click.option(
        "--param",
        "params",
        multiple=True,
        callback=parameters,
        metavar="KEY=JSON",
        help="Another parameter of each request, such as seed=7 or reasoning_effort=low.",
    ),
    click.option(
        "--system",
        callback=system_prompt,
        metavar="FILE",
        help="The agents' system prompt; {role} in it stands for whom a case is about, as in a beekeeper.",
    ),
    click.option(
        "--role", is_flag=True, help="Role instruction: the system prompt begins with: You are a beekeeper."
    ),
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
        "--max-iterations",
        type=POSITIVE,
        default=50,
        show_default=True,
        help="Model answers per run.",
    ),
    click.option("--collector", "url", metavar="URL", default=None, help="Default: a collector of its own."),
    click.option("--name", default="", help="What its page calls it [agent and model]."),
    click.option(
        "--max-errors",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Exit code 2 when more runs are left in which the agent was not tested.",
    ),
)


LIMIT = click.FloatRange(0)
NO_KEY = "none"
ROLE = "You are {role}."
ALL_SIMULATED = "simulated-*"


def several(names: str) -> tuple[str, ...]:
    """Names with commas between; a command or an address may have commas of its own."""
    if names.startswith(("exec:", "http://", "https://")):
        return (names,)
    return tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))


BUDGET_OPTIONS = (
    click.option("--max-cases", type=POSITIVE, default=None, help="Budget: begin no more cases than this."),
    click.option("--max-seconds", type=LIMIT, default=None, help="Budget: begin no case after so long."),
)


def budget_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a campaign may use up: `BUDGET_OPTIONS`, taken by `budget_of`, and money."""
    for option in reversed(BUDGET_OPTIONS):
        function = option(function)
    return money_options(function)


def budget_of(settings: dict[str, Any]) -> Budget:
    """Take the values of `BUDGET_OPTIONS` out of a verb's settings."""
    from synth.experiments.campaign import Budget

    return Budget(settings.pop("max_cases"), settings.pop("max_seconds"))


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
    temperature: float | None
    parallel: int
    agent_timeout: float
    max_iterations: int
    url: str | None
    max_errors: int
    name: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of each request to a model."""
    system: str | None = None
    """The agents' system prompt."""
    role: bool = False
    """Whether it begins by saying who the agent is."""

    @property
    def told(self) -> str | None:
        """The system prompt, role instruction included; None where there is none."""
        parts = [ROLE if self.role else None, self.system]
        return "\n\n".join(filter(None, parts)) or None

    @property
    def prompt(self) -> dict[str, str]:
        """What tells a campaign from one with other prompts, in the head of its journal."""
        return {} if self.told is None else {"system": self.told}

    @property
    def apart(self) -> dict[str, Any]:
        """What tells a campaign from one whose agents were driven otherwise, in the head of its journal.

        What is as usual is left out.
        """
        names, usual = ("temperature", "params", "max_iterations", "agent_timeout"), Setup.usual()
        own = {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}
        return {**self.prompt, **own}

    @staticmethod
    @cache
    def usual() -> Setup:
        """How agents are driven where no option is given."""
        verb = click.command()(driving_options(lambda: None))
        return Setup.take(verb.make_context("usual", []).params)

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Setup:
        """Take the values of `OPTIONS` out of a verb's settings."""
        return cls(**{name: settings.pop(name) for name in cls.__dataclass_fields__})

    @property
    def elsewhere(self) -> bool:
        """Whether the model is served by an endpoint that was named."""
        return bool(self.base_url or os.environ.get("OPENAI_BASE_URL"))

    @property
    def api_key(self) -> str | None:
        """None: the SDK takes it from its environment. It insists on one even where a server of one's own
        asks for none."""
        return NO_KEY if self.elsewhere and not os.environ.get("OPENAI_API_KEY") else None

    @property
    def model_name(self) -> str:
        real = self.base_url or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
        return self.model or ("gpt-4o-mini" if real else "simulated-perfect")

    @property
    def models(self) -> tuple[str, ...]:
        """The model, or several with commas between; `simulated-*` is every planner that ends by itself,
        each with what stands behind the star, as in `simulated-*+always`."""
        from synth.simulated_model import PROFILES

        bench = [f"simulated-{profile.name}" for profile in PROFILES if profile.name != "slow"]
        named = (
            [f"{one}{name.removeprefix(ALL_SIMULATED)}" for one in bench]
            if name.startswith(ALL_SIMULATED)
            else [name]
            for name in several(self.model_name)
        )
        return tuple(dict.fromkeys(one for names in named for one in names))

    def check_model(self) -> None:
        """Raise `BadInput` for a model that nobody serves."""
        from synth.experiments.harness import SIMULATED
        from synth.simulated_model import parse_model

        served = self.base_url or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
        for model in self.models:
            if not model.startswith(SIMULATED) and not served:
                hint = "without them take simulated-perfect"
                raise BadInput(f"model {model!r} needs OPENAI_API_KEY or --base-url; {hint}")
            if model.startswith("simulated-") and not self.base_url:
                parse_model(model)

    @cached_property
    def store(self) -> Path | None:
        """Where runs are kept for which no collector was named; None: they are with the one that was."""
        return None if self.url else new_store()

    def look(self, what: str | None = None) -> str:
        """Where to look at a run, at a campaign, or at all of them; see `synth.kept.look`."""
        return look(self.url or "", self.store, what)

    @property
    def driven(self) -> dict[str, Any]:
        """How agents are driven, for who makes the numbers again."""
        names = ("temperature", "parallel", "agent_timeout", "max_iterations", "params")
        return {**{name: getattr(self, name) for name in names}, **self.prompt}

    def posting(
        self, harness: Harness, verb: str, agent: str, seed: int | None = None, **options: Any
    ) -> Posting:
        """Tells the harness's collector of the campaign that a verb is; use with `with`."""
        from synth.experiments.posting import Campaign, Posting

        asked = {**options, **self.driven}
        campaign = Campaign(verb, agent, self.model_name, self.name, seed, asked)
        return Posting(harness.collector.url, campaign, complain)

    def seen(self, posting: Posting) -> str:
        """Where to look at a campaign; at all there is where its page could not be made."""
        return self.look(f"campaigns/{posting.id}" if posting.told else None)

    @contextlib.contextmanager
    def harness(self) -> Iterator[Harness]:
        """Everything that trials need, for as long as the block lasts."""
        from synth.experiments.harness import Harness, Options
        from synth.simulated_model import SimulatedModel

        self.check_model()

        options = Options(
            self.parallel, self.agent_timeout, self.max_iterations, self.temperature, self.base_url,
            params=self.params, api_key=self.api_key, system=self.told,
        )  # fmt: skip
        with contextlib.ExitStack() as stack:
            url = self.url or stack.enter_context(collector_process(self.store or new_store()))
            model = stack.enter_context(SimulatedModel())
            yield stack.enter_context(Harness(url, options, model, say=complain))


def complain(text: str) -> None:
    click.echo(f"pdoctor: {text}", err=True)


@contextlib.contextmanager
def resumable(journal: str | None) -> Iterator[None]:
    """Say at an interruption how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if journal:
            hint = f"the same command goes on where it stopped ({journal})"
            click.echo(f"\npdoctor: interrupted; {hint}", err=True)
        raise


class Ticker:
    """One line on a terminal's standard error that says how far long work has come; else silent."""

    def __init__(self) -> None:
        self._runs = 0
        self._shown = ""
        self._tty = sys.stderr.isatty()

    def __call__(self, result: Result) -> None:
        """Another run was made."""
        self._runs += 1
        sizes = f" at {result.actions} actions" if result.actions else ""
        self.say(f"{self._runs} runs, {result.agent} on {result.model}{sizes}")

    def say(self, text: str) -> None:
        if self._tty:
            text = text[: terminal_width() - 1]
            click.echo(f"\r{text.ljust(len(self._shown))}", nl=False, err=True)
            self._shown = text

    def end(self) -> None:
        if self._shown:
            click.echo(err=True)


def drawn(cases: str, settings: dict[str, Any]) -> list[tuple[Case, float]]:
    """Cases from a file, or as many as asked for, each with the seconds that making it took."""
    from synth.cases.case import read_cases
    from synth.experiments.paper import timed

    if cases.lstrip("-").isdigit() and int(cases) < 1:
        raise BadInput("no cases to run: --cases takes a count from 1 upward, or a file")
    if not cases.isdigit():
        found = [(case, 0.0) for case in read_cases(cases)]
        if not found:
            raise BadInput("no case to run: the file is empty", file=cases)
        return found
    return list(timed(cases_from(int(cases), settings)))
