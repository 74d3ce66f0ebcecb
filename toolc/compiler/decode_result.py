"""``result``: how the output is read, what of it is kept, and in which words a model gets it."""

from __future__ import annotations

from functools import partial
from typing import get_args

from toolc.compiler.decode_schema import check_schema
from toolc.compiler.expressions import expression
from toolc.compiler.result_templates import result_template
from toolc.compiler.templates import Scope, read_template
from toolc.document.map_reader import Findings, Reader, choice, list_of, mapping
from toolc.document.nodes import Node
from toolc.model import codes
from toolc.model.json_schema import Schema
from toolc.model.spec.tool import ResultFormat, ResultSpec
from toolc.model.template import Template


def decode_result(node: Node, what: str, findings: Findings, *, parameters: Schema | None) -> ResultSpec | None:
    """Decode ``result`` but for its ``schema``, which a model sees and ``decode_result_schema`` reads."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'result'", findings)
    reader.get("schema")
    scope = Scope(parameters=parameters).omitting()
    result = ResultSpec(
        format=reader.default("format", choice(get_args(ResultFormat)), "text"),
        files=reader.optional("files", list_of(partial(_file, scope=scope))) or (),
        select=reader.optional("select", expression),
        template=reader.optional("template", partial(result_template, parameters=parameters)),
    )
    reader.close()
    return result


def _file(node: Node, what: str, findings: Findings, *, scope: Scope) -> Template | None:
    """A pattern of workspace files; what arguments bring in is checked at the call."""
    template = read_template(node, what, findings, scope=scope)
    if template is None:
        return None
    pattern = "".join(part if isinstance(part, str) else "x" for part in template.parts)
    if not {"", ".", ".."}.isdisjoint(pattern.removeprefix("./").split("/")):
        message = f"{what} is no path inside the workspace"
        findings.add(codes.BAD_VALUE, message, node.span, "write it relative to the workspace, e.g. plots/*.png")
        return None
    return template


def decode_result_schema(node: Node, what: str, findings: Findings) -> Schema | None:
    """Decode ``result.schema``, the JSON Schema of the tool's structured result."""
    found = mapping(node, what, findings)
    schema = found.get("schema") if found else None
    root = mapping(schema, "'schema'", findings) if schema is not None else None
    return check_schema(root, findings) if root is not None else None
