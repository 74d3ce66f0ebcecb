"""TC012: a file that is too large or too deep."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.complaint import MAX_DEPTH
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.TOO_BIG,),
    explanation="""\
A spec file has at most 4 MiB, and its lists and maps are nested at most 100 levels deep. Nothing
that a person reviews comes near; what does is made to exhaust a parser. Split a large file into
several.
""",
    bad=f"""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  tree:
    type: array
    items: {{}}
    description: Who greets whom.
    default: {"[" * MAX_DEPTH}{"]" * MAX_DEPTH}
backend:
  shell:
    argv: [echo, hello]
    stdin: "{{{{ tree }}}}"
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
parameters:
  tree:
    type: array
    items: {}
    description: Who greets whom.
    default: []
backend:
  shell:
    argv: [echo, hello]
    stdin: "{{ tree }}"
""",
)
