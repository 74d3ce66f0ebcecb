"""``lint.max_tokens``: budgets of each tool, each toolset and all tools, reported at the budget."""

from pathlib import Path

import pytest
from cli.command_line import toolc
from compiling.project_cases import TOOL, lines, report, write

from toolc.compiler.pipeline.compile import compile_specs

LONG = TOOL.replace("hello", "bye").replace(
    "Say bye to the whole world.", "Say goodbye, slowly and politely, to everybody. " * 8
)


def project(budgets: str, more: str = "") -> None:
    write(toolc=f"lint:\n  max_tokens: {{{budgets}}}\n{more}", specs__a=TOOL, specs__b=LONG)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_finding_is_at_the_budget_and_names_the_largest_tools() -> None:
    project("tool: 60, registry: 120")
    together = "all tools have about 145 tokens together, 25 too many"
    assert report(compile_specs([Path("specs")])) == (
        f"""\
toolc.yaml:2:22: warning TC707: 1 tool has more than 60 tokens; the largest: bye (109)
  2 |   max_tokens: {{tool: 60, registry: 120}}
    |                      ^^
    = help: shorten descriptions, remove parameters, or use toolsets to offer a model fewer tools at a time

toolc.yaml:2:36: warning TC707: {together}; the largest: bye (109), hello (36)
  2 |   max_tokens: {{tool: 60, registry: 120}}
    |                                    ^^^
    = help: shorten descriptions, remove parameters, or use toolsets to offer a model fewer tools at a time

2 warnings
"""
    )


@pytest.mark.parametrize("budgets", ["tool: 109", "toolset: 145", "registry: 145", ""])
def test_a_budget_that_is_reached_is_not_exceeded(budgets: str) -> None:
    project(budgets, "toolsets: {all: [hello, bye]}\n")
    assert lines(compile_specs([Path("specs")])) == []


def test_each_toolset_has_the_budget() -> None:
    project("toolset: 100", "toolsets: {one: [hello], two: [bye], both: [hello, bye]}\n")
    found = [line.partition("TC707 ")[2] for line in lines(compile_specs([Path("specs")]))]
    assert found == [
        "the toolset 'both' has about 145 tokens together, 45 too many; the largest: bye (109), hello (36)",
        "the toolset 'two' has about 109 tokens together, 9 too many; the largest: bye (109)",
    ]


def test_built_in_tools_of_the_project_count() -> None:
    project("registry: 300", "builtin: [calculator]\n")
    [line] = lines(compile_specs([Path("specs")]))
    assert "the largest: calculator (" in line


def test_tools_of_another_project_do_not_count() -> None:
    project("registry: 100")
    write(toolc="lint: {max_tokens: {registry: 100}}\n", other__toolc="vars: {}\n", other__b=LONG)
    Path("specs/b.yaml").unlink()
    assert lines(compile_specs([Path("specs"), Path("other")])) == []


@pytest.mark.parametrize(("setting", "count"), [("ignore: [TC707]", 0), ("severity: {TC707: error}", 1)])
def test_settings_apply(setting: str, count: int) -> None:
    write(toolc=f"lint: {{max_tokens: {{tool: 60}}, {setting}}}\n", specs__b=LONG)
    compilation = compile_specs([Path("specs")])
    assert (len(lines(compilation)), compilation.diagnostics.has_errors) == (count, count == 1)


@pytest.mark.parametrize("value", ["0", "1.5", "many", "[1]", "{tools: 1}"])
def test_other_values_are_errors(value: str) -> None:
    write(toolc=f"lint: {{max_tokens: {{tool: {value}}}}}\n", specs__a=TOOL)
    assert compile_specs([Path("specs")]).diagnostics.has_errors


@pytest.mark.parametrize("command", ["check", "build"])
def test_the_finding_is_the_same_from_the_cache(command: str) -> None:
    def printed() -> str:
        return "".join(toolc(command, "specs")[1:])

    project("tool: 60, registry: 120")
    first = printed()
    assert "145 tokens" in first
    assert printed() == first
    write(specs__a=TOOL.replace("whole world", "world"))
    second = first.replace("145 tokens together, 25", "144 tokens together, 24").replace("hello (36)", "hello (35)")
    assert printed() == second
