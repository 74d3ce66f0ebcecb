"""TC502: an image whose tag is ``latest``, a tag that everybody expects to move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"sandbox"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """An image whose tag is ``latest``. A digest beside the tag decides, and then the tag is only a word."""
    image = tool.spec.sandbox.image
    if image is not None and image.endswith(":latest"):
        yield Diagnostic(
            codes.IMAGE_LATEST, f"the image '{image}' is another one with every release of its makers",
            tool.span("sandbox", "image"), "name the tag of a version",
        )  # fmt: skip


_BAD: Final = """\
toolc: 1
name: node_version
label: Node version
description: Tell the version of Node.js that scripts run with. Use it before you write JavaScript.
parameters: {}
annotations: {read_only: true, open_world: false}
backend:
  shell: {argv: [node, --version]}
sandbox:
  image: node:latest
tests:
  - expect: {matches: "^v[0-9]+"}
"""

RULE: Final = Rule(
    codes=(codes.IMAGE_LATEST,),
    explanation="""\
The tag `latest` moves with every release of the image's makers. A tool that worked at review can then break, or
behave in another way, without any change to its spec.

Name the tag of a version, such as `node:22-slim`; the lock pins the digest it had at review.
""",
    bad=_BAD,
    good=_BAD.replace("node:latest", "node:22-slim"),
)
