"""The audit log of this process. It is opened once, because each of its files has one writer."""

from __future__ import annotations

from functools import cache
from typing import Final

from toolc.config.configuration import AuditSettings
from toolc.runtime.workspace.mount import state_location
from toolc.telemetry.audit_log import AuditFiles, AuditLog

_opened: Final = cache(AuditLog)


def audit_files(settings: AuditSettings) -> AuditFiles:
    """Return the files of the log with these settings. The key stays in the user's state folder."""
    state = state_location() / "audit"
    return AuditFiles(
        log=settings.folder or state / "log", key=state / "key", arguments=settings.arguments,
        when_full=settings.when_full, max_file_bytes=settings.max_file_bytes,
    )  # fmt: skip


def audit_log(settings: AuditSettings) -> AuditLog:
    """Return the log with these settings. Raises ``UsageError`` if it cannot be opened."""
    return _opened(audit_files(settings))
