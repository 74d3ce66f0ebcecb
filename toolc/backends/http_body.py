"""The body of an HTTP request: JSON, a form, parts, or text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from toolc.backends.base import PlanError
from toolc.backends.http_text import encoded, optional, secret_text, texts
from toolc.model.http_plan import FormPart, MultipartForm, Piece, PlainBody, RequestBody
from toolc.model.json_schema import JsonObject
from toolc.model.spec.http_backend import Body, Field, FormBody, JsonBody, MultipartBody, Part, TextBody
from toolc.model.template import SECRETS, JsonConstant, JsonList, JsonMap, JsonTemplate, Template, evaluate

JSON_TYPE: Final = "application/json"
FORM_TYPE: Final = "application/x-www-form-urlencoded"
TEXT_TYPE: Final = "text/plain; charset=utf-8"


def body(body: Body, arguments: JsonObject) -> RequestBody:
    """The body for these arguments, secrets left open. Raises ``PlanError`` and ``TemplateError``."""
    match body:
        case JsonBody(value=value):
            return PlainBody(content_type=JSON_TYPE, pieces=_joined(_json(value, arguments)))
        case FormBody(fields=fields):
            return PlainBody(content_type=FORM_TYPE, pieces=_joined(_form(fields, arguments)))
        case MultipartBody(parts=parts):
            return MultipartForm(parts=tuple(each for part in parts for each in _parts(part, arguments)))
        case TextBody(text=text):
            return PlainBody(content_type=TEXT_TYPE, pieces=secret_text(text, arguments))


def _json(value: JsonTemplate, arguments: JsonObject) -> Iterator[Piece]:
    match value:
        case Template():
            yield from _json_text(value, arguments)
        case JsonConstant(value=constant):
            yield json.dumps(constant, ensure_ascii=False)
        case JsonList(items=items):
            yield from _between("[", (tuple(_json(item, arguments)) for item in items), "]")
        case JsonMap(entries=entries):
            kept = (
                entry
                for entry in entries
                if not isinstance(entry.value, Template) or optional(entry.value, arguments)
            )
            pairs = (
                (f"{json.dumps(entry.key, ensure_ascii=False)}:", *_json(entry.value, arguments)) for entry in kept
            )
            yield from _between("{", pairs, "}")


def _json_text(template: Template, arguments: JsonObject) -> Iterator[Piece]:
    sole = template.sole
    if sole is not None and sole.name != SECRETS:
        yield json.dumps(evaluate(sole, arguments), ensure_ascii=False, separators=(",", ":"))
        return
    yield '"'
    yield from secret_text(template, arguments, "json")
    yield '"'


def _between(start: str, items: Iterator[tuple[Piece, ...]], end: str) -> Iterator[Piece]:
    yield start
    for index, item in enumerate(items):
        yield from ((",", *item) if index else item)
    yield end


def _form(fields: tuple[Field, ...], arguments: JsonObject) -> Iterator[Piece]:
    between = ""
    for each in fields:
        for text in texts(each.value, arguments, "form"):
            yield f"{between}{encoded(each.name, 'form')}="
            yield from text
            between = "&"


def _parts(part: Part, arguments: JsonObject) -> Iterator[FormPart]:
    for text in texts(part.value, arguments):
        if part.is_file:
            # No secret is ever a path: the compiler refuses it.
            yield _file(part, "".join(piece for piece in text if isinstance(piece, str)))
        else:
            yield FormPart(name=part.name, value=text, content_type=part.content_type)


def _file(part: Part, path: str) -> FormPart:
    if not path or path.startswith("/") or "\0" in path or ".." in path.split("/"):
        names = ", ".join(sorted(part.value.names)) or part.name
        raise PlanError(f"{names}: {path[:80]!r} is no file of the workspace; write a path relative to it")
    return FormPart(name=part.name, path=path, content_type=part.content_type)


def _joined(pieces: Iterator[Piece]) -> tuple[Piece, ...]:
    joined: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece != "":
            joined.append(piece)
    return tuple(joined)
