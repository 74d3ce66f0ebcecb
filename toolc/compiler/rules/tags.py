"""TC006: a YAML tag that has no meaning in a spec."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.CUSTOM_TAG,),
    explanation="""\
A tag such as `!ENV` or `!!python/object` asks a parser to make something of the value that the file
does not show. In a spec every value is what it says, and a build never reads the environment. Write
the value itself, or put it in quotes if it is text that begins with `!`.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  env: {LANG: !ENV LANG}
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  shell:
    argv: [echo, hello]
sandbox:
  env: {LANG: C.UTF-8}
""",
)
