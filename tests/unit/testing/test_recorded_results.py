"""What ``toolc test --json`` wrote, read again with the digests of the tools that were tested."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from calls import fake_tools

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.spec.tool import Test
from toolc.testing import cases
from toolc.testing.recorded_results import read_results
from toolc.testing.reports import as_json

TOOL = replace(fake_tools.tool("t"), tests=(Test(), Test()))


def write(path: Path) -> Mapping[str, Sequence[JsonObject]]:
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
    return read_results(path)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    results = write(tmp_path / "results.json")
    assert [(each["number"], each["outcome"], each["duration_ms"], each["problems"]) for each in results["t"]] == [
        (1, "passed", 15, []),
        (2, "failed", 15, ["it differs"]),
    ]
    registered = fake_tools.registry(TOOL).registered("t")
    assert results["t"][0]["digests"] == {"surface": registered.surface_digest, "effect": registered.effect_digest}


@pytest.mark.parametrize("change", [{"outcome": "good"}, {"outcome": []}, {"problems": "no"}, {"tool": []}])
def test_another_file_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "results.json"
    write(path)
    value = json.loads(path.read_text())
    value["tests"][0] |= change
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError, match=r"write it with: toolc test TARGETS --json > results\.json"):
        read_results(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tests": [1]}', "\x00", '{"tests": [{}]}'])
def test_other_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="has no results of tests"):
        read_results(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"results\.json cannot be read \(No such file .*; name a file of toolc test"):
        read_results(tmp_path / "results.json")
