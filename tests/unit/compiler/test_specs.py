"""Complete specs: each in ``positive/`` has no findings, each in ``negative/`` has exactly the listed findings.

A new file in either folder is a new case. After an intended change, write the expected findings with
``PYTHONPATH=tests/support python tests/unit/compiler/test_specs.py`` and review the difference.
"""

import os
from pathlib import Path

import pytest
from project.paths import TEST_SPECS

from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import Settings
from toolc.model import codes
from toolc.model.diagnostics import Severity
from toolc.reporters.text import render

SPECS = TEST_SPECS
POSITIVE = sorted(path.name for path in (SPECS / "positive").glob("*.*ml"))
NEGATIVE = sorted(path.name for path in (SPECS / "negative").glob("*.*ml"))


@pytest.mark.parametrize("name", POSITIVE)
def test_good_spec_has_no_findings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SPECS / "positive")
    compilation = compile_specs([Path(name)])
    assert render(compilation.diagnostics, color=False) == ""
    assert compilation.registry().tools


@pytest.mark.parametrize("name", NEGATIVE)
def test_bad_spec_has_the_listed_findings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SPECS / "negative")
    found = _findings(name)
    assert found == Path(name).with_suffix(".txt").read_text(encoding="utf-8")
    assert f" {name.split('-', maxsplit=1)[0]}: " in found


def _findings(name: str) -> str:
    """Return the findings about a bad spec, including those of its number if they are off by default."""
    number = name.split("-", maxsplit=1)[0]
    return render(compile_specs([Path(name)], Settings(severity=_warning(number))).diagnostics, color=False)


def _warning(number: str) -> dict[str, Severity]:
    return {number: Severity.WARNING} if any(each.number == number and not each.enabled for each in codes.ALL) else {}


def _write_expected() -> None:
    os.chdir(SPECS / "negative")
    for name in NEGATIVE:
        found = _findings(name)
        Path(name).with_suffix(".txt").write_text(found, encoding="utf-8")


if __name__ == "__main__":
    _write_expected()
