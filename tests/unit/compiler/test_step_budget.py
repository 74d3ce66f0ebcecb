"""The work per byte of a file does not grow with its size; the few places where it could count their steps."""

from pathlib import Path
from typing import Final

import pytest
from compiling.compiled import compile_text
from compiling.long_runs import counted_calls
from hypothesis import given
from hypothesis import strategies as st

from toolc.document.map_reader import Findings
from toolc.model import codes
from toolc.model.diagnostics import MAX_STEPS, Diagnostic, Diagnostics, spend, spend_once, step_budget, steps_left
from toolc.model.names import close_match
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
    assert spend(MAX_STEPS + 1, "work")
    with step_budget() as budget:
        assert spend(MAX_STEPS, "work")
        assert not budget.unfinished
        assert not spend(1, "more work")
        assert [*budget.unfinished] == ["more work"]
        with step_budget(4) as inner:
            assert steps_left(10 * MAX_STEPS) == MAX_STEPS + 1
            assert spend(1, "work")
        assert not inner.unfinished
    assert spend(1, "work")


def test_after_a_refusal_no_steps_are_left() -> None:
    with step_budget():
        assert not spend(MAX_STEPS + 1, "work")
        assert steps_left(100) == 0
        assert not spend(1, "work")


def test_names_are_compared_until_the_budget_is_used_up() -> None:
    known = [f"name_{number}" for number in range(1000)]
    with step_budget() as budget:
        found = [close_match(f"nam_{number}", known) for number in range(100)]
    assert found[0] == "name_0"
    assert [bool(each) for each in found].index(False) == MAX_STEPS // 1000
    assert [*budget.unfinished] == ["the search for similar names"]
    assert close_match("a" * 201, ["a" * 201]) == ""


def test_long_names_need_more_steps() -> None:
    with step_budget():
        close_match("a" * 80, ["b" * 80, "c"])
        assert steps_left(MAX_STEPS) == MAX_STEPS - 4


_PARAMETER: Final = "  p{i}: {{type: string, description: The text {i} to print.}}\n"
_TOOL: Final = "  - name: t{i}\n    description: Say hello to number {i}.\n    backend: {{shell: {{argv: [echo]}}}}\n"
_DEFAULTS: Final = "toolc: 1\ndefaults:\n  sandbox:\n    env:\n"
_PRODUCTS: Final[dict[str, tuple[str, str, str, str, str]]] = {
    "examples": (f"{_HEAD}Text\nparameters:\n", _PARAMETER, "examples:\n", "  - {{a{i}: b}}\n", _TAIL),
    "tests": (f"{_HEAD}Text\nparameters:\n", _PARAMETER, "tests:\n", "  - {{args: {{a{i}: b}}}}\n", _TAIL),
    "defaults": (_DEFAULTS, "      V{i}: a\n", "tools:\n", _TOOL, ""),
    "templates": (
        f"{_HEAD}Text\nparameters:\n", _PARAMETER, "backend:\n  shell:\n    argv:\n", "    - '{{{{ q{i} }}}}'\n", "",
    ),
    "required": (
        f"{_HEAD}Text\nparameters:\n  type: object\n  properties:\n", f"  {_PARAMETER}", "  required:\n",
        "    - q{i}\n", _TAIL,
    ),
    "long defaults": (
        "toolc: 1\ndefaults:\n  backend:\n    shell:\n      script: |\n", "        echo {i}\n", "tools:\n",
        "  - name: t{i}\n    description: Say hello to number {i}.\n", "",
    ),
    "enum": (
        f"{_HEAD}Text\nparameters:\n  a:\n    type: string\n    enum:\n", "    - v{i}\n", "examples:\n",
        "  - {{a: z{i}}}\n", _TAIL,
    ),
    "secrets": (
        f"{_HEAD}Text\nsandbox:\n  secrets:\n", "    S{i}: {{hosts: [a.example]}}\n",
        "backend:\n  http:\n    url: https://a.example\n    headers:\n", "      H{i}: '{{{{ secrets.T{i} }}}}'\n", "",
    ),
}  # fmt: skip
"""Many of one thing and many of another: if each is combined with each, the work is the product of their numbers."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [pytest.param(each, marks=pytest.mark.integrations if each == "long defaults" else ()) for each in _PRODUCTS],
)
def test_work_that_grows_with_a_product_is_limited_and_reported(kind: str, tmp_path: Path) -> None:
    start, one, middle, other, end = _PRODUCTS[kind]

    def checked(size: int) -> tuple[list[Diagnostic], int]:
        repeated = ["".join(unit.format(i=i) for i in range(size // 2 // len(unit))) for unit in (one, other)]
        text = start + repeated[0] + middle + repeated[1] + end
        found: list[Diagnostic] = []
        calls = counted_calls(lambda: found.extend(compile_text(tmp_path, text).diagnostics.sorted()))
        return [each for each in found if each.code is codes.TOO_MANY_STEPS], calls

    assert checked(2_000)[0] == []
    (_, few), ((finding,), many) = checked(50_000), checked(100_000)
    assert many <= 2 * 1.2 * few
    assert "not finished: " in finding.message
    assert finding.span.start == Position(1, 1)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30))), st.integers(1, 30), st.integers(0, 10))
def test_findings_within_muted_spans_are_not_added(muted: list[tuple[int, int]], column: int, length: int) -> None:
    def span(start: int, size: int) -> Span:
        return Span("a.yaml", Position(1, start), Position(1, start + size))

    findings, spans = Findings(SourceText("a.yaml", "x" * 100), Diagnostics()), [span(*each) for each in muted]
    for each in spans:
        findings.mute(each)
    findings.add(codes.TEMPLATE, "message", span(column, length))
    assert findings.diagnostics.total == (not any(each.covers(span(column, length)) for each in spans))


def test_the_steps_for_one_subject_count_once() -> None:
    with step_budget():
        assert all(spend_once("a", MAX_STEPS, "work") for _ in range(3))
        assert not spend_once("b", 1, "work")


_LOOPS: Final = "^(?:" + "".join(f"{chr(0x4E00 + i)}?" for i in range(140)) + "{n})*$"


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    [r"(?<=(\P{{L}}|bb|ccc){{3}})x{n}", r"[^\P{{L}}\p{{N}}{n}]+", _LOOPS],
    ids=["lookbehind", "classes", "loops"],
)
def test_many_slow_patterns_are_not_all_checked(pattern: str, tmp_path: Path) -> None:
    every = "".join(f"  p{n}: {{type: string, pattern: '{pattern.format(n=n)}'}}\n" for n in range(800))
    found = compile_text(tmp_path, f"{_HEAD}Text\nparameters:\n{every}{_TAIL}").diagnostics.sorted()
    assert [each.message for each in found if each.code is codes.TOO_MANY_STEPS]


def test_a_pattern_with_a_large_class_may_be_used_often(tmp_path: Path) -> None:
    every = "".join(f"  p{n}: {{type: string, pattern: '^[\\p{{L}} ]+$'}}\n" for n in range(800))
    found = compile_text(tmp_path, f"{_HEAD}Text\nparameters:\n{every}{_TAIL}").diagnostics.sorted()
    assert not [each for each in found if each.code in {codes.TOO_MANY_STEPS, codes.BAD_PATTERN}]
