"""Which templates, and so which arguments and secrets, a part of a spec uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from toolc.model.template import Template


def templates(value: object) -> Iterator[Template]:
    """Every template in a part of a spec, in the order of the fields."""
    if isinstance(value, Template):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from templates(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from templates(getattr(value, field.name))


def names(value: object) -> frozenset[str]:
    """The arguments that a part of a spec reads in its templates."""
    return frozenset(name for template in templates(value) for name in template.names)
