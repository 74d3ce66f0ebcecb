"""TC507: limits that cannot hold together."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.LIMIT,),
    explanation="""\
The files in `/tmp` are kept in memory, so a sandbox whose `tmp` is as large as its `memory` is
killed before `/tmp` is full. What a caller then sees is `out_of_memory` instead of a full disk.
Raise `memory`, or lower `tmp`.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  limits: {memory: 64MiB, tmp: 64MiB}
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  limits: {memory: 128MiB, tmp: 64MiB}
""",
)
