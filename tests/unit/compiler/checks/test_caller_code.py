"""Code from arguments (TC401) and arguments without quotes (TC416) in shell commands."""

from pathlib import Path
from typing import Final

import pytest
from check_cases import HEAD, findings, messages, numbers, shell
from project.data_files import load_yaml

from toolc.compiler.fixes.apply import apply_fixes
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import Settings

PARAMETERS: Final = (
    "{x: {type: string}, n: {type: integer}, e: {enum: [a, b]}, items: {type: array, items: {type: string}}}"
)
SCRIPTS: Final = load_yaml("caller-code")


def script(text: str, more: str = "") -> str:
    lines = "".join(f"      {line}\n" for line in text.split("\n"))
    return f"{HEAD}parameters: {PARAMETERS}\nbackend:\n  shell:\n    script: |\n{lines}{more}"


def all_numbers(folder: Path, text: str) -> set[str]:
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    return {each.code.number for each in compile_specs([folder / "tool.yaml"]).diagnostics.sorted()}


@pytest.mark.parametrize("text", SCRIPTS["runs code"])
def test_code_from_an_argument_is_reported_unless_it_is_declared(tmp_path: Path, text: str) -> None:
    assert "TC401" in all_numbers(tmp_path, script(text))
    assert "TC401" not in all_numbers(tmp_path, script(text, "    runs_caller_code: true\n"))


@pytest.mark.parametrize("text", SCRIPTS["runs no code"])
def test_other_uses_of_arguments_are_not_reported(tmp_path: Path, text: str) -> None:
    assert not all_numbers(tmp_path, script(text)) & {"TC015", "TC401", "TC416"}


@pytest.mark.parametrize(
    ("argv", "codes"),
    [
        ('[sh, -c, "echo {{ x }}"]', ["TC401"]), ('[/bin/sh, -euc, "echo {{ x }}"]', ["TC401"]),
        ("[env, A=b, bash, -o, pipefail, -c, \"echo '{{ x }}'\"]", ["TC401"]),
        ('[busybox, ash, -c, "echo {{ x }}"]', ["TC401"]), ('[sh, {when: x, argv: [-c, "echo {{ x }}"]}]', ["TC401"]),
        ('[bash, -c, "{{ x }}"]', ["TC401"]), ('[sh, -c, "echo \\"$1\\"", sh, "{{ x }}"]', []),
        ('[sh, -c, "echo \\"$1\\"", sh, "a {{ x }}"]', []), ('[python3, -c, "print({{ x }})"]', ["TC401"]),
        ('[python3, -c, "import sys; print(sys.argv[1])", "{{ x }}"]', []), ('[grep, -c, "a {{ x }}"]', []),
        ('[sh, -c, "eval \\"$1\\"", sh, "{{ x }}"]', ["TC401"]), ('[awk, "{{ x }}", f]', ["TC401"]),
        ('[node, "--eval={{ x }}"]', ["TC401"]), ('[docker, exec, c, sh, -c, "{{ x }}"]', ["TC401"]),
    ],
)  # fmt: skip
def test_code_from_an_argument_in_argv_is_reported(tmp_path: Path, argv: str, codes: list[str]) -> None:
    assert numbers(tmp_path, "{x: {type: string}}", f"{{argv: {argv}}}") == codes
    assert numbers(tmp_path, "{x: {type: string}}", f"{{argv: {argv}, runs_caller_code: true}}") == []


@pytest.mark.parametrize("argv", ["[bash, -s]", "[python3, '-']", "[node]"])
def test_code_from_an_argument_on_standard_input_is_reported(tmp_path: Path, argv: str) -> None:
    command = f'{{argv: {argv}, stdin: "{{{{ x }}}}"}}'
    assert numbers(tmp_path, "{x: {type: string}}", command) == ["TC401"]


@pytest.mark.parametrize("parameter", ["{type: integer}", "{type: [number, 'null']}", "{enum: [a, b]}", "{const: a}"])
def test_harmless_values_are_not_reported(tmp_path: Path, parameter: str) -> None:
    text = shell(f"{{x: {parameter}}}", "{script: 'sh -c \"echo $ARG_x\" | cat'}")
    assert "TC401" not in all_numbers(tmp_path, text)


def test_message_names_the_form_and_the_declaration(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(script('timeout 5 bash -c "$ARG_x"'), encoding="utf-8")
    (found,) = [each for each in compile_specs([tmp_path / "tool.yaml"]).diagnostics.sorted() if each.is_error]
    assert (found.message, found.span.start.column) == ("'bash -c' runs the value of 'x' as code", 26)
    assert "runs_caller_code: true" in found.hint


def test_code_with_an_inserted_value_names_how_to_read_it(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(script("python3 -c \"print('$ARG_x')\""), encoding="utf-8")
    (found,) = [each for each in compile_specs([tmp_path / "tool.yaml"]).diagnostics.sorted() if each.is_error]
    assert 'os.environ["ARG_x"]' in found.hint


def test_scripts_of_other_interpreters_are_not_read(tmp_path: Path) -> None:
    for interpreter in ("[python3]", "[/usr/bin/env, node]", "[fish]"):
        found = all_numbers(tmp_path, script('eval "$ARG_x" $ARG_x', f"    interpreter: {interpreter}\n"))
        assert not found & {"TC401", "TC416"}
    assert "TC401" in all_numbers(tmp_path, script('eval "$ARG_x"', "    interpreter: [/usr/bin/env, bash, -eu]\n"))


UNQUOTED: Final = ["the value of 'x' is split at spaces, and patterns such as * in it are expanded"]


@pytest.mark.parametrize(
    "text",
    [
        "ls $ARG_x", "ls ${ARG_x}", "ls a$ARG_x", "ls ${ARG_x:-b}", "ls > $ARG_x", "a=($ARG_x)", "ls $(ls $ARG_x)",
        'echo "$(ls $ARG_x)"', "env A=$ARG_x ls", "[ $ARG_x = a ]", "for a in $ARG_x; do ls; done", "set -- $ARG_x",
        "sh -c 'ls $ARG_x'", "case a in a) ls $ARG_x;; esac", "cat <<E\n$(ls $ARG_x)\nE", "ls `ls $ARG_x`",
    ],
)  # fmt: skip
def test_arguments_without_quotes_are_reported(tmp_path: Path, text: str) -> None:
    assert messages(tmp_path, "TC416", script(text)) == UNQUOTED


def test_a_value_that_is_the_command_is_not_reported_as_unquoted(tmp_path: Path) -> None:
    text = (
        f"{HEAD}parameters: {{x: {{type: boolean}}}}\nbackend:\n  shell: {{script: 'if $ARG_x; then ls | cat; fi'}}\n"
    )
    assert findings(tmp_path, "TC416", text) == []


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ("script: ls -- $ARG_x | cat", 'script: ls -- "$ARG_x" | cat'),
        ("script: ls --a=$ARG_x ${ARG_x} | cat", 'script: ls --a="$ARG_x" "${ARG_x}" | cat'),
        ('script: "ls $ARG_x | cat"', 'script: "ls \\"$ARG_x\\" | cat"'),
        ("script: 'ls $ARG_x | cat'", "script: 'ls \"$ARG_x\" | cat'"),
        ("script: >-\n      ls\n      $ARG_x | cat", 'script: >-\n      ls\n      "$ARG_x" | cat'),
        (
            "script: |\n      a='$ARG_x'\n      ls $ARG_x$a | cat",
            "script: |\n      a='$ARG_x'\n      ls \"$ARG_x\"$a | cat",
        ),
    ],
)
def test_fix_adds_quotes(tmp_path: Path, written: str, fixed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"{HEAD}parameters: {{x: {{type: string}}}}\nbackend:\n  shell:\n    %s\n"
    Path("tool.yaml").write_text(text % written, encoding="utf-8")
    (file,) = apply_fixes([Path("tool.yaml")], Settings(), unsafe=True)
    assert file.after.decode() == text % fixed
