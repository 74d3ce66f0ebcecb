"""What a spec may say and this version cannot do yet. Such a tool compiles and can be reviewed, but not called."""

from __future__ import annotations

from collections.abc import Iterator

from toolc.spec import PythonBackend, Sandbox, ShellBackend, ToolSpec
from toolc.spec_http import HttpBackend


def unready(tool: ToolSpec) -> str | None:
    """Why this version cannot call ``tool``, fit to show to a user; None where it can."""
    features = tuple(_features(tool))
    if not features:
        return None
    return f"tool {tool.name!r}: this version of toolc compiles {', '.join(features)} but does not run it yet"


def _features(tool: ToolSpec) -> Iterator[str]:
    backend = tool.backend
    if not isinstance(backend, HttpBackend | ShellBackend | PythonBackend):
        yield f"'backend.{backend.tag}'"
    for key, value in (
        ("retry", tool.retry),
        ("confirm", tool.confirm),
    ):
        if value:
            yield f"'{key}'"
    yield from _sandbox_features(tool.sandbox)


def _sandbox_features(sandbox: Sandbox) -> Iterator[str]:
    for key, value in (
        ("env with secrets", sandbox.secret_env),
        ("lifetime: session", sandbox.lifetime == "session"),
    ):
        if value:
            yield f"'sandbox.{key}'"
