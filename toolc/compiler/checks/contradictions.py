"""TC805: annotations that contradict the tool's name, or one another; and, off, annotations that are missing.

A client asks its user before it runs a destructive tool, and not before one that only reads: a wrong
annotation is worse than none. The verb is the first word of the name, or else the last (``file_delete``).
Only verbs that leave no doubt count; ``remove_accents`` and ``set_of_words`` destroy nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic
from toolc.spec import PythonBackend, ShellBackend

NUMBER: Final = "TC805"

NEEDS: Final = frozenset({"annotations", "name", "sandbox", "backend"})

_DESTROYS: Final = frozenset(
    {
        "delete", "destroy", "drop", "erase", "kill", "purge", "terminate", "uninstall", "wipe",
    }
)  # fmt: skip
_CHANGES: Final = frozenset(
    {
        "append", "assign", "cancel", "close", "create", "deploy", "insert", "install", "merge", "move", "post",
        "publish", "push", "put", "remove", "rename", "replace", "rm", "send", "set", "submit", "update",
        "upload", "write",
    }
)  # fmt: skip
_READS: Final = frozenset(
    {
        "count", "describe", "fetch", "find", "get", "inspect", "list", "lookup", "query", "read", "search",
        "show", "stat", "status", "view",
    }
)  # fmt: skip
_KNOWN: Final = _DESTROYS | _CHANGES | _READS
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Annotations against each other and against the verb of the name, and those that are missing."""
    said = tool.spec.annotations
    verb = _verb(tool.spec.name)
    if said.read_only and said.destructive:
        yield _contradiction(tool, "destructive", "this tool cannot only read and be destructive too")
    elif said.read_only and (verb in _DESTROYS or (verb in _CHANGES and _can_change(tool))):
        yield _contradiction(tool, "read_only", f"this tool says it only reads, and its name says '{verb}'")
    elif said.destructive is False and verb in _DESTROYS:
        yield _contradiction(tool, "destructive", f"this tool says it destroys nothing, and its name says '{verb}'")
    elif said.destructive and verb in _READS:
        yield _contradiction(tool, "destructive", f"this tool says it is destructive, and its name says '{verb}'")
    if said.read_only is None and said.destructive is None:
        yield Diagnostic(
            codes.NO_ANNOTATION, "this tool does not say whether it only reads or may destroy something",
            tool.span("name"), "add annotations: {read_only: true}, or {destructive: true} or false",
        )  # fmt: skip


def _contradiction(tool: LocatedTool, key: str, message: str) -> Diagnostic:
    hint = "clients ask their users, or do not, by this word: correct it, or rename the tool"
    return Diagnostic(codes.CONTRADICTION, message, tool.span("annotations", key), hint)


def _verb(name: str) -> str | None:
    words = [word.lower() for word in _WORD.findall(name)]
    return next((word for word in (*words[:1], *words[-1:]) if word in _KNOWN), None)


def _can_change(tool: LocatedTool) -> bool:
    """Whether there is anything outside a call that the tool could change; TC505 is about the workspace."""
    computes = isinstance(tool.spec.backend, ShellBackend | PythonBackend)
    return not computes or bool(tool.spec.sandbox.network.allow)
