"""Durations and sizes, and the hints for invalid ones."""

from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, compile_text, tool_of
from hypothesis import given
from hypothesis import strategies as st

from toolc.document.map_reader import Findings
from toolc.document.nodes import Scalar
from toolc.document.units import duration, size
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText
from toolc.model.text import render_size


def test_values_with_units_are_parsed(tmp_path: Path) -> None:
    text = HEAD + ECHO + "sandbox: {limits: {timeout: 10m, memory: 1GiB, tmp: 128MiB, output: 64KiB}}\n"
    limits = tool_of(tmp_path, text).sandbox.limits
    assert (limits.timeout_ms, limits.memory_bytes, limits.tmp_bytes, limits.output_bytes) == (
        600_000, 1_073_741_824, 134_217_728, 65_536,
    )  # fmt: skip
    assert tool_of(tmp_path, text.replace("10m", "500ms")).sandbox.limits.timeout_ms == 500
    assert tool_of(tmp_path, text.replace("10m", "30s")).sandbox.limits.timeout_ms == 30_000


@pytest.mark.parametrize(
    ("key", "written", "hint"),
    [
        ("timeout", "30", "write 30s"), ("timeout", "30.0", "write 30s"), ("timeout", "'30'", "write 30s"),
        ("timeout", "'1:30'", "write 90s"), ("timeout", "30sec", "write 30s"), ("timeout", "5 min", "write 5m"),
        ("timeout", "2h", "write 120m"), ("timeout", "30S", "write a whole number and one of the units ms, s, m"),
        ("timeout", "1.5s", "write a whole number and one of the units ms, s, m"),
        ("timeout", "-1s", "write a whole number and one of the units ms, s, m"),
        ("timeout", f"{'9' * 5000}s", "write a whole number and one of the units ms, s, m"),
        ("memory", "256", "write 256MiB"), ("memory", "256M", "write 256MiB"), ("memory", "64kb", "write 64KiB"),
        ("memory", "1 GiB", "write 1GiB"),
        ("memory", "1TiB", "write a whole number and one of the units KiB, MiB, GiB"),
    ],
)  # fmt: skip
def test_a_wrong_unit_gets_a_hint(tmp_path: Path, key: str, written: str, hint: str) -> None:
    (found,) = compile_text(tmp_path, f"{HEAD}{ECHO}sandbox: {{limits: {{{key}: {written}}}}}\n").diagnostics.sorted()
    assert (found.code.number, found.hint) == ("TC109", hint)


@pytest.mark.parametrize(("written", "wrong"), [("30", "30 has no unit"), ("'30'", "is '30'"), ("30sec", "is '30sec'")])
def test_the_message_quotes_texts_and_names_numbers(tmp_path: Path, written: str, wrong: str) -> None:
    (found,) = compile_text(tmp_path, f"{HEAD}{ECHO}sandbox: {{limits: {{timeout: {written}}}}}\n").diagnostics.sorted()
    assert found.message.endswith(f", but {wrong}")


@pytest.mark.parametrize("written", ["0s", "999999999999999m", "true", "null", "[1s]"])
def test_invalid_durations_are_reported(tmp_path: Path, written: str) -> None:
    (found,) = compile_text(tmp_path, f"{HEAD}{ECHO}sandbox: {{limits: {{timeout: {written}}}}}\n").diagnostics.sorted()
    assert found.code.number == "TC108"


@given(st.integers(min_value=1, max_value=2**43 - 1))
def test_a_rendered_size_parses_to_the_same_value(kibibytes: int) -> None:
    source = SourceText("a.yaml", "")
    node = Scalar(render_size(kibibytes * 1024), source.whole_file())
    assert size(node, "'memory'", Findings(source, Diagnostics())) == kibibytes * 1024


@given(st.text())
def test_any_text_is_a_duration_or_a_finding(text: str) -> None:
    source = SourceText("a.yaml", text)
    findings = Findings(source, Diagnostics())
    assert (duration(Scalar(text, source.whole_file()), "'timeout'", findings) is None) == (findings.errors == 1)
