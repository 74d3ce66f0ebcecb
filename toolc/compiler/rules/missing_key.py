"""TC102: a key that must be there."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.MISSING_KEY,),
    explanation="""\
A tool has a `name` and a `backend`, and several maps inside have keys that are not optional. The
finding names the key and stands at the beginning of the map that lacks it.
""",
    bad="""\
toolc: 1
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
""",
)
