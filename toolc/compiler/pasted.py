"""What other programs leave in a file: conflicts, fences, templates; and a file with the wrong suffix."""

from __future__ import annotations

import re
from typing import Final

from toolc.compiler import codes
from toolc.compiler.complaint import Complaint
from toolc.source import SourceText

# Text of several lines may hold what looks the same: in YAML it is indented, in TOML it need not be.
_CONFLICT: Final = re.compile(r"^<{7}(?=[ \r\n])", re.MULTILINE)
_FENCE: Final = re.compile(r"\A\s*(?:```|~~~)[a-z]*")
_TEMPLATE: Final = re.compile(r"^(?:\{\{-|\{%|\{\{[ ]*(?:if|end|range|with|include|define)\b)", re.MULTILINE)
_NOTHING: Final = re.compile(r"(?!)")
_TOML: Final = re.compile(r"^toolc[ \t]*=[ \t]*[0-9\"']", re.MULTILINE)
_YAML: Final = re.compile(r"^toolc:(?=[ \t\r\n])", re.MULTILINE)


def pasted(source: SourceText) -> Complaint | None:
    """What in ``source``, which cannot be read, is not the writer's; None where nothing is known to be."""
    is_toml = source.path.lower().endswith(".toml")
    wanted, other, suffix = ("TOML", "YAML", ".yaml") if is_toml else ("YAML", "TOML", ".toml")
    for pattern, message, hint in (
        (_CONFLICT, "a conflict of Git that nobody has resolved", "choose one side, and remove the marks"),
        (_FENCE, f"a fence of Markdown is not {wanted}", "remove the line, and the one that ends it"),
        (
            _NOTHING if is_toml else _TEMPLATE,
            "a template of another program stands here",
            "a spec is plain: render it first; what is no spec is excluded in the project file",
        ),
        (
            _YAML if is_toml else _TOML,
            f"this is {other}, and the file's name says {wanted}",
            f"give it a name that ends in {suffix}",
        ),
    ):
        if found := pattern.search(source.text):
            start = found.end() - len(found[0].lstrip())
            return Complaint(codes.SYNTAX, message, source.span(start, found.end()), hint)
    return None
