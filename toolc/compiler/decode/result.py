"""Decode ``result``: the format of a tool's result, and what is selected from it."""

from __future__ import annotations

from functools import partial
from typing import get_args

from toolc.compiler.schema.check_schema import check_schema
from toolc.compiler.templates.expressions import expression
from toolc.compiler.templates.parse import Scope, read_template
from toolc.document.map_reader import Findings, Reader, choice, list_of, map_parser, mapping
from toolc.document.nodes import Node
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.spec.tool import ResultFormat, ResultSpec
from toolc.model.template import Template


@map_parser("'result'")
def decode_result(reader: Reader, *, parameters: Schema | None) -> ResultSpec | None:
    """Decode ``result`` without ``schema``, which ``decode_result_schema`` decodes because models see it."""
    reader.get("schema")
    scope = Scope(parameters=parameters).omitting()
    return ResultSpec(
        format=reader.default("format", choice(get_args(ResultFormat)), "text"),
        files=reader.optional("files", list_of(partial(_file, scope=scope))) or (),
        select=reader.optional("select", expression),
        template=reader.optional("template", partial(_template, parameters=parameters)),
    )


def _template(node: Node, what: str, findings: Findings, *, parameters: Schema | None) -> str | None:
    from toolc.compiler.templates.result_template import result_template  # lazy: 80 ms (jinja2)

    return result_template(node, what, findings, parameters=parameters)


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
