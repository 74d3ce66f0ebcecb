"""TC310: a pattern that is not a regular expression."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.BAD_PATTERN, codes.PYTHON_PATTERN),
    explanation="""\
A `pattern` of a schema, or `matches` of a test, is not a regular expression, so no value could be
compared with it. The message says what is wrong and at which character of the pattern.

JSON Schema's patterns are those of ECMAScript. A `pattern` that uses what is Python's own, such as
`(?P<name>...)`, `(?i)` or `\\A`, is a warning: clients and providers in other languages refuse it, or match
something else.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, pattern: "^[A-Z][a-z+$", description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, pattern: "^[A-Z][a-z]+$", description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
)
