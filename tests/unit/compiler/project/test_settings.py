"""Settings of the project file and of the command line."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from compiling.project_cases import TOOL, compiled, lines, write

from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import Settings, invalid_code, severity_of
from toolc.model import codes
from toolc.model.diagnostics import Severity

OFF, WARNING, ERROR = None, Severity.WARNING, Severity.ERROR


def ignore(*prefixes: str) -> Settings:
    return Settings(ignore=prefixes)


def select(*prefixes: str) -> Settings:
    return Settings(select=prefixes)


def severity(code: str, level: Severity | None) -> Settings:
    return Settings(severity={code: level})


@pytest.mark.parametrize(
    ("layers", "description", "label"),
    [
        ([], WARNING, OFF),
        ([ignore("TC204")], OFF, OFF),
        ([ignore("TC2")], OFF, OFF),
        ([ignore("TC3")], WARNING, OFF),
        ([select("TC208")], OFF, WARNING),
        ([select("TC2")], WARNING, WARNING),
        ([Settings(select=("TC2",), ignore=("TC204",))], OFF, WARNING),
        ([Settings(select=("TC204",), ignore=("TC2",))], WARNING, OFF),
        ([Settings(select=("TC204",), ignore=("TC204",))], OFF, OFF),
        ([severity("TC204", ERROR)], ERROR, OFF),
        ([severity("TC2", ERROR)], ERROR, ERROR),
        ([severity("TC208", WARNING)], WARNING, WARNING),
        ([severity("TC204", None)], OFF, OFF),
        ([Settings(severity={"TC2": None, "TC204": ERROR})], ERROR, OFF),
        ([Settings(select=("TC3",), severity={"TC208": WARNING})], OFF, WARNING),
        ([Settings(ignore=("TC204",), severity={"TC204": ERROR})], OFF, OFF),
        # The command line comes after the project file.
        ([ignore("TC204"), select("TC204")], WARNING, OFF),
        ([select("TC204"), ignore("TC204")], OFF, OFF),
        ([severity("TC204", ERROR), select("TC2")], ERROR, WARNING),
        ([severity("TC204", ERROR), ignore("TC2")], OFF, OFF),
        ([severity("TC204", ERROR), Settings()], ERROR, OFF),
    ],
)
def test_the_longest_prefix_applies(
    layers: Sequence[Settings], description: Severity | None, label: Severity | None
) -> None:
    """Use TC204, which is on by default, and TC208, which is off."""
    assert severity_of(codes.DESCRIPTION, layers) is description
    assert severity_of(codes.LABEL, layers) is label
    assert severity_of(codes.UNKNOWN_KEY, layers) is ERROR


@pytest.mark.parametrize(
    ("text", "turns_off", "message", "hint"),
    [
        ("TC204", True, "", ""), ("TC2", True, "", ""), ("TC", True, "", ""), ("TC406", True, "", ""),
        ("TC101", False, "", ""),
        ("TC101", True, "TC101 is an error that prevents compilation and cannot be ignored", "fix what it reports"),
        ("TC70", True, "", ""), ("tc204", False, "there is no code 'tc204'", "did you mean 'TC204'?"),
        ("tc4", False, "there is no code 'tc4'", "did you mean 'TC4'?"),
        ("TC2044", False, "there is no code 'TC2044'", "did you mean 'TC204'?"), ("TC9", False, "", ""),
        ("", False, "there is no code ''", "a code has the form TC204; TC2 means all codes that start with it"),
        ("TC209", False, "TC209 is no longer a check", "remove it"), ("TC209", True, "", ""),
    ],
)  # fmt: skip
def test_invalid_codes_in_settings_are_rejected(text: str, turns_off: bool, message: str, hint: str) -> None:
    found = invalid_code(text, turns_off=turns_off)
    assert (found.message, found.hint) == (message, hint) if found else not message


SHORT = TOOL.replace("Say hello to the whole world.", "Say hello.")
FOUND = "specs/hello.yaml:3:14 {} TC204 a description of 10 characters is too short for a model"


@pytest.mark.usefixtures("own_folder")
def test_a_warning_raised_to_an_error_prevents_compilation() -> None:
    compilation = compiled("lint: {severity: {TC204: error}}\n", SHORT)
    assert lines(compilation) == [FOUND.format("error")]
    assert compilation.diagnostics.has_errors
    assert compilation.diagnostics.source("specs/hello.yaml")


@pytest.mark.usefixtures("own_folder")
def test_settings_of_the_caller_override_the_project() -> None:
    project = "lint: {ignore: [TC204]}\n"
    assert lines(compiled(project, SHORT)) == []
    assert lines(compiled(project, SHORT, select("TC204"))) == [FOUND.format("warning")]


@pytest.mark.usefixtures("own_folder")
def test_findings_about_a_python_file_have_the_settings_of_its_project() -> None:
    tool = TOOL.replace("{shell: {argv: [echo, hello]}}", "{python: {file: a.py}}")
    write(toolc="lint: {ignore: [TC4]}\n", specs__a=tool)
    Path("specs/a.py").write_text("def hello(x): ...\n", encoding="utf-8")
    assert lines(compile_specs([Path("specs")])) == [
        "specs/a.py:1:11 error TC411 the function requires 'x', but the tool has no such parameter"
    ]
