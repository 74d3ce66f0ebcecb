"""The rate of each warning on the good specs of ``tests/corpus``, which resemble public tool catalogues.

A warning that is reported for more than 2 % of them is off by default. ``make golden`` writes the rates to
``docs/reference/check-rates.md``. ``tests/corpus/outside.json`` has the counts for public definitions, which are not
copied here; these have only texts, parameters and annotations.
"""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from functools import cache

import pytest
from project.paths import CORPUS, DOCS

from toolc.compiler.pipeline.compile import Compilation, compile_specs
from toolc.compiler.project.settings import Settings
from toolc.data.rule_pages import rule_pages
from toolc.model import codes
from toolc.model.diagnostics import Code, Severity

OUTSIDE = json.loads((CORPUS / "outside.json").read_text(encoding="utf-8"))
TABLE = DOCS / "reference" / "check-rates.md"
MAX_RATE = 0.02
WARNINGS = [code for code in codes.ALL if code.severity is Severity.WARNING]
HEAD = """\
# Check rates

The number of tools for which each warning is reported, out of the {count} good tools of `tests/corpus`. A warning
that is reported for more than 2 % of them is off by default; `--select` and the project file turn it on.
`make golden` writes this page.

The last column is the rate over {outside} tools of public MCP servers, counted once (see
`tests/corpus/outside.json`). It is empty for warnings about backends, sandboxes and tests, which public definitions
do not have, and for warnings that were added after the count.

| Code | Summary | Default | Tools | Rate | Public servers |
|---|---|---|---:|---:|---:|
"""
_ABOUT_DEFINITIONS = ("TC2", "TC3", "TC7", "TC805")
_ABOUT_BACKENDS = (codes.UNBOUNDED, codes.LABEL, codes.STRICT)


@cache
def corpus() -> Compilation:
    return compile_specs([CORPUS], Settings(select=("TC",)))


def outside(code: Code) -> float | None:
    """Return the rate over public definitions, or None if the code does not apply to them."""
    name = f"{code.number} {code.slug}"
    if not code.number.startswith(_ABOUT_DEFINITIONS) or code in _ABOUT_BACKENDS or name in OUTSIDE["added_later"]:
        return None
    return float(OUTSIDE["findings"].get(name, 0) / OUTSIDE["tools"])


@cache
def hits() -> Mapping[Code, int]:
    """Return the number of tools with each warning; a finding under ``defaults`` counts once."""
    starts = {(tool.path, tool.span("name").start.line) for tool in corpus().located}
    lines: dict[str, list[int]] = {}
    for path, line in sorted(starts):
        lines.setdefault(path, []).append(line)
    places = {
        (found.code, found.span.path, bisect_right(lines.get(found.span.path, []), found.span.start.line))
        for found in corpus().diagnostics.sorted()
    }
    return Counter(code for code, _, _ in places)


def test_corpus_is_large_and_compiles() -> None:
    assert len(corpus().tools) >= 100
    assert not corpus().diagnostics.has_errors
    assert corpus().registry().tools


@pytest.mark.parametrize("code", [code for code in WARNINGS if code.enabled], ids=lambda code: code.slug)
def test_enabled_warning_is_rare(code: Code) -> None:
    assert hits().get(code, 0) / len(corpus().tools) <= MAX_RATE
    assert (outside(code) or 0) <= MAX_RATE


def test_table_is_up_to_date(golden: bool) -> None:
    count = len(corpus().tools)
    titles = {(page.number, each.slug): each.name for page in rule_pages().values() for each in page.codes}
    rows = (
        f"| {code.number} | {titles[code.number, code.slug]} | {'on' if code.enabled else 'off'} "
        f"| {hits().get(code, 0)} | {100 * hits().get(code, 0) / count:.1f} % | {_percent(outside(code))} |\n"
        for code in WARNINGS
    )
    text = HEAD.format(count=count, outside=OUTSIDE["tools"]) + "".join(rows)
    if golden:
        TABLE.write_text(text, encoding="utf-8")
    assert TABLE.read_text(encoding="utf-8") == text


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{100 * rate:.1f} %"
