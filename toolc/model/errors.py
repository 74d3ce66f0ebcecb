"""The exceptions that toolc raises, and the exit code of each.

::

    ToolcError                 2  what happened, where, what to do
    ├── UsageError             2  the caller asked for something that is not possible
    │   └── MissingExtraError  2  a feature whose optional packages are not installed
    ├── SpecError              2  specs with errors; has the findings
    ├── RegistryError          2  a registry that cannot be read or trusted
    ├── PolicyError            2  a policy does not allow a call
    └── InfrastructureError    3  the sandbox failed, not the tool itself
        ├── BatchError         3  some calls of a batch could not be made; has the results of the others
        ├── NoEngineError      3  no engine on this host can run the call
        ├── NoPythonError      3  an image does not have a python3 that starts
        └── SandboxDiedError   3  a sandbox exited before its call ended

A tool that fails raises no exception: its :class:`toolc.model.result.ToolResult` has ``is_error``.
"""

import errno
import os
from typing import ClassVar, Final

from toolc.model.diagnostics import Diagnostic

_SHORTAGES: Final = {
    errno.EMFILE: (
        "too many open files in this process; close some, run fewer calls at the same time, or raise the limit "
        "(ulimit -n)"
    ),
    errno.ENFILE: (
        "too many open files on this machine; end a program with many of them, or raise the limit (sysctl fs.file-max)"
    ),
}
"""The errors for which no file descriptor is free. They say nothing about the file that could not be opened."""


class ToolcError(Exception):
    """The base class of all errors that toolc raises on purpose. ``str(error)`` can be shown to a user."""

    exit_code: ClassVar[int] = 2


class UsageError(ToolcError):
    """The caller requested something that is not possible, such as a missing folder or an unknown tool or engine."""


class MissingExtraError(UsageError):
    """A feature needs packages that are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs packages that are not installed; install them with: pip install 'toolc[{extra}]'"
        )


class SpecError(ToolcError):
    """Specs that do not compile. ``diagnostics`` contains all findings, including warnings."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class PolicyError(ToolcError):
    """A policy does not allow a call of a tool. The message names the rule and the policy."""


class RegistryError(ToolcError):
    """A registry file that is invalid, has a newer format, or does not match its digests."""


class InfrastructureError(ToolcError):
    """The sandbox failed. This is always raised and never returned, because it must not look like a tool's output."""

    exit_code = 3


class NoEngineError(InfrastructureError):
    """No engine on this host can run the call. The message has the reason and the remedy for each engine."""


class NoPythonError(InfrastructureError):
    """An image does not have a ``python3`` that starts."""


class SandboxDiedError(InfrastructureError):
    """A sandbox exited, or violated the wire protocol, before its call had a result."""


def raise_shortage(error: BaseException) -> None:
    """Raise ``InfrastructureError`` if a file could not be opened because too many files are open.

    Call it where any other error would have a meaning, such as a missing feature or a damaged file.
    """
    for number, message in _SHORTAGES.items():
        is_import = isinstance(error, ImportError) and os.strerror(number) in str(error)
        if is_import or (isinstance(error, OSError) and error.errno == number):
            raise InfrastructureError(message) from error
