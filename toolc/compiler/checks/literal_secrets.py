"""TC601: a secret in a spec, or in a file that travels with a tool.

A spec's own text is looked through as it is written, comments too: ``check_text`` is for whoever loads one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.document import Scalar
from toolc.compiler.secret_patterns import find_secrets
from toolc.diagnostics import Diagnostic
from toolc.source import SourceText
from toolc.spec import PythonBackend, Script, ShellBackend

NUMBER: Final = "TC601"

NEEDS: Final = frozenset({"backend"})

_HINT: Final = "revoke it, for it is in the history too; declare it under sandbox.secrets and refer to its name"


def check_text(source: SourceText) -> Iterator[Diagnostic]:
    """Each secret that is written in a file."""
    for found in find_secrets(source.text):
        span = source.span(found.start, found.end)
        yield Diagnostic(codes.SECRET, f"this looks like {found.kind}", span, _HINT)


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each secret in the files beside the spec that the tool takes along."""
    for path, text in _files(tool):
        beside = PurePosixPath(tool.path).parent / path
        yield from check_text(SourceText(beside.as_posix(), text))


def _files(tool: LocatedTool) -> Iterator[tuple[str, str]]:
    match tool.spec.backend:
        case PythonBackend(files=files):
            inline = tool.node_at("backend", "python", "code") is not None
            entry = tool.spec.backend.entry
            yield from (
                (each.path, each.text) for each in files if each.text and not (inline and each.path == entry)
            )
        case ShellBackend(command=Script(text=text)):
            node = tool.node_at("backend", "shell", "file")
            if isinstance(node, Scalar):
                yield str(node.value), text
        case _:
            pass
