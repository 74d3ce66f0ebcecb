"""Formats that JSON Schema does not have, and keywords that it has."""

from importlib import import_module
from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, compile_text

from toolc.model.codes import UNKNOWN_FORMAT, UNKNOWN_KEY

VOCABULARIES = ("core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "content")


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


def test_all_keywords_of_the_metaschema_are_known(tmp_path: Path) -> None:
    registry = import_module("jsonschema_specifications").REGISTRY
    parts = [registry.contents(f"https://json-schema.org/draft/2020-12/meta/{each}") for each in VOCABULARIES]
    keywords = sorted({key for part in parts if isinstance(part, dict) for key in part["properties"]})
    assert len(keywords) > 50
    for number, keyword in enumerate(keywords):
        found = compile_text(tmp_path / str(number), f"{HEAD}parameters: {{a: {{{keyword}: 1}}}}\n{ECHO}")
        assert UNKNOWN_KEY not in {each.code for each in found.diagnostics.sorted()}, keyword
