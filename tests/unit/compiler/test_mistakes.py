"""The messages about common mistakes, in a golden file, and the same findings in every format."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from compiling.places import problem_of
from compiling.project_cases import expected
from mistakes import files

from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.diagnostics import Diagnostics
from toolc.reporters import FORMATS, render
from toolc.reporters.report_input import Report
from toolc.reporters.text import printable

FILES = files()
HEADLINE = re.compile(r"[^\n:]+:(\d+):(\d+): (?:error|warning) (TC\d+): (.*)")


pytestmark = pytest.mark.usefixtures("own_folder")


def found_in(name: str) -> Diagnostics:
    Path(name).write_bytes(FILES[name])
    return compile_specs([Path(name)]).diagnostics


def rendered(diagnostics: Diagnostics, name: str) -> str:
    return render(Report(diagnostics=diagnostics, version="0"), name)


def test_messages_match_the_golden_file(golden: bool) -> None:
    found = {name: rendered(found_in(name), "text") for name in FILES}
    text = "\n".join(f"--- {name}\n{each or 'no findings'}" for name, each in found.items())
    assert text == expected("compiler/mistakes", text, golden=golden)


@pytest.mark.parametrize("name", FILES)
def test_findings_are_at_tokens(name: str) -> None:
    diagnostics = found_in(name)
    assert {problem_of(each, diagnostics.source(each.span.path)) for each in diagnostics.sorted()} <= {""}


@pytest.mark.parametrize("name", FILES)
def test_formats_have_the_same_findings(name: str) -> None:
    diagnostics = found_in(name)
    found = [
        (each.span.start.line, each.span.start.column, each.code.number, printable(each.message))
        for each in diagnostics.sorted()
    ]
    outputs = {each: rendered(diagnostics, each) for each in FORMATS}
    assert [
        (int(line), int(column), code, message) for line, column, code, message in HEADLINE.findall(outputs["text"])
    ] == [(line, max(column, 1), *rest) for line, column, *rest in found]
    assert [
        (each["line"], each["column"], each["code"], printable(each["message"]))
        for each in json.loads(outputs["json"])["findings"]
    ] == found
    assert [
        (region["startLine"], region["startColumn"], each["ruleId"], printable(first_line))
        for each in json.loads(outputs["sarif"])["runs"][0]["results"]
        for region in [each["locations"][0]["physicalLocation"]["region"]]
        for first_line in [each["message"]["text"].split("\n")[0]]
    ] == found
    assert [
        (f"{each.get('name')}", failure.get("message"))
        for each in ElementTree.fromstring(outputs["junit"]).iter("testcase")
        for failure in each.iter("failure")
    ] == [(f"{code} {line}:{column}", message) for line, column, code, message in found]
    assert [
        (int(line), code, message.replace("%25", "%"))
        for line, code, message in re.findall(r"line=(\d+),title=(TC\d+)::(.*?)(?:%0A|\n)", outputs["github"])
    ] == [(line, code, message) for line, _, code, message in found]
