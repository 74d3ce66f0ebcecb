"""The input of a risk rule, and the decorator that registers one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, TypeAlias, TypeVar

from toolc.authority import OWN, Authority, Granted, authority
from toolc.review.change import Change, Grade, Route
from toolc.review.state import Reviewed, State
from toolc.spec import ToolSpec

T = TypeVar("T")

NONE_YET: Final = Authority()


@dataclass(frozen=True)
class Sides:
    """A tool before the change (None if it is new) and after it, each with the state that contains all tools."""

    old: Reviewed | None
    new: Reviewed
    state_before: State
    state_after: State

    @property
    def before(self) -> ToolSpec | None:
        """The tool before; None if it is new."""
        return self.old.spec if self.old else None

    @property
    def after(self) -> ToolSpec:
        """The tool after the change."""
        return self.new.spec

    @cached_property
    def permissions_before(self) -> Authority:
        """The permissions before; none for a new tool."""
        return authority(self.old.spec, self.state_before.by_name) if self.old else NONE_YET

    @cached_property
    def permissions_after(self) -> Authority:
        """The permissions after the change."""
        return authority(self.new.spec, self.state_after.by_name)

    def risk(
        self,
        rule: str,
        grade: Grade,
        message: str,
        route: Route,
        before: str | None = None,
        after: str | None = None,
    ) -> Change:
        """Return a change at ``route``. A new tool has one grade less, because a reviewer reads all of it."""
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
    """A permission that was not granted before; ``by`` is a text that names the steps with it."""

    value: T
    by: str


def gained(had: Sequence[Granted[T]], has: Sequence[Granted[T]]) -> Iterator[Gained[T]]:
    """Yield each permission that was not granted before."""
    before = {each.value for each in had}
    for each in has:
        if each.value not in before:
            yield Gained(each.value, steps_suffix(each))


def steps_suffix(granted: Granted[T]) -> str:
    """Return the steps with a permission as a suffix for a message; empty if the tool itself has it."""
    steps = [step for step in granted.by if step != OWN]
    return "" if OWN in granted.by or not steps else f" (by {', '.join(steps)})"


RiskRule: TypeAlias = Callable[[Sides], Iterator[Change]]

RISK_RULES: Final[dict[str, RiskRule]] = {}
"""The rules that compare every tool whose digests changed, by number."""


def risk_rule(number: str) -> Callable[[RiskRule], RiskRule]:
    """Return a decorator that registers a rule, which yields the changes of a tool."""

    def register(rule: RiskRule) -> RiskRule:
        RISK_RULES[number] = rule
        return rule

    return register
