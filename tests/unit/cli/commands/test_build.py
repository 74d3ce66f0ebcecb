"""``toolc build`` and ``toolc check``: files, messages and exit codes."""

import json
from pathlib import Path

import pytest

from toolc.cli.main import main

GOOD = """\
toolc: 1
name: hello
description: Greet one person by name, for tests of toolc itself and for nothing else.
parameters:
  name: {type: string, description: Whom to greet}
backend: {shell: {argv: [echo, "{{ name }}"]}}
"""
WARNED = GOOD.replace(
    "description: Greet one person by name, for tests of toolc itself and for nothing else.\n", ""
).replace("[echo, ", "[echo, --, ")
BAD = "toolc: 1\nname: bad\ndescription: A tool that has no backend, and so is none at all.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    return tmp_path


def write(name: str, text: str) -> None:
    Path("specs", name).write_text(text, encoding="utf-8")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert isinstance(raised.value.code, int)
    return raised.value.code


def test_a_build_writes_the_registry_and_every_provider(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", GOOD.replace("[echo, ", "[echo, --, "))
    assert run("build", "specs", "--out", "out") == 0
    assert capsys.readouterr() == ("built 1 tool for 5 providers into out\n", "")
    written = {str(path.relative_to("out")) for path in Path("out").rglob("*.json")}
    assert written == {
        "registry.json",
        "loss.json",
        "providers/anthropic.json",
        "providers/gemini.json",
        "providers/mcp.json",
        "providers/openai_chat.json",
        "providers/openai_responses.json",
    }
    assert json.loads(Path("out/registry.json").read_bytes())["tools"][0]["name"] == "hello"


def test_error_leaves_the_output_folder_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", GOOD)
    assert run("build", "specs") == 0
    before = Path("build/registry.json").read_bytes()
    write("bad.yaml", BAD)
    capsys.readouterr()
    assert run("build", "specs") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "specs/bad.yaml:1:1: error TC102: " in err
    assert "1 error" in err
    assert Path("build/registry.json").read_bytes() == before


def test_warnings_are_errors_with_strict(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", WARNED)
    assert run("check", "specs") == 0
    assert run("check", "specs", "--strict") == 1
    assert run("build", "specs", "--strict") == 1
    assert not Path("build").exists()
    assert "toolc: nothing was written: --strict treats warnings as errors\n" in capsys.readouterr().err
    assert run("build", "specs") == 0


def test_check_prints_findings_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    write("hello.yaml", GOOD.replace("[echo, ", "[echo, --, "))
    assert run("check", "specs") == 0
    assert capsys.readouterr() == ("1 tool: no errors\n", "")
    write("bad.yaml", BAD)
    assert run("check", "specs") == 1
    out, err = capsys.readouterr()
    assert "specs/bad.yaml:1:1: error TC102: " in out
    assert err == ""
    assert [path.name for path in Path().iterdir()] == ["specs"]


@pytest.mark.parametrize("command", ["build", "check", "test"])
@pytest.mark.parametrize(("path", "expected"), [("nope", "nope: no such file or folder"), ("specs", "no specs found")])
def test_invalid_paths_are_exit_code_2(
    command: str, path: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, path) == 2
    assert expected in capsys.readouterr().err


def test_a_file_that_is_not_utf8_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    Path("specs/latin.yaml").write_bytes(b"toolc: 1\nname: caf\xe9\n")
    assert run("check", "specs") == 1
    assert "specs/latin.yaml:2:10: error TC013: " in capsys.readouterr().out
