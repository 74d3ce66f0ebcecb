"""Which changes make ``toolc diff`` fail: ``breaking``, ``risk:high``, ``RSK01``, in any combination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolc.model.errors import UsageError
from toolc.review.change import GRADES, Change, Grade
from toolc.review.compare import Difference

_KINDS: Final = ("contract", "risk", "surface", "provider")
_CONTRACTUAL: Final = ("breaking", "warning", "compatible")


@dataclass(frozen=True, slots=True)
class Bar:
    """One entry of ``--fail-on``: changes of ``kind`` at least as grave as ``grade``; empty is any kind."""

    kind: str
    grade: Grade


def bars(text: str) -> tuple[Bar, ...]:
    """``breaking,risk:high`` as bars. Raises ``UsageError`` that says what there is."""
    return tuple(_bar(each.strip()) for each in text.split(",") if each.strip())


def _bar(text: str) -> Bar:
    kind, _, grade = text.rpartition(":")
    for each in GRADES:
        if grade == each and kind in {"", *_KINDS}:
            return Bar(kind, each)
    raise UsageError(
        f"--fail-on: {text!r} is nothing that can fail; write a grade ({', '.join(GRADES)}), "
        f"with a kind before it if need be ({', '.join(_KINDS)}), as in breaking,risk:high"
    )


def fails(difference: Difference, wanted: Sequence[Bar]) -> bool:
    """Whether any change is at or above one of the bars."""
    changes = [*difference.shared, *(change for tool in difference.tools for change in tool.changes)]
    return any(_meets(change, bar) for change in changes for bar in wanted)


def _meets(change: Change, bar: Bar) -> bool:
    if bar.kind and change.kind != bar.kind and not (bar.kind == "risk" and change.rule.startswith("RSK")):
        return False
    if not bar.kind and bar.grade in _CONTRACTUAL:
        # "breaking" alone means what callers notice, not each risk that is graver.
        return change.grade in _CONTRACTUAL and GRADES.index(change.grade) <= GRADES.index(bar.grade)
    return GRADES.index(change.grade) <= GRADES.index(bar.grade)
