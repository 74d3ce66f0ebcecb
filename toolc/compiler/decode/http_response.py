"""Decode ``pagination`` and ``errors`` of an HTTP tool, which apply to its responses."""

from __future__ import annotations

from typing import Final

from toolc.compiler.decode.shell import error_kind
from toolc.compiler.templates.expressions import expression
from toolc.document.declared import alternative, read_keys, read_map
from toolc.document.map_reader import Findings, Reader, first_line, list_of, map_parser, mismatch
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.spec.http_backend import CursorPages, HttpErrorRule, LinkPages, Pagination
from toolc.model.text import lazy_re

_STATUS: Final = lazy_re(r"[2-5]([0-9]{2}|xx)")


@map_parser("'pagination'")
def read_pagination(reader: Reader) -> Pagination | None:
    """Decode ``pagination``, which has exactly one of four kinds."""
    kind = alternative(reader, Pagination)
    found = read_keys(reader, Pagination, items=expression, cursor=_cursor, link=_link)
    styles = [found.pop(each, None) for each in Pagination.one_of]
    if kind in {"offset", "page"} and not reader.node.entry("items"):
        message = f"pages by '{kind}' end when a page has no items, but 'items' is missing"
        reader.findings.add(codes.MISSING_KEY, message, first_line(reader.node.span), "add items, e.g. items: results")
    style = next((each for each in styles if each is not None), None)
    return Pagination(style=style, **found) if kind and style is not None else None


def read_http_errors(node: Node, what: str, findings: Findings) -> tuple[HttpErrorRule, ...] | None:
    """Decode ``errors``: a map of statuses to error kinds, or a list of rules. The first matching rule applies."""
    if isinstance(node, Sequence):
        return list_of(_rule)(node, what, findings)
    if not isinstance(node, MappingNode):
        mismatch(node, what, "a map of statuses to kinds of error, or a list of rules", findings)
        return None
    rules: list[HttpErrorRule] = []
    for entry in node.entries:
        kind = error_kind(entry.value, f"errors.{entry.key}", findings)
        status = _status(Scalar(entry.key, entry.key_span), f"'{entry.key[:20]}'", findings)
        if kind is not None and status is not None:
            rules.append(HttpErrorRule(kind=kind, status=status))
    # Sort exact statuses before classes, so that the order of the map does not matter.
    return tuple(sorted(rules, key=lambda rule: (rule.status or "").replace("x", "~")))


@map_parser()
def _rule(reader: Reader) -> HttpErrorRule | None:
    found = read_map(reader, HttpErrorRule, status=_status, when=expression)
    if not reader.node.entry("status") and not reader.node.entry("when"):
        problem = f"{reader.what} has neither 'status' nor 'when', so every response would be an error"
        reader.findings.add(codes.MISSING_KEY, problem, first_line(reader.node.span), "add one, or both")
    return found


def _status(node: Node, what: str, findings: Findings) -> str | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int | str) and not isinstance(value, bool) and _STATUS.fullmatch(str(value)):
        return str(value)
    mismatch(node, what, "an HTTP status such as 404, or a class of them such as 5xx", findings)
    return None


@map_parser("'cursor'")
def _cursor(reader: Reader) -> CursorPages | None:
    place = alternative(reader, CursorPages)
    found = read_keys(reader, CursorPages, next=expression)
    return CursorPages(**found) if {place, "next"} <= {*found} else None


def _link(node: Node, what: str, findings: Findings) -> LinkPages | None:
    if isinstance(node, Scalar) and node.value is True:
        return LinkPages()
    if isinstance(node, Scalar) and isinstance(node.value, str):
        url = expression(node, what, findings)
        return LinkPages(next=url) if url is not None else None
    mismatch(node, what, "true, or an expression for the next page's URL in the body", findings)
    return None
