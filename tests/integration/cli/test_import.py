"""``toolc import plugin``: the spec of a plugin from its own description."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.cli_engines import engines

PLUGIN = """\
import json, os, sys
DEFINITION = {"name": "stats", "description": "Compute the mean of some numbers, and nothing else.", "parameters": {
    "type": "object",
    "properties": {"numbers": {"type": "array", "items": {"type": "number"}, "description": "List of values"}},
    "required": ["numbers"]}}
for line in sys.stdin:
    request = json.loads(line)
    answer = DEFINITION
    if request["type"] == "call":
        numbers = request["params"]["numbers"]
        answer = {"content": [{"type": "text", "text": str(sum(numbers) / len(numbers))}], "error": False}
    print(json.dumps(answer), flush=True)
"""
SPEC = """\
# yaml-language-server: $schema=../.toolc-schema.json
toolc: 1
name: stats
description: "Compute the mean of some numbers, and nothing else."
parameters:
  type: object
  properties:
    numbers: {type: array, items: {type: number}, description: List of values}
  required: [numbers]
backend: {plugin: {command: [python3, tool.py], files: [tool.py]}}
sandbox: {lifetime: session}
"""


def toolc(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolc", *arguments],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tool.py").write_text(PLUGIN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("engine", engines())
def test_import_writes_a_working_spec(folder: Path, engine: str) -> None:
    result = toolc(folder, "import", "plugin", "--engine", engine, "--", "python3", "tool.py")
    assert (result.returncode, result.stdout, result.stderr) == (0, "wrote stats.yaml: stats\n", "")
    assert (folder / "stats.yaml").read_text(encoding="utf-8") == SPEC
    ran = toolc(folder, "run", "stats.yaml", "--engine", engine, "--arg", "numbers=[1, 2, 6]")
    assert (ran.returncode, ran.stdout) == (0, "3.0\n")


@pytest.mark.slow
def test_import_prints_the_written_tools(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "toolc.yaml").write_text("builtin: [calculator]\n", encoding="utf-8")
    result = toolc(folder, "import", "plugin", "--", "python3", "tool.py")
    assert (result.returncode, result.stdout, result.stderr) == (0, "wrote stats.yaml: stats\n", "")


@pytest.mark.slow
def test_plugin_is_queried_in_a_sandbox(folder: Path) -> None:
    sign = folder / "sign"
    (folder / "tool.py").write_text(f"open({str(sign)!r}, 'w').close()\n{PLUGIN}", encoding="utf-8")
    result = toolc(folder, "import", "plugin", "--", "python3", "tool.py")
    assert not sign.exists()
    assert result.returncode == 2
    assert "No such file or directory" in result.stderr


@pytest.mark.slow
def test_existing_spec_is_not_replaced(folder: Path) -> None:
    (folder / "stats.yaml").write_text("mine", encoding="utf-8")
    for out in ((), ("--out", "stats.yaml")):
        result = toolc(folder, "import", "plugin", *out, "--", "python3", "tool.py")
        assert result.returncode == 2
        message = "toolc: stats.yaml already exists; choose another file with --out, or replace it with --force\n"
        assert result.stderr == message
    assert (folder / "stats.yaml").read_text(encoding="utf-8") == "mine"
    assert toolc(folder, "import", "plugin", "--force", "--", "python3", "tool.py").returncode == 0
    assert (folder / "stats.yaml").read_text(encoding="utf-8") == SPEC


def test_another_import_keeps_edits_and_follows_the_description(folder: Path) -> None:
    command = ("import", "plugin", "--", "python3", "tool.py")
    spec = folder / "stats.yaml"
    assert toolc(folder, *command).returncode == 0
    spec.write_text(SPEC.replace("lifetime: session", "lifetime: call") + "owner: me  # all of us\n", encoding="utf-8")
    plugin = PLUGIN.replace("List of values", "The values").replace("of some numbers", "of numbers")
    (folder / "tool.py").write_text(plugin, encoding="utf-8")
    checked = toolc(folder, "import", "plugin", "--check", "--", "python3", "tool.py")
    assert (checked.returncode, checked.stdout) == (1, "stats.yaml: the source has changed\n")
    assert toolc(folder, *command).returncode == 0
    text = spec.read_text(encoding="utf-8")
    assert "lifetime: call" in text
    assert text.endswith("owner: me  # all of us\n")
    assert 'description: "Compute the mean of numbers, and nothing else."' in text
    assert "description: The values" in text

    (folder / "tool.py").write_text(plugin.replace("of numbers", "of all numbers"), encoding="utf-8")
    spec.write_text(text.replace("mean of numbers", "median"), encoding="utf-8")
    conflict = toolc(folder, *command)
    assert conflict.returncode == 1
    assert 'stats.yaml: description: the file has "Compute the median, and nothing else."' in conflict.stderr
    assert toolc(folder, "import", "plugin", "--keep", "--", "python3", "tool.py").returncode == 0
    assert "Compute the median, and nothing else." in spec.read_text(encoding="utf-8")


NOT = "did not send a valid description"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "message"),
    [
        (["nosuch"], f"nosuch {NOT}: command not found: nosuch"),
        (["echo", "hello"], f"echo hello {NOT}: the plugin violated the protocol: this line is .*"),
        (["sh", "-c", "echo boom >&2; sleep 0.3; echo hi"], f".* {NOT}: .*: 'hi'; .*\n\\[stderr\\]\nboom"),
        (["sh", "-c", "exit 3"], f"sh -c 'exit 3' {NOT}: the plugin's process ended with exit status 3 before .*"),
        (["sleep", "1000"], f"sleep 1000 {NOT}: the call did not finish within 1 s and was stopped; .*"),
    ],
    ids=["nothing", "junk", "junk and a log", "ends", "hangs"],
)  # fmt: skip
def test_invalid_plugin_writes_nothing(folder: Path, part: list[str], message: str) -> None:
    limit = "1s" if part[0] == "sleep" else "100s"
    result = toolc(folder, "import", "plugin", "--timeout", limit, "--", *part)
    assert result.returncode == 2
    assert re.fullmatch(f"toolc: {message}\n", result.stderr)
    assert [each.name for each in folder.iterdir()] == ["tool.py"]


def test_files_must_be_next_to_the_spec(folder: Path) -> None:
    (folder / "specs").mkdir()
    result = toolc(folder, "import", "plugin", "--out", "specs/stats.yaml", "--", "python3", "./tool.py")
    assert result.returncode == 2
    assert result.stderr == (
        "toolc: tool.py is not in specs, the folder of the spec, and the files of a tool must be next to its spec; "
        "use --out tool.yaml, and write the command relative to that folder\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--file", "*.txt"], "no file matches '*.txt' in the current folder"),
        (["--env", "A"], "'A' is not a variable; write it as NAME=VALUE"),
        (["--env", "A-B=1"], "'A-B' cannot be the name of a variable"),
    ],
)
def test_options_are_validated_before_the_start(folder: Path, options: list[str], message: str) -> None:
    result = toolc(folder, "import", "plugin", *options, "--", "python3", "tool.py")
    assert result.returncode == 2
    assert message in result.stderr
    assert [each.name for each in folder.iterdir()] == ["tool.py"]


@pytest.mark.slow
def test_invalid_description_is_written_and_reported(folder: Path) -> None:
    text = PLUGIN.replace('"numbers": {', '"args": {').replace('["numbers"]', '["args"]')
    (folder / "tool.py").write_text(text, encoding="utf-8")
    result = toolc(folder, "import", "plugin", "--", "python3", "tool.py")
    assert result.returncode == 1
    assert "stats.yaml:8:5: error TC201: 'args' cannot be a parameter's name" in result.stderr
    assert result.stderr.endswith("toolc: wrote stats.yaml, which has errors; fix them in the spec or in the plugin\n")
