"""The data of a tool is compared with ``result.schema`` within bounds of time and memory."""

import math
import time

import pytest

from toolc.model.json_schema import JsonValue, Schema
from toolc.model.result import ToolResult
from toolc.runtime import result_validation
from toolc.runtime.result_validation import MAX_RESULT_VALUES, validate_result

UNIQUE = Schema({"type": "array", "uniqueItems": True})


def kind_of(value: JsonValue, until: float = math.inf) -> str | None:
    result = validate_result(ToolResult(content=(), structured=(value,)), UNIQUE, "look", until=until)
    return result.error.kind if result.error else None


@pytest.mark.parametrize("each", [1, {"a": 1}])
def test_data_with_too_many_values_is_an_error(each: JsonValue) -> None:
    started = time.process_time()
    assert kind_of([each] * 2_000_000) == "output_limit"
    assert time.process_time() - started < 5


def test_the_comparison_ends_with_the_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_validation, "MIN_VALIDATION_SECONDS", 0.0)
    items: list[JsonValue] = [*range(MAX_RESULT_VALUES - 1)]
    assert kind_of(items, until=time.monotonic()) == "timeout"
    assert kind_of(items) is None


def test_a_call_that_used_all_of_its_time_still_has_its_data_compared() -> None:
    assert kind_of([1, 2], until=time.monotonic() - 10) is None
    assert kind_of([1, 1], until=time.monotonic() - 10) == "serialization"
