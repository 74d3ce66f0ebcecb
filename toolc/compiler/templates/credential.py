"""Decode a place for a credential: a template with secrets, or ``{public: VALUE, reason: ...}``."""

from __future__ import annotations

from toolc.compiler.templates.parse import Scope, read_template
from toolc.document.map_reader import Findings, Reader, map_parser, text
from toolc.document.nodes import Mapping, Node
from toolc.model import codes
from toolc.model.template import Template


def read_credential(node: Node, what: str, findings: Findings, scope: Scope) -> Template | None:
    """Decode a template, or a literal value that is declared public."""
    return read_public(node, what, findings) if is_public(node) else read_template(node, what, findings, scope)


def is_public(node: Node) -> bool:
    """Return whether a node has the form ``{public: VALUE, reason: ...}``."""
    return isinstance(node, Mapping) and node.entry("public") is not None


@map_parser()
def read_public(reader: Reader) -> Template | None:
    """Decode ``{public: VALUE, reason: ...}``. The value is a constant."""
    value = reader.required("public", text)
    reason = reader.required("reason", text)
    if value is None or reason is None:
        return None
    if "{{" in value:
        span = reader.findings.locate(reader.node.by_key["public"].value.span, "{{")
        message = "a public value is a constant and cannot contain a placeholder"
        reader.findings.add(codes.TEMPLATE, message, span, "write the template itself, without 'public'")
        return None
    return Template((value,), reason)
