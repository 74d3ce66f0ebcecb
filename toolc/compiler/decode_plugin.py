"""``backend.plugin``: the command of a process that speaks newline-delimited JSON."""

from __future__ import annotations

from functools import partial

from toolc.compiler import codes
from toolc.compiler.decode_shell import constant
from toolc.compiler.document import Node, Sequence
from toolc.compiler.files import FileError, Folder
from toolc.compiler.reader import Findings, Reader, list_of, mapping, mismatch, text
from toolc.spec import File, PluginBackend


def decode_plugin(node: Node, what: str, findings: Findings, folder: Folder) -> PluginBackend | None:
    """Decode ``backend.plugin``."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "backend.plugin", findings)
    command = reader.required("command", _command)
    tool = reader.optional("tool", text)
    groups = reader.optional("files", list_of(partial(_match, folder=folder))) or ()
    reader.close()
    files = {file.path: file for group in groups for file in group}
    ordered = tuple(sorted(files.values(), key=lambda file: file.path))
    return PluginBackend(command=command, tool=tool, files=ordered) if command else None


def _command(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    if isinstance(node, Sequence) and not node.items:
        mismatch(node, what, "a list with a program in it", findings)
        return None
    return list_of(constant)(node, what, findings)


def _match(node: Node, what: str, findings: Findings, folder: Folder) -> tuple[File, ...] | None:
    pattern = text(node, what, findings)
    if pattern is None:
        return None
    try:
        return tuple(folder.read(name) for name in folder.match(pattern))
    except FileError as problem:
        findings.add(codes.FILE, str(problem), node.span, problem.hint)
        return None
