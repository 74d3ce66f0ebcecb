"""What a rule is given, and how it tells what it found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, TypeVar

from toolc.authority import OWN, Authority, Granted, authority
from toolc.review.change import Change, Grade, Route
from toolc.review.state import Reviewed, State
from toolc.spec import ToolSpec

T = TypeVar("T")

NONE_YET: Final = Authority()


@dataclass(frozen=True)
class Sides:
    """A tool before (None where it is new) and now, each with all tools of its state."""

    old: Reviewed | None
    new: Reviewed
    before: State
    after: State

    @property
    def was(self) -> ToolSpec | None:
        """The tool as it was."""
        return self.old.spec if self.old else None

    @property
    def now(self) -> ToolSpec:
        """The tool as it is."""
        return self.new.spec

    @cached_property
    def had(self) -> Authority:
        """What a call could do; nothing, for a tool that is new."""
        return authority(self.old.spec, self.before.by_name) if self.old else NONE_YET

    @cached_property
    def has(self) -> Authority:
        """What a call may do now."""
        return authority(self.new.spec, self.after.by_name)

    def risk(
        self,
        rule: str,
        grade: Grade,
        message: str,
        route: Route,
        before: str | None = None,
        after: str | None = None,
    ) -> Change:
        """A finding at ``route``. What a new tool comes with asks one grade less: a reviewer reads all of it."""
        if self.old is None:
            grade = _LESS.get(grade, grade)
        return Change(
            kind="risk",
            rule=rule,
            grade=grade,
            message=message,
            path=route,
            before=before,
            after=after,
            old=self.old.span(*route) if self.old else None,
            new=self.new.span(*route),
        )


_LESS: Final[dict[Grade, Grade]] = {"critical": "high", "high": "medium", "medium": "low"}


@dataclass(frozen=True, slots=True)
class Gained(Generic[T]):
    """Something that was granted and was not before; ``by`` says in words which steps bring it."""

    value: T
    by: str


def gained(had: Sequence[Granted[T]], has: Sequence[Granted[T]]) -> Iterator[Gained[T]]:
    """What is granted now and was not."""
    before = {each.value for each in had}
    for each in has:
        if each.value not in before:
            yield Gained(each.value, brought(each))


def brought(granted: Granted[T]) -> str:
    """Who brings it, in words to put behind a sentence; empty for the tool itself."""
    steps = [step for step in granted.by if step != OWN]
    return "" if OWN in granted.by or not steps else f" (by {', '.join(steps)})"
