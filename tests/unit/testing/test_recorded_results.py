"""What ``toolc test --json`` wrote, read again with the digests of the tools that were tested."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from calls import fake_tools

from toolc.model.errors import UsageError
from toolc.model.spec.tool import Test
from toolc.testing import cases
from toolc.testing.recorded_results import RecordedResults
from toolc.testing.reports import as_json

TOOL = replace(fake_tools.tool("t"), tests=(Test(), Test()))


def write(path: Path) -> RecordedResults:
    registry = fake_tools.registry(TOOL)
    both: tuple[tuple[cases.Verdict, tuple[str, ...]], ...] = (("passed", ()), ("failed", ("it differs",)))
    tested = [
        cases.Tested(
            case=cases.Case(registry=registry, tool=TOOL, number=number, test=Test()), verdict=verdict,
            duration_ms=15, problems=problems,
        )
        for number, (verdict, problems) in enumerate(both, 1)
    ]  # fmt: skip
    path.write_text(as_json(tested, []))
    return RecordedResults.read(path)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    results = write(tmp_path / "results.json").by_test
    assert [(each.outcome, each.duration_ms, each.problems) for each in results.values()] == [
        ("passed", 15, ()),
        ("failed", 15, ("it differs",)),
    ]
    assert [*results] == [("t", 1), ("t", 2)]


def test_a_result_of_another_version_of_the_tool_is_out_of_date(tmp_path: Path) -> None:
    result = write(tmp_path / "results.json").by_test["t", 1]
    assert not result.is_outdated(fake_tools.registry(TOOL).registered("t"))
    assert result.is_outdated(fake_tools.registry(replace(TOOL, description="Another text.")).registered("t"))
    assert result.is_outdated(fake_tools.registry(replace(TOOL, confirm=True)).registered("t"))


@pytest.mark.parametrize("change", [{"outcome": "good"}, {"number": "1"}, {"digests": []}, {"problems": "no"}])
def test_another_file_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "results.json"
    write(path)
    value = json.loads(path.read_text())
    value["tests"][0] |= change
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError, match=r"write it with: toolc test TARGETS --json > results\.json"):
        RecordedResults.read(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tests": [1]}', "\x00", '{"tests": [{}]}'])
def test_other_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="has no results of tests"):
        RecordedResults.read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"results\.json cannot be read: no such file"):
        RecordedResults.read(tmp_path / "results.json")
