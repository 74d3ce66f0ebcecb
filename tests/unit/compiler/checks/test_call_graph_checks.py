"""Checks of the calls between tools: TC105 and TC106 (unknown tools and recursion), TC107 (depth)."""

from pathlib import Path

from compiling.compiled import compile_text
from compiling.long_runs import counted_calls

from toolc.compiler.pipeline.compile import compile_specs
from toolc.data.rule_pages import rule_pages


def test_call_depth_is_reported_despite_invalid_arguments(tmp_path: Path) -> None:
    spec = tmp_path / "tool.yaml"
    spec.write_text(rule_pages()["TC107"].bad.replace("{id: next,", '{id: next, args: {word: "{{ nothing }}"},'))
    found = {each.code.number for each in compile_specs([spec]).diagnostics.sorted()}
    assert found >= {"TC107", "TC406"}


def test_a_long_chain_of_calls_is_reported_in_linear_time(tmp_path: Path) -> None:
    def spec(count: int) -> str:
        steps = "{{composite: {{strategy: sequential, steps: [{{id: a, tool: t{next}}}]}}}}"
        tool = f"  - {{{{name: t{{at}}, description: Say hello to number {{at}}., backend: {steps}}}}}\n"
        return "toolc: 1\ntools:\n" + "".join(tool.format(at=at, next=at + 1) for at in range(count))

    compile_text(tmp_path, spec(10))
    few, many = spec(400), spec(1600)
    calls = counted_calls(lambda: compile_text(tmp_path, few))
    assert counted_calls(lambda: compile_text(tmp_path, many)) <= 4 * 1.2 * calls
    found = compile_text(tmp_path, spec(1600)).diagnostics.sorted()
    assert {each.code.number for each in found} == {"TC105", "TC107"}
