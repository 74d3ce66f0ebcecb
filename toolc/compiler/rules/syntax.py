"""TC001: the file cannot be parsed."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.SYNTAX,),
    explanation="""\
The file is not valid YAML or TOML, so nothing in it can be read. The finding stands where the
parser gave up, or where the thing began that was never finished: a quote, a bracket. The usual
cause in YAML is a value with `: ` or ` #` in it; put such a value in quotes.

Text that YAML 1.2 does not allow, or reads otherwise than the usual parsers do, is refused as well:
a `?` at the start of text in brackets, a `:` in an anchor's name, a comment without a space before
its `#`.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello: to one person, by name.
backend:
  shell:
    argv: [echo, hello]
""",
    good="""\
toolc: 1
name: hello
description: "Say hello: to one person, by name."
backend:
  shell:
    argv: [echo, hello]
""",
)
