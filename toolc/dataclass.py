"""``dataclass`` of the standard library, three times as fast to create: only ``__init__`` is generated code.

A command loads up to 300 dataclasses, and the standard library compiles up to six methods of each. Here, all classes
share the functions for comparison, ``hash``, ``repr`` and frozen fields. Type checkers see the standard decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from dataclasses import dataclass as dataclass
from dataclasses import field as field
from dataclasses import replace as replace
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final


class _Factory:
    """The default of a parameter whose field has a ``default_factory``."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()


def _create(cls: type, *, frozen: bool = False, eq: bool = True, slots: bool = False, kw_only: bool = False) -> type:
    own = set(vars(cls))
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    fields = dataclasses.fields(cls)
    methods: dict[str, object] = {"__init__": _LazyInit(cls, fields, frozen=frozen), "__repr__": _repr}
    if eq:
        methods |= _comparison([each.name for each in fields if each.compare])
        methods |= {} if frozen else {"__hash__": None}
    if frozen:
        methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
        methods |= {"__setstate__": _set_state} if slots else {}
    for name in methods.keys() - own:
        setattr(cls, name, methods[name])
    return cls


if not TYPE_CHECKING:
    dataclass = partial(partial, _create)  # it is always called with options


class _LazyInit:
    """``__init__`` of a class until its first use. Most classes that a command loads get no instance."""

    def __init__(self, cls: type, fields: Sequence[Field[Any]], *, frozen: bool) -> None:
        self.cls, self.fields, self.frozen = cls, fields, frozen

    def __get__(self, instance: object, owner: type) -> Callable[..., None]:
        init = _init(self.cls, self.fields, frozen=self.frozen)
        type.__setattr__(self.cls, "__init__", init)
        return partial(init, instance) if instance is not None else init


def _init(cls: type, fields: Sequence[Field[Any]], *, frozen: bool) -> Callable[..., None]:
    """Return ``__init__``. It is compiled, because a general function would make each instance slower."""
    names: dict[str, Any] = {"__name__": cls.__module__, "_set": object.__setattr__, "_FACTORY": _FACTORY}
    positional, keywords = ["self"], ["*"]
    body = []
    for each in fields:
        name = value = each.name
        default = f"_default_{name}"
        if each.default_factory is not MISSING:
            names[default] = each.default_factory
            value = f"{default}() if {name} is _FACTORY else {name}" if each.init else f"{default}()"
            parameter = f"{name}=_FACTORY"
        elif each.default is not MISSING:
            names[default] = each.default
            value = name if each.init else default
            parameter = f"{name}={default}"
        else:
            parameter = name
        if each.init:
            (keywords if each.kw_only else positional).append(parameter)
        elif default not in names:
            continue
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = positional + keywords if len(keywords) > 1 else positional
    source = "\n ".join([f"def __init__({', '.join(parameters)}):", *body, "return"])
    exec(source, names)  # noqa: S102  names and defaults of fields, as in the standard library
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {each.name: each.type for each in fields if each.init} | {"return": None}
    return init


def _comparison(names: Sequence[str]) -> Mapping[str, object]:
    values: Callable[[object], object] = attrgetter(*names) if names else type

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_value(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hash_value}


@recursive_repr()
def _repr(self: Any) -> str:
    values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({values})"


def _refuse_assignment(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _set_state(self: object, state: tuple[object, Mapping[str, object]]) -> None:
    """Set the slots of an unpickled instance to what ``object.__getstate__`` returned."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)
