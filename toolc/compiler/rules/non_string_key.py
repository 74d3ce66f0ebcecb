"""TC007: a key that is not a string."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.NON_STRING_KEY,),
    explanation="""\
Every key of a spec is text: JSON, TOML and the providers know no other. In YAML a key without
quotes may be a number, a boolean or null. Put it in quotes.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
    errors: {2: invalid_args}
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
    errors: {"2": invalid_args}
""",
)
