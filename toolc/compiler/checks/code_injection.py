"""Check of arguments inserted into statements and data: TC407 (SQL and JSON)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler.checks.check_registry import tool_check
from toolc.compiler.checks.helpers import is_harmless
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.templates.parse import parse
from toolc.document.nodes import Scalar, strings
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic
from toolc.model.source import Span
from toolc.model.spec.code_backends import Script, ShellBackend
from toolc.model.template import Placeholder, Template
from toolc.model.text import lazy_re

_WORDS: Final = r"(?:SELECT\s[^;\"]{1,400}?\sFROM|INSERT\s+INTO|UPDATE\s[^;\"]{1,200}?\sSET|DELETE\s+FROM)\s"
# All upper or all lower case, because "Select one from these" is an ordinary sentence.
_STATEMENT: Final = f"(?:{_WORDS}|{_WORDS.lower()})"
_SQL: Final = lazy_re(rf"\s*{_STATEMENT}")
_SCRIPT_SQL: Final = rf"\b{_STATEMENT}[^;\"]{{0,2000}}?\$\{{?ARG_(?P<name>\w+)\}}?"  # for scripts only
_JSON_START: Final = lazy_re(r'\s*(?:\{\s*"|\[\s*["{\[])')
_JSON_END: Final = lazy_re(r"[\]}]\s*$")

_NOT_TEMPLATES: Final = frozenset({"script", "code", "interpreter", "instructions"})
_SQL_HINT: Final = "let the database bind the value, e.g. with psql -v name=…, and :'name' in the statement"


@tool_check("TC407", needs={"backend", "parameters"})
def check_text_built_from_arguments(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Report each text of the backend that is SQL or JSON with an inserted value that can change it (CWE-89).

    SQL is a statement with a placeholder, anywhere in the backend, or with ``$ARG_name`` in a script. JSON is a
    text that starts and ends like JSON, with a placeholder that does not use the filter ``json``. Numbers, booleans and
    the values of an enum are harmless and are not reported.
    """
    for node, text in strings(tool.node.get("backend"), _NOT_TEMPLATES):
        if "{{" not in text:
            continue
        is_sql = bool(_SQL.match(text))
        if not is_sql and not _JSON_START.match(text):
            continue
        template = parse(text).template
        parameter = _unescaped_parameter(template, tool, escaped_by=None if is_sql else "json")
        if parameter is not None and (is_sql or _is_json(template)):
            what, hint = ("SQL statement", _SQL_HINT) if is_sql else ("JSON", _json_hint(parameter))
            message = f"a value of '{parameter}' is inserted into this {what} and can change its meaning"
            yield Diagnostic(codes.BUILT_TEXT, message, _placeholder_span(tool, node, parameter), hint)
    yield from _sql_in_script(tool)


def _unescaped_parameter(template: Template, tool: LocatedTool, *, escaped_by: str | None) -> str | None:
    """Return the first parameter that may be any text and does not use the filter ``escaped_by``, or None."""
    for part in template.parts:
        if isinstance(part, Placeholder) and part.name in tool.spec.all_parameters.properties:
            last = part.filters[-1].name if part.filters else ""
            if last != escaped_by and (part.keys or not is_harmless(part.name, tool)):
                return part.name
    return None


def _json_hint(name: str) -> str:
    return f"write {{{{ {name} | json }}}} without quotes around it, because the filter quotes and escapes the value"


def _is_json(template: Template) -> bool:
    first, last = template.parts[0], template.parts[-1]
    return isinstance(first, str) and isinstance(last, str) and bool(_JSON_END.search(last))


def _placeholder_span(tool: LocatedTool, node: Scalar, name: str) -> Span:
    match = re.search(rf"\{{\{{\s*{name}\b[^}}]*\}}\}}", str(node.value))
    return tool.source.locate(node.span, match[0]) if match else node.span


def _sql_in_script(tool: LocatedTool) -> Iterator[Diagnostic]:
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or not isinstance(backend.command, Script):
        return
    span = tool.span("backend", "shell", "script")
    for match in re.finditer(_SCRIPT_SQL, backend.command.text):
        name = match["name"]
        if name in tool.spec.all_parameters.properties and not is_harmless(name, tool):
            written = match[0][match[0].rindex("$") :]
            message = f"a value of '{name}' is inserted into this SQL statement and can change its meaning"
            yield Diagnostic(codes.BUILT_TEXT, message, tool.source.locate(span, written), _SQL_HINT)
