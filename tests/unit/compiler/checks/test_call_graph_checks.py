"""Checks of the calls between tools: TC105 and TC106 (unknown tools and recursion), TC107 (depth)."""

from pathlib import Path

from toolc.compiler.pipeline.compile import compile_specs
from toolc.data.rule_pages import rule_pages


def test_call_depth_is_reported_despite_invalid_arguments(tmp_path: Path) -> None:
    spec = tmp_path / "tool.yaml"
    spec.write_text(rule_pages()["TC107"].bad.replace("{id: next,", '{id: next, args: {word: "{{ nothing }}"},'))
    found = {each.code.number for each in compile_specs([spec]).diagnostics.sorted()}
    assert found >= {"TC107", "TC406"}
