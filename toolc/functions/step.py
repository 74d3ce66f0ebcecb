"""A step of a composite that a program defines, and the line of the program that does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import currentframe

from toolc.model import argument_checks


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a program: its file, and the number of the line, from 1."""

    path: str
    line: int

    @classmethod
    def of_caller(cls) -> Place:
        """Where the function that asks was called from."""
        here = currentframe()
        caller = here.f_back.f_back if here and here.f_back else None
        return cls(caller.f_code.co_filename, caller.f_lineno) if caller else cls("<unknown>", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedStep:
    """What ``step`` was given, and ``place``, where that was. Nothing of it is read until its composite is."""

    place: Place
    id: str
    tool: str
    args: Mapping[str, object]
    condition: str | None
    continue_on_error: bool
    timeout: float | None

    def said(self) -> dict[str, object]:
        """The step as a spec says it."""
        step: dict[str, object] = {"id": self.id, "tool": self.tool, "args": self.args}
        if self.condition is not None:
            step["if"] = self.condition
        if self.continue_on_error is not False:
            step["continue_on_error"] = self.continue_on_error
        if self.timeout is not None:
            step["timeout"] = f"{max(1, round(self.timeout * 1000))}ms"
        return step


def step(
    id: str,  # noqa: A002  the word in a spec
    tool: str,
    args: Mapping[str, object] | None = None,
    *,
    condition: str | None = None,
    continue_on_error: bool = False,
    timeout: float | None = None,
) -> DefinedStep:
    """One step for ``define(...).composite``: a call of the tool of this name (or alias), under the name ``id``.

    ``args`` are its arguments: each text is a template of the composite's parameters and of steps before
    (``"{{ word }}"``, ``"{{ steps.find.outputs }}"``). ``condition`` is what a spec calls ``if``; ``timeout`` is in
    seconds. Raises ``UsageError`` for a timeout that is none; all else is read with the composite.
    """
    if timeout is not None:
        argument_checks.seconds("step: a timeout", timeout)
    return DefinedStep(
        place=Place.of_caller(),
        id=id,
        tool=tool,
        args={} if args is None else args,
        condition=condition,
        continue_on_error=continue_on_error,
        timeout=timeout,
    )
