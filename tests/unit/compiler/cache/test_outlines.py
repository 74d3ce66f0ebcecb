"""An outline of a file, also one restored from JSON, has the same results in comparisons as the file."""

import json
from pathlib import Path

import pytest

from toolc.compiler.cache.parallel import FileOutline, outline_of, piece_of, without_nodes
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile_file import FileCompiler, Piece
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.settings import NO_SETTINGS
from toolc.model.diagnostics import Diagnostics

PLAIN = """\
toolc: 1
name: list_orders
description: >-
  List the last orders of the shop, newest first. Use it for questions
  about sales; it shows no customers.

aliases: [orders, 'last_orders']
parameters: {limit: {type: integer}}
backend: {shell: {argv: [orders, "{{ limit }}"]}}
"""
ANCHORED = PLAIN.replace("name: ", "name: &name ").replace("aliases: ", "aliases: &all ")
SHARED = """\
toolc: 1
defaults:
  description: One text for several tools, which is long enough to be compared with others.
  backend: {shell: {argv: [date]}}
tools:
  - name: first
  - {name: second, aliases: [other]}
"""
DAMAGED = """\
toolc: 1
name: 9
description: {not: text}
aliases: nothing
backend: {shell: {argv: [date]}}
"""


def compiled(folder: Path, text: str) -> Piece:
    path = folder / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    found = SpecFile(path=path, display_path="spec.yaml", folder=None)
    return FileCompiler(Projects(Diagnostics()), NO_SETTINGS).compile(found)


def compared(tool: LocatedTool) -> list[object]:
    """Return the values that are compared with other tools, and the spans of findings."""
    spec, places = tool.spec, [tool.span(), tool.span("name"), tool.span("aliases")]
    places += [tool.span("aliases", index) for index in range(len(spec.aliases))]
    return [spec.name, spec.aliases, tool.damaged, tool.path, *places]


@pytest.mark.parametrize("text", [PLAIN, ANCHORED, SHARED, DAMAGED, "toolc: 1\n", "toolc: [\n"])
def test_outline_is_equivalent(tmp_path: Path, text: str) -> None:
    piece = compiled(tmp_path, text)
    outline = outline_of(piece)
    assert outline is not None
    stored = FileOutline(*json.loads(json.dumps(outline)))
    for each in (
        without_nodes(piece, outline),
        piece_of(outline, piece.file, text),
        piece_of(stored, piece.file, text),
    ):
        assert each is not None
        assert [compared(tool) for tool in each.tools] == [compared(tool) for tool in piece.tools]
        assert each.diagnostics.sorted() == piece.diagnostics.sorted()
        assert (each.source is None) == (piece.source is None)


def test_outline_has_only_the_compared_nodes(tmp_path: Path) -> None:
    piece = compiled(tmp_path, PLAIN)
    outline = outline_of(piece)
    assert outline is not None
    (tool,) = without_nodes(piece, outline).tools
    assert sorted(tool.node.by_key) == ["aliases", "name"]
    assert tool.spec.parameters.properties == {}
    assert not hasattr(tool.node.place, "by_key")


@pytest.mark.parametrize("damaged", [[], [1], [{"name": "x"}], [["x"] * 5]])
def test_invalid_outline_is_not_used(tmp_path: Path, damaged: list[object]) -> None:
    piece = compiled(tmp_path, PLAIN)
    outline = FileOutline(*json.loads(json.dumps([True, [], [], {}, damaged])))
    restored = piece_of(outline, piece.file, PLAIN)
    assert restored is None or restored.tools == ()
