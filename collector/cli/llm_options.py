"""A language model for the verbs that ask one: any OpenAI-compatible endpoint, and what it may cost."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from collector.cli.spending import Money, money_options
from synth.errors import BadInput, MissingExtra

if TYPE_CHECKING:
    from synth.experiments.charged import Charged


def model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--model`, `--base-url` and what may be spent, taken by `Endpoint.take`."""
    function = click.option("--base-url", default=None, metavar="URL", help="OpenAI-compatible endpoint.")(
        money_options(function)
    )
    return click.option("--model", default=None, help="The model to ask.")(function)


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked, and what that may cost."""

    model: str | None
    base_url: str | None
    money: Money

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Endpoint:
        """Take the values of `model_options` out of a verb's settings."""
        return cls(settings.pop("model"), settings.pop("base_url"), Money.take(settings))

    @contextlib.contextmanager
    def asked(self, number: int, given: int, written: int, tries: int = 1) -> Iterator[tuple[Charged, str]]:
        """A client and the model's name, once what it can cost is agreed to: so many requests of about
        `given` tokens and answers of `written`, each of them tried again where that is no use."""
        from synth.experiments.charged import Charged, requests

        client = openai_client(self.base_url)
        if self.model is None:
            raise BadInput("which model? give --model")
        planned = requests(self.model, number, given, written, tries)
        with self.money.spending([planned], unit="requests") as purse:
            yield Charged(client, purse, written), self.model


def openai_client(base_url: str | None, what: str = "asking a model") -> Any:
    """A client for the endpoint; `BadInput` where none is configured."""
    if not (base_url or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")):
        raise BadInput(f"{what} needs OPENAI_API_KEY or --base-url", field="--model")
    try:
        from openai import OpenAI
    except ImportError as error:
        raise MissingExtra(what, "agents") from error
    return OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY") or "none")
