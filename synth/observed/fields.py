"""Fields of a record as the types they must have; BadInput with the name of the field where they have not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth.errors import BadInput


def path_of(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def text_in(said: Mapping[str, Any], name: str, where: str = "") -> str | None:
    value = said.get(name)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"expected text, got {kind_of(value)}", field=path_of(where, name))
    return value


def texts_in(said: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    value = said.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadInput(f"expected a list of texts, got {kind_of(value)}", field=name)
    return tuple(value)


def flag_in(said: Mapping[str, Any], name: str, where: str) -> bool | None:
    value = said.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadInput(f"expected true or false, got {kind_of(value)}", field=path_of(where, name))
    return value


def count_in(said: Mapping[str, Any], name: str, where: str = "") -> int | None:
    value = said.get(name)
    if value is not None and (type(value) is not int or value < 0):
        raise BadInput(f"expected a number from 0 on, got {kind_of(value)}", field=path_of(where, name))
    return value


def object_in(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = said.get(name)
    if value is not None and not isinstance(value, dict):
        raise BadInput(f"expected an object, got {kind_of(value)}", field=name)
    return value or {}


def named_texts_in(said: Mapping[str, Any], name: str) -> Mapping[str, str]:
    """An object whose values are all text."""
    found = object_in(said, name)
    for key, value in found.items():
        if not isinstance(value, str):
            raise BadInput(f"expected text, got {kind_of(value)}", field=path_of(name, key))
    return found


def kind_of(value: Any) -> str:
    """A value in a message: its JSON type, and the value itself where it is short."""
    names = {dict: "an object", list: "a list", type(None): "nothing"}
    text = repr(value)
    return names.get(type(value), text if len(text) <= 60 else f"{text[:57]}...")
