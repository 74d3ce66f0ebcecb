"""TC404: a parameter that names a file, in a tool that can reach no file it could name.

A path is confined by the sandbox: only the workspace is there. Without one, a call with a path of the
user's finds nothing. Silent where files may come from elsewhere: an image of the tool's own, files that
travel with it, the network, values that the spec itself names, or a backend that is no command and no function.
A tool that says ``open_world: true`` means a path out there (in a repository, on a cluster); TC503 is about
the network that it then lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.properties import parameters, says
from toolc.diagnostics import Diagnostic
from toolc.spec import PythonBackend, ShellBackend

NUMBER: Final = "TC404"

NEEDS: Final = frozenset({"annotations", "backend", "parameters", "sandbox"})

_FILES: Final = frozenset(
    {
        "dir", "directory", "file", "file_name", "file_path", "filename", "filepath", "files", "path", "paths",
    }
)  # fmt: skip
"""Not "folder": mail and bookmarks have those too."""


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each parameter with the name of a file where there are no files."""
    if _FILES.isdisjoint(tool.spec.parameters.properties):
        return
    if tool.spec.sandbox.workspace != "none" or not _has_no_files(tool):
        return
    for entry, schema in parameters(tool):
        if entry.key in _FILES and not says(schema, "enum", "const"):
            yield Diagnostic(
                codes.NO_WORKSPACE, f"'{entry.key}' names a file, and this tool can reach none: no workspace",
                entry.key_span, "add sandbox: {workspace: ro}, or rename it if it is no file",
            )  # fmt: skip


def _has_no_files(tool: LocatedTool) -> bool:
    sandbox = tool.spec.sandbox
    if sandbox.image or sandbox.build or sandbox.network.allow or tool.spec.annotations.open_world:
        return False
    match tool.spec.backend:
        case ShellBackend():
            return True
        case PythonBackend(files=files):
            return len(files) == 1
        case _:
            return False
