"""The work per byte of a file does not grow with its size; the few places where it could count their steps."""

from pathlib import Path
from typing import Final

import pytest
from compiled import compile_text
from hypothesis import given
from hypothesis import strategies as st
from long_runs import counted_calls

from toolc.document.map_reader import Findings
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.names import MAX_STEPS, close_match, spend, step_budget
from toolc.model.source import Position, SourceText, Span

_HEAD: Final = "toolc: 1\nname: slow\ndescription: "
_TAIL: Final = "\nbackend: {shell: {argv: [echo]}}\n"
_FILES: Final[dict[str, tuple[str, str, str]]] = {
    "an open bracket": (f"{_HEAD}Text\ntags: [", "a, ", _TAIL),
    "unknown keys": (f"{_HEAD}Text\n", "k{i}: 1\n", _TAIL),
    "unknown variables": (f"{_HEAD}Text\ntags:\n", "  - '{{{{ vars.v{i} }}}}'\n", _TAIL),
    "empty values": (f"{_HEAD}Text\nparameters: {{", "p{i}: , ", f"a: {{}}}}{_TAIL}"),
    "imports": (f"{_HEAD}Text\nbackend:\n  python:\n    code: |\n", "      import m{i}\n", "      def run(): pass\n"),
}


def _count(folder: Path, parts: tuple[str, str, str], size: int) -> int:
    start, unit, end = parts
    repeated = "".join(unit.format(i=i) if "{i}" in unit else unit for i in range(size // len(unit)))
    return counted_calls(lambda: compile_text(folder, start + repeated + end))


@pytest.mark.parametrize("kind", _FILES)
def test_calls_per_byte_of_a_long_file_do_not_grow(kind: str, tmp_path: Path) -> None:
    _count(tmp_path, _FILES[kind], 100)
    small, large = (_count(tmp_path, _FILES[kind], size * 1024) for size in (10, 40))
    assert large <= 4 * 1.2 * small


def test_steps_are_limited_within_a_context() -> None:
    assert spend(MAX_STEPS + 1)
    with step_budget():
        assert spend(MAX_STEPS)
        assert not spend(1)
        with step_budget():
            assert spend(1)
    assert spend(1)


def test_names_are_compared_until_the_budget_is_used_up() -> None:
    known = [f"name_{number}" for number in range(1000)]
    with step_budget():
        found = [close_match(f"nam_{number}", known) for number in range(100)]
    assert found[0] == "name_0"
    assert [bool(each) for each in found].index(False) == MAX_STEPS // 1000
    assert close_match("a" * 201, ["a" * 201]) == ""


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30))), st.integers(1, 30), st.integers(0, 10))
def test_findings_within_muted_spans_are_not_added(muted: list[tuple[int, int]], column: int, length: int) -> None:
    def span(start: int, size: int) -> Span:
        return Span("a.yaml", Position(1, start), Position(1, start + size))

    findings, spans = Findings(SourceText("a.yaml", "x" * 100), Diagnostics()), [span(*each) for each in muted]
    for each in spans:
        findings.mute(each)
    findings.add(codes.TEMPLATE, "message", span(column, length))
    assert findings.diagnostics.total == (not any(each.covers(span(column, length)) for each in spans))
