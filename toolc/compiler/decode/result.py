"""Decode ``result``, and check ``result.template``: full Jinja2, parsed at build and never rendered here.

A template has the variables ``result`` (the structured result, or the text), ``text`` and ``args``, and cannot load
other templates. Nothing is compiled or constant-folded, so ``{{ 'a' * 10 ** 9 }}`` does not slow down a build.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Final, get_args

from toolc.compiler.schema.check_schema import check_schema
from toolc.compiler.templates.expressions import expression
from toolc.compiler.templates.parse import Scope, check_name, read_template
from toolc.document.map_reader import (
    Findings,
    Reader,
    choice,
    first_line,
    list_of,
    map_parser,
    mapping,
    quote_names,
    suggestion,
    text,
)
from toolc.document.nodes import Node
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.source import Position, Span
from toolc.model.spec.tool import ResultFormat, ResultSpec
from toolc.model.template import Template

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.sandbox import SandboxedEnvironment


VARIABLES: Final = ("args", "result", "text")
"""The variables of a result template."""

_JINJA_NAMES: Final = ("caller", "kwargs", "loop", "self", "varargs")
_MAX_LENGTH: Final = 100_000


def result_template(node: Node, what: str, findings: Findings, *, parameters: Schema | None) -> str | None:
    """Check a result template and return its text; ``parameters`` is None if they could not be read."""
    from jinja2 import TemplateSyntaxError  # lazy: jinja2 takes 80 ms

    written = text(node, what, findings)
    if written is None:
        return None
    if len(written) > _MAX_LENGTH:
        findings.add(codes.BAD_VALUE, f"{what} is longer than {_MAX_LENGTH} characters", first_line(node.span))
        return None
    errors = findings.errors
    try:
        _check(_environment().parse(written), node.span, written, findings, parameters)
    except TemplateSyntaxError as error:
        reason = (error.message or "a syntax error").splitlines()[0]
        span = _line(node.span, written, error.lineno, findings)
        findings.add(codes.TEMPLATE, f"{what} cannot be read: {reason}", span, "it is a Jinja2 template")
    except RecursionError:
        findings.add(codes.TEMPLATE, f"{what} is nested too deeply", first_line(node.span), "make it simpler")
    return written if findings.errors == errors else None


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2.sandbox import SandboxedEnvironment  # lazy: jinja2 takes 80 ms

    return SandboxedEnvironment(autoescape=False, optimized=False)


def _check(tree: nodes.Template, span: Span, written: str, findings: Findings, parameters: Schema | None) -> None:
    from jinja2 import nodes  # lazy: jinja2 takes 80 ms

    for each in tree.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)):
        position = _line(span, written, each.lineno, findings)
        findings.add(codes.TEMPLATE, "a result template cannot load another", position, "write it all here")
    for kind, found, known in (
        ("filter", tree.find_all(nodes.Filter), _environment().filters),
        ("test", tree.find_all(nodes.Test), _environment().tests),
    ):
        for used in found:
            if used.name not in known:
                position = findings.locate(_line(span, written, used.lineno, findings), used.name)
                hint = suggestion(used.name, known)
                findings.add(codes.TEMPLATE, f"Jinja2 has no {kind} '{used.name}'", position, hint)
    for name in _unknown_names(tree):
        position = findings.locate(_line(span, written, name.lineno, findings), name.name)
        hint = suggestion(name.name, VARIABLES) or f"it has {quote_names(VARIABLES)}; a parameter is args.NAME"
        findings.add(codes.TEMPLATE, f"a result template has no variable '{name.name}'", position, hint)
    for attribute in tree.find_all(nodes.Getattr):
        if isinstance(attribute.node, nodes.Name) and attribute.node.name == "args":
            position = findings.locate(_line(span, written, attribute.lineno, findings), f"args.{attribute.attr}")
            check_name(attribute.attr, position, findings, parameters)


def _unknown_names(tree: nodes.Template) -> list[nodes.Name]:
    """Return the undefined names. ``jinja2.meta`` also finds them, but it would evaluate ``'a' * 10 ** 9``."""
    from jinja2 import nodes  # lazy: jinja2 takes 80 ms

    used = list(tree.find_all(nodes.Name))
    defined = {name.name for name in used if name.ctx != "load"} | {macro.name for macro in tree.find_all(nodes.Macro)}
    defined |= {*VARIABLES, *_environment().globals, *_JINJA_NAMES}
    return [name for name in used if name.name not in defined]


def _line(span: Span, written: str, number: int, findings: Findings) -> Span:
    """Return the span of line ``number`` (from 1) of a text at ``span``, or ``span`` if the text is on one line."""
    if span.end.line == span.start.line:
        return span
    line = min(findings.code_line(span, written) + number - 1, span.end.line)
    shown = findings.source_of(span).line(line)
    start = len(shown) - len(shown.lstrip()) + 1
    return Span(span.path, Position(line, start), Position(line, max(len(shown.rstrip()) + 1, start + 1)))


@map_parser("'result'")
def decode_result(reader: Reader, *, parameters: Schema | None) -> ResultSpec | None:
    """Decode ``result`` without ``schema``, which ``decode_result_schema`` decodes because models see it."""
    reader.get("schema")
    scope = Scope(parameters=parameters).omitting()
    return ResultSpec(
        format=reader.default("format", choice(get_args(ResultFormat)), "text"),
        files=reader.optional("files", list_of(partial(_file, scope=scope))) or (),
        select=reader.optional("select", expression),
        template=reader.optional("template", partial(result_template, parameters=parameters)),
    )


def _file(node: Node, what: str, findings: Findings, *, scope: Scope) -> Template | None:
    """Decode a pattern of workspace files. Inserted arguments are checked when the tool is called."""
    template = read_template(node, what, findings, scope=scope)
    if template is None:
        return None
    pattern = "".join(part if isinstance(part, str) else "x" for part in template.parts)
    if not {"", ".", ".."}.isdisjoint(pattern.removeprefix("./").split("/")):
        message = f"{what} is not a path inside the workspace"
        findings.add(codes.BAD_VALUE, message, node.span, "write it relative to the workspace, e.g. plots/*.png")
        return None
    return template


def decode_result_schema(node: Node, what: str, findings: Findings) -> Schema | None:
    """Decode ``result.schema``, the JSON Schema of the tool's structured result."""
    found = mapping(node, what, findings)
    schema = found.get("schema") if found else None
    root = mapping(schema, "'schema'", findings) if schema is not None else None
    return check_schema(root, findings) if root is not None else None
