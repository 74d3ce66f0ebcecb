"""``--fail-on``: grades, alone or of one kind."""

import pytest

from toolc.model.errors import UsageError
from toolc.review.accepted import fails, parse_fail_on
from toolc.review.compare import Difference, ToolDifference
from toolc.review.model.change import Grade, Kind, ToolChange
from toolc.review.model.pairing import ToolPair
from toolc.review.model.state import State

RULES = {"contract": "CON301", "risk": "RSK01", "surface": "SUR01", "provider": "PRV01"}


def meets(text: str, kind: Kind, grade: Grade, rule: str = "") -> bool:
    """Return whether a difference with this change fails."""
    change = ToolChange(rule=rule or RULES[kind], grade=grade, message="m")
    assert change.kind == kind
    state = State("s", {})
    return fails(
        Difference(state, state, (ToolDifference(ToolPair("kept", None, None), (change,)),)), parse_fail_on(text)
    )


def test_grade_without_a_kind() -> None:
    assert meets("breaking", "contract", "breaking")
    assert not meets("breaking", "contract", "warning")
    assert not meets("breaking", "risk", "critical")
    assert meets("warning", "provider", "warning")
    assert meets("high", "risk", "critical")
    assert not meets("high", "risk", "medium")


def test_grade_with_a_kind() -> None:
    assert meets("breaking,risk:high", "risk", "high")
    assert meets("risk:medium", "surface", "medium", "RSK10")
    assert not meets("risk:high", "contract", "breaking")
    assert not meets("", "risk", "critical")


@pytest.mark.parametrize("text", ["severe", "risk", "risk:", "colour:high", "high;low"])
def test_invalid_fail_on_values(text: str) -> None:
    with pytest.raises(UsageError, match="is not a grade; use one of these"):
        parse_fail_on(text)
