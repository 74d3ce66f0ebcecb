"""The input of a risk rule, and the decorator that registers one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

from toolc.dataclass import dataclass
from toolc.model.permissions import OWN, Grant, Permissions, permissions_of
from toolc.model.spec.tool import ToolSpec
from toolc.review.model.change import Grade, Route, ToolChange
from toolc.review.model.state import Reviewed, State

T = TypeVar("T")

NONE_YET: Final = Permissions()

_OF_NEW_TOOL: Final[dict[Grade, Grade]] = {"critical": "high", "medium": "low"}
"""Lower grades for a new tool, which a reviewer reads as a whole. New access is high, as for other tools."""


@dataclass(frozen=True)
class Sides:
    """A tool before the change (None if it is new) and after it, each with the state of all tools."""

    old: Reviewed | None
    new: Reviewed
    state_before: State
    state_after: State

    @property
    def before(self) -> ToolSpec | None:
        """The tool before the change, or None if it is new."""
        return self.old.spec if self.old else None

    @property
    def after(self) -> ToolSpec:
        """The tool after the change."""
        return self.new.spec

    @cached_property
    def permissions_before(self) -> Permissions:
        """The permissions before the change. A new tool had none."""
        return permissions_of(self.old.spec, self.state_before.by_name) if self.old else NONE_YET

    @cached_property
    def permissions_after(self) -> Permissions:
        """The permissions after the change."""
        return permissions_of(self.new.spec, self.state_after.by_name)

    def risk(
        self,
        rule: str,
        grade: Grade,
        message: str,
        route: Route,
        before: str | None = None,
        after: str | None = None,
        *,
        subject: str = "",
    ) -> ToolChange:
        """Return a change at ``route``. For a new tool, the grades ``critical`` and ``medium`` are one lower."""
        if self.old is None:
            grade = _OF_NEW_TOOL.get(grade, grade)
        return ToolChange(
            rule=rule, grade=grade, message=message, path=route, before=before, after=after,
            direction="" if self.old else "added", subject=subject, old=self.old.span(*route) if self.old else None,
            new=self.new.span(*route),
        )  # fmt: skip


def gained(before: Sequence[Grant[T]], after: Sequence[Grant[T]]) -> list[Grant[T]]:
    """Return the permissions that were not granted before."""
    values = {each.value for each in before}
    return [each for each in after if each.value not in values]


def steps_suffix(granted: Grant[T]) -> str:
    """Return the steps that have a permission as a suffix for a message, or ``""`` if the tool itself has it."""
    steps = [step for step in granted.by if step != OWN]
    return "" if OWN in granted.by or not steps else f" (by {', '.join(steps)})"


RiskRule: TypeAlias = Callable[[Sides], Iterator[ToolChange]]

RISK_RULES: Final[dict[str, RiskRule]] = {}
"""The rules that compare every tool whose digests changed, by number."""


def risk_rule(number: str) -> Callable[[RiskRule], RiskRule]:
    """Return a decorator that registers a rule, which yields the changes of a tool."""

    def register(rule: RiskRule) -> RiskRule:
        RISK_RULES[number] = rule
        return rule

    return register
