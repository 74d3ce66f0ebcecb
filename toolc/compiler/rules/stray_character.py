"""TC009: a character that does not belong: a tab, NUL, a byte order mark, a carriage return."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.STRAY_CHARACTER, codes.BYTE_ORDER_MARK, codes.CARRIAGE_RETURN),
    explanation="""\
A tab cannot indent in YAML, and control characters cannot stand in a spec at all: they hide what a
reviewer should see. A byte order mark is passed over here, but other tools take it for a part of
the first key.

Windows line ends in a spec do no harm. In a script or a Python file they travel into the sandbox: a
shell takes the carriage return for a part of each line, and the digest is another one on each kind
of machine. Save such a file with line feeds, and keep it so with `* text eol=lf` in
`.gitattributes`.
""",
    bad="""\
toolc: 1
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
