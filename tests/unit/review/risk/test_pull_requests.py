"""Changes that a review reports: each new permission, and no change without an effect."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
from reviews.reviewing import PLAIN, change_lines, difference, edited, one, review_cases

SPECS, CASES = review_cases("pull-requests")


def versions(case: dict[str, Any]) -> tuple[str, str]:
    """Return the old and the new spec of a case."""
    spec = SPECS[case.get("spec", "plain")]
    return edited(spec, case.get("old", {})), edited(spec, case.get("new", {}))


@pytest.mark.parametrize("case", CASES["new permissions"].values(), ids=CASES["new permissions"])
def test_new_permissions_are_reported(tmp_path: Path, case: dict[str, Any]) -> None:
    assert one(tmp_path, *versions(case)) == case["changes"].splitlines()


@pytest.mark.parametrize("case", CASES["other changes"].values(), ids=CASES["other changes"])
def test_remaining_changes_are_reported(tmp_path: Path, case: dict[str, Any]) -> None:
    assert one(tmp_path, *versions(case)) == case["changes"].splitlines()


@pytest.mark.parametrize("case", CASES["no changes"].values(), ids=CASES["no changes"])
def test_equivalent_specs_have_no_changes(tmp_path: Path, case: dict[str, Any]) -> None:
    assert one(tmp_path, *versions(case)) == []


def test_moved_and_converted_specs_have_no_changes(tmp_path: Path) -> None:
    toml = """\
toolc = 1
name = "look"
label = "Look"
description = "Look a thing up by its name. Use it for names of things, not for their numbers."
[parameters]
name = {type = "string", description = "The name of the thing, as 'lamp'", maxLength = 50}
[backend.shell]
argv = ["echo", "--", "{{ name }}"]
"""
    assert difference(tmp_path, {"a.yaml": PLAIN}, {"deep/er/b.toml": toml}).tools == ()


def test_project_file_change_is_reported_for_the_tool(tmp_path: Path) -> None:
    old = {"a.yaml": PLAIN, "toolc.yaml": "vars: {}\n"}
    new = {"a.yaml": PLAIN, "toolc.yaml": "defaults: {sandbox: {network: {allow: [evil.example.com:443]}}}\n"}
    (tool,) = difference(tmp_path, old, new).tools
    (change,) = tool.changes
    assert (tool.name, change.rule, change.cause.rpartition("/")[2]) == ("look", "RSK01", "toolc.yaml")


def test_a_new_tool_does_not_change_the_others(tmp_path: Path) -> None:
    other = PLAIN.replace("name: look", "name: other").replace("Look a thing up", "Put a thing down")
    found = difference(tmp_path, {"a.yaml": PLAIN}, {"a.yaml": PLAIN, "b.yaml": other})
    assert [(tool.name, tool.pair.status) for tool in found.tools] == [("other", "added")]


def test_new_tool_reports_all_permissions(tmp_path: Path) -> None:
    new = PLAIN + "sandbox: {workspace: rw, network: {allow: ['public:443']}, lifetime: session}\n"
    (tool,) = difference(
        tmp_path, {"b.yaml": PLAIN.replace("look", "other")}, {"b.yaml": PLAIN.replace("look", "other"), "a.yaml": new}
    ).tools
    assert change_lines(tool.changes) == [
        "CON312 compatible: the tool was added",
        "RSK13 high: a call may now reach any public address",
        "RSK02 high: a call may now change the files of the workspace",
        "RSK13 high: all calls of a session share one sandbox",
        (
            "SUR02 medium: the tool is a copy of other: the descriptions are 100% alike; it differs in "
            "sandbox.workspace, sandbox.network.allow, sandbox.lifetime"
        ),
    ]


def test_new_tool_that_runs_code_of_callers_is_a_high_risk(tmp_path: Path) -> None:
    other = PLAIN.replace("look", "other")
    argv = 'argv: [echo, --, "{{ name }}"]'
    new = PLAIN.replace(argv, 'script: eval "$ARG_name"\n    runs_caller_code: true')
    (tool,) = difference(tmp_path, {"b.yaml": other}, {"b.yaml": other, "a.yaml": new}).tools
    assert "RSK07 high: callers can run their own code" in change_lines(tool.changes)


COMPOSITE: Final = """\
toolc: 1
name: both
label: Both
description: Look two things up, one after the other, by their names. Use it for pairs of things.
parameters:
  name: {type: string, description: "The name of the thing, as 'lamp'", maxLength: 50}
backend: {composite: {strategy: sequential, steps: [{id: one, tool: finder, args: {name: "{{ name }}"}}]}}
"""


def test_redirected_alias_is_reported_for_the_caller(tmp_path: Path) -> None:
    other = edited(PLAIN, {"name: look": "name: other", "Look a thing up": "Open one thing that there is"})
    files = {"both.yaml": COMPOSITE}
    old = files | {"a.yaml": f"{PLAIN}aliases: [finder]\n", "b.yaml": other}
    new = files | {"a.yaml": PLAIN, "b.yaml": f"{other}aliases: [finder]\n"}
    found = {tool.name: change_lines(tool.changes) for tool in difference(tmp_path, old, new).tools}
    assert found["both"] == ["RSK07 high: the name finder now refers to another tool"]


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("[echo", "RSK07 low: the called tool finder was renamed, but has the same effect"),
        ("[cat", "RSK07 high: the name finder now refers to another tool"),
    ],
)
def test_a_renamed_tool_that_keeps_its_name_as_an_alias_is_low(tmp_path: Path, argv: str, expected: str) -> None:
    files = {"both.yaml": COMPOSITE}
    before = edited(PLAIN, {"name: look": "name: finder"})
    after = edited(before, {"name: finder": "name: seeker\naliases: [finder]", "[echo": argv})
    found = difference(tmp_path, files | {"a.yaml": before}, files | {"a.yaml": after}).tools
    assert expected in {tool.name: change_lines(tool.changes) for tool in found}["both"]


def test_a_changed_tool_is_reported_for_its_callers(tmp_path: Path) -> None:
    files = {"both.yaml": COMPOSITE.replace("tool: finder", "tool: look")}
    changed = f"{PLAIN}sandbox: {{workspace: ro}}\n"
    found = difference(tmp_path, files | {"a.yaml": PLAIN}, files | {"a.yaml": changed}).tools
    by_name = {tool.name: change_lines(tool.changes) for tool in found}
    assert "RSK07 low: the called tool look changed" in by_name["both"]


def test_growing_toolset_reports_new_data_flows(tmp_path: Path) -> None:
    reads = PLAIN + "sandbox: {workspace: ro}\n"
    sends = edited(PLAIN, {"name: look": "name: send", "Look a thing up": "Send one thing away"})
    specs = {"a.yaml": reads, "b.yaml": f"{sends}sandbox: {{network: {{allow: ['public:443']}}}}\naliases: [post]\n"}
    old = specs | {"toolc.yaml": "toolsets: {desk: [look]}\n"}
    new = specs | {"toolc.yaml": "toolsets: {desk: [look, post]}\n"}
    found = [(tool.name, change_lines(tool.changes)) for tool in difference(tmp_path, old, new).tools]
    assert found == [
        (
            "send",
            [
                "CON313 warning: the tool joined the toolset desk",
                (
                    "RSK11 high: together with this tool, the toolset desk may read private data "
                    "and send it to other hosts"
                ),
                "RSK11 high: with this tool, the users of the toolset desk can now also reach public:443",
            ],
        )
    ]


LOOKS_AWAY: Final = {
    "a finding that is off": (
        "lint: {ignore: [TC501]}\n",
        ["RSK12 critical: the severity of TC501 changed from warning to off for all specs"],
    ),
    "a host that descriptions may name": (
        "lint: {hosts: [evil.example.com]}\n",
        ["RSK12 critical: descriptions may now name the host evil.example.com"],
    ),
    "files of no tool left out": ("exclude: ['old/**']\n", ["RSK12 low: files are no longer checked: old/**"]),
    "a finding that is an error now": ("lint: {severity: {TC501: error}}\n", []),
}


@pytest.mark.parametrize(("project", "expected"), LOOKS_AWAY.values(), ids=LOOKS_AWAY)
def test_relaxed_lint_settings_are_reported_once(tmp_path: Path, project: str, expected: list[str]) -> None:
    found = difference(
        tmp_path, {"a.yaml": PLAIN, "toolc.yaml": "vars: {}\n"}, {"a.yaml": PLAIN, "toolc.yaml": project}
    )
    assert (found.tools, change_lines(found.shared)) == ((), expected)


def test_relaxed_lint_settings_are_reported_with_their_line(tmp_path: Path) -> None:
    project = "vars: {}\nlint:\n  hosts: [a.example.com]\n  severity:\n    TC501: 'off'\nexclude:\n  - 'old/**'\n"
    found = difference(
        tmp_path, {"a.yaml": PLAIN, "toolc.yaml": "vars: {}\n"}, {"a.yaml": PLAIN, "toolc.yaml": project}
    )
    places = [str(each.new).rpartition("/")[2] for each in found.shared]
    assert places == ["toolc.yaml:5:5", "toolc.yaml:3:11", "toolc.yaml:7:5"]


def test_new_ignore_comment_is_reported_but_not_a_moved_one(tmp_path: Path) -> None:
    ignoring = edited(PLAIN, {"    argv": "    # toolc: ignore[TC406] it is used elsewhere\n    argv"})
    found = difference(tmp_path / "new", {"a.yaml": PLAIN}, {"a.yaml": ignoring})
    assert [(each.rule, each.message, each.after) for each in found.shared] == [
        ("RSK12", "a comment ignores the finding TC406", "# toolc: ignore[TC406] it is used elsewhere")
    ]
    assert [each.new.start.line for each in found.shared if each.new] == [9]
    assert difference(tmp_path / "moved", {"a.yaml": ignoring}, {"b.yaml": f"# moved\n{ignoring}"}).shared == ()


@pytest.mark.parametrize(
    ("number", "lint", "grade"),
    [
        ("TC204", "", "medium"),
        ("TC406", "", "high"),
        ("TC211", "", "critical"),
        ("TC204", "lint: {severity: {TC204: error}}\n", "critical"),
        ("TC406", "lint: {ignore: [TC4]}\n", "high"),
    ],
)
def test_comment_is_graded_by_what_it_can_hide(tmp_path: Path, number: str, lint: str, grade: str) -> None:
    ignoring = edited(PLAIN, {"    argv": f"    # toolc: ignore[{number}] it is used elsewhere\n    argv"})
    project = {"toolc.yaml": f"vars: {{}}\n{lint}"}
    found = difference(tmp_path, {"a.yaml": PLAIN} | project, {"a.yaml": ignoring} | project)
    assert change_lines(found.shared) == [f"RSK12 {grade}: a comment ignores the finding {number}"]


@pytest.mark.parametrize("setting", ["select: [TC3]", "ignore: [TC2]"])
def test_setting_for_many_findings_is_one_change(tmp_path: Path, setting: str) -> None:
    both = {"a.yaml": PLAIN, "toolc.yaml": "vars: {}\n"}, {"a.yaml": PLAIN, "toolc.yaml": f"lint: {{{setting}}}\n"}
    (change,) = difference(tmp_path, *both).shared
    assert (change.rule, change.grade) == ("RSK12", "critical")
    assert re.fullmatch(r"\d+ findings are less severe for all specs: (TC\d+, )+TC\d+", change.message)
    assert change.before is not None
    assert change.after is not None
    assert change.before.count(": warning") == change.after.count(": off") == int(change.message.split()[0])


def test_command_is_printed_as_in_the_spec(tmp_path: Path) -> None:
    (tool,) = difference(tmp_path, {"a.yaml": PLAIN}, {"a.yaml": PLAIN.replace('"{{ name }}"', '"-n {{name}}"')}).tools
    (change,) = tool.changes
    assert (change.before, change.after) == ('["echo", "--", "{{ name }}"]', '["echo", "--", "-n {{ name }}"]')
