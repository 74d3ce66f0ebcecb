"""Each check on specs that it must and must not speak about. How findings read is in ``specs/negative``."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolc.compiler.checks import TOOL_CHECKS
from toolc.compiler.compile import compile_specs

HEAD = "toolc: 1\nname: hello\ndescription: Say hello to the whole world.\n"


def found(folder: Path, parameters: str, shell: str) -> list[str]:
    """The codes of the findings about a tool with these parameters and this shell command."""
    text = f"{HEAD}parameters: {parameters}\nbackend: {{shell: {shell}}}\n"
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    return [each.code.number for each in compile_specs([folder / "tool.yaml"]).diagnostics.sorted()]


def test_every_check_says_what_it_needs() -> None:
    assert all(check.NEEDS for check in TOOL_CHECKS)


@pytest.mark.parametrize(
    ("argv", "codes"),
    [
        ('[sh, -c, "echo {{ x }}"]', ["TC401"]),
        ('[/bin/sh, -euc, "echo {{ x }}"]', ["TC401"]),
        ("[env, A=b, bash, -o, pipefail, -c, \"echo '{{ x }}'\"]", ["TC401"]),
        ('[busybox, ash, -c, "echo {{ x }}"]', ["TC401"]),
        ('[sh, {when: x, argv: [-c, "echo {{ x }}"]}]', ["TC401"]),
        ('[bash, -c, "{{ x }}"]', []),
        ('[sh, -c, "echo \\"$1\\"", sh, "{{ x }}"]', []),
        ('[sh, -c, "echo \\"$1\\"", sh, "a {{ x }}"]', []),
        ('[python3, -c, "print({{ x }})"]', []),
        ('[grep, -c, "a {{ x }}"]', []),
    ],
)
def test_text_from_a_model_inside_shell_code(tmp_path: Path, argv: str, codes: list[str]) -> None:
    assert found(tmp_path, "{x: {type: string}}", f"{{argv: {argv}}}") == codes


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
    ],
)
def test_values_that_a_call_would_refuse(tmp_path: Path, schema: str, shell: str, codes: list[str]) -> None:
    assert found(tmp_path, f"{{x: {schema}}}", shell) == codes


@pytest.mark.parametrize(
    ("shell", "codes"),
    [
        ("{argv: [a]}", ["TC406"]),
        ('{argv: [a, "{{ x }}"]}', []),
        ("{argv: [a, {when: x, argv: [b]}]}", []),
        ('{argv: [a], stdin: "{{ x }}"}', []),
        ('{script: "echo $x"}', ["TC406"]),
        ('{script: "echo $ARG_xy"}', ["TC406"]),
        ('{script: "echo \\"${ARG_x}\\" | cat"}', []),
    ],
)
def test_parameters_that_nothing_uses(tmp_path: Path, shell: str, codes: list[str]) -> None:
    assert found(tmp_path, "{x: {type: string}}", shell) == codes


def test_names_are_compared_over_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tool = "description: Say hello to the whole world.\nbackend: {shell: {argv: [a]}}\n"
    Path("b.yaml").write_text(f"toolc: 1\nname: hello\n{tool}", encoding="utf-8")
    Path("a.yaml").write_text(f"toolc: 1\nname: greet\naliases: [other, hello]\n{tool}", encoding="utf-8")
    Path("c.yaml").write_text(f"toolc: 1\nname: HELLO\n{tool}", encoding="utf-8")

    assert [f"{each.span} {each.message}" for each in compile_specs([Path()]).diagnostics.sorted()] == [
        "a.yaml:3:18 'hello' is taken: the tool at b.yaml:2:7 has the name 'hello' too",
        "c.yaml:2:7 'HELLO' is taken: the tool at b.yaml:2:7 has the name 'hello' too, in other letters",
    ]


def test_what_could_not_be_read_is_not_checked(tmp_path: Path) -> None:
    assert found(tmp_path, "{x: {type: strng}}", '{argv: [a, {when: z, argv: ["{{ z }}"]}]}') == [
        "TC704",
        "TC406",
        "TC406",
    ]
