"""TC002: a key stands twice in one map."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.DUPLICATE_KEY,),
    explanation="""\
Both YAML and TOML forbid a key that stands twice in one map, but many parsers take the last value
without a word. A reviewer reads the first one. Keep the one that is meant.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  limits: {timeout: 5s, pids: 16, timeout: 10m}
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  limits: {timeout: 5s, pids: 16}
""",
)
