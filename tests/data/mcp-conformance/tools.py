"""The tools that the conformance runner of MCP calls."""

import base64
import sys
import time
from typing import Any

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
RESOURCE = {
    "type": "resource",
    "resource": {"uri": "test://resource", "mimeType": "text/plain", "text": "This is an embedded resource content."},
}


def image() -> bytes:
    return PNG


def audio() -> bytes:
    return WAV


def resource() -> dict[str, object]:
    return {"content": [RESOURCE]}


def mixed() -> dict[str, object]:
    encoded = base64.b64encode(PNG).decode()
    picture = {"type": "image", "data": encoded, "mimeType": "image/png"}
    return {"content": [{"type": "text", "text": "Multiple content types test:"}, picture, RESOURCE]}


def log() -> str:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
        time.sleep(0.1)
    return "done"


def fail(ctx: Any) -> None:
    raise ctx.error("tool_error", "This tool intentionally returns an error for testing")


def progress(ctx: Any) -> str:
    for percent in (0, 50, 100):
        ctx.progress(percent)
        time.sleep(0.1)
    return "done"


def contact(**arguments: object) -> str:
    return "accepted"
