"""Tests for all formats of findings: the same findings in the same order, and the rules of each format."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft4Validator
from project.paths import DATA, TEST_SPECS

from toolc.compiler.pipeline.compile import compile_specs
from toolc.data.rule_pages import PageCode, RulePage
from toolc.model.diagnostics import Code, Diagnostics, Edit, Fix, Severity
from toolc.model.source import Position, SourceText, Span
from toolc.reporters import FORMATS, render
from toolc.reporters.report_input import Report

NEGATIVE = TEST_SPECS / "negative"
SARIF = json.loads((DATA / "sarif-2.1.0.json").read_text(encoding="utf-8"))

BAD = Code("TC101", Severity.ERROR, "a key that has no meaning here")
POOR = Code("TC204", Severity.WARNING, "a description that is too short")
AWKWARD = '100%, it says: a::b\x1b[31m\u202e é <&">'

Place = tuple[str, int, int, str, str, str]
"""Path, line, column, severity, number and message of a finding."""


def report(*found: tuple[Code, str, Span, str], text: str = "one\ntwo\n  three\n") -> Report:
    diagnostics = Diagnostics()
    diagnostics.add_source(SourceText("specs/a.yaml", text))
    for each in found:
        diagnostics.add(*each)
    return Report(diagnostics=diagnostics, version="1.2.3", folder="/work", has_pages=True)


def span(line: int, column: int, end: int, path: str = "specs/a.yaml") -> Span:
    return Span(path, Position(line, column), Position(line, end))


def in_json(rendered: str) -> list[Place]:
    keys = ("path", "line", "column", "severity", "code", "message")
    return [tuple(each[key] for key in keys) for each in json.loads(rendered)["findings"]]


def in_text(rendered: str) -> list[Place]:
    found = re.findall(r"^(\S+):(\d+):(\d+): (error|warning) (TC\d+): (.*)$", rendered, re.MULTILINE)
    return [(path, int(line), int(column), *rest) for path, line, column, *rest in found]


def in_sarif(rendered: str) -> list[Place]:
    (run,) = json.loads(rendered)["runs"]
    found: list[Place] = []
    for each in run["results"]:
        place = each["locations"][0]["physicalLocation"]
        at = place["region"]["startLine"], place["region"]["startColumn"]
        message = each["message"]["text"].split("\n")[0]
        found.append((place["artifactLocation"]["uri"], *at, each["level"], each["ruleId"], message))
    return found


def in_github(rendered: str) -> list[Place]:
    found: list[Place] = []
    for line in rendered.splitlines():
        match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert match
        named = dict(each.split("=") for each in match[2].split(","))
        message = match[3].split("%0A")[0].replace("%25", "%")
        at = named["file"], int(named["line"]), int(named.get("col", 0))
        found.append((*at, match[1], named["title"], message))
    return found


def in_junit(rendered: str) -> list[Place]:
    found: list[Place] = []
    for case in ElementTree.fromstring(rendered).iter("testcase"):
        number, place = case.attrib["name"].split(" ")
        line, column = map(int, place.split(":"))
        failure = case.find("failure")
        assert failure is not None
        message = failure.attrib["message"]
        found.append((case.attrib["file"], line, column, failure.attrib["type"], number, message))
    return found


READERS: dict[str, Callable[[str], list[Place]]] = {
    "text": in_text,
    "json": in_json,
    "sarif": in_sarif,
    "github": in_github,
    "junit": in_junit,
}


def test_there_is_a_reader_for_every_format() -> None:
    assert set(READERS) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_same_findings_in_the_same_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NEGATIVE)
    diagnostics = compile_specs([Path()]).diagnostics
    expected: list[Place] = []
    for each in diagnostics.sorted():
        start, code = each.span.start, each.code
        # GitHub rejects columns for a range of several lines.
        column = 0 if name == "github" and each.span.end.line > start.line else start.column
        expected.append((each.span.path, start.line, column, code.severity.value, code.number, each.message))
    assert len(expected) > 50
    assert READERS[name](render(Report(diagnostics=diagnostics, version="1.2.3"), name)) == expected


@pytest.mark.parametrize("name", FORMATS)
def test_control_characters_are_escaped_in_every_format(name: str) -> None:
    rendered = render(report((BAD, AWKWARD, span(1, 1, 2, "x\n\x1b.yaml"), AWKWARD)), name)
    assert rendered.replace("\n", "").isprintable()
    assert rendered.endswith("\n")
    assert not re.search(r"^\x1b|^\.yaml", rendered, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("text", ""),
        ("github", ""),
        ("json", '{\n  "report": 1,\n  "findings": [],\n  "omitted": [],\n  "errors": 0,\n  "warnings": 0\n}\n'),
    ],
)
def test_no_findings(name: str, expected: str) -> None:
    assert render(report(), name) == expected


def test_the_json_format() -> None:
    found = report(
        (BAD, "no key 'x'", span(2, 1, 4), "did you mean 'y'?"), (POOR, "é", span(3, 3, 8, "/work/b.yaml"), "")
    )
    place = {"path": "b.yaml", "line": 3, "column": 3, "end_line": 3, "end_column": 8}
    other = {"path": "specs/a.yaml", "line": 2, "column": 1, "end_line": 2, "end_column": 4}
    about = {"code": "TC101", "severity": "error", "message": "no key 'x'", "hint": "did you mean 'y'?", "fix": None}
    findings = [
        place | {"code": "TC204", "severity": "warning", "message": "é", "hint": "", "fix": None}, other | about,
    ]  # fmt: skip
    expected = {"report": 1, "findings": findings, "omitted": [], "errors": 1, "warnings": 1}
    assert render(found, "json") == json.dumps(expected, indent=2) + "\n"


def test_fixes_are_part_of_findings() -> None:
    found = report()
    fix = Fix("write 'y'", (Edit(span(2, 1, 2), "y"), Edit(span(2, 3, 3), "\n✓")))
    found.diagnostics.add(BAD, "no key 'x'", span(2, 1, 4), "did you mean 'y'?", fix)
    found.diagnostics.add(POOR, "short", span(3, 3, 8), "", replace(fix, safe=True))
    assert json.loads(render(found, "json"))["findings"][0]["fix"] == {
        "description": "write 'y'",
        "safe": False,
        "edits": [
            {"line": 2, "column": 1, "end_line": 2, "end_column": 2, "text": "y"},
            {"line": 2, "column": 3, "end_line": 2, "end_column": 3, "text": "\n✓"},
        ],
    }
    replacements = [
        {
            "deletedRegion": {"startLine": 2, "startColumn": column, "endLine": 2, "endColumn": end},
            "insertedContent": {"text": text},
        }
        for column, end, text in ((1, 2, "y"), (3, 3, "\n✓"))
    ]
    changes = [{"artifactLocation": {"uri": "specs/a.yaml"}, "replacements": replacements}]
    fixes = [{"description": {"text": "write 'y'"}, "artifactChanges": changes}]
    assert sarif_run(found)["results"][0]["fixes"] == fixes
    hints = [line.strip() for line in render(found, "text").splitlines() if "help" in line]
    assert hints == ["= help: did you mean 'y'? [fixable with --unsafe-fixes]", "= help: [fixable with --fix]"]


def test_github_commands_are_escaped() -> None:
    several = Span("specs/a.yaml", Position(1, 2), Position(3, 1))
    found = report((BAD, "50%: a, b", span(2, 1, 4, "/work/a,b:c%.yaml"), "do\nthis"), (POOR, "short", several, ""))
    assert render(found, "github") == (
        "::error col=1,endColumn=4,endLine=2,file=a%2Cb%3Ac%25.yaml,line=2,title=TC101::50%25: a, b%0Ado%0Athis\n"
        "::warning endLine=3,file=specs/a.yaml,line=1,title=TC204::short\n"
    )


def test_the_junit_format() -> None:
    found = report((BAD, "no key '<é>'", span(2, 1, 4), "did you\nmean 'y'?"), (POOR, "ab\x1b", span(3, 3, 8), ""))
    assert (
        render(found, "junit")
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="toolc" tests="2" failures="2" errors="0">
  <testsuite name="specs/a.yaml" tests="2" failures="2" errors="0">
    <testcase name="TC101 2:1" classname="specs/a.yaml" file="specs/a.yaml" line="2">
      <failure type="error" message="no key '&lt;&#233;&gt;'">specs/a.yaml:2:1: error TC101: no key '&lt;&#233;&gt;'
help: did you
mean 'y'?</failure>
    </testcase>
    <testcase name="TC204 3:3" classname="specs/a.yaml" file="specs/a.yaml" line="3">
      <failure type="warning" message="ab&lt;U+001B&gt;">specs/a.yaml:3:3: warning TC204: ab&lt;U+001B&gt;</failure>
    </testcase>
  </testsuite>
</testsuites>
"""
    )
    assert (
        render(report(), "junit")
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="toolc" tests="1" failures="0" errors="0">
  <testsuite name="toolc" tests="1" failures="0" errors="0">
    <testcase name="no findings" classname="toolc" />
  </testsuite>
</testsuites>
"""
    )


def sarif_run(found: Report) -> Any:
    log = json.loads(render(found, "sarif"))
    Draft4Validator(SARIF).validate(log)
    (run,) = log["runs"]
    return run


@pytest.mark.slow
def test_sarif_is_valid_for_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NEGATIVE)
    found = Report(diagnostics=compile_specs([Path()]).diagnostics, version="1.2.3")
    assert len(sarif_run(found)["results"]) > 50
    assert sarif_run(report())["results"] == []
    assert sarif_run(report((BAD, AWKWARD, span(1, 1, 2, AWKWARD), AWKWARD)))["results"]


def test_sarif_contains_the_rules_of_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = (PageCode(name=BAD.name, slug="", severity="error"),)
    page = RulePage(number="TC101", codes=codes, explanation="Remove *it*.\n\nOr rename it.")
    monkeypatch.setattr("toolc.reporters.sarif.rule_pages", lambda: {"TC101": page})
    run = sarif_run(
        report((POOR, "short", span(1, 1, 2), ""), (BAD, "a", span(2, 1, 2), "b"), (BAD, "c", span(3, 1, 2), ""))
    )
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"] == {"name": "toolc", "semanticVersion": "1.2.3", "rules": [
        {
            "id": "TC101", "shortDescription": {"text": BAD.name}, "defaultConfiguration": {"level": "error"},
            "help": {"text": "Remove *it*.\n\nOr rename it.", "markdown": "Remove *it*.\n\nOr rename it."},
        },
        {"id": "TC204", "shortDescription": {"text": POOR.name}, "defaultConfiguration": {"level": "warning"}},
    ]}  # fmt: skip
    rules = [(each["ruleId"], each["ruleIndex"]) for each in run["results"]]
    assert rules == [("TC204", 1), ("TC101", 0), ("TC101", 0)]
    assert run["results"][1]["message"] == {"text": "a\nb"}


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("specs/a.yaml", "specs/a.yaml"),
        ("/work/specs/a.yaml", "specs/a.yaml"),
        ("/elsewhere/a.yaml", "file:///elsewhere/a.yaml"),
        ("../a b.yaml", "../a%20b.yaml"),
        ("a:b#c?é.yaml", "a%3Ab%23c%3F%C3%A9.yaml"),
        ("\udcff.yaml", "%FF.yaml"),
    ],
)
def test_sarif_names_files_by_relative_uris(path: str, uri: str) -> None:
    (result,) = sarif_run(report((BAD, "a", span(1, 1, 2, path), "")))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri}


def fingerprints(*found: tuple[Code, str, Span, str], text: str) -> list[str]:
    return [each["partialFingerprints"]["toolcFinding/v1"] for each in sarif_run(report(*found, text=text))["results"]]


def test_fingerprints_do_not_depend_on_lines_and_messages() -> None:
    before = fingerprints((BAD, "a", span(2, 1, 2), ""), text="one\ntwo: x\n")
    after = fingerprints((BAD, "other", span(4, 5, 6), "hint"), text="zero\n\none\n    two: x\n")
    assert before == after
    assert len(before[0]) == 32


def test_different_findings_have_different_fingerprints() -> None:
    text = "same\nsame\nother\n"
    found = [
        (BAD, "a", span(1, 1, 2), ""),
        (BAD, "a", span(2, 1, 2), ""),
        (POOR, "a", span(2, 1, 2), ""),
        (BAD, "a", span(3, 1, 2), ""),
        (BAD, "a", span(3, 1, 2, "specs/b.yaml"), ""),
    ]
    assert len(set(fingerprints(*found, text=text))) == 5


MANY = 250


@pytest.mark.parametrize("name", FORMATS)
def test_at_most_a_hundred_findings_per_file_errors_first(name: str) -> None:
    many = [(BAD if line > 240 else POOR, f"number {line}", span(line, 1, 2), "") for line in range(1, MANY + 1)]
    rendered = render(report(*many, (POOR, "alone", span(1, 1, 2, "/work/b.yaml"), ""), text="x\n" * MANY), name)
    found = READERS[name](rendered.replace("::notice file=specs/a.yaml::and 150 more findings in this file\n", ""))
    assert [message for *_, message in found] == [
        "alone",
        *(f"number {line}" for line in range(1, 91)),
        *(f"number {line}" for line in range(241, 251)),
    ]
    if name == "json":
        summary = json.loads(rendered)
        assert summary["omitted"] == [{"path": "specs/a.yaml", "findings": 150}]
        assert (summary["errors"], summary["warnings"]) == (10, 241)
    else:
        assert rendered.count("and 150 more findings in this file") == 1
    if name == "text":
        assert rendered.endswith("\n\nspecs/a.yaml: and 150 more findings in this file\n\n10 errors, 241 warnings\n")
    if name == "sarif":
        assert [*Draft4Validator(SARIF).iter_errors(json.loads(rendered))] == []
