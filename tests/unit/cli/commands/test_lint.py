"""``--select``, ``--ignore``, the project's ``out`` and ``show --effective`` on the command line."""

import json
from pathlib import Path

import pytest
from cli.command_line import toolc

SHORT = """\
toolc: 1
name: hello
description: Say hello.
backend: {shell: {argv: [echo, hello]}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (".git", "specs"):
        (tmp_path / name).mkdir()
    Path("specs/hello.yaml").write_text(SHORT, encoding="utf-8")


def numbers(output: str) -> list[str]:
    """The numbers of the findings in a command's output."""
    return [line.split()[2].rstrip(":") for line in output.splitlines() if line.startswith("specs/")]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], ["TC204"]), (["--ignore", "TC204"], []), (["--ignore", "TC209"], ["TC204"]),
        (["--ignore", "TC3, TC2"], []),
        (["--select", "TC208"], ["TC208"]), (["--select", "TC208,TC204"], ["TC208", "TC204"]),
        (["--select", "TC2", "--ignore", "TC204"], ["TC208"]),
        (["--select", "TC208", "--select", "TC204"], ["TC208", "TC204"]),
    ],
)  # fmt: skip
def test_codes_are_selected_and_ignored(options: list[str], found: list[str]) -> None:
    checked, built = toolc("check", "specs", *options), toolc("build", "specs", *options)
    assert (checked.exit_code, numbers(checked.stdout)) == (0, found)
    assert (built.exit_code, numbers(built.stderr)) == (0, found)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--select", "TC2044"], "--select: there is no code 'TC2044'; did you mean 'TC204'?"),
        (
            ["--ignore", "TC101"],
            ("--ignore: TC101 is an error that prevents compilation and cannot be ignored; fix what it reports"),
        ),
    ],
)
def test_unknown_codes_are_a_usage_error(options: list[str], expected: str) -> None:
    assert toolc("check", "specs", *options) == (2, "", f"toolc: {expected}\n")


def test_strict_treats_warnings_as_errors() -> None:
    assert toolc("check", "specs", "--strict").exit_code == 1
    assert toolc("check", "specs", "--strict", "--ignore", "TC204").exit_code == 0


def test_build_uses_the_out_folder_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("toolc.yaml").write_text("out: made/tools\n", encoding="utf-8")
    monkeypatch.chdir("specs")
    assert toolc("build", ".")[:2] == (0, "built 1 tool for 9 providers into ../made/tools\n")
    assert Path("../made/tools/registry.json").is_file()
    assert toolc("build", ".", "--out", "../other").exit_code == 0
    assert Path("../other/registry.json").is_file()


def test_effective_values_have_an_origin() -> None:
    Path("toolc.yaml").write_text("defaults: {sandbox: {limits: {timeout: 5s}}}\n", encoding="utf-8")
    for target in (["hello"], ["hello", "specs"], ["specs"], ["specs/hello.yaml#hello"]):
        lines = toolc("show", *target, "--effective").stdout.splitlines()
        assert lines[:4] == [
            'name                              "hello"            specs/hello.yaml:2:7',
            'description                       "Say hello."       specs/hello.yaml:3:14',
            'backend.shell.argv                ["echo", "hello"]  specs/hello.yaml:4:25',
            'sandbox.limits.timeout            "5s"               toolc.yaml:1:40 (defaults)',
        ]
        assert 'sandbox.limits.memory             "256MiB"           format 1 default' in lines
    timeout = json.loads(toolc("show", "hello", "--effective", "--json").stdout)[3]
    assert timeout == {"key": "sandbox.limits.timeout", "value": "5s", "origin": "toolc.yaml:1:40 (defaults)"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["helo", "--effective"], "there is no tool 'helo' in .; did you mean 'hello'?"),
        (["x", "specs", "--effective"], "there is no tool 'x' in specs; the tools are 'hello'"),
        (
            ["hello", "specs"],
            "--effective reads specs and cannot be used with --registry or --builtin, and PATHS need --effective or ",
        ),
        (
            ["hello", "--effective", "--registry", "r"],
            "--effective reads specs and cannot be used with --registry or --builtin, ",
        ),
    ],
)
def test_invalid_show_arguments(arguments: list[str], expected: str) -> None:
    found = toolc("show", *arguments)
    assert (found.exit_code, f"toolc: {expected}" in found.stderr) == (2, True)


def test_specs_with_errors_have_no_effective_values() -> None:
    Path("specs/hello.yaml").write_text(SHORT + "extra: 1\n", encoding="utf-8")
    found = toolc("show", "hello", "--effective")
    assert (found.exit_code, "specs/hello.yaml:5:1: error TC101" in found.stderr) == (2, True)
