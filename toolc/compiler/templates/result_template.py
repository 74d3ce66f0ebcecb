"""Check ``result.template``, which is full Jinja2. It is parsed at build and never rendered here.

A template has the variables ``result`` (the structured result, or the text), ``text`` and ``args``, and cannot load
other templates. Nothing is compiled or constant-folded, so ``{{ 'a' * 10 ** 9 }}`` does not slow down a build.
"""

from __future__ import annotations

from typing import Final

from jinja2 import TemplateSyntaxError, nodes
from jinja2.sandbox import SandboxedEnvironment

from toolc.compiler.templates.parse import check_name
from toolc.document.map_reader import Findings, first_line, text
from toolc.document.nodes import Node
from toolc.document.suggestions import quote_names, suggestion
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.source import Position, Span

_ENVIRONMENT: Final = SandboxedEnvironment(autoescape=False, optimized=False)
VARIABLES: Final = ("args", "result", "text")
"""The variables of a result template."""

_JINJA_NAMES: Final = ("caller", "kwargs", "loop", "self", "varargs")
_MAX_LENGTH: Final = 100_000
"""The maximum number of characters of a template. Jinja2 takes more than a second to compile a template this long."""


def result_template(node: Node, what: str, findings: Findings, *, parameters: Schema | None) -> str | None:
    """Check a result template and return its text. ``parameters`` is None if they could not be read."""
    written = text(node, what, findings)
    if written is None:
        return None
    if len(written) > _MAX_LENGTH:
        findings.add(codes.BAD_VALUE, f"{what} is longer than {_MAX_LENGTH} characters", first_line(node.span))
        return None
    errors = findings.errors
    try:
        _check(_ENVIRONMENT.parse(written), node.span, written, findings, parameters)
    except TemplateSyntaxError as error:
        reason = (error.message or "a syntax error").splitlines()[0]
        span = _line(node.span, written, error.lineno, findings)
        findings.add(codes.TEMPLATE, f"{what} cannot be read: {reason}", span, "it is a Jinja2 template")
    except RecursionError:
        findings.add(codes.TEMPLATE, f"{what} is nested too deeply", first_line(node.span), "make it simpler")
    return written if findings.errors == errors else None


def _check(tree: nodes.Template, span: Span, written: str, findings: Findings, parameters: Schema | None) -> None:
    for each in tree.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)):
        position = _line(span, written, each.lineno, findings)
        findings.add(codes.TEMPLATE, "a result template cannot load another template", position, "write all of it here")
    for kind, used_names, known in (
        ("filter", tree.find_all(nodes.Filter), _ENVIRONMENT.filters),
        ("test", tree.find_all(nodes.Test), _ENVIRONMENT.tests),
    ):
        for used in used_names:
            if used.name not in known:
                position = findings.locate(_line(span, written, used.lineno, findings), used.name)
                hint = suggestion(used.name, known)
                findings.add(codes.TEMPLATE, f"Jinja2 has no {kind} '{used.name}'", position, hint)
    for name in _unknown_names(tree):
        position = findings.locate(_line(span, written, name.lineno, findings), name.name)
        hint = (
            suggestion(name.name, VARIABLES) or f"the variables are {quote_names(VARIABLES)}; parameters are args.NAME"
        )
        findings.add(codes.TEMPLATE, f"a result template has no variable '{name.name}'", position, hint)
    for attribute in tree.find_all(nodes.Getattr):
        if isinstance(attribute.node, nodes.Name) and attribute.node.name == "args":
            position = findings.locate(_line(span, written, attribute.lineno, findings), f"args.{attribute.attr}")
            check_name(attribute.attr, position, findings, parameters)


def _unknown_names(tree: nodes.Template) -> list[nodes.Name]:
    """Return the undefined names. ``jinja2.meta`` could find them, but it would evaluate ``'a' * 10 ** 9``."""
    used = list(tree.find_all(nodes.Name))
    defined = {name.name for name in used if name.ctx != "load"} | {macro.name for macro in tree.find_all(nodes.Macro)}
    defined |= {*VARIABLES, *_ENVIRONMENT.globals, *_JINJA_NAMES}
    return [name for name in used if name.name not in defined]


def _line(span: Span, written: str, number: int, findings: Findings) -> Span:
    """Return the span of line ``number`` (from 1) of a text at ``span``, or ``span`` if the text is on one line."""
    if span.end.line == span.start.line:
        return span
    line = min(findings.code_line(span, written) + number - 1, span.end.line)
    text = findings.source_of(span).line(line)
    start = len(text) - len(text.lstrip()) + 1
    return Span(span.path, Position(line, start), Position(line, max(len(text.rstrip()) + 1, start + 1)))
