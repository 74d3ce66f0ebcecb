"""TC109: a duration or size without a known unit."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.BAD_UNIT,),
    explanation="""\
A naked number does not say whether it means seconds or milliseconds, bytes or megabytes, and the
difference is a factor of a thousand. Durations are `500ms`, `30s` or `10m`; sizes are `64KiB`,
`128MiB` or `1GiB`.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  limits: {timeout: 5, memory: 512MB}
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  limits: {timeout: 5s, memory: 512MiB}
""",
)
