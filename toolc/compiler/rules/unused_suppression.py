"""TC807: a comment that ignores what is not there, or what cannot be ignored."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.UNUSED_SUPPRESSION,),
    explanation="""\
`# toolc: ignore[TC204] reason` takes a warning away that somebody has looked at: on the same line, or,
where the comment stands alone, on the next. When what it was about is mended, the comment stays behind
and would hide the next mistake on that line. Remove it. An error keeps specs from being compiled, and no
comment takes it away.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.  # toolc: ignore[TC204] short on purpose
backend:
  shell:
    argv: [echo, hello]
""",
    good="""\
toolc: 1
name: hello
description: Say hello.  # toolc: ignore[TC204] short on purpose
backend:
  shell:
    argv: [echo, hello]
""",
)
