"""TC501: an image without a tag or digest. A tag is enough in a spec, for the lock pins its digest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC501"

NEEDS: Final = frozenset({"sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """An image that is named without a tag or digest."""
    image = tool.spec.sandbox.image
    # A colon before the last slash belongs to a registry's port.
    if image is not None and not {"@", ":"} & set(image.rpartition("/")[2]):
        yield Diagnostic(
            codes.IMAGE_TAG, f"the image '{image}' has no tag, so it is whatever 'latest' is on the day",
            tool.span("sandbox", "image"), f"name a version or a digest, as in {image}:1.2 or {image}@sha256:…",
        )  # fmt: skip
