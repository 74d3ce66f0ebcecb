"""``--select``, ``--ignore``, the project's ``out`` and ``show --effective`` on the command line."""

import json
from pathlib import Path

import pytest
from command_line import run

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
        ([], ["TC204"]), (["--ignore", "TC204"], []), (["--ignore", "TC3, TC2"], []),
        (["--select", "TC208"], ["TC208"]), (["--select", "TC208,TC204"], ["TC208", "TC204"]),
        (["--select", "TC2", "--ignore", "TC204"], ["TC208"]),
        (["--select", "TC208", "--select", "TC204"], ["TC208", "TC204"]),
    ],
)  # fmt: skip
def test_codes_are_selected_and_ignored(
    options: list[str], found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check", "specs", *options) == 0
    assert numbers(capsys.readouterr().out) == found
    assert run("build", "specs", *options) == 0
    assert numbers(capsys.readouterr().err) == found


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
def test_unknown_codes_are_a_usage_error(options: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "specs", *options) == 2
    assert capsys.readouterr() == ("", f"toolc: {expected}\n")


def test_strict_treats_warnings_as_errors() -> None:
    assert run("check", "specs", "--strict") == 1
    assert run("check", "specs", "--strict", "--ignore", "TC204") == 0


def test_build_uses_the_out_folder_of_the_project(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("toolc.yaml").write_text("out: made/tools\n", encoding="utf-8")
    monkeypatch.chdir("specs")
    assert run("build", ".") == 0
    assert capsys.readouterr().out == "built 1 tool for 9 providers into ../made/tools\n"
    assert Path("../made/tools/registry.json").is_file()
    assert run("build", ".", "--out", "../other") == 0
    assert Path("../other/registry.json").is_file()


def test_effective_values_have_an_origin(capsys: pytest.CaptureFixture[str]) -> None:
    Path("toolc.yaml").write_text("defaults: {sandbox: {limits: {timeout: 5s}}}\n", encoding="utf-8")
    for target in (["hello"], ["hello", "specs"], ["specs"], ["specs/hello.yaml#hello"]):
        assert run("show", *target, "--effective") == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[:4] == [
            'name                              "hello"            specs/hello.yaml:2:7',
            'description                       "Say hello."       specs/hello.yaml:3:14',
            'backend.shell.argv                ["echo", "hello"]  specs/hello.yaml:4:25',
            'sandbox.limits.timeout            "5s"               toolc.yaml:1:40 (defaults)',
        ]
        assert 'sandbox.limits.memory             "256MiB"           format 1 default' in lines
    assert run("show", "hello", "--effective", "--json") == 0
    assert json.loads(capsys.readouterr().out)[3] == {
        "key": "sandbox.limits.timeout",
        "value": "5s",
        "origin": "toolc.yaml:1:40 (defaults)",
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["helo", "--effective"], "there is no tool 'helo' in .; did you mean 'hello'?"),
        (["x", "specs", "--effective"], "there is no tool 'x' in specs; the tools are 'hello'"),
        (
            ["hello", "specs"],
            "--effective reads specs and cannot be used with --registry or --builtin; PATHS need --effective or --as; ",
        ),
        (
            ["hello", "--effective", "--registry", "r"],
            "--effective reads specs and cannot be used with --registry or --builtin; ",
        ),
    ],
)
def test_invalid_show_arguments(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", *arguments) == 2
    assert f"toolc: {expected}" in capsys.readouterr().err


def test_specs_with_errors_have_no_effective_values(capsys: pytest.CaptureFixture[str]) -> None:
    Path("specs/hello.yaml").write_text(SHORT + "extra: 1\n", encoding="utf-8")
    assert run("show", "hello", "--effective") == 2
    assert "specs/hello.yaml:5:1: error TC101" in capsys.readouterr().err
