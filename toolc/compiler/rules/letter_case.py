"""TC014: two files whose paths differ in letter case alone."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.LETTER_CASE,),
    explanation="""\
Where letter case does not count, as on macOS and Windows, a checkout keeps only one of the two
files, and the same commit compiles to something else. This holds for spec files and for the files
that travel with a tool. Rename one.
""",
    bad="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  python:
    files: [greetings.txt, Greetings.txt]
    code: |
      from pathlib import Path

      def hello() -> str:
          return Path("/tool/greetings.txt").read_text()
""",
    good="""\
toolc: 1
name: hello
description: Say hello to the whole world.
backend:
  python:
    files: [greetings.txt]
    code: |
      from pathlib import Path

      def hello() -> str:
          return Path("/tool/greetings.txt").read_text()
""",
    beside={"Greetings.txt": "Hello!\n", "greetings.txt": "hello\n"},
)
