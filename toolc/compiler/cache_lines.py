"""What came of one file as a line of text, and back: all that is wrong with it, and outlines of its tools.

Before the first space stands in short what its tools are compared with others by: of many lines only that is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as AnyMapping
from typing import Any, Final, NamedTuple

from toolc.compiler import twins
from toolc.compiler.cache_json import NOT_OURS, diagnostics_from_json, findings_to_json, sources_to_json, span
from toolc.compiler.checks.call_graph import tool_references
from toolc.compiler.checks.descriptions import DAMAGES
from toolc.compiler.compile_file import Piece, folder_of
from toolc.compiler.decode_shell import NO_COMMAND
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Entry, Mapping, Node, Place, Scalar, span_at
from toolc.compiler.document import Sequence as SequenceNode
from toolc.compiler.files import digest_of_answer
from toolc.compiler.find import Found
from toolc.compiler.parameters import NO_PARAMETERS
from toolc.source import SourceText, Span
from toolc.spec import Annotations, Result, Sandbox, ToolSpec

_KEYS: Final = ("name", "description", "aliases")
_MARKS: Final = 4
"""How many numbers say where libyaml saw something."""

# Made once: of a thousand tools each would be a dozen objects.
_ANNOTATIONS: Final = Annotations()
_RESULT: Final = Result()
_SANDBOX: Final = Sandbox()

_BEFORE_A_VALUE: Final = ("&", "!", "")
"""What an anchor or a tag begins with, with which libyaml has a value begin; nothing at all is not sure."""


def brief_line(piece: Piece) -> str:
    """What other files' tools are compared with, and no more: a line that ``briefs`` reads."""
    descriptions = [{"description": tool.spec.description} for tool in piece.tools]
    return f"{_in_short(piece)} {_to_json({'tools': descriptions})}"


def to_line(piece: Piece) -> str:
    """What to keep of a piece; nothing of one that calls others."""
    if any(any(tool_references(tool)) for tool in piece.tools):
        return ""
    sources = sources_to_json(piece.diagnostics)
    kept = {
        "path": piece.found.shown,
        "parsed": piece.source is not None,
        "asked": [[method, asked, answer] for (method, asked), answer in (piece.folder.log or {}).items()],
        "findings": findings_to_json(piece.diagnostics),
        "sources": {path: text for path, text in sources.items() if path != piece.found.shown},
        "tools": [outline(tool) for tool in piece.tools],
    }
    return f"{_in_short(piece)} {_to_json(kept)}"


_to_json: Final = json.JSONEncoder(separators=(",", ":")).encode
"""JSON without a space, by an encoder that is made once."""


def _in_short(piece: Piece) -> str:
    return _to_json([_brief(tool) for tool in piece.tools])


class Brief(NamedTuple):  # which is made in a third of the time, and there are thousands
    """What a tool is compared with others by; of what could not be read there is nothing, and the name is empty.

    ``number`` counts the tools of its file, and ``line`` is the file's.
    """

    name: str
    aliases: tuple[str, ...]
    wording: str
    number: int
    line: str

    @property
    def description(self) -> str:
        """The tool's description."""
        return str(kept_of(self.line)["tools"][self.number]["description"])


def _brief(tool: LocatedTool) -> tuple[str, tuple[str, ...], str]:
    name = "" if "name" in tool.damaged else tool.spec.name
    aliases = () if "aliases" in tool.damaged else tool.spec.aliases
    return name, aliases, "" if tool.damaged & DAMAGES else tool.wording


def briefs(lines: AnyMapping[str, str]) -> dict[twins.Place, Brief]:
    """What lines by their files' paths say of the tools in short; raises any error where one is no line of ours."""
    found: Any = json.loads(f"[{','.join(line.partition(' ')[0] for line in lines.values())}]")
    return {
        (path, number): Brief(name, tuple(aliases), wording, number, line)
        for (path, line), tools in zip(lines.items(), found, strict=True)
        for number, (name, aliases, wording) in enumerate(tools)
    }


def kept_of(line: str) -> Any:
    """All else that a line says; raises any error where it is no line of ours."""
    return json.loads(line.partition(" ")[2])


def outline(tool: LocatedTool) -> dict[str, object]:
    """All of a tool that counts where it is compared with others."""
    spec = tool.spec
    return {
        "name": spec.name,
        "description": spec.description,
        "aliases": spec.aliases,
        "damaged": sorted(tool.damaged),
        "spans": [_beginning(tool), *[_place(tool, key) for key in _KEYS]],
        "alias_spans": [tool.span("aliases", index) for index in range(len(spec.aliases))],
    }


def _beginning(tool: LocatedTool) -> object:
    """Where ``tool.span()`` is: of a tool on several lines, as nearly all are, without looking for its end."""
    place, entries = tool.node.place, tool.node.entries
    while isinstance(place, Mapping):
        place = place.place
    last = entries[-1].key_place if entries else None
    if isinstance(place, Span) or last is None or isinstance(last, Span | Mapping):
        return tool.span()
    source, line, column, _, _ = place
    is_long = source is tool.source is last[0] and last[1] > line
    return (line, column, line, column + 1) if is_long else tool.span()


def _place(tool: LocatedTool, key: str) -> object:
    """Where ``tool.span(key)`` is, or None: as libyaml saw it where that says all, for spans take long to make."""
    node = tool.node.get(key)
    if not isinstance(node, Scalar) or isinstance(node.place, Span | Mapping):
        return tool.span(key) if node else None
    source, line, column, *end = node.place
    is_plain = source is tool.source and source.line(line + 1)[column : column + 1] not in _BEFORE_A_VALUE
    return (line, column, *end) if is_plain else tool.span(key)


def _placed(found: Any, source: SourceText) -> Place:
    """What ``_place`` and ``_beginning`` say, as a node has it."""
    return (source, *found) if len(found) == _MARKS else span(found)


def from_line(line: str, found: Found, text: str) -> Piece | None:
    """What a line says of a file; None where it says nothing, or the file's folder does not answer as it did."""
    if not line:
        return None
    try:
        kept = kept_of(line)
        short = json.loads(line.partition(" ")[0])
        folder, source = folder_of(found), SourceText(found.shown, text)
        for method, asked, answer in kept["asked"]:
            if digest_of_answer(folder, method, asked) != answer:
                return None
            assert folder.log is not None
            folder.log[method, asked] = answer
        diagnostics = diagnostics_from_json(kept["findings"], {**kept["sources"], found.shown: text})
        return Piece(
            found=found,
            source=source if kept["parsed"] else None,
            tools=tuple(
                _tool(each, wording, source) for each, (_, _, wording) in zip(kept["tools"], short, strict=True)
            ),
            diagnostics=diagnostics,
            folder=folder,
        )
    except NOT_OURS:
        return None


def _tool(kept: Any, wording: str, source: SourceText) -> LocatedTool:
    """A tool that is where it was, and of which no more is known than its outline says."""
    whole, *places = (found and _placed(found, source) for found in kept["spans"])
    return LocatedTool(
        spec=_known_spec(kept["name"], kept["description"], tuple(kept["aliases"])),
        node=Mapping.of(_entries(kept, places), span_at(whole)),
        path=source.path,
        source=source,
        damaged=frozenset(kept["damaged"]),
        known_wording=wording,
    )


def in_outline(piece: Piece) -> Piece:
    """A piece with no more of its tools than ``from_line`` would tell: their nodes fill the memory."""
    return Piece(
        found=piece.found,
        source=piece.source,
        tools=tuple([_in_outline(tool) for tool in piece.tools]),
        diagnostics=piece.diagnostics,
        folder=piece.folder,
    )


def _in_outline(tool: LocatedTool) -> LocatedTool:
    _, _, wording = _brief(tool)
    entries = [entry for key in _KEYS if (entry := tool.node.entry(key))]
    return LocatedTool(
        spec=_known_spec(tool.spec.name, tool.spec.description, tool.spec.aliases),
        node=Mapping.of(entries, span_at(_placed(_beginning(tool), tool.source))),
        path=tool.path,
        source=tool.source,
        damaged=tool.damaged,
        known_wording=wording,
    )


def _known_spec(name: str, description: str, aliases: tuple[str, ...]) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        aliases=aliases,
        parameters=NO_PARAMETERS,
        backend=NO_COMMAND,
        annotations=_ANNOTATIONS,
        result=_RESULT,
        sandbox=_SANDBOX,
    )


def _entries(kept: Any, places: Sequence[Place | None]) -> Iterator[Entry]:
    for key, place in zip(_KEYS, places, strict=True):
        if place is not None:
            value: Node = Scalar(None, place)
            if key == "aliases":
                value = SequenceNode(tuple(Scalar(None, span(each)) for each in kept["alias_spans"]), place)
            yield Entry(key, place, value)
