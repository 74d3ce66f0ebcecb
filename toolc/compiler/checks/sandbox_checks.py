"""Checks of the sandbox: TC404 and TC505 (workspace), TC501 and TC502 (image), TC506 (user)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.helpers import has_keyword, parameters
from toolc.compiler.located_tool import LocatedTool
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.spec.code_backends import PythonBackend, ShellBackend
from toolc.version import __version__

_FILES: Final = frozenset(
    {
        "dir", "directory", "file", "file_name", "file_path", "filename", "filepath", "files", "path", "paths",
    }
)  # fmt: skip
"""Names of files. "folder" is missing, because it can also mean a mail or bookmark folder."""

_OWN_IMAGES: Final = frozenset({"toolc/base", "toolc/node", "toolc/python", "toolc/shell-tools"})
"""The images that ``toolc image build`` builds. A test compares this with ``sandbox-images``."""


@tool_check("TC404", needs={"annotations", "backend", "parameters", "sandbox"})
def check_missing_workspace(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each parameter with the name of a file in a tool without access to files.

    Of the user's files, the sandbox contains only the workspace. Without it, a call with a user's path finds nothing.
    Tools that get files from elsewhere (their image, packed files, the network, values in the spec) are not reported.
    Neither are backends other than commands and functions. In a tool with ``open_world: true``, the path is external,
    for example in a repository or on a cluster. TC503 reports its missing network.
    """
    if _FILES.isdisjoint(tool.spec.parameters.properties):
        return
    if tool.spec.sandbox.workspace != "none" or not _has_no_files(tool):
        return
    for entry, schema in parameters(tool):
        if entry.key in _FILES and not has_keyword(schema, "enum", "const"):
            yield Diagnostic(
                codes.NO_WORKSPACE, f"'{entry.key}' names a file, but this tool has no workspace and cannot read files",
                entry.key_span, "add sandbox: {workspace: ro}, or rename it if it is not a file",
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


@tool_check("TC505", needs={"annotations", "sandbox"})
def check_read_only_workspace(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report ``read_only: true`` with a workspace that can be changed permanently."""
    mode, transaction = tool.spec.sandbox.workspace, tool.spec.sandbox.transaction
    thrown_away = transaction is not None and transaction.commit == "never"
    if tool.spec.annotations.read_only and mode not in {"none", "ro"} and not thrown_away:
        yield Diagnostic(
            codes.READ_ONLY_WRITES, f"this tool is annotated as read-only, but its workspace is '{mode}'",
            tool.span("sandbox", "workspace"), "write workspace: ro, or read_only: false",
        )  # fmt: skip


@tool_check("TC501", needs={"sandbox"})
def check_image_tag(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report an image without a tag or digest. A tag is sufficient, because the lock file pins its digest."""
    image = tool.spec.sandbox.image
    # A colon before the last slash separates the port of a registry.
    if image is not None and not {"@", ":"} & set(image.rpartition("/")[2]):
        hint = _own_image(image) or f"name a version or a digest, as in {image}:1.2 or {image}@sha256:…"
        message = f"the image '{image}' has no tag, so it changes whenever 'latest' does"
        yield Diagnostic(codes.IMAGE_TAG, message, tool.span("sandbox", "image"), hint)


def _own_image(name: str) -> str:
    """Return a hint with the tag for the image ``name`` of toolc, or an empty string for other images."""
    if name not in _OWN_IMAGES:
        return ""
    return f"write {name}:{__version__}, and build it with: toolc image build {name.removeprefix('toolc/')}"


@tool_check("TC502", needs={"sandbox"})
def check_image_latest(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report an image with the tag ``latest``. A digest makes the tag irrelevant."""
    image = tool.spec.sandbox.image
    if image is not None and image.endswith(":latest"):
        yield Diagnostic(
            codes.IMAGE_LATEST, f"the image '{image}' changes with every release",
            tool.span("sandbox", "image"), _own_image(image.removesuffix(":latest")) or "name the tag of a version",
        )  # fmt: skip


@tool_check("TC506", needs={"sandbox"})
def check_root_user(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report a workspace without ``run_as: nonroot``, because root can own it. Off by default."""
    if tool.spec.sandbox.workspace != "none" and tool.spec.sandbox.run_as is None:
        yield Diagnostic(
            codes.MAY_BE_ROOT, "this tool runs as root if root owns the workspace",
            tool.span("sandbox", "workspace"), "add run_as: nonroot under 'sandbox'",
        )  # fmt: skip
