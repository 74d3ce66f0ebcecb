"""What is kept of a file in memory, beside what a line tells of it: other files see the same of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolc.compiler.cache_lines import from_line, in_outline, to_line
from toolc.compiler.compile_file import FileCompiler, Piece
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.find import Found
from toolc.compiler.find_project import Projects
from toolc.compiler.settings import NO_SETTINGS
from toolc.diagnostics import Diagnostics

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
    found = Found(path=path, shown="spec.yaml", folder=None)
    return FileCompiler(Projects(Diagnostics()), NO_SETTINGS).compile(found)


def compared(tool: LocatedTool) -> list[object]:
    """All that is compared with other tools, and where findings about it stand."""
    spec, places = tool.spec, [tool.span(), tool.span("name"), tool.span("description"), tool.span("aliases")]
    places += [tool.span("aliases", index) for index in range(len(spec.aliases))]
    return [spec.name, spec.description, spec.aliases, tool.wording, tool.damaged, tool.path, *places]


@pytest.mark.parametrize("text", [PLAIN, ANCHORED, SHARED, DAMAGED, "toolc: 1\n", "toolc: [\n"])
def test_an_outline_is_compared_as_the_tool_is_and_as_what_a_line_tells(tmp_path: Path, text: str) -> None:
    piece = compiled(tmp_path, text)
    told, kept = from_line(to_line(piece), piece.found, text), in_outline(piece)
    assert told is not None
    assert [compared(tool) for tool in kept.tools] == [compared(tool) for tool in piece.tools]
    assert [compared(tool) for tool in told.tools] == [compared(tool) for tool in piece.tools]
    assert kept.diagnostics.sorted() == told.diagnostics.sorted() == piece.diagnostics.sorted()
    assert [tool.spec for tool in kept.tools] == [tool.spec for tool in told.tools]


def test_an_outline_holds_none_of_the_nodes_that_are_not_compared(tmp_path: Path) -> None:
    (tool,) = in_outline(compiled(tmp_path, PLAIN)).tools
    assert sorted(tool.node.by_key) == ["aliases", "description", "name"]
    assert tool.spec.parameters.properties == {}
    assert not hasattr(tool.node.place, "by_key")
