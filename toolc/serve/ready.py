"""What every call would be refused for, refused before a model sees the tools."""

from __future__ import annotations

from pathlib import Path

from toolc.client.registry import Registry
from toolc.model.errors import UsageError
from toolc.runtime.execution.admission import unsupported_features
from toolc.runtime.workspace.mount import mount


def check_workspace(registry: Registry, workspace: Path | None) -> None:
    """Refuse a workspace that no call could have, or its absence where tools need one. Raises ``UsageError``."""
    if workspace is not None:
        mount(workspace, "ro")
        return
    needing = [tool.name for tool in registry if tool.sandbox.workspace != "none"]
    if needing:
        raise UsageError(
            f"{', '.join(needing)}: these tools work on a folder, and serve takes none by itself; "
            "say which one they may use with: --workspace DIR"
        )


def check_ready(registry: Registry) -> None:
    """Refuse to offer a model tools that no call could run. Raises ``UsageError``."""
    reasons = [reason for tool in registry if (reason := unsupported_features(tool))]
    if reasons:
        raise UsageError("\n".join([*reasons, "serve a file, or SPEC#NAME, without these tools"]))
