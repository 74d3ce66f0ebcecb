"""TC704: a schema that is not JSON Schema 2020-12."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.SCHEMA_TYPE,),
    explanation="""\
Parameters are JSON Schema 2020-12, which is what providers and MCP clients read. Types have the
names of JSON (`string`, `integer`, `number`, `boolean`, `array`, `object`, `null`), not those of a
programming language, and each keyword takes the values that the standard gives it.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: str, maxLength: long, description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  who: {type: string, maxLength: 100, description: Whom to greet.}
backend:
  shell:
    argv: [echo, hello, "{{ who }}"]
""",
)
