"""TC201: a name that providers refuse."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.NAME,),
    explanation="""\
The names of tools and parameters travel to every provider, and each accepts other characters. What
all of them take is 1 to 64 letters, digits and `_`, for a tool also `-`, and a digit never comes
first. A few names of parameters are reserved, since they mean something else in a template or a
Python function.
""",
    bad="""\
toolc: 1
name: world.say-hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
""",
    good="""\
toolc: 1
name: world_say-hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
""",
)
