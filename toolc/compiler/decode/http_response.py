"""Decode ``pagination`` and ``errors`` of an HTTP tool, which apply to its responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolc.compiler.decode.shell import error_kind
from toolc.compiler.templates.expressions import expression
from toolc.document.map_reader import Findings, Parse, Reader, first_line, integer, list_of, map_parser, mismatch, text
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.spec.http_backend import (
    CursorPages,
    HttpErrorRule,
    LinkPages,
    NumberedPages,
    OffsetPages,
    Pagination,
    Style,
)
from toolc.model.text import lazy_re

_POINTER: Final = lazy_re(r"(?:/(?:[^/~]|~[01])*)+")
"""A JSON Pointer (RFC 6901, section 3) except the empty one, which refers to the whole document."""

_STATUS: Final = lazy_re(r"[2-5]([0-9]{2}|xx)")


@map_parser("'pagination'")
def read_pagination(reader: Reader) -> Pagination | None:
    """Decode ``pagination``, which has exactly one of four kinds."""
    kind = reader.one_of("cursor", "link", "offset", "page")
    value = reader.get(kind) if kind else None
    style = _STYLES[kind](value, f"'{kind}'", reader.findings) if kind and value is not None else None
    standard = Pagination(style=LinkPages())
    pagination = Pagination(
        style=style or standard.style,
        items=reader.optional("items", expression),
        # Far more than fits the output limit: a larger number is a typing mistake.
        max_pages=reader.default("max_pages", integer(1, 1000), standard.max_pages),
        max_items=reader.optional("max_items", integer(1, 1_000_000)),
    )
    if kind in {"offset", "page"} and not reader.node.entry("items"):
        message = f"pages by '{kind}' end when a page has no items, but 'items' is missing"
        reader.findings.add(codes.MISSING_KEY, message, first_line(reader.node.span), "add items, e.g. items: results")
    return pagination if style is not None else None


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
    status = reader.optional("status", _status)
    when = reader.optional("when", expression)
    kind = reader.required("kind", error_kind)
    message = reader.optional("message", text)
    if not reader.node.entry("status") and not reader.node.entry("when"):
        problem = f"{reader.what} has neither 'status' nor 'when', so every response would be an error"
        reader.findings.add(codes.MISSING_KEY, problem, first_line(reader.node.span), "add one, or both")
    return HttpErrorRule(kind=kind, status=status, when=when, message=message) if kind is not None else None


def _status(node: Node, what: str, findings: Findings) -> str | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int | str) and not isinstance(value, bool) and _STATUS.fullmatch(str(value)):
        return str(value)
    mismatch(node, what, "an HTTP status such as 404, or a class of them such as 5xx", findings)
    return None


@map_parser("'cursor'")
def _cursor(reader: Reader) -> CursorPages | None:
    place = reader.one_of("parameter", "pointer")
    parameter = reader.optional("parameter", text)
    pointer = reader.optional("pointer", _pointer)
    following = reader.required("next", expression)
    if place is None or (parameter is None and pointer is None) or not following:
        return None
    return CursorPages(parameter=parameter, pointer=pointer, next=following)


def _pointer(node: Node, what: str, findings: Findings) -> str | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, str) and _POINTER.fullmatch(value):
        return value
    mismatch(node, what, "a JSON Pointer to a place in the body, such as /variables/after", findings)
    return None


def _link(node: Node, what: str, findings: Findings) -> LinkPages | None:
    if isinstance(node, Scalar) and node.value is True:
        return LinkPages()
    if isinstance(node, Scalar) and isinstance(node.value, str):
        url = expression(node, what, findings)
        return LinkPages(next=url) if url is not None else None
    mismatch(node, what, "true, or an expression for the next page's URL in the body", findings)
    return None


@map_parser("'offset'")
def _offset(reader: Reader) -> OffsetPages | None:
    parameter = reader.required("parameter", text)
    return OffsetPages(parameter=parameter) if parameter is not None else None


@map_parser("'page'")
def _page(reader: Reader) -> NumberedPages | None:
    parameter = reader.required("parameter", text)
    first = reader.default("first", integer(0, 1), 1)
    return NumberedPages(parameter=parameter, first=first) if parameter is not None else None


_STYLES: Final[Mapping[str, Parse[Style]]] = {"cursor": _cursor, "link": _link, "offset": _offset, "page": _page}
