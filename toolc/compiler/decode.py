"""A document of format 1: the one tool, or the several tools, that it declares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from toolc.compiler.decode_defaults import check_defaults, merge_defaults
from toolc.compiler.decode_tool import LocatedTool, decode_tool
from toolc.compiler.files import Folder
from toolc.compiler.project import NO_PROJECT, Project
from toolc.compiler.variables import may_name_variables, put_variables
from toolc.document.map_reader import Findings, Reader, mapping, sequence
from toolc.document.nodes import Document, Mapping, Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.spec.tool import FORMAT


def decode(
    document: Document, folder: Folder, findings: Findings, project: Project = NO_PROJECT
) -> tuple[LocatedTool, ...]:
    """The tools of a document, as far as they can be read; every problem is in ``findings``.

    ``folder`` is where the files stand that the tools name; the tools start from what ``project`` says.
    """
    root = document.root
    if not _is_format(root, findings):
        return ()
    decoder = _Decoder(project, findings, folder, may_name_variables(findings.source))
    if root.entry("tools") is None and root.entry("defaults") is None:
        by_key = {**root.by_key}
        del by_key["toolc"]
        return (decoder.tool(Mapping(by_key, root), None),)
    return decoder.tools(root)


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


@dataclass(frozen=True, slots=True)
class _Decoder:
    """What the tools of one document have in common."""

    project: Project
    findings: Findings
    folder: Folder
    names_variables: bool

    def tool(self, tool: Mapping, defaults: Mapping | None) -> LocatedTool:
        """One tool: the project's defaults, the file's over them, the tool over both; then the variables."""
        layers = tuple(layer for layer in (self.project.defaults, defaults) if layer is not None)
        merged = merge_defaults(reduce(merge_defaults, layers), tool) if layers else tool
        if layers or self.names_variables:
            merged = put_variables(merged, self.project.vars, self.findings)
        found = decode_tool(merged, self.findings, self.folder, layers, self.project.lint.hosts)
        return replace(found, policies=self.project.policies) if self.project.policies else found

    def tools(self, root: Mapping) -> tuple[LocatedTool, ...]:
        """Each tool of a file with ``tools``."""
        reader = Reader(root, "a file with 'tools'", self.findings)
        reader.get("toolc")
        tools = reader.required("tools", sequence)
        defaults = reader.optional("defaults", mapping)
        reader.close()
        if tools is None:
            tools = Sequence((), root.span)
        elif not tools.items:
            self.findings.add(codes.BAD_VALUE, "'tools' must list at least one tool", tools.span)
        shared = check_defaults(defaults, self.findings) if defaults else None
        found = (mapping(item, f"'tools'[{index}]", self.findings) for index, item in enumerate(tools.items))
        return tuple(self.tool(tool, shared) for tool in found if tool is not None)
