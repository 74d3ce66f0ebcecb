"""TC011: an integer that JSON readers cannot hold exactly."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.BIG_INTEGER,),
    explanation="""\
Many JSON readers hold numbers as IEEE doubles, and round an integer beyond ±(2^53 - 1) (RFC 7493).
The model and the tool would then see another number than the reviewer. An identifier of that length
is text: write it in quotes and give it the type `string`.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  account: {type: integer, default: 9007199254740993, description: Whose account it is.}
backend:
  shell:
    argv: [echo, "{{ account }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  account: {type: string, default: "9007199254740993", description: Whose account it is.}
backend:
  shell:
    argv: [echo, "{{ account }}"]
""",
)
