"""How checks are registered and run."""

from pathlib import Path

import pytest
from check_cases import numbers

from toolc.compiler.checks.base import TOOL_CHECKS
from toolc.model import codes
from toolc.model.diagnostics import Code


def test_every_check_declares_the_keys_that_it_reads() -> None:
    assert all(check.needs for check in TOOL_CHECKS)


def test_a_check_skips_tools_with_invalid_keys(tmp_path: Path) -> None:
    assert numbers(tmp_path, "{x: {type: strng}}", '{argv: [a, {when: z, argv: ["{{ z }}"]}]}') == [
        "TC704",
        "TC406",
        "TC406",
    ]


@pytest.mark.parametrize("code", [codes.MAY_BE_ROOT, codes.NO_TEST, codes.GEMINI_KEYWORD, codes.LOSSY])
def test_checks_that_are_off_by_default(code: Code) -> None:
    assert not code.enabled
