"""TC309: a pattern that can take forever to match."""

from __future__ import annotations

from typing import Final

from toolc.compiler import codes
from toolc.compiler.rule import Rule

RULE: Final = Rule(
    codes=(codes.SLOW_PATTERN,),
    explanation="""\
Most regular expression engines try one reading of the text after the other. Where a loop can read the same text in
two ways, as `^([a-z]+-?)+$` can, the number of readings doubles with each character: thirty letters and a `!`
keep a process busy for hours, and a model or whoever steers it chooses the text. Such a pattern is an error.

Let what a loop repeats begin with a character that cannot stand inside it, as in `^[a-z]+(-[a-z]+)*$`.
""",
    bad="""\
toolc: 1
name: show_branch
description: Show the latest commits of one branch of the workspace's repository.
parameters:
  branch: {type: string, pattern: "^([a-z]+-?)+$", description: "Branch, e.g. 'fix-typo'"}
backend:
  shell: {argv: [git, log, --oneline, "--branches={{ branch }}"]}
sandbox: {workspace: ro}
""",
    good="""\
toolc: 1
name: show_branch
description: Show the latest commits of one branch of the workspace's repository.
parameters:
  branch: {type: string, pattern: "^[a-z]+(-[a-z]+)*$", description: "Branch, e.g. 'fix-typo'"}
backend:
  shell: {argv: [git, log, --oneline, "--branches={{ branch }}"]}
sandbox: {workspace: ro}
""",
)
