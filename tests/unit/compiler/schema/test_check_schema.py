"""Formats that JSON Schema does not have, and keywords that it has."""

from pathlib import Path

import pytest
from compiled import ECHO, HEAD, compile_text

from toolc.model.codes import UNKNOWN_FORMAT


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("datetime date_time timestamp iso8601", "date-time"), ("url", "uri"), ("guid", "uuid"),
        ("ip ip-address", "ipv4"),
        ("host host-name", "hostname"), ("mail e-mail", "email"), ("regexp pattern", "regex"),
    ],
)  # fmt: skip
def test_another_name_of_a_format_has_a_hint(tmp_path: Path, written: str, meant: str) -> None:
    properties = "".join(f"  p{at}: {{type: string, format: {name}}}\n" for at, name in enumerate(written.split()))
    found = compile_text(tmp_path, f"{HEAD}parameters:\n{properties}{ECHO}").diagnostics.sorted()
    hints = [each.hint for each in found if each.code == UNKNOWN_FORMAT]
    assert hints == [f"did you mean '{meant}'?"] * len(written.split())
