"""Good specs with one token changed into a mistake: the finding stands on that token.

Some twenty of each file here; for all: ``TOOLC_MUTATIONS=1000 pytest tests/unit/compiler/test_mutated_tokens.py``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutations import SEEDS

from toolc.compiler.pipeline.compile import compile_text
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.settings import NO_SETTINGS
from toolc.document.loader import load_data
from toolc.document.nodes import Document, Mapping, Node, Scalar, Sequence
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import Span

COUNT = int(os.environ.get("TOOLC_MUTATIONS", "20"))

# Below these keys, names are the writer's own.
OWN_NAMES = {
    "parameters", "vars", "env", "secrets", "files", "args", "schema", "json", "form", "multipart", "query",
    "headers", "examples", "errors", "properties", "providers", "toolsets", "body", "structured",
}  # fmt: skip
ENUMS = {"workspace", "format", "strategy", "lifetime", "method", "commit"}
UNITS = {"timeout", "memory", "output", "tmp", "file_size"}
TRUTHS = {"read_only", "destructive", "idempotent", "open_world", "confirm"}


def mutated(document: Document, span: Span, text: str) -> bytes:
    source = document.source
    start, end = source.offset(span.start), source.offset(span.end)
    return f"{source.text[:start]}{text}{source.text[end:]}".encode()


def entries(node: Node) -> Iterator[tuple[str, Span, Node]]:
    """Each key of the format in a document, where it stands, and its value."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from entries(item)
    for entry in node.entries if isinstance(node, Mapping) else ():
        yield entry.key, entry.key_span, entry.value
        if entry.key not in OWN_NAMES:
            yield from entries(entry.value)


def mutations(document: Document) -> Iterator[tuple[Span, str, str]]:
    """Where something is changed, into what, and the number of the finding that must stand there."""
    is_toml = document.source.path.endswith(".toml")
    for key, place, value in entries(document.root):
        if key == "toolc":
            continue
        written = document.source.between(place)
        if re.fullmatch(r"\w+", written) and not (is_toml and isinstance(value, Mapping | Sequence)):
            yield place, f"{written}zq", "TC101"
        if not isinstance(value, Scalar) or "{{" in str(value.value):
            continue
        for keys, text, number in (
            (ENUMS, '"nonsense"', "TC108"),
            (UNITS, '"7 parsecs"', "TC109"),
            (TRUTHS, '"maybe"', "TC108"),
            ({"name"}, '"two words"', "TC201"),
            ({"description", "label", "owner"}, "[1]", "TC108"),
        ):
            if key in keys:
                yield value.span, text, number


@pytest.mark.slow
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.name)
def test_a_finding_stands_on_the_token_that_was_changed(path: Path) -> None:
    document = load_data(path.read_bytes(), path, path.name, Diagnostics())
    assert document is not None
    found_at = SpecFile(path=path, shown=path.name, folder=None)
    projects = Projects(Diagnostics())

    all_of_them = [*mutations(document)]
    assert all_of_them
    for span, text, number in all_of_them[:: max(1, len(all_of_them) // COUNT)]:
        found = compile_text(mutated(document, span, text), found_at, projects, NO_SETTINGS).diagnostics.sorted()

        places = [each.span.start for each in found if each.code.number == number]
        assert span.start in places, f"{span}: {document.source.between(span)!r} -> {text}: {found}"
