"""``backend``: exactly one kind of it, each read by a module of its own."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_agent import decode_agent
from toolc.compiler.decode_composite import decode_composite
from toolc.compiler.decode_http import decode_http
from toolc.compiler.decode_plugin import decode_plugin
from toolc.compiler.decode_python import decode_python
from toolc.compiler.decode_shell import decode_shell
from toolc.compiler.document import Node
from toolc.compiler.files import Folder
from toolc.compiler.reader import Findings, Reader, first_line, listed, mapping
from toolc.schema import Schema
from toolc.spec import Backend

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
    backends: tuple[Backend | None, ...] = (
        reader.optional("shell", partial(decode_shell, folder=folder, parameters=parameters)),
        reader.optional(
            "python", partial(decode_python, folder=folder, parameters=parameters, tool_name=tool_name)
        ),
        reader.optional("http", partial(decode_http, parameters=parameters)),
        reader.optional("plugin", partial(decode_plugin, folder=folder)),
        reader.optional("composite", partial(decode_composite, parameters=parameters)),
        reader.optional("agent", partial(decode_agent, parameters=parameters)),
    )
    reader.close()
    return next((backend for backend in backends if backend is not None), None)
