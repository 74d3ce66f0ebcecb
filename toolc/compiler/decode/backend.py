"""Decode ``backend``, which has exactly one kind. ``backend.plugin`` is also decoded here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final

from toolc.compiler.decode.shell import program
from toolc.compiler.project.files import SpecFolder, match_files
from toolc.compiler.templates.expressions import expression
from toolc.compiler.templates.parse import Scope, read_template
from toolc.document.declared import alternative, read_keys, read_map
from toolc.document.map_reader import Findings, Parse, Reader, first_line, list_of, map_parser
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.document.suggestions import quote_names
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.spec import keys
from toolc.model.spec.code_backends import PluginBackend
from toolc.model.spec.declared import alternatives, keys_of, keys_under, map_class
from toolc.model.spec.tool import Backend, Backends

KINDS: Final = Backends.one_of
"""The kinds of backends in specs."""

_OWN_DECODERS: Final = {
    "shell": "shell", "python": "python", "http": "http", "plugin": "backend", "mcp": "mcp",
    "composite": "composed", "agent": "composed",
}  # fmt: skip
"""The modules here that decode a kind of which some keys are not plain values or templates."""


@map_parser("'backend'")
def decode_backend(
    reader: Reader, *, folder: SpecFolder, parameters: Schema | None, tool_name: str, has_image: bool = False
) -> Backend | None:
    """Decode ``backend``. If they could not be read, ``parameters`` is None and ``tool_name`` is empty.

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
    reader.cls = Backends
    reader.ignore(*KINDS)
    inner = _outdented(reader, kinds[0]) if len(kinds) == 1 else None
    context = {"folder": folder, "parameters": parameters, "tool_name": tool_name, "has_image": has_image}
    found: list[Backend | None] = []
    for entry in kinds:
        parse: Parse[Any] = partial(_decode, kind=entry.key, context=context)
        backend: Backend | None = reader.read(entry._replace(value=inner) if inner else entry, parse)
        found.append(backend)
    return next((backend for backend in found if backend is not None), None)


def _outdented(reader: Reader, kind: MappingEntry) -> Mapping | None:
    """Report keys of a backend that are next to its empty kind, and return them, or None if there are none."""
    if not isinstance(kind.value, Scalar) or kind.value.value is not None:
        return None
    known = next({key.name for key in keys_under(each.kind)} for each in keys_of(Backends) if each.name == kind.key)
    own = {entry.key: entry for entry in reader.node.entries if entry.key in known}
    if not own:
        return None
    first = next(iter(own.values()))
    message = f"'{first.key}' is a key of '{kind.key}', but not indented below it"
    reader.findings.add(codes.BAD_VALUE, message, first.key_span, f"indent it further than '{kind.key}'")
    reader.ignore(*own)
    return Mapping(own, reader.node)


def _decode(node: Node, what: str, findings: Findings, kind: str, context: dict[str, Any]) -> Backend | None:
    """Decode a backend of one of ``KINDS``. ``context`` has values from the rest of the tool that this may need."""
    decode: Callable[..., Backend | None] = _declared
    if module := _OWN_DECODERS.get(kind):
        # Imported here to start faster: a tool has one kind of backend and does not need the modules of the others.
        decode = getattr(import_module(f"toolc.compiler.decode.{module}"), f"decode_{kind}")
    return decode(node, what, findings, **context)


@map_parser()
def _declared(reader: Reader, /, *, parameters: Schema | None, **_: object) -> Backend | None:
    """Decode a backend whose declaration says everything about its keys."""
    cls = next(map_class(each.kind) for each in keys_of(Backends) if f"'{each.name}'" == reader.what)
    if alternatives(cls):
        alternative(reader, cls)
    template = partial(read_template, scope=Scope(parameters=parameters))
    readers: dict[keys.Kind, Parse[Any]] = {
        keys.TEMPLATE: template, keys.list_of(keys.TEMPLATE): list_of(template), keys.EXPRESSION: expression,
    }  # fmt: skip
    found: Backend | None = read_map(
        reader, cls, **{each.field: readers[each.kind] for each in keys_of(cls) if each.kind in readers}
    )
    return found


@map_parser("backend.plugin")
def decode_plugin(reader: Reader, /, *, folder: SpecFolder, **_: object) -> PluginBackend | None:
    """Decode ``backend.plugin``. Report files that the command names but the plugin would not find."""
    found = read_keys(reader, PluginBackend, command=program, files=list_of(partial(match_files, folder=folder)))
    files = {file.path: file for group in found.get("files", ()) for file in group}
    found["files"] = tuple(sorted(files.values(), key=lambda file: file.path))
    _check_command(reader.node.get("command"), frozenset(files), reader.findings, folder)
    return PluginBackend(**found) if found.get("command") else None


def _check_command(node: Node | None, files: frozenset[str], findings: Findings, folder: SpecFolder) -> None:
    """Report files next to the spec that the command names but that would be missing in the sandbox."""
    for item in node.items if isinstance(node, Sequence) else ():
        word = item.value if isinstance(item, Scalar) else None
        path = word.removeprefix("./") if isinstance(word, str) else ""
        if path and path not in files and folder.has(path):
            message = f"'{path}' is next to the spec, but the plugin's process would not find it"
            findings.add(codes.FILE, message, item.span, f"add files: [{path}]")
