"""The one backend that no spec has: a function of the program that embeds toolc."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from toolc.schema import JsonValue

Load: TypeAlias = Callable[[JsonValue], object]
"""Makes of a validated argument what the function's type hint says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFunction:
    """A function that runs in the host's own process, with all its rights and no sandbox.

    ``loads`` are for the arguments that are not passed on as they are. ``context`` is the name of the parameter
    that gets the call's context, None where there is none. It is in no format: neither a spec nor a registry
    file can say it.
    """

    tag: ClassVar[Literal["function"]] = "function"
    function: Callable[..., object]
    loads: Mapping[str, Load]
    context: str | None = None
