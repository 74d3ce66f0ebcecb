"""Return files that a call leaves in its workspace as content (``result.files``)."""

from dataclasses import replace
from glob import escape
from pathlib import PurePosixPath
from typing import Final

from toolc.backends.backend_protocol import PlanError
from toolc.backends.content import with_note
from toolc.guest.context import audio_type, image_type
from toolc.model.call import BoundCall
from toolc.model.errors import raise_shortage
from toolc.model.plan import Mount
from toolc.model.result import Audio, Content, Image, Resource, Text, ToolFailure, ToolResult
from toolc.model.template import Template, TemplateError, as_text, evaluate
from toolc.runtime.workspace.dir_handle import DirHandle
from toolc.runtime.workspace.result_folder import FinalFolder, FolderError, RealFolder, format_path
from toolc.runtime.workspace.transaction.transaction import Transaction

MAX_FILES: Final = 100
"""The maximum number of files that one call may return. A model cannot use more blocks in a result."""

_TYPES: Final = {
    ".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".md": "text/markdown",
    ".mp3": "audio/mpeg", ".mp4": "video/mp4", ".pdf": "application/pdf", ".svg": "image/svg+xml",
    ".wav": "audio/wav", ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xml": "application/xml", ".zip": "application/zip",
}  # fmt: skip
"""The media types by suffix. Python's own table depends on its version and on the host."""


def paths_to_return(call: BoundCall) -> tuple[str, ...]:
    """Return the patterns of the files to return. Arguments are inserted as literal paths, not as patterns.

    Raises ``PlanError`` for an argument that leads out of the workspace.
    """
    return tuple(_pattern(each, call) for each in call.tool.result.files if each.names <= call.arguments.keys())


def with_files(
    result: ToolResult, patterns: tuple[str, ...], mount: Mount, limit: int, transaction: Transaction | None = None
) -> ToolResult:
    """Return ``result`` with the files that match ``patterns``, in the order of the patterns, without duplicates.

    If that fails, returns an error result. If ``result`` is an error, it is returned unchanged. ``mount`` is the
    workspace (in a ``transaction``, the real one) and defines the tool's access rights. ``limit`` is the maximum size
    of all files together, in bytes.
    """
    if result.is_error:
        return result
    try:
        with _open_workspace(mount) as real:
            folder = transaction.final_folder() if transaction else RealFolder(real)
            blocks = _blocks(FinalFolder(folder, mount), patterns, limit)
    except FolderError as error:
        text = Text(with_note(result.text, str(error)))
        return replace(result, content=(text,), structured=None, error=ToolFailure(error.kind, str(error)))
    return replace(result, content=(*result.content, *blocks))


def _open_workspace(mount: Mount) -> DirHandle:
    try:
        real = DirHandle.open(mount.source)
    except OSError as error:
        raise_shortage(error)
        raise FolderError("file", f"the workspace cannot be read: {error.strerror}") from None
    if mount.inode and (real.status.st_dev, real.status.st_ino) != (mount.device, mount.inode):
        real.close()
        raise FolderError("file", "the workspace was replaced by another folder while the tool ran")
    return real


def _pattern(template: Template, call: BoundCall) -> str:
    try:
        parts = (
            part if isinstance(part, str) else escape(as_text(evaluate(part, call.arguments)))
            for part in template.parts
        )
        pattern = "".join(parts).removeprefix("./")
    except TemplateError as error:
        raise PlanError(str(error)) from None
    if "\0" in pattern or not {"", ".", ".."}.isdisjoint(pattern.split("/")):
        about = ", ".join(sorted(template.names)) or "result.files"
        raise PlanError(f"{about}: {pattern[:60]!r} is not a path of a file in the workspace")
    return pattern


def _blocks(folder: FinalFolder, patterns: tuple[str, ...], limit: int) -> list[Content]:
    paths = dict.fromkeys(path for pattern in patterns for path in folder.files(pattern))
    if len(paths) > MAX_FILES:
        message = f"the tool left {len(paths)} files to return, but the limit is {MAX_FILES}; request fewer"
        raise FolderError("output_limit", message)
    blocks: list[Content] = []
    left = limit
    for path in paths:
        data = folder.read(path, left + 1)
        if len(data) > left:
            raise FolderError(
                "output_limit",
                f"the files to return exceed the output limit of {limit} bytes "
                f"({format_path(path)!r} is the first that does not fit); request less",
            )
        left -= len(data)
        blocks.append(_block(path, data))
    return blocks


def _block(path: bytes, data: bytes) -> Content:
    if mime_type := image_type(data):
        return Image(data, mime_type)
    if mime_type := audio_type(data):
        return Audio(data, mime_type)
    name = format_path(path)
    is_text = _is_text(data)
    guessed = _TYPES.get(PurePosixPath(name).suffix.lower())
    if guessed is None or (guessed.startswith("text/") and not is_text):
        guessed = "text/plain" if is_text else "application/octet-stream"
    return Resource(data, guessed, name)


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False
