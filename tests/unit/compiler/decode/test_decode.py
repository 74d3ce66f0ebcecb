"""Decode documents: one tool, several tools, and defaults."""

from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, compile_text, found_in, tool_of

from toolc.model.json_schema import Schema
from toolc.model.spec.code_backends import Argv, PythonBackend, Script, ShellBackend
from toolc.model.spec.sandbox import Limits, SandboxSpec
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Template


def test_omitted_keys_have_their_defaults(tmp_path: Path) -> None:
    assert tool_of(tmp_path, HEAD + ECHO) == ToolSpec(
        name="hello",
        description="Say hello to the whole world.",
        parameters=Schema({"type": "object", "properties": {}, "required": [], "additionalProperties": False}),
        backend=ShellBackend(command=Argv(elements=(Template(("echo",)), Template(("hello",))))),
    )


@pytest.mark.parametrize("version", ["2", "true", "null", "[1]", "0"])
def test_other_format_versions_are_rejected(tmp_path: Path, version: str) -> None:
    assert found_in(tmp_path, HEAD.replace("toolc: 1", f"toolc: {version}") + "unknown: 1\n") == [
        "1:8 TC104 'toolc' is the format version; this toolc supports version 1"
    ]


@pytest.mark.parametrize("version", ["'1'", "1.0", "v1"])
def test_other_spellings_of_the_version_do_not_hide_further_findings(tmp_path: Path, version: str) -> None:
    found = found_in(tmp_path, HEAD.replace("toolc: 1", f"toolc: {version}") + ECHO + "unknown: 1\n")
    assert [each.split()[1] for each in found] == ["TC104", "TC101"]


def test_maps_merge_and_lists_replace(tmp_path: Path) -> None:
    first, second = compile_text(
        tmp_path,
        """
toolc: 1
defaults:
  parameters: {a: {type: string, description: from defaults}}
  backend: {shell: {argv: [echo, "{{ a }}"], success_exit_codes: [0, 1]}}
  sandbox: {workspace: ro, env: {A: "1", B: "1"}, limits: {timeout: 5s, pids: 19}}
  examples: [{a: x}]
tools:
  - {name: first, description: Does it in the first way.}
  - name: second
    description: Does it in the second way.
    parameters: {a: {description: from the tool}}
    backend: {shell: {success_exit_codes: [0, 2], stdin: "{{ a }}"}}
    sandbox: {env: {B: "2"}, limits: {timeout: 7s}}
    examples: []
""",
    ).tools

    assert first.sandbox.limits == Limits(timeout_ms=5000, pids=19)
    assert second.sandbox.limits == Limits(timeout_ms=7000, pids=19)
    assert [(each.name, each.value) for each in second.sandbox.env] == [("A", "1"), ("B", "2")]
    assert second.parameters.properties == {"a": {"type": "string", "description": "from the tool"}}
    assert isinstance(second.backend, ShellBackend)
    assert isinstance(first.backend, ShellBackend)
    assert second.backend.command == first.backend.command
    assert second.backend.success_exit_codes == (0, 2)
    assert (len(first.examples), len(second.examples)) == (1, 0)


def test_a_backend_of_another_kind_drops_the_defaults(tmp_path: Path) -> None:
    (tool,) = compile_text(
        tmp_path,
        """
toolc: 1
defaults: {backend: {shell: {argv: [date]}}, parameters: {a: {type: string}}}
tools:
  - name: hello
    description: Say hello to the whole world.
    parameters: {type: object, properties: {b: {type: string}}, required: [b]}
    backend: {python: {code: "def hello(b): return b"}}
""",
    ).tools

    assert isinstance(tool.backend, PythonBackend)
    assert list(tool.parameters.properties) == ["b"]


def test_identity_is_never_defaulted(tmp_path: Path) -> None:
    tool = "{name: hello, backend: {shell: {argv: [a]}}}"
    text = f"toolc: 1\ndefaults:\n  owner: me\n  sandbx: 1\ntools:\n- {tool}\n"

    assert found_in(tmp_path, text) == [
        "3:3 TC108 'owner' identifies a tool and cannot have a default",
        "4:3 TC101 the tool has no key 'sandbx'",
        "6:10 TC204 this tool has no description",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("toolc: 1\ntools: []\n", "2:8 TC108 'tools' must list at least one tool"),
        ("toolc: 1\ntools: {}\n", "2:8 TC108 'tools' must be a list, but is a map"),
        ("toolc: 1\ntools: [hello]\n", "2:9 TC108 'tools'[0] must be a map, but is the text 'hello'"),
        ("toolc: 1\ndefaults: {}\n", "1:1 TC102 a file with 'tools' has no 'tools'"),
    ],
)
def test_invalid_lists_of_tools_are_rejected(tmp_path: Path, text: str, found: str) -> None:
    assert found_in(tmp_path, text) == [found]


def test_keys_of_a_tool_are_rejected_next_to_tools(tmp_path: Path) -> None:
    tool = "{name: hello, description: Say hello to the world., backend: {shell: {argv: [a]}}}"
    text = f"toolc: 1\nname: x\ntools:\n- {tool}\n"

    assert found_in(tmp_path, text) == ["2:1 TC101 a file with 'tools' has no key 'name'"]


def test_a_script_has_an_interpreter_and_no_templates(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes(b"echo {{ who }}\r\n")
    shell = "backend: {shell: {file: run.sh, interpreter: [bash, -e], success_exit_codes: any}}\n"

    (tool,) = compile_text(tmp_path, HEAD + shell).tools
    assert tool.backend == ShellBackend(
        command=Script(text="echo {{ who }}\r\n", interpreter=("bash", "-e")), success_exit_codes=None
    )


@pytest.mark.parametrize(
    ("shell", "found"),
    [
        ("{argv: [a], script: b}", "backend.shell has both 'argv' and 'script'; it must have exactly one of"),
        ("{stdin: a}", "backend.shell has none of 'argv', 'script', 'file'"),
        ("{argv: [a], interpreter: [b]}", "backend.shell has both 'argv' and 'interpreter'"),
        ("{script: a, interpreter: []}", "'interpreter' must be a list that names a program, but is a list"),
        ("{script: a, interpreter: bash -e}", "'interpreter' must be a list, but is the text 'bash -e'"),
        ("{script: a, interpreter: ['{{ x }}']}", "'interpreter'[0] is a constant and cannot contain a placeholder"),
        ("{script: ' '}", "'script' must not be empty"),
        ("{argv: []}", "'argv' must name a program"),
        ("{argv: [{when: a, argv: [b]}]}", "the first item is the program and cannot be conditional"),
        ('{argv: ["a\\0"]}', "'argv'[0] must not contain a NUL character"),
        ("{argv: [a, {argv: [b]}]}", "'argv'[1], a group, has no 'when'"),
        ("{argv: [a], errors: {'0': file}}", "'0' is not an exit status of a failure"),
        ("{argv: [a], errors: {'256': file}}", "'256' is not an exit status of a failure"),
        ("{argv: [a], success_exit_codes: any, errors: {'2': file}}", "exit status 2 is both a success and an error"),
        ("{argv: [a], success_exit_codes: []}", "'success_exit_codes' must be 'any' or a list of exit codes"),
    ],
)
def test_invalid_commands_are_rejected(tmp_path: Path, shell: str, found: str) -> None:
    text = f"{HEAD}parameters: {{a: {{type: string, default: ''}}}}\nbackend: {{shell: {shell}}}\n"

    assert found in "\n".join(found_in(tmp_path, text))


def test_each_placeholder_is_reported_at_its_position(tmp_path: Path) -> None:
    text = HEAD + "backend:\n  shell:\n    script: a\n    stdin: |\n      {{ x }} {{ x }}\n      é {{ x }}{{ 1 }}\n"

    assert found_in(tmp_path, text) == [
        "8:7 TC406 there is no parameter 'x'",
        "8:15 TC406 there is no parameter 'x'",
        "9:9 TC406 there is no parameter 'x'",
        "9:16 TC114 a number or other constant is not allowed in a placeholder",
    ]


def test_a_workspace_is_a_word_or_a_map(tmp_path: Path) -> None:
    for written in ("rw", "{mode: rw}"):
        assert tool_of(tmp_path, f"{HEAD}{ECHO}sandbox: {{workspace: {written}}}\n").sandbox == SandboxSpec(
            workspace="rw"
        )


def test_files_of_a_test_need_a_workspace(tmp_path: Path) -> None:
    text = f"{HEAD}{ECHO}tests:\n- files: {{a: b}}\n  expect: {{files: {{/a: b, ../b: c}}}}\n"

    assert found_in(tmp_path, text) == [
        "6:3 TC108 these files are in the workspace, but this tool has none",
        "7:12 TC108 these files are in the workspace, but this tool has none",
        "7:20 TC108 '/a' is not a relative path",
        "7:27 TC108 '../b' leads outside the workspace",
    ]


def test_excess_unknown_keys_are_reported_in_one_finding(tmp_path: Path) -> None:
    text = HEAD + ECHO
    found = found_in(tmp_path, text + "".join(f"x{number}: 1\n" for number in range(1200)))
    assert len(found) == 1001
    line = text.count("\n") + 1001
    assert found[1000] == f"{line}:1 TC101 the tool has 200 more unknown keys, starting with 'x1000'"
