"""What toolc raises, and the exit code each becomes.

::

    ToolcError                 2  what happened, where, what to do
    ├── UsageError             2  the caller asked for something that cannot be
    │   └── MissingExtraError  2  a feature whose optional packages are not installed
    ├── SpecError              2  specs with errors; carries the findings
    ├── RegistryError          2  a registry that cannot be read or trusted
    └── InfrastructureError    3  the sandbox could not do its work; never a tool's own failure
        ├── BatchError         3  some calls of a batch could not be made; holds the results of the others
        ├── NoEngineError      3  no engine on this host can run the call
        ├── NoPythonError      3  an image has no python3 that starts
        └── SandboxDiedError   3  a sandbox ended on its own, before its call did

A tool that fails is not an exception: it is a :class:`toolc.model.result.ToolResult` with ``is_error``.
"""

from __future__ import annotations

from typing import ClassVar

from toolc.model.diagnostics import Diagnostic

__all__ = [
    "InfrastructureError",
    "MissingExtraError",
    "NoEngineError",
    "NoPythonError",
    "RegistryError",
    "SandboxDiedError",
    "SpecError",
    "ToolcError",
    "UsageError",
]


class ToolcError(Exception):
    """Base of every error toolc raises on purpose. ``str(error)`` is fit to show to a user."""

    exit_code: ClassVar[int] = 2


class UsageError(ToolcError):
    """The caller asked for something that cannot be: a missing folder, an unknown tool or engine."""


class MissingExtraError(UsageError):
    """A feature needs packages that are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs packages that are not installed; install them with: pip install 'toolc[{extra}]'"
        )


class SpecError(ToolcError):
    """Specs that do not compile. ``diagnostics`` holds every finding, warnings included."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class RegistryError(ToolcError):
    """A registry file that is not one, is of a newer format, or does not match its digests."""


class InfrastructureError(ToolcError):
    """The sandbox could not do its work. Raised, never returned: it must not look like a tool's output."""

    exit_code = 3


class NoEngineError(InfrastructureError):
    """No engine on this host can run the call; the message says why for each, and the remedy."""


class NoPythonError(InfrastructureError):
    """An image has no ``python3`` that starts."""


class SandboxDiedError(InfrastructureError):
    """A sandbox ended on its own, or broke the wire protocol, before its call had a result."""
