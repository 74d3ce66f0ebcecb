"""A document of format 1: the one tool, or the several tools, that it declares."""

from __future__ import annotations

from toolc.compiler import codes
from toolc.compiler.decode_defaults import check_defaults, merge_defaults
from toolc.compiler.decode_tool import LocatedTool, decode_tool
from toolc.compiler.document import Document, Mapping, Node, Scalar, Sequence
from toolc.compiler.files import Folder
from toolc.compiler.reader import Findings, Reader, mapping, sequence
from toolc.spec import FORMAT


def decode(document: Document, folder: Folder, findings: Findings) -> tuple[LocatedTool, ...]:
    """The tools of a document, as far as they can be read; every problem is in ``findings``.

    ``folder`` is where the files stand that the tools name.
    """
    root = document.root
    if not _is_format(root, findings):
        return ()
    if root.entry("tools") is None and root.entry("defaults") is None:
        tool = Mapping(tuple(entry for entry in root.entries if entry.key != "toolc"), root.span)
        return (decode_tool(tool, findings, folder),)
    return _decode_tools(root, findings, folder)


def _is_format(root: Mapping, findings: Findings) -> bool:
    node = Reader(root, "the spec", findings).required("toolc", _format)
    return node is not None


def _format(node: Node, what: str, findings: Findings) -> int | None:
    value = node.value if isinstance(node, Scalar) else None
    if value == FORMAT and isinstance(value, int) and not isinstance(value, bool):
        return FORMAT
    message = f"{what} is the format's version, and this toolc reads version {FORMAT}"
    findings.add(codes.UNSUPPORTED, message, node.span, f"write toolc: {FORMAT}")
    return None


def _decode_tools(root: Mapping, findings: Findings, folder: Folder) -> tuple[LocatedTool, ...]:
    reader = Reader(root, "a file with 'tools'", findings)
    reader.get("toolc")
    tools = reader.required("tools", sequence)
    defaults = reader.optional("defaults", mapping)
    reader.close()
    if tools is None:
        tools = Sequence((), root.span)
    elif not tools.items:
        findings.add(codes.BAD_VALUE, "'tools' must list at least one tool", tools.span)
    merged = check_defaults(defaults, findings) if defaults else Mapping((), root.span)
    found = (mapping(item, f"'tools'[{index}]", findings) for index, item in enumerate(tools.items))
    return tuple(decode_tool(merge_defaults(merged, tool), findings, folder) for tool in found if tool is not None)
