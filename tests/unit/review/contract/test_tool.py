"""Contract changes of a tool apart from its schemas."""

from pathlib import Path
from typing import Final

import pytest
from reviews.reviewing import PLAIN, change_lines, difference, one

from toolc.client.build import build
from toolc.review.compare import compare
from toolc.review.sources.states import state_of

SCRIPT: Final = PLAIN.replace('argv: [echo, --, "{{ name }}"]', "script: echo hello")
RESULT: Final = "result: {format: json, schema: {type: object}}\n"

REPORTED: Final = {
    "an alias that is gone": (
        PLAIN + "aliases: [see]\n", PLAIN, "CON303 breaking: the alias see was removed, so calls with it fail",
    ),
    "another backend": (
        PLAIN,
        PLAIN.replace('shell:\n    argv: [echo, --, "{{ name }}"]', "python: {code: 'def look(name): return name'}"),
        "CON304 breaking: the backend changed from shell to python",
    ),
    "another format": (
        PLAIN, PLAIN + "result: {format: json}\n", "CON305 breaking: the result format changed from text to json",
    ),
    "other failures": (
        SCRIPT, f"{SCRIPT}    errors: {{'2': invalid_args}}\n", "CON306 breaking: errors are mapped to other kinds",
    ),
    "other successes": (
        SCRIPT, f"{SCRIPT}    success_exit_codes: any\n", "CON306 breaking: errors are mapped to other kinds",
    ),
    "less time": (PLAIN, PLAIN + "sandbox: {limits: {timeout: 5s}}\n", "CON307 breaking: the timeout is shorter"),
    "a shorter answer": (
        PLAIN, PLAIN + "sandbox: {limits: {output: 1KiB}}\n", "CON308 breaking: the output limit is lower",
    ),
    "a hint": (PLAIN, PLAIN + "annotations: {read_only: true}\n", "CON309 warning: the annotation read_only changed"),
    "a hint that is the default": (
        PLAIN, PLAIN + "annotations: {destructive: true}\n",
        "CON309 compatible: the annotation destructive changed, but not its meaning",
    ),
    "a hint without a meaning": (
        PLAIN + "annotations: {read_only: true}\n", PLAIN + "annotations: {read_only: true, idempotent: true}\n",
        "CON309 compatible: the annotation idempotent changed, but not its meaning",
    ),
    "an end in sight": (PLAIN, PLAIN + "deprecated: Use find instead.\n", "CON310 warning: the tool is deprecated"),
    "no schema any more": (
        PLAIN + RESULT, PLAIN + "result: {format: json}\n", "CON311 breaking: the result schema was removed",
    ),
    "a schema": (PLAIN + "result: {format: json}\n", PLAIN + RESULT, "CON311 compatible: a result schema was added"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "names"), REPORTED.values(), ids=REPORTED)
def test_tool_change_is_reported(tmp_path: Path, old: str, new: str, names: str) -> None:
    assert names in one(tmp_path, old, new)


def test_higher_limits_are_not_breaking(tmp_path: Path) -> None:
    new = PLAIN + "sandbox: {limits: {timeout: 60s, output: 1MiB}}\n"
    assert [line for line in one(tmp_path, PLAIN, new) if line.startswith("CON")] == []


def test_renaming_with_an_alias_is_compatible(tmp_path: Path) -> None:
    new = PLAIN.replace("name: look", "name: find") + "aliases: [look]\n"
    (tool,) = difference(tmp_path, {"a.yaml": PLAIN}, {"a.yaml": new}).tools
    assert change_lines(tool.changes) == [
        "CON302 compatible: probably renamed from look (the old name is an alias); the old name still works",
        "RSK10 medium: the text for the model changed at aliases[0]",
    ]


@pytest.mark.parametrize(
    ("old", "new"), [("pattern: '^[a-z]+$'", "pattern: '^[a-z0-9]{2,}$'"), ("format: date", "format: date-time")]
)
def test_a_change_that_also_allows_more_is_listed_once(tmp_path: Path, old: str, new: str) -> None:
    schema = "name: {type: string"
    assert schema in PLAIN
    lines = one(tmp_path, PLAIN.replace(schema, f"{schema}, {old}"), PLAIN.replace(schema, f"{schema}, {new}"))
    assert [line.partition(":")[0] for line in lines if line.startswith("CON")] in (
        ["CON108 breaking"],
        ["CON109 breaking"],
    )
    assert any(line.startswith("RSK20 high") for line in lines)


def test_a_message_shows_where_two_long_patterns_differ_at_their_end(tmp_path: Path) -> None:
    schema, start = "name: {type: string", "^(?:" + "|".join(f"region-{number}" for number in range(20))
    old, new = (PLAIN.replace(schema, f"{schema}, pattern: '{start}{end}'") for end in (")$", ")"))
    (line,) = [line for line in one(tmp_path, old, new) if line.startswith("CON108")]
    assert line.endswith(
        ': the pattern changed from "^(?:region-0|region-1|region-2|region-…gion-18|region-19)$" '
        'to "^(?:region-0|region-1|region-2|region-…egion-18|region-19)"'
    )


def test_tool_leaves_a_toolset(tmp_path: Path) -> None:
    old = {"a.yaml": PLAIN, "toolc.yaml": "toolsets: {desk: [look]}\n"}
    new = {"a.yaml": PLAIN, "toolc.yaml": "vars: {}\n"}
    (tool,) = difference(tmp_path, old, new).tools
    assert change_lines(tool.changes) == ["CON313 warning: the tool left the toolset desk"]
    assert [str(each.old).rpartition("/")[2] for each in tool.changes] == ["toolc.yaml:1:19"]


def test_toolsets_in_registry_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, project in (("old", "toolsets: {desk: [see], all: [see]}\n"), ("new", "toolsets: {all: [look]}\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.yaml").write_text(PLAIN + "aliases: [see]\n", encoding="utf-8")
        (folder / "toolc.yaml").write_text(project, encoding="utf-8")
        build(folder, tmp_path / f"{name}-built")
    left = ["CON313 warning: the tool left the toolset desk"]
    for base, head in (("old-built", "new-built"), ("old", "new-built"), ("old-built", "new"), ("old", "new")):
        sides = [f"{name}/registry.json" if name.endswith("built") else name for name in (base, head)]
        with state_of(sides[0], []) as before, state_of(sides[1], []) as after:
            tools = compare(before, after).tools
        assert [change_lines(tool.changes) for tool in tools] == [left], (base, head)
