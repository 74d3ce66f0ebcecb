"""``backend``: exactly one kind of it, each read by a module of its own."""

from __future__ import annotations

from typing import Final, NamedTuple

from toolc.compiler.decode_shell import decode_shell
from toolc.compiler.files import Folder
from toolc.document.map_reader import Findings, Reader, first_line, listed, mapping
from toolc.document.nodes import Node
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.spec.tool import Backend

KINDS: Final = ("shell", "python", "http", "plugin", "composite", "agent")
"""The kinds of backend, as specs call them."""


def decode_backend(
    node: Node, what: str, findings: Findings, *, folder: Folder, parameters: Schema | None, tool_name: str
) -> Backend | None:
    """Decode ``backend``; ``parameters`` is None, and ``tool_name`` empty, where they could not be read."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'backend'", findings)
    kinds = [entry for entry in found.entries if entry.key in KINDS]
    if len(kinds) > 1:
        message = f"a tool has one backend, and this one has both '{kinds[0].key}' and '{kinds[1].key}'"
        findings.add(codes.ONE_BACKEND, message, kinds[1].key_span, "keep one, or make two tools")
    elif not kinds and not found.entries:
        hint = f"add one of {listed(KINDS)}"
        message = "a tool has one backend, and this one has none"
        findings.add(codes.ONE_BACKEND, message, first_line(found.span), hint)
    reader.leave(*KINDS)
    reader.close()
    given = _Given(folder, parameters, tool_name)
    backends = [_decode(entry.key, entry.value, findings, given) for entry in kinds]
    return next((backend for backend in backends if backend is not None), None)


class _Given(NamedTuple):
    """What the rest of a tool says that its backend is read with."""

    folder: Folder
    parameters: Schema | None
    tool_name: str


def _decode(kind: str, node: Node, findings: Findings, given: _Given) -> Backend | None:
    """A backend of one of ``KINDS``."""
    what, (folder, parameters, tool_name) = f"'{kind}'", given
    # Start-up time: a tool has one kind of backend, and the other kinds' modules are never looked at.
    match kind:
        case "shell":
            return decode_shell(node, what, findings, folder, parameters)
        case "python":
            from toolc.compiler.decode_python import decode_python

            return decode_python(node, what, findings, folder, parameters, tool_name=tool_name)
        case "http":
            from toolc.compiler.decode_http import decode_http

            return decode_http(node, what, findings, parameters)
        case "plugin":
            from toolc.compiler.decode_plugin import decode_plugin

            return decode_plugin(node, what, findings, folder)
        case "composite":
            from toolc.compiler.decode_composite import decode_composite

            return decode_composite(node, what, findings, parameters)
        case _:
            from toolc.compiler.decode_agent import decode_agent

            return decode_agent(node, what, findings, parameters)
