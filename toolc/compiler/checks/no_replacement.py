"""TC803: a deprecation that does not say what to use instead, nor that there is nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

NEEDS: Final = frozenset({"deprecated"})

# Words that lead to what comes instead, a date by which it goes, or a name with an underscore: a tool's.
_SAYS: Final = (  # compiled where a tool is deprecated: start-up time
    r"\b(?:call|instead|merged|moved|prefer|renamed|replace[ds]?|replacement|see|successor|superseded|switch|try|use)\b"
    r"|\b(?:after|by|from|in|on|until)\s+(?:\w+\s+)?20[0-9]{2}\b|\b20[0-9]{2}-[0-9]{2}|\w_\w|[a-z]-[a-z]|`[^`]+`"
)


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A ``deprecated`` text that leads nowhere."""
    text = tool.spec.deprecated
    if text is not None and not re.search(_SAYS, text, re.IGNORECASE):
        yield Diagnostic(
            codes.NO_REPLACEMENT, "this does not say what to use instead", tool.span("deprecated"),
            "a model reads it: write e.g. 'use find_text instead', or when it goes and that nothing replaces it",
        )  # fmt: skip


_BAD: Final = """\
toolc: 1
name: grep_text
label: Search text
description: Search the workspace's text files for a word. Use it to find where something is mentioned.
deprecated: old and slow
parameters:
  word: {type: string, maxLength: 200, description: "The word to look for"}
annotations: {read_only: true, open_world: false}
backend:
  shell: {argv: [grep, -rn, --, "{{ word }}", .]}
sandbox: {workspace: ro}
tests:
  - args: {word: two}
    files: {a.txt: "one two\\n"}
    expect: {text: "./a.txt:1:one two\\n"}
"""

RULE: Final = Rule(
    codes=(codes.NO_REPLACEMENT,),
    explanation="""\
The text of `deprecated` goes to the model with the description. "old" or "do not use" leaves the model without
a way to do what it was asked for, so it calls the tool all the same or gives up.

Name the tool that takes its place, or say from when on it is gone and that nothing replaces it.
""",
    bad=_BAD,
    good=_BAD.replace("old and slow", "use find_text instead, which also takes patterns"),
)
