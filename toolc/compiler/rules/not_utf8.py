"""TC013: a file that is not UTF-8."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.NOT_UTF8,),
    explanation="""\
Specs, and the scripts and Python files beside them, are UTF-8. In another encoding the same bytes
are other characters to each reader. Have your editor save the file as UTF-8, without a byte order
mark.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole caf\udce9.
backend:
  shell:
    argv: [echo, hello]
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole café.
backend:
  shell:
    argv: [echo, hello]
""",
)
