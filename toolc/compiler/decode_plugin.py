"""``backend.plugin``: the command of a process that speaks newline-delimited JSON."""

from __future__ import annotations

from functools import partial

from toolc.compiler.decode_shell import constant
from toolc.compiler.files import FileError, Folder
from toolc.document.map_reader import Findings, Reader, list_of, mapping, mismatch, text
from toolc.document.nodes import Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.spec.code_backends import File, PluginBackend


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
    _check_command(found.get("command"), frozenset(files), findings, folder)
    return PluginBackend(command=command, tool=tool, files=ordered) if command else None


def _command(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    if isinstance(node, Sequence) and not node.items:
        mismatch(node, what, "a list with a program in it", findings)
        return None
    return list_of(constant)(node, what, findings)


def _check_command(node: Node | None, files: frozenset[str], findings: Findings, folder: Folder) -> None:
    """Report a file beside the spec that the command names, and that would not be in the sandbox."""
    for item in node.items if isinstance(node, Sequence) else ():
        word = item.value if isinstance(item, Scalar) else None
        path = word.removeprefix("./") if isinstance(word, str) else ""
        if path and path not in files and folder.has(path):
            message = f"'{path}' stands beside the spec, and the plugin's process would not find it"
            findings.add(codes.FILE, message, item.span, f"add files: [{path}]")


def _match(node: Node, what: str, findings: Findings, folder: Folder) -> tuple[File, ...] | None:
    pattern = text(node, what, findings)
    if pattern is None:
        return None
    try:
        return tuple(folder.read(name) for name in folder.match(pattern))
    except FileError as problem:
        findings.add(codes.FILE, str(problem), node.span, problem.hint)
        return None
