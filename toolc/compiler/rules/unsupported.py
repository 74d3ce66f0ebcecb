"""TC104: a format version or a feature that this version of toolc does not have."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.UNSUPPORTED, codes.PROJECT_FILE),
    explanation="""\
The number after `toolc:` is the version of the format. A later version may mean something else by
the same words, so toolc reads only those that it knows, and says so where it does not read a part
of a project file. Nothing is passed over in silence: a project file that is a link, or the second
of two in one folder, is reported too. Use a version of toolc that has it, or do without.
""",
    bad="""\
toolc: 2
name: hello
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
