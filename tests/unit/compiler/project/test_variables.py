"""``vars:``: constants of the project in the strings of a spec."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from compiling.project_cases import TOOL, compiled, expected, lines, report

from toolc.compiler.decode import tool as decode_tool
from toolc.model.registry_io import digests
from toolc.model.spec.code_backends import Argv, Script, ShellBackend
from toolc.model.template import Placeholder, Template

VARS = "vars: {url: 'https://api.example.com', port: 8080, big: true, brace: 'a{', empty: ''}\n"


pytestmark = pytest.mark.usefixtures("own_folder")


def test_variables_are_replaced_in_all_strings() -> None:
    tool = """\
toolc: 1
name: "hello_{{ vars.port }}"
description: "Ask {{ vars.url }}:{{vars.port}} or {{ vars.url }} ({{ vars.big }}), {{ vars.empty }}nothing else."
parameters: {n: {type: integer, default: "{{ vars.port }}", maximum: "{{vars.port}}"}}
backend: {shell: {argv: [echo, "{{ vars.port }}", "{{ vars.url }}/{{ n }}", --, "{{ n }}"]}}
sandbox: {env: {PORT: "{{ vars.port }}"}, limits: {pids: "{{ vars.port }}"}}
tests: [{args: {n: "{{ vars.port }}"}, expect: {text: "{{ vars.url }}"}}]
"""
    compilation = compiled(VARS, tool)
    assert lines(compilation) == []
    (found,) = compilation.tools
    assert found.name == "hello_8080"
    assert found.description == ("Ask https://api.example.com:8080 or https://api.example.com (true), nothing else.")
    assert found.parameters.properties["n"] == {"type": "integer", "default": 8080, "maximum": 8080}
    assert isinstance(found.backend, ShellBackend)
    n = Placeholder("n")
    assert found.backend.command == Argv(
        elements=(
            Template(("echo",)),
            Template(("8080",)),
            Template(("https://api.example.com/", n)),
            Template(("--",)),
            Template((n,)),
        )
    )
    assert [(each.name, each.value) for each in found.sandbox.env] == [("PORT", "8080")]
    assert found.sandbox.limits.pids == 8080
    assert found.tests[0].args == {"n": 8080}
    assert found.tests[0].expect.text == "https://api.example.com"


def test_variables_are_not_replaced_in_code() -> None:
    tool = TOOL.replace("{argv: [echo, hello]}", "{script: 'echo {{ vars.url }}'}")
    compilation = compiled(VARS, tool)
    assert lines(compilation) == []
    backend = compilation.tools[0].backend
    assert isinstance(backend, ShellBackend)
    assert backend.command == Script(text="echo {{ vars.url }}")


def test_variables_are_replaced_in_defaults() -> None:
    compilation = compiled(VARS + "defaults: {sandbox: {env: {URL: '{{ vars.url }}'}}}\n")
    assert compilation.tools[0].sandbox.env[0].value == "https://api.example.com"


def test_variables_change_the_digests() -> None:
    tool = TOOL.replace("hello]", "'{{ vars.x }}']").replace("whole world", "{{ vars.y }} world")
    first, second, third = (
        digests(compiled(f"vars: {{x: {x}, y: {y}}}\n", tool).tools[0]) for x, y in ("aa", "ba", "ab")
    )
    assert first.effect != second.effect
    assert first.surface == second.surface
    assert first.effect == third.effect
    assert first.surface != third.surface


def test_invalid_references_have_positions(golden: bool) -> None:
    tool = """\
toolc: 1
name: hello
description: "Ask {{ vars.ur }} and {{ vars.ur }}, {{ vars.url | upper }}, {{ vars }}, {{ vars.xyzzy"
tags: ["{{ vars.brace }}{ x }}"]
backend: {shell: {argv: [echo, "{{ vars.brace }}{{ vars.port }}"]}}
sandbox: {env: {"A{{ vars.url }}": b}}
"""
    found = report(compiled(VARS, tool))
    assert found == expected("compiler/variables", found, golden=golden)


def test_hints_suggest_a_missing_project_file(tmp_path: Path) -> None:
    from compiling.compiled import compile_text

    tool = TOOL.replace("the whole", "{{ vars.x }}")
    assert report(compile_text(tmp_path, tool)).splitlines()[3] == (
        "    = help: declare variables under 'vars:' in a project file, toolc.yaml, above the specs"
    )


@pytest.mark.slow
def test_many_invalid_references_are_reported_in_bounded_time() -> None:
    tool = TOOL.replace("the whole", "{{ vars.x }}{{ vars" * 100_000)
    assert len(lines(compiled(VARS, tool))) == 20


@pytest.mark.parametrize("project", ["vars: {}\n", "vars: [1]\n", "[]\n", "vars: {base: null}\n"])
def test_unknown_variable_causes_no_further_findings(project: str) -> None:
    http = "backend: {http: {url: '{{ vars.base }}/items'}}\nsandbox: {limits: {timeout: '{{ vars.base }}'}}\n"
    tool = "toolc: 1\nname: hello\ndescription: Say hello to the whole world.\n" + http

    reported = lines(compiled(project, tool))

    assert reported
    assert not [each for each in reported if "URL" in each or "duration" in each]


def test_file_is_searched_for_variables_once(monkeypatch: pytest.MonkeyPatch) -> None:
    confirm = Mock(return_value=False)
    monkeypatch.setattr(decode_tool, "may_name_variables", confirm)
    entries = (f"  - {{name: tool_{n}, backend: {{shell: {{argv: [date]}}}}}}\n" for n in range(50))
    assert len(compiled("", "toolc: 1\ntools:\n" + "".join(entries)).tools) == 50
    assert confirm.call_count == 1, "one time per tool makes a long file cost the square of its length"
