"""The calls of a scripted model, and tools for them: their results are a text, an image and an error."""

from typing import Final

from models.model_responses import Asked
from toolc import Image, Registry, ToolResult, tool

PNG: Final = b"\x89PNG\r\n\x1a\n"
CALLS: Final = (
    Asked("call_1", "file_read", '{"path": "notes.md"}'),
    Asked("call_2", "plot", "{}"),
    Asked("call_3", "file_read", '{"path": "missing.md"}'),
)


def registry() -> Registry:
    """Return functions instead of the built-in tools, so that no sandbox is needed, and that can return an image."""

    @tool
    def file_read(path: str) -> ToolResult:
        """Read the text of one file in the current folder."""
        if path != "notes.md":
            return ToolResult.failure(f"there is no file {path!r}", kind="not_found")
        return ToolResult.success("two words")

    @tool
    def plot() -> Image:
        """Plot the number of words of the files in the current folder."""
        return Image(PNG, "image/png")

    found = Registry()
    found.add(file_read, plot)
    return found
