"""Decode ``backend``, which has exactly one kind; ``backend.plugin`` is decoded here too."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from toolc.compiler.decode.shell import constant, decode_shell
from toolc.compiler.project.files import FileError, SpecFolder
from toolc.document.map_reader import Findings, Reader, first_line, list_of, map_parser, mismatch, text
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.document.suggestions import is_key_of, quote_names
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.spec.code_backends import File, PluginBackend
from toolc.model.spec.tool import Backend

KINDS: Final = ("shell", "python", "http", "plugin", "composite", "agent")
"""The kinds of backends in specs."""


@map_parser("'backend'")
def decode_backend(
    reader: Reader, *, folder: SpecFolder, parameters: Schema | None, tool_name: str, has_image: bool = False
) -> Backend | None:
    """Decode ``backend``; ``parameters`` is None and ``tool_name`` empty if they could not be read.

    ``has_image`` is whether the sandbox has its own image, or this is unknown.
    """
    kinds = [entry for entry in reader.node.entries if entry.key in KINDS]
    if len(kinds) > 1:
        message = f"a tool has one backend, but this one has both '{kinds[0].key}' and '{kinds[1].key}'"
        reader.findings.add(codes.ONE_BACKEND, message, kinds[1].key_span, "keep one, or declare two tools")
    elif not kinds and not reader.node.entries:
        hint = f"add one of {quote_names(KINDS)}"
        message = "a tool has one backend, but this one has none"
        reader.findings.add(codes.ONE_BACKEND, message, first_line(reader.node.span), hint)
    reader.ignore(*KINDS)
    if len(kinds) == 1 and (inner := _outdented(reader, kinds[0])):
        return _decode(kinds[0].key, inner, reader.findings, _Context(folder, parameters, tool_name, has_image))
    context = _Context(folder, parameters, tool_name, has_image)
    backends = [_decode(entry.key, entry.value, reader.findings, context) for entry in kinds]
    return next((backend for backend in backends if backend is not None), None)


def _outdented(reader: Reader, kind: MappingEntry) -> Mapping | None:
    """Return the keys of a backend that are next to its empty kind, after reporting them; None if there are none."""
    if not isinstance(kind.value, Scalar) or kind.value.value is not None:
        return None
    keys = {entry.key: entry for entry in reader.node.entries if is_key_of(entry.key, f"backend.{kind.key}")}
    if not keys:
        return None
    first = next(iter(keys.values()))
    message = f"'{first.key}' is a key of '{kind.key}', but not indented below it"
    reader.findings.add(codes.BAD_VALUE, message, first.key_span, f"indent it further than '{kind.key}'")
    reader.ignore(*keys)
    return Mapping(keys, reader.node)


class _Context(NamedTuple):
    """The values from the rest of the tool that are needed to decode its backend."""

    folder: SpecFolder
    parameters: Schema | None
    tool_name: str
    has_image: bool


def _decode(kind: str, node: Node, findings: Findings, context: _Context) -> Backend | None:
    """Decode a backend of one of ``KINDS``."""
    what, (folder, parameters, tool_name, has_image) = f"'{kind}'", context
    # Imported here to start faster: a tool has one kind of backend and does not need the modules of the others.
    match kind:
        case "shell":
            return decode_shell(node, what, findings, folder, parameters)
        case "python":
            from toolc.compiler.decode.python import decode_python

            return decode_python(node, what, findings, folder, parameters, tool_name=tool_name, has_image=has_image)
        case "http":
            from toolc.compiler.decode.http import decode_http

            return decode_http(node, what, findings, parameters)
        case "plugin":
            return decode_plugin(node, what, findings, folder)
        case "composite":
            from toolc.compiler.decode.composed import decode_composite

            return decode_composite(node, what, findings, parameters)
        case _:
            from toolc.compiler.decode.composed import decode_agent

            return decode_agent(node, what, findings, parameters)


@map_parser("backend.plugin")
def decode_plugin(reader: Reader, folder: SpecFolder) -> PluginBackend | None:
    """Decode ``backend.plugin``; report files that the command names but the plugin would not find."""
    command = reader.required("command", _command)
    tool = reader.optional("tool", text)
    groups = reader.optional("files", list_of(partial(_match, folder=folder))) or ()
    files = {file.path: file for group in groups for file in group}
    ordered = tuple(sorted(files.values(), key=lambda file: file.path))
    _check_command(reader.node.get("command"), frozenset(files), reader.findings, folder)
    return PluginBackend(command=command, tool=tool, files=ordered) if command else None


def _command(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    if isinstance(node, Sequence) and not node.items:
        mismatch(node, what, "a list that names a program", findings)
        return None
    return list_of(constant)(node, what, findings)


def _check_command(node: Node | None, files: frozenset[str], findings: Findings, folder: SpecFolder) -> None:
    """Report files next to the spec that the command names but that would be missing in the sandbox."""
    for item in node.items if isinstance(node, Sequence) else ():
        word = item.value if isinstance(item, Scalar) else None
        path = word.removeprefix("./") if isinstance(word, str) else ""
        if path and path not in files and folder.has(path):
            message = f"'{path}' is next to the spec, but the plugin's process would not find it"
            findings.add(codes.FILE, message, item.span, f"add files: [{path}]")


def _match(node: Node, what: str, findings: Findings, folder: SpecFolder) -> tuple[File, ...] | None:
    pattern = text(node, what, findings)
    if pattern is None:
        return None
    try:
        return tuple(folder.read(name) for name in folder.match(pattern))
    except FileError as problem:
        findings.add(codes.FILE, str(problem), node.span, problem.hint)
        return None
