"""Good specs with one token replaced by a mistake: the finding is at that token.

About ten per file; for all: ``TOOLC_MUTATIONS=1000 pytest tests/unit/compiler/test_mutated_tokens.py``.
"""

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

COUNT = int(os.environ.get("TOOLC_MUTATIONS", "10"))

# Below these keys, names are chosen by the author.
CHOSEN_NAMES = {
    "parameters", "vars", "env", "secrets", "files", "args", "schema", "json", "form", "multipart", "query",
    "headers", "examples", "errors", "properties", "providers", "toolsets", "body", "structured",
}  # fmt: skip
ENUMS = {"workspace", "format", "strategy", "lifetime", "method", "commit"}
UNITS = {"timeout", "memory", "output", "tmp", "file_size"}
BOOLEANS = {"read_only", "destructive", "idempotent", "open_world", "confirm"}


def mutated(document: Document, span: Span, text: str) -> bytes:
    source = document.source
    start, end = source.offset(span.start), source.offset(span.end)
    return f"{source.text[:start]}{text}{source.text[end:]}".encode()


def entries(node: Node) -> Iterator[tuple[str, Span, Node]]:
    """Yield each key of the format in a document with its span and value."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from entries(item)
    for entry in node.entries if isinstance(node, Mapping) else ():
        yield entry.key, entry.key_span, entry.value
        if entry.key not in CHOSEN_NAMES:
            yield from entries(entry.value)


def mutations(document: Document) -> Iterator[tuple[Span, str, str]]:
    """Yield the span to replace, the new text, and the number of the expected finding at that span."""
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
            (BOOLEANS, '"maybe"', "TC108"),
            ({"name"}, '"two words"', "TC201"),
            ({"description", "label", "owner"}, "[1]", "TC108"),
        ):
            if key in keys:
                yield value.span, text, number


@pytest.mark.slow
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.name)
def test_finding_is_at_the_changed_token(path: Path) -> None:
    document = load_data(path.read_bytes(), path, path.name, Diagnostics())
    assert document is not None
    spec = SpecFile(path=path, display_path=path.name, folder=None)
    projects = Projects(Diagnostics())
    changes = [*mutations(document)]
    assert changes
    for span, text, number in changes[:: max(1, len(changes) // COUNT)]:
        found = compile_text(mutated(document, span, text), spec, projects, NO_SETTINGS).diagnostics.sorted()
        places = [each.span.start for each in found if each.code.number == number]
        assert span.start in places, f"{span}: {document.source.between(span)!r} -> {text}: {found}"
