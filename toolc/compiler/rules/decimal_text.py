"""TC004: a decimal number where text is meant."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.DECIMAL, codes.DECIMAL_CHOICE),
    explanation="""\
A version without quotes is a number: `1.10` is 1.1, and the tenth release has become the first. Put
versions, tags and other text that looks like a decimal number in quotes. Among the values of an
`enum` it is a warning, where the schema's type is text, or where a zero at the end gets lost.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
version: 1.10
backend:
  shell:
    argv: [echo, hello]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
version: "1.10"
backend:
  shell:
    argv: [echo, hello]
""",
)
