"""TC501: an image without a tag or digest. A tag is enough in a spec, for the lock pins its digest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

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


_BAD: Final = """\
toolc: 1
name: sort_lines
label: Sort lines
description: Sort the lines of a text by the alphabet. Use it for lists of words; not for numbers.
parameters:
  text: {type: string, maxLength: 10000, description: "The lines to sort"}
backend:
  shell: {argv: [sort], stdin: "{{ text }}"}
sandbox:
  image: debian
tests:
  - args: {text: "b\\na\\n"}
    expect: {text: "a\\nb\\n"}
"""

RULE: Final = Rule(
    codes=(codes.IMAGE_TAG,),
    explanation="""\
An image without a tag is the image that is called `latest` at the moment. What was reviewed is then not what
runs: another build of the same spec can get another image.

Name a tag that its makers do not move, such as `debian:bookworm`; the lock pins the digest it had at review. A
digest in the spec itself, `debian@sha256:…`, is fine too.
""",
    bad=_BAD,
    good=_BAD.replace("image: debian", "image: debian:bookworm"),
)
