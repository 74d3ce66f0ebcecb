"""``query``, ``headers`` and ``body`` of an HTTP tool."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Final

from toolc.compiler.json_templates import read_json_template
from toolc.compiler.templates import Scope, read_template
from toolc.document.map_reader import Findings, Reader, listed, mapping, text
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar
from toolc.model import codes
from toolc.model.spec.http_backend import Body, Field, FormBody, JsonBody, MultipartBody, Part, TextBody
from toolc.model.template import Template, as_text

_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_OURS: Final = ("connection", "content-length", "host", "transfer-encoding", "upgrade")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+(; *[\w-]+=[\w.+-]+)*")


def read_fields(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[Field, ...] | None:
    """A map of names to templates, sorted by name."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    fields = (_field(entry, f"{what}.{entry.key}", findings, scope.omitting()) for entry in found.entries)
    return tuple(sorted((each for each in fields if each is not None), key=lambda each: each.name))


def read_headers(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[Field, ...] | None:
    """A map of header names to templates. Names are compared without case."""
    fields = read_fields(node, what, findings, scope)
    seen: set[str] = set()
    for entry in node.entries if isinstance(node, Mapping) else ():
        name = entry.key.lower()
        if not _HEADER.fullmatch(entry.key):
            findings.add(codes.BAD_VALUE, f"{entry.key[:80]!r} cannot be the name of a header", entry.key_span)
        elif name in _OURS:
            message = f"the header '{entry.key}' is set by toolc"
            findings.add(codes.BAD_VALUE, message, entry.key_span, f"leave it out, as all of {listed(_OURS)}")
        elif name in seen:
            findings.add(codes.BAD_VALUE, f"the header '{entry.key}' stands here twice", entry.key_span, "keep one")
        seen.add(name)
        _refuse_line_ends(entry.value, f"{what}.{entry.key}", findings)
    return fields


def read_field(node: Node, what: str, findings: Findings, scope: Scope) -> Template | None:
    """A template; a number or a boolean is taken for its text."""
    if isinstance(node, Scalar) and isinstance(node.value, bool | int | float):
        return Template((as_text(node.value),))
    return read_template(node, what, findings, scope)


def read_body(node: Node, what: str, findings: Findings, scope: Scope) -> Body | None:
    """``body``, which is exactly one of four kinds."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'body'", findings)
    body: Body | None = None
    match reader.one_of("json", "form", "multipart", "text"):
        case "json":
            json = reader.get("json")
            value = read_json_template(json, "'json'", findings, scope) if json is not None else None
            body = JsonBody(value=value) if value is not None else None
        case "form":
            fields = reader.optional("form", partial(read_fields, scope=scope))
            body = FormBody(fields=fields) if fields is not None else None
        case "multipart":
            parts = reader.optional("multipart", partial(_parts, scope=scope))
            body = MultipartBody(parts=parts) if parts is not None else None
        case "text":
            template = reader.optional("text", partial(read_template, scope=scope))
            body = TextBody(text=template) if template is not None else None
        case _:
            pass
    reader.close()
    return body


def _field(entry: MappingEntry, what: str, findings: Findings, scope: Scope) -> Field | None:
    value = read_field(entry.value, what, findings, scope)
    return Field(name=entry.key, value=value) if value is not None else None


def _refuse_line_ends(node: Node, what: str, findings: Findings) -> None:
    if isinstance(node, Scalar) and isinstance(node.value, str) and re.search(r"[\r\n\0]", node.value):
        message = f"{what} must not hold a line end: it would begin another header"
        findings.add(codes.BAD_VALUE, message, node.span, "write it on one line; in YAML '>-' or quotes do that")


def _parts(node: Node, what: str, findings: Findings, scope: Scope) -> tuple[Part, ...] | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    parts = (_part(entry, f"{what}.{entry.key}", findings, scope) for entry in found.entries)
    return tuple(sorted((part for part in parts if part is not None), key=lambda part: part.name))


def _part(entry: MappingEntry, what: str, findings: Findings, scope: Scope) -> Part | None:
    if not isinstance(entry.value, Mapping):
        value = read_field(entry.value, what, findings, scope.omitting())
        return Part(name=entry.key, value=value) if value is not None else None
    reader = Reader(entry.value, what, findings)
    kind = reader.one_of("text", "file")
    scope = replace(scope.omitting(), takes_secrets=scope.takes_secrets and kind != "file")
    value = reader.optional(kind, partial(read_field, scope=scope)) if kind else None
    content_type = reader.optional("content_type", _media_type)
    reader.close()
    if value is None:
        return None
    return Part(name=entry.key, value=value, is_file=kind == "file", content_type=content_type)


def _media_type(node: Node, what: str, findings: Findings) -> str | None:
    found = text(node, what, findings)
    if found is not None and not _MEDIA_TYPE.fullmatch(found):
        findings.add(codes.BAD_VALUE, f"{what} is no media type: {found[:80]!r}", node.span, "write e.g. image/png")
        return None
    return found
