"""Parse YAML to nodes with positions, by the core schema of YAML 1.2."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

import yaml

from toolc.compiler.complaint import TooDeepError
from toolc.compiler.document import Mapping, Node
from toolc.compiler.edits import quote
from toolc.compiler.unquoted import Unquoted
from toolc.compiler.yaml_compose import compose
from toolc.compiler.yaml_disputes import report_disputes
from toolc.compiler.yaml_nodes import Builder
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText

_MAX_REPORTED: Final = 20
# The first are line ends in YAML 1.1 but not in YAML 1.2 and in editors; YAML does not allow the others.
_FORBIDDEN: Final = re.compile("[\x80-\x9f\u2028\u2029\ufffe\uffff]")


def parse_yaml(source: SourceText, diagnostics: Diagnostics) -> Node | None:
    """Return the root of ``source``; None if it is empty or not valid YAML. Findings go to ``diagnostics``.

    With errors the tree is as complete as possible, so that the caller can tell what kind of file it is.
    """
    if _forbidden(source, diagnostics):
        return None
    documents = _compose(source, diagnostics)
    builder = Builder(source, diagnostics)
    roots = [builder.build(document) for document in documents]
    if not diagnostics.has_errors:
        report_disputes(source, diagnostics)
    if len(roots) > 1:
        diagnostics.add(
            codes.SEVERAL_DOCUMENTS,
            "a second YAML document starts here; a spec file is one",
            roots[1].span,
            "put the tools of one file into a list under 'tools:', or use one file each",
        )
    specs = (root for root in roots if isinstance(root, Mapping) and root.get("toolc"))
    return next(specs, roots[0] if roots else None)


def _forbidden(source: SourceText, diagnostics: Diagnostics) -> bool:
    """Return whether ``source`` has characters that YAML does not allow, and report the first ones."""
    if source.text.isascii():
        return False
    for match in islice(_FORBIDDEN.finditer(source.text), _MAX_REPORTED):
        diagnostics.add(
            codes.STRAY_CHARACTER,
            f"YAML does not allow the character U+{ord(match[0]):04X} here",
            source.span(match.start(), match.end()),
            f'write "\\u{ord(match[0]):04x}" in double quotes if you need it',
        )
    return _FORBIDDEN.search(source.text) is not None


def _compose(source: SourceText, diagnostics: Diagnostics) -> list[yaml.Node]:
    """Return the root nodes of the documents; unquoted placeholders are reported and read as if they had quotes."""
    text = source
    for attempt in range(_MAX_REPORTED):
        try:
            return compose(text.text)
        except TooDeepError as error:
            diagnostics.add(codes.TOO_BIG, str(error), source.span(error.offset, error.offset + 1))
            return []
        except yaml.YAMLError as error:
            from toolc.compiler.yaml_syntax import placeholder_at_fault, syntax_problem  # start-up time

            fault = placeholder_at_fault(error, text)
            if fault is None:
                if attempt == 0:  # otherwise the missing quotes may be the cause
                    syntax_problem(error, source).report(diagnostics)
                return []
            found, span = fault
            fixed = quote(source, span, found)
            diagnostics.add(codes.UNQUOTED_PLACEHOLDER, found.message, span, found.hint, fixed)
            text = _with_quotes(text, found, span.start.line)
    return []


def _with_quotes(source: SourceText, found: Unquoted, line: int) -> SourceText:
    """Return the same text with one placeholder in quotes; every other character keeps its position."""
    lines = source.text.split("\n")
    old = lines[line - 1]
    lines[line - 1] = f'{old[: found.start]}"{"_" * (len(found.text) - 2)}"{old[found.end :]}'
    return SourceText(source.path, "\n".join(lines))
