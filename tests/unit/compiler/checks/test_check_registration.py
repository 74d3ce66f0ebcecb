"""How checks are registered and run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from check_cases import numbers
from compiling.compiled import ECHO, HEAD, compile_text

from toolc.compiler.checks import check_each
from toolc.compiler.checks.check_registry import TOOL_CHECKS, ToolCheck
from toolc.compiler.located_tool import LocatedTool
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostic


def test_every_check_declares_the_keys_that_it_reads() -> None:
    # A literal credential must be found in every tool, whatever else is wrong with it.
    assert [check.number for check in TOOL_CHECKS if not check.needs] == [codes.CREDENTIAL.number]


def test_a_check_skips_tools_with_invalid_keys(tmp_path: Path) -> None:
    assert numbers(tmp_path, "{x: {type: strng}}", '{argv: [a, {when: z, argv: ["{{ z }}"]}]}') == [
        "TC704",
        "TC406",
        "TC406",
    ]


@pytest.mark.parametrize("code", [codes.MAY_BE_ROOT, codes.NO_TEST, codes.GEMINI_KEYWORD, codes.LOSSY])
def test_checks_that_are_off_by_default(code: Code) -> None:
    assert not code.enabled


def _broken_check(_tool: LocatedTool) -> Iterator[Diagnostic]:
    raise IndexError("list index out of range")


def _label_check(tool: LocatedTool) -> Iterator[Diagnostic]:
    yield Diagnostic(codes.LABEL, "no label", tool.span("name"))


def test_a_bug_in_one_check_is_a_finding_and_hides_no_other(tmp_path: Path) -> None:
    located = compile_text(tmp_path, f"{HEAD}{ECHO}").located
    checks = [ToolCheck("TC001", frozenset(), _broken_check), ToolCheck("TC208", frozenset(), _label_check)]

    internal, label = check_each(located, checks)

    assert internal.code is codes.INTERNAL_ERROR
    assert (internal.span.path, internal.span.start.line) == (located[0].path, 2)
    assert internal.message.startswith("internal error in toolc: IndexError: list index out of range (test_check_reg")
    assert label.code is codes.LABEL
