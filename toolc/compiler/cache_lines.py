"""What came of one file as a line of text, and back: all that is wrong with it, and outlines of its tools.

Before the first space stands in short what its tools are compared with others by: of many lines only that is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping
from typing import Any, Final, NamedTuple

from toolc.compiler.cache_json import NOT_OURS, diagnostics_from_json, findings_to_json, sources_to_json, span
from toolc.compiler.checks.compositions import calls
from toolc.compiler.checks.similar_descriptions import DAMAGES
from toolc.compiler.compile_file import Piece, folder_of
from toolc.compiler.decode_shell import NO_COMMAND
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Entry, Mapping, Node, Scalar
from toolc.compiler.document import Sequence as SequenceNode
from toolc.compiler.files import digest_of_answer
from toolc.compiler.find import Found
from toolc.compiler.parameters import NO_PARAMETERS
from toolc.compiler.twins import Place
from toolc.source import SourceText
from toolc.spec import ToolSpec

_KEYS: Final = ("name", "description", "aliases")


def brief_line(piece: Piece) -> str:
    """What other files' tools are compared with, and no more: a line that ``briefs`` reads."""
    descriptions = [{"description": tool.spec.description} for tool in piece.tools]
    return f"{_in_short(piece)} {json.dumps({'tools': descriptions})}"


def to_line(piece: Piece) -> str:
    """What to keep of a piece; nothing of one that calls others."""
    if any(any(calls(tool)) for tool in piece.tools):
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
    return f"{_in_short(piece)} {json.dumps(kept)}"


def _in_short(piece: Piece) -> str:
    return json.dumps([_brief(tool) for tool in piece.tools], separators=(",", ":"))


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


def briefs(lines: AnyMapping[str, str]) -> dict[Place, Brief]:
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
        "spans": [tool.span(), *(tool.span(key) if tool.node.get(key) else None for key in _KEYS)],
        "alias_spans": [tool.span("aliases", index) for index in range(len(spec.aliases))],
    }


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
    spec = ToolSpec(
        name=kept["name"],
        description=kept["description"],
        aliases=tuple(kept["aliases"]),
        parameters=NO_PARAMETERS,
        backend=NO_COMMAND,
    )
    whole, *places = kept["spans"]
    node = Mapping.of(_entries(kept, places), span(whole))
    return LocatedTool(
        spec=spec,
        node=node,
        path=source.path,
        source=source,
        damaged=frozenset(kept["damaged"]),
        known_wording=wording,
    )


def _entries(kept: Any, places: Any) -> Iterator[Entry]:
    for key, place in zip(_KEYS, places, strict=True):
        if place is not None:
            value: Node = Scalar(None, span(place))
            if key == "aliases":
                value = SequenceNode(tuple(Scalar(None, span(each)) for each in kept["alias_spans"]), span(place))
            yield Entry(key, span(place), value)
