"""TC108: a value of the wrong type, or one that is not allowed."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.BAD_VALUE,),
    explanation="""\
The value is not of the kind that its key takes, or not one of those that are allowed. Nothing is
converted silently: a number is not text, one item is not a list, `"true"` is not true. The finding
says what the key takes.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
tags: greetings
backend:
  shell:
    argv: [echo, hello]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
tags: [greetings]
backend:
  shell:
    argv: [echo, hello]
""",
)
