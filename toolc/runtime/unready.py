"""What a spec may say and this version cannot do yet. Such a tool compiles and can be reviewed, but not called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.backends import BACKEND_KINDS
from toolc.model.spec.code_backends import PluginBackend, PythonBackend, ShellBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.composed import COMPOSED

SERVED: Final = frozenset({PluginBackend.tag, PythonBackend.tag, ShellBackend.tag})
"""The kinds of backend that can have a sandbox for several calls."""


def unready(tool: ToolSpec) -> str | None:
    """Why this version cannot call ``tool``, fit to show to a user; None where it can."""
    features = tuple(_features(tool))
    if not features:
        return None
    return f"tool {tool.name!r}: this version of toolc compiles {', '.join(features)} but does not run it yet"


def _features(tool: ToolSpec) -> Iterator[str]:
    backend = tool.backend
    if backend.tag not in BACKEND_KINDS and backend.tag not in COMPOSED:
        yield f"'backend.{backend.tag}'"
    if tool.sandbox.lifetime == "session" and backend.tag not in SERVED:
        yield f"'sandbox.lifetime: session' of 'backend.{backend.tag}'"
