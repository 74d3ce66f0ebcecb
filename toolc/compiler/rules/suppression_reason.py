"""TC808: a comment that ignores a finding without saying which, or why."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.NO_REASON,),
    explanation="""\
Whoever reads the spec next must be able to tell whether a warning that somebody took away still may be.
Write the codes in brackets and the reason after them: `# toolc: ignore[TC204] the model knows this name`.
A comment without codes takes nothing away; one without a reason does.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello.  # toolc: ignore[TC204]
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
