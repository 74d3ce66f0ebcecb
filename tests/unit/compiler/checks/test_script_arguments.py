"""Arguments of shell scripts that may be absent (TC406): the script would stop with 'parameter not set'."""

from pathlib import Path

import pytest
from check_cases import HEAD

from toolc.compiler.fixes.apply import apply_fixes
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import Settings

PARAMETERS = "parameters: {path: {type: string, optional: true}, size: {type: integer, default: 1}}\n"


def spec(script: str, more: str = "") -> str:
    lines = "".join(f"      {line}\n" for line in script.split("\n"))
    return f"{HEAD}{PARAMETERS}backend:\n  shell:\n{more}    script: |\n{lines}"


def absent(folder: Path, text: str) -> list[str]:
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    found = compile_specs([folder / "tool.yaml"]).diagnostics.sorted()
    return [each.hint for each in found if each.is_error and "may be absent" in each.message]


@pytest.mark.parametrize("script", ['ls "$ARG_path"', 'ls "${ARG_path}" "$ARG_size"', 'date\nls "$ARG_path" | wc'])
def test_an_optional_argument_that_stops_the_script_is_an_error_with_a_fix(tmp_path: Path, script: str) -> None:
    hint = "write ${ARG_path:-}, which is then empty, or make the parameter required or give it a default"
    assert absent(tmp_path, spec(script)) == [hint]
    path = tmp_path / "tool.yaml"
    after = next(iter(apply_fixes([path], Settings(), unsafe=True))).after.decode()
    assert absent(tmp_path, after) == []
    assert "${ARG_path:-}" in after


@pytest.mark.parametrize(
    "script",
    [
        'ls "${ARG_path:-.}"', 'ls "${ARG_path-}"', 'if [ -n "${ARG_path:-}" ]; then ls "$ARG_path"; fi',
        'test -n "$ARG_size" && ls "$ARG_path"', ': "${ARG_path:=.}"\nls "$ARG_path"', "set +u\nls $ARG_path",
        'case $ARG_size in 1) ls "$ARG_path" ;; esac', "ls '$ARG_path'", 'ls "$ARG_size"', 'ARG_path=.\nls "$ARG_path"',
    ],
)  # fmt: skip
def test_a_script_that_handles_an_absent_argument_has_no_finding(tmp_path: Path, script: str) -> None:
    assert absent(tmp_path, spec(script)) == []


def test_an_interpreter_without_the_option_u_has_no_finding(tmp_path: Path) -> None:
    assert absent(tmp_path, spec('ls "$ARG_path"', "    interpreter: [/bin/bash, -e]\n")) == []
