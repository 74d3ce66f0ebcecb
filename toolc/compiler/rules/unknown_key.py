"""TC101: a key that has no meaning where it stands."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.UNKNOWN_KEY,),
    explanation="""\
A key that toolc does not know has no effect, and whoever wrote it believes that it has one: a
limit, a restriction. So each is an error, in schemas too, where a keyword of your own begins with
`x-`. Most are typing errors, or stand one level too deep or too high.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  limit: {timeout: 5s}
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  limits: {timeout: 5s}
""",
)
