"""A language model for the verbs that ask one: any OpenAI-compatible endpoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from synth.errors import BadInput, MissingExtra


def model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--model` and `--base-url`."""
    function = click.option("--base-url", default=None, metavar="URL", help="OpenAI-compatible endpoint.")(
        function
    )
    return click.option("--model", default=None, help="The model to ask.")(function)


def openai_client(model: str | None, base_url: str | None) -> tuple[Any, str]:
    """A client for the endpoint and the model's name; `BadInput` where none is configured."""
    if not (base_url or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")):
        raise BadInput("no model is configured: set OPENAI_API_KEY, or give --base-url")
    if model is None:
        raise BadInput("which model? give --model")
    try:
        from openai import OpenAI
    except ImportError as error:
        raise MissingExtra("asking a model", "agents") from error
    return OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "none")), model
