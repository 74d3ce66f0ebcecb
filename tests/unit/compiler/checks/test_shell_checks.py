"""Checks of shell commands: TC402 (scripts with one command) and TC403 (arguments read as options)."""

from pathlib import Path

import pytest
from check_cases import findings, numbers, shell

from toolc.compiler.pipeline.compile import compile_specs

PARAMETERS = "{x: {type: string}, y: {type: string, optional: true}}"


def spec(script: str, more: str = "") -> str:
    body = "\n".join(f"      {line}" for line in script.split("\n"))
    return shell(PARAMETERS, f"\n    script: |\n{body}\n{more}")


@pytest.mark.parametrize(
    "script",
    [
        'wc -l "$ARG_x"', 'exec wc -l "${ARG_x}"', "# counts\n\nwc -l a.txt", "grep -c 'two words' a.txt",
        'echo "a $ARG_x b"', "/usr/bin/env A=b true",
    ],
)  # fmt: skip
def test_one_command_needs_no_shell(tmp_path: Path, script: str) -> None:
    assert len(findings(tmp_path, "TC402", spec(script))) == 1


@pytest.mark.parametrize(
    "script",
    [
        "wc -l $ARG_x", 'wc -l "${ARG_y:-}"', 'wc -l "$HOME"', 'wc -l "$(pwd)"', "wc -l *.txt", "wc -l ~/a",
        "wc -l a | cat", "wc -l a > b", "wc -l a; ls", "wc -l a\nls", "wc -l a && ls", "A=b wc -l a", 'cd "$ARG_x"',
        "set -x", "if true", "read -r line", "exit 1", "test -f a", ". ./vars",
        "bash -c 'wc -l'", "echo 'a $HOME'", "echo '{{ .Names }}'", "echo a\\ b", "echo 'open",
    ],
)  # fmt: skip
def test_scripts_that_need_a_shell_are_not_reported(tmp_path: Path, script: str) -> None:
    assert findings(tmp_path, "TC402", spec(script)) == []


def test_other_interpreters_are_not_checked(tmp_path: Path) -> None:
    assert findings(tmp_path, "TC402", spec("print", "    interpreter: [python3]")) == []


def test_script_files_are_not_checked(tmp_path: Path) -> None:
    (tmp_path / "count.sh").write_text('wc -l "$ARG_x"\n', encoding="utf-8")
    assert findings(tmp_path, "TC402", shell("{x: {type: string}}", "{file: count.sh}")) == []


def test_finding_is_at_the_command_with_the_equivalent_argv(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(spec("# counts\nexec wc -l \"$ARG_x\" 'two words' 1.10"), encoding="utf-8")
    (found,) = (
        each for each in compile_specs([tmp_path / "tool.yaml"]).diagnostics.sorted() if each.code.number == "TC402"
    )
    assert (found.span.start.line, found.span.start.column) == (9, 7)
    assert found.hint == (
        'write argv: [wc, -l, "{{ x }}", "two words", "1.10"] (an argument that may start with \'-\' needs \'--\' '
        "before it)"
    )


@pytest.mark.parametrize(
    ("schema", "shell", "codes"),
    [
        ("{type: string, default: -n}", '{argv: [a, "{{ x }}"]}', ["TC403"]),
        ("{const: -n}", '{argv: [a, "{{ x }}"]}', ["TC403"]),
        ("{type: integer, minimum: -5}", '{argv: [a, "{{ x }}"]}', ["TC403"]),
        ("{type: array, items: {enum: [-n, b]}}", '{argv: [a, "{{ x }}"]}', ["TC403"]),
        ("{enum: [-n]}", '{argv: [a, {when: x, argv: ["{{ x }}"]}]}', ["TC403"]),
        ("{enum: [-n]}", '{argv: [a, "{{ x }}"], allow_dash: [x]}', []),
        ("{enum: [-n]}", '{argv: [a, --, "{{ x }}"]}', []),
        ("{enum: [-n]}", '{argv: [a, {when: x, argv: [--, "{{ x }}"]}]}', []),
        ("{enum: [-n]}", '{argv: [a, {when: x, argv: [--]}, "{{ x }}"]}', ["TC403"]),
        ("{enum: [-n]}", '{argv: [a, "--x={{ x }}"]}', []),
        ("{enum: [m]}", '{argv: [a, "{{ x }}"]}', []),
        ("{type: string}", '{argv: [a, "{{ x }}"]}', []),
        ("{type: integer, minimum: 0}", '{argv: [a, "{{ x }}"]}', []),
        ("{type: integer}", '{argv: [a, "{{ x }}"]}', ["TC403"]),
        ("{type: [number, 'null'], maximum: 3}", '{argv: [a, "{{ x }}px"]}', ["TC403"]),
        ("{anyOf: [{type: number}, {type: boolean}]}", '{argv: [a, "{{ x }}"]}', ["TC403"]),
        (
            "{type: object, properties: {low: {type: integer}}, required: [low]}",
            '{argv: [a, "{{ x.low }}"]}',
            ["TC403"],
        ),
        ("{type: array, items: {type: integer}}", '{argv: [a, "{{ x }}"]}', ["TC403"]),
        ("{type: integer}", '{argv: [a, "--by={{ x }}"]}', []),
        ("{type: integer}", '{argv: [a, --, "{{ x }}"]}', []),
        ("{type: integer}", '{argv: [a, "{{ x }}"], allow_dash: [x]}', []),
        ("{type: integer, exclusiveMinimum: 0}", '{argv: [a, "{{ x }}"]}', []),
        ("{type: integer, enum: [1, 2]}", '{argv: [a, "{{ x }}"]}', []),
    ],
)
def test_values_that_look_like_options_are_reported(tmp_path: Path, schema: str, shell: str, codes: list[str]) -> None:
    assert numbers(tmp_path, f"{{x: {schema}}}", shell) == codes
