"""TC502: an image whose tag is ``latest``, a tag that everybody expects to move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC502"

NEEDS: Final = frozenset({"sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """An image whose tag is ``latest``. A digest beside the tag decides, and then the tag is only a word."""
    image = tool.spec.sandbox.image
    if image is not None and image.endswith(":latest"):
        yield Diagnostic(
            codes.IMAGE_LATEST, f"the image '{image}' is another one with every release of its makers",
            tool.span("sandbox", "image"), "name the tag of a version",
        )  # fmt: skip
