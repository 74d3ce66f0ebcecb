"""Text of another program or format in a spec: Git conflicts, Markdown fences, templates, a wrong suffix."""

from __future__ import annotations

import re
from typing import Final

from toolc.compiler.complaint import SyntaxProblem
from toolc.model import codes
from toolc.model.source import SourceText

# Text of several lines may contain the same characters: in YAML it is indented, in TOML it need not be.
_CONFLICT: Final = re.compile(r"^<{7}(?=[ \r\n])", re.MULTILINE)
_FENCE: Final = re.compile(r"\A\s*(?:```|~~~)[a-z]*")
_TEMPLATE: Final = re.compile(r"^(?:\{\{-|\{%|\{\{[ ]*(?:if|end|range|with|include|define)\b)", re.MULTILINE)
_NOTHING: Final = re.compile(r"(?!)")
_TOML: Final = re.compile(r"^toolc[ \t]*=[ \t]*[0-9\"']", re.MULTILINE)
_YAML: Final = re.compile(r"^toolc:(?=[ \t\r\n])", re.MULTILINE)


def detect_foreign_content(source: SourceText) -> SyntaxProblem | None:
    """Return the problem with text in ``source`` that is not part of a spec; None if there is none.

    Call it for a file that is not valid: valid text may contain the same characters.
    """
    is_toml = source.path.lower().endswith(".toml")
    wanted, other, suffix = ("TOML", "YAML", ".yaml") if is_toml else ("YAML", "TOML", ".toml")
    for pattern, message, hint in (
        (_CONFLICT, "an unresolved Git merge conflict", "keep one side, and remove the conflict markers"),
        (_FENCE, f"a Markdown code fence is not valid {wanted}", "remove this line and the closing fence"),
        (
            _NOTHING if is_toml else _TEMPLATE,
            "a spec cannot contain the statements of a template engine",
            "render the template first, or exclude the file in the project file if it is not a spec",
        ),
        (
            _YAML if is_toml else _TOML,
            f"the file contains {other}, but its name is that of a {wanted} file",
            f"rename the file to end in {suffix}",
        ),
    ):
        if found := pattern.search(source.text):
            start = found.end() - len(found[0].lstrip())
            return SyntaxProblem(codes.SYNTAX, message, source.span(start, found.end()), hint)
    return None
