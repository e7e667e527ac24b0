"""Reading objects of the host without running their code.

No `str`, `repr`, `len`, `==`, iteration protocol, property or `__class__` of a type we do not know: types are
told by `type(value)`, classes are asked through `type`'s own descriptors, objects are read from their
instance dictionary or their slots.
"""

from __future__ import annotations

import weakref
from types import GetSetDescriptorType, MemberDescriptorType, WrapperDescriptorType
from typing import Any

module_of = type.__dict__["__module__"].__get__
qualname_of = type.__dict__["__qualname__"].__get__
_mro_of = type.__dict__["__mro__"].__get__
_name_of = type.__dict__["__name__"].__get__
_namespace_of = type.__dict__["__dict__"].__get__


def error_text(error: BaseException) -> str:
    """The message of an exception without running its code; empty where that is not possible."""
    cls = type(error)
    if qualname_of(cls) == "ValidationError" and module_of(cls) == "pydantic_core._pydantic_core":
        return _validation_text(error)
    arguments = BaseException.args.__get__(error)  # type: ignore[attr-defined]
    scalar = all(type(item) in (str, int, float, bool, type(None)) for item in arguments)
    slot = in_mro(cls, "__str__")
    if scalar and type(slot) is WrapperDescriptorType:
        return str(slot(error))
    return " ".join(str.__str__(item) for item in arguments if issubclass(type(item), str))


def type_name(value: Any) -> str:
    """Name of a value's class, with its module unless built in."""
    module, name = module_of(type(value)), qualname_of(type(value))
    return name if module == "builtins" else f"{module}.{name}"


def class_names(cls: type) -> list[str]:
    """The bare names of a class and its bases, in their order; a metaclass is not asked."""
    return [_name_of(base) for base in _mro_of(cls)]


def field(holder: Any, name: str, default: Any = None) -> Any:
    """`holder[name]` of a dict or `holder.name` of an object, read without running the holder's code."""
    cls = type(holder)
    if cls is dict or issubclass(cls, dict):
        return dict.get(holder, name, default)
    found = instance_dict(holder)
    if found is not None and name in found:
        return found[name]
    slot = in_mro(cls, name)
    if type(slot) is MemberDescriptorType:
        return _slot_value(slot, holder, default)
    extras = in_mro(cls, "__pydantic_extra__")  # where pydantic keeps fields that a model does not declare
    if type(extras) is MemberDescriptorType:
        values = _slot_value(extras, holder, None)
        return values.get(name, default) if type(values) is dict else default
    return default


def _validation_text(error: Any) -> str:
    """Without inputs: printing those would call their `repr`."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in problems)


def instance_dict(value: Any) -> dict[Any, Any] | None:
    """The real instance dictionary; a class's own `__dict__` property is not asked."""
    cls = type(value)
    known = _PLACES.get(id(cls))
    place = _place_of_dict(cls) if known is None else known[1]
    if place is None:
        return None
    held = _namespace_of(_mro_of(cls)[place])["__dict__"].__get__(value)
    return held if type(held) is dict else None


_PLACES: dict[int, tuple[weakref.ref[type], int | None]] = {}
"""By the id of a class: itself, and which of its bases holds its instances' dictionaries, if one does.

By its id, since a metaclass may say how it is hashed; one that dies is taken out before another has its id.
What the base holds is not kept: it would keep the class alive.
"""


def _place_of_dict(cls: type) -> int | None:
    slot, number, place = in_mro(cls, "__dict__"), id(cls), None
    if type(slot) is GetSetDescriptorType or type(slot) is MemberDescriptorType:
        place = next(at for at, base in enumerate(_mro_of(cls)) if "__dict__" in _namespace_of(base))
    _PLACES[number] = weakref.ref(cls, lambda _: _PLACES.pop(number, None)), place
    return place


def in_mro(cls: type, name: str) -> Any:
    for base in _mro_of(cls):
        namespace = _namespace_of(base)
        if name in namespace:
            return namespace[name]
    return None


def _slot_value(slot: MemberDescriptorType, holder: Any, default: Any) -> Any:
    try:
        return slot.__get__(holder)
    except AttributeError:
        return default
