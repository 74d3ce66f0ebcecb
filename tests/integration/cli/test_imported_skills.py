"""Scripts of Agent Skills run in a sandbox after an import, and the lines of an exported skill work in a shell."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli.command_line import toolc
from cli.skills import SKILLS, WORDS, WORKSPACE

from toolc.client.executor import Executor
from toolc.client.registry import Registry

pytestmark = pytest.mark.needs_engine


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", SKILLS)
def test_scripts_of_a_skill_run_in_a_sandbox(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    skill = SKILLS[name]
    write(Path("specs", name), skill.files)
    write(Path(), WORKSPACE)
    imported = toolc("import", "skill", f"specs/{name}")
    assert imported.exit_code == 0, imported.stderr
    assert re.findall(r"left out (\S+):", imported.stderr) == [*skill.left_out]
    assert toolc("check", "specs").exit_code == 0
    registry = Registry.load("specs")
    assert set(registry.names) == {*skill.calls}
    with Executor(registry, workspace=".") as executor:
        for tool, (arguments, text) in skill.calls.items():
            result = executor.run(tool, arguments)
            assert result.text == text, result
        assert all(
            executor.run(tool, {"command_line": ["missing"]}).is_error or name == "slugs" for tool in skill.calls
        )


def test_the_lines_of_an_exported_skill_call_its_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("specs/word-tools"), WORDS.files)
    write(Path(), WORKSPACE)
    assert toolc("import", "skill", "specs/word-tools").exit_code == 0
    exported = toolc("export", "skill", "specs", "--out", "skills/our-words")
    assert (exported.exit_code, exported.stdout) == (0, "wrote skills/our-words/SKILL.md with 3 tools\n")
    text = Path("skills/our-words/SKILL.md").read_text(encoding="utf-8")
    lines = re.findall(r"(?m)^toolc run .*", text)
    assert lines == [
        "toolc run specs#word_tools_count --arg file=...",
        "toolc run specs#word_tools_lines",
        "toolc run specs#word_tools_show",
    ]
    lines = [line.partition(" --arg")[0] for line in lines]
    assert f'allowed-tools: "{" ".join(f"Bash({line}:*)" for line in lines)}"\n' in text
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for line, (arguments, output) in zip(lines, WORDS.calls.values(), strict=True):
        texts = {name: each if isinstance(each, str) else json.dumps(each) for name, each in arguments.items()}
        command = " ".join([line, *(f"--arg {shlex.quote(f'{name}={text}')}" for name, text in texts.items())])
        ran = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stdout) == (0, output), ran.stderr
