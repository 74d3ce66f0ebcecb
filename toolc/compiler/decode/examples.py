"""Decode ``examples`` and ``tests``, whose arguments are validated against the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from toolc.compiler.decode.sandbox import workspace_path
from toolc.compiler.project.network import destinations
from toolc.compiler.schema.check_schema import check_instance
from toolc.compiler.schema.patterns import check_python_pattern
from toolc.document.declared import read_keys
from toolc.document.map_reader import Findings, Reader, list_of, map_of, map_parser, mapping, string
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, to_json
from toolc.document.suggestions import replaced_keys
from toolc.model import codes
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.source import Span
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import WorkspaceMode
from toolc.model.spec.tool import Expect, ExpectedChanges, ExpectedNetwork, Test
from toolc.validation.validate import SchemaValidator

_NOTHING: Final = Expect()


def decode_examples(
    node: Node, what: str, findings: Findings, parameters: Schema | None
) -> tuple[JsonObject, ...] | None:
    """Decode ``examples``, a list of arguments. ``parameters`` is None if they could not be read."""
    validator = SchemaValidator(parameters.value) if parameters else None
    return list_of(partial(_example, parameters=parameters, validator=validator))(node, what, findings)


def _example(
    node: Node, what: str, findings: Findings, parameters: Schema | None, validator: SchemaValidator | None
) -> JsonObject | None:
    """Decode one example. Report arguments below a key, such as ``args``, as in a test."""
    match node:
        case Mapping(
            entries=[MappingEntry(key="args" | "arguments" | "input" as key, value=Mapping() as inner) as entry]
        ):
            if parameters is None or key not in parameters.properties:
                names = ", ".join(f"{each.key:.80}: ..." for each in inner.entries[:5])
                message, hint = f"{what} has its arguments below '{key}'", f"write {{{names}}}, without '{key}'"
                findings.add(codes.EXAMPLE, message, entry.key_span, hint)
                return None
        case _:
            pass
    return _arguments(node, what, findings, validator)


def decode_tests(
    node: Node, what: str, findings: Findings, parameters: Schema | None, workspace: WorkspaceMode
) -> tuple[Test, ...] | None:
    """Decode ``tests``. Tests that expect ``error: invalid_args`` may have any arguments."""
    validator = SchemaValidator(parameters.value) if parameters else None
    return list_of(partial(_test, validator=validator, workspace=workspace))(node, what, findings)


@map_parser()
def _test(reader: Reader, validator: SchemaValidator | None, workspace: WorkspaceMode) -> Test | None:
    found = read_keys(reader, Test, expect=_expect, files=_files, caller=_caller)
    checked_by = None if found.get("expect", _NOTHING).error == "invalid_args" else validator
    node = reader.get("args") or Mapping({}, reader.node)
    if node.span == reader.node.span and replaced_keys(reader.node, Test):
        checked_by = None  # ``close`` reports the key that was written instead
    arguments = _arguments(node, f"{reader.what}.args", reader.findings, checked_by) or {}
    test = Test(args=arguments, **found)
    if workspace == "none":
        _report_files(reader.node, reader.findings)
    return test


def _report_files(test: Mapping, findings: Findings) -> None:
    expect = test.get("expect")
    expected = [expect.entry(key) for key in ("files", "changes")] if isinstance(expect, Mapping) else []
    for entry in (test.entry("files"), *expected):
        if entry is not None:
            message = "these files are in the workspace, but this tool has none"
            findings.add(codes.BAD_VALUE, message, entry.key_span, "add sandbox: {workspace: ro}")


def _arguments(node: Node, what: str, findings: Findings, validator: SchemaValidator | None) -> JsonObject | None:
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    if validator is not None:
        check_instance(map_node, validator, what, codes.EXAMPLE, findings)
    value = to_json(map_node)
    assert isinstance(value, dict)
    return value


@map_parser("expect")
def _expect(reader: Reader) -> Expect | None:
    files, network = reader.get("files"), reader.get("network")
    found = read_keys(
        reader, Expect, matches=_pattern, json=_value, structured=_value, files=_files_after, changes=_changes,
        network=None if isinstance(network, Mapping) else destinations,
    )  # fmt: skip
    connections = _connections(network, reader.findings) if isinstance(network, Mapping) else None
    return Expect(absent=_absent(files, reader.findings), connections=connections, **found)


def _value(node: Node, *_: object) -> tuple[JsonValue]:
    return (to_json(node),)


def _connections(node: Mapping, findings: Findings) -> ExpectedNetwork:
    reader = Reader(node, "expect.network", findings)
    connections = ExpectedNetwork(**read_keys(reader, ExpectedNetwork, allowed=destinations, refused=destinations))
    reader.close()
    return connections


@map_parser("expect.changes")
def _changes(reader: Reader) -> ExpectedChanges | None:
    return ExpectedChanges(**read_keys(reader, ExpectedChanges, added=_paths, changed=_paths, deleted=_paths))


def _path(node: Node, what: str, findings: Findings) -> str | None:
    path = string(node, what, findings)
    return None if path is None else _in_workspace(path, node.span, findings)


def _paths(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    paths = list_of(_path)(node, what, findings)
    return None if paths is None else tuple(sorted(set(paths)))


def _pattern(node: Node, what: str, findings: Findings) -> str | None:
    pattern = string(node, what, findings)
    if pattern is not None:
        check_python_pattern(pattern, what, node.span, findings)
    return pattern


def _caller(node: Node, what: str, findings: Findings) -> tuple[tuple[str, str], ...] | None:
    found = map_of(string)(node, what, findings)
    return None if found is None else tuple(sorted(found.items()))


def _files(node: Node, what: str, findings: Findings) -> tuple[File, ...] | None:
    map_node = mapping(node, what, findings)
    return None if map_node is None else _workspace_files(map_node.entries, findings)


def _files_after(node: Node, what: str, findings: Findings) -> tuple[File, ...] | None:
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    return _workspace_files([entry for entry in map_node.entries if not _is_null(entry.value)], findings)


def _absent(node: Node | None, findings: Findings) -> tuple[str, ...]:
    """Return the files that must not exist, which have null instead of contents."""
    entries = node.entries if isinstance(node, Mapping) else ()
    paths = (_in_workspace(entry.key, entry.key_span, findings) for entry in entries if _is_null(entry.value))
    return tuple(sorted(path for path in paths if path is not None))


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _workspace_files(entries: Iterable[MappingEntry], findings: Findings) -> tuple[File, ...]:
    files = (_workspace_file(entry, findings) for entry in entries)
    return tuple(sorted((file for file in files if file is not None), key=lambda file: file.path))


def _workspace_file(entry: MappingEntry, findings: Findings) -> File | None:
    content = string(entry.value, f"the content of '{entry.key}'", findings)
    path = _in_workspace(entry.key, entry.key_span, findings)
    return File(path=path, text=content) if content is not None and path is not None else None


def _in_workspace(path: str, span: Span, findings: Findings) -> str | None:
    return workspace_path(path, span, findings, "name it relative to the workspace")
