"""Checks of metadata: TC208 (label), TC801 (tests), TC803 (deprecation) and TC805 (annotations)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.located_tool import LocatedTool
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.spec.code_backends import PythonBackend, ShellBackend
from toolc.model.text import lazy_re

_DESTRUCTIVE_VERBS: Final = frozenset(
    {
        "delete", "destroy", "drop", "erase", "kill", "purge", "terminate", "uninstall", "wipe",
    }
)  # fmt: skip
_CHANGING_VERBS: Final = frozenset(
    {
        "append", "assign", "cancel", "close", "create", "deploy", "insert", "install", "merge", "move", "post",
        "publish", "push", "put", "remove", "rename", "replace", "rm", "send", "set", "submit", "update",
        "upload", "write",
    }
)  # fmt: skip
_READING_VERBS: Final = frozenset(
    {
        "count", "describe", "fetch", "find", "get", "inspect", "list", "lookup", "query", "read", "search",
        "show", "stat", "status", "view",
    }
)  # fmt: skip
_VERBS: Final = _DESTRUCTIVE_VERBS | _CHANGING_VERBS | _READING_VERBS
_WORD: Final = lazy_re(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")

# Words that introduce a replacement, a removal date, or a name with an underscore (a tool name).
_REPLACEMENT: Final = (  # compiled only if a tool is deprecated: start-up time
    r"\b(?:call|instead|merged|moved|prefer|renamed|replace[ds]?|replacement|see|successor|superseded|switch|try|use)\b"
    r"|\b(?:after|by|from|in|on|until)\s+(?:\w+\s+)?20[0-9]{2}\b|\b20[0-9]{2}-[0-9]{2}|\w_\w|[a-z]-[a-z]|`[^`]+`"
)


@tool_check("TC805", needs={"annotations", "backend", "name", "sandbox"})
def check_annotations(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report annotations that contradict each other or the verb of the name, and missing annotations.

    A client asks its user for confirmation before it runs a destructive tool, but not before a read-only one, so a
    wrong annotation is worse than none. The verb is the first word of the name, or else the last (``file_delete``).
    Only unambiguous verbs count, because ``remove_accents`` and ``set_of_words`` destroy nothing.
    """
    annotations = tool.spec.annotations
    verb = _verb(tool.spec.name)
    if annotations.read_only and annotations.destructive:
        yield _contradiction(tool, "destructive", "this tool is annotated as both read-only and destructive")
    elif annotations.read_only and (verb in _DESTRUCTIVE_VERBS or (verb in _CHANGING_VERBS and _can_change(tool))):
        yield _contradiction(tool, "read_only", f"this tool is annotated as read-only, but its name contains '{verb}'")
    elif annotations.destructive is False and verb in _DESTRUCTIVE_VERBS:
        yield _contradiction(tool, "destructive", f"this tool is annotated as harmless, but its name contains '{verb}'")
    elif annotations.destructive and verb in _READING_VERBS:
        yield _contradiction(
            tool, "destructive", f"this tool is annotated as destructive, but its name contains '{verb}'"
        )
    if annotations.read_only is None and annotations.destructive is None:
        yield Diagnostic(
            codes.NO_ANNOTATION, "this tool has neither the annotation read_only nor destructive",
            tool.span("name"), "add annotations: {read_only: true}, or {destructive: true}, or {destructive: false}",
        )  # fmt: skip


def _contradiction(tool: LocatedTool, key: str, message: str) -> Diagnostic:
    hint = "correct it or rename the tool, because clients use it to decide whether to ask their users"
    return Diagnostic(codes.CONTRADICTION, message, tool.span("annotations", key), hint)


def _verb(name: str) -> str | None:
    words = [word.lower() for word in _WORD.findall(name)]
    return next((word for word in (*words[:1], *words[-1:]) if word in _VERBS), None)


def _can_change(tool: LocatedTool) -> bool:
    """Return whether the tool could change anything outside a call. TC505 checks the workspace."""
    computes = isinstance(tool.spec.backend, ShellBackend | PythonBackend)
    return not computes or bool(tool.spec.sandbox.network.allow)


@tool_check("TC803", needs={"deprecated"})
def check_replacement(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report a ``deprecated`` text that neither names a replacement nor states that there is none."""
    text = tool.spec.deprecated
    if text is not None and not re.search(_REPLACEMENT, text, re.IGNORECASE):
        yield Diagnostic(
            codes.NO_REPLACEMENT, "this text does not name a replacement", tool.span("deprecated"),
            "write e.g. 'use find_text instead', or the removal date and that there is no replacement",
        )  # fmt: skip


@tool_check("TC801", needs={"examples", "tests"})
def check_tests(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report a tool without ``tests`` and ``examples``. Off by default, because a small tool may need neither."""
    if not tool.spec.tests and not tool.spec.examples:
        yield Diagnostic(
            codes.NO_TEST, "this tool has no test and no example", tool.span("name"),
            "add 'tests' with calls and their expected results; 'toolc test' runs them in the sandbox",
        )  # fmt: skip


@tool_check("TC208", needs={"label", "name"})
def check_label(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report a tool without ``label``. Off by default, because only users who confirm calls need it."""
    if tool.spec.label is None:
        message = f"'{tool.spec.name}' has no label"
        yield Diagnostic(codes.LABEL, message, tool.span("name"), "add label with a short name for users")
