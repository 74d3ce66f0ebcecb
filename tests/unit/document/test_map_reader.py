"""Readers of parts of a document: a value of the wrong type is a finding, and None."""

from pathlib import Path

import pytest
from compiling.compiled import HEAD, found_in

from toolc.document.map_reader import Findings, boolean, map_of, mapping, sequence, text
from toolc.document.nodes import Scalar
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText


@pytest.mark.parametrize(
    ("parse", "expected"),
    [(mapping, "a map"), (map_of(text), "a map"), (sequence, "a list"), (boolean, "true or false"), (text, "a string")],
)
def test_a_value_of_the_wrong_type_is_a_finding(parse: object, expected: str) -> None:
    source, diagnostics = SourceText("a.yaml", "5"), Diagnostics()
    assert callable(parse)
    assert parse(Scalar(5, source.whole_file()), "'x'", Findings(source, diagnostics)) is None
    (found,) = diagnostics.sorted()
    assert found.code.number == "TC108"
    assert f"'x' must be {expected}" in found.message


def test_a_command_without_a_backend_is_one_finding(tmp_path: Path) -> None:
    assert found_in(tmp_path, f"{HEAD}argv: [echo, a]\n") == ["4:1 TC101 the tool has no key 'argv'"]
    assert found_in(tmp_path, HEAD) == ["1:1 TC102 the tool has no 'backend'"]
