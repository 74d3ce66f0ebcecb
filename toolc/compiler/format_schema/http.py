"""``backend.http``: one request, and what its response means."""

from __future__ import annotations

from typing import Final, get_args

from toolc.compiler.format_schema.parts import (
    anything,
    boolean,
    choice,
    closed,
    duration,
    either,
    integer,
    items,
    mapping,
    or_constant,
    string,
    text,
)
from toolc.schema import JsonObject
from toolc.spec_backends import ErrorKind
from toolc.spec_http import Method

_STATUS: Final[JsonObject] = {"type": "string", "pattern": "^[2-5]([0-9]{2}|xx)$"}
_POINTER: Final = "^(/([^/~]|~[01])*)+$"
_EXPRESSION: Final = "in JMESPath."


def http() -> JsonObject:
    """``backend.http``; all of its templates may name parameters, some of them secrets too."""
    return closed(
        "One HTTP request. The host is a constant, and the sandbox never holds the secrets.",
        {
            "method": choice("The method.", get_args(Method), "GET"),
            "url": text("The URL; its path is a template: https://api.example.com/items/{{ id }}."),
            "url_from_argument": boolean("Whether an argument may decide the scheme and the host.", default=False),
            "query": _fields("What stands after '?' in the URL."),
            "headers": _fields("The headers; secrets can stand here."),
            "body": _body(),
            "auth": _auth(),
            "retry": _retry(),
            "pagination": _pagination(),
            "errors": _errors(),
        },
    )


def _field(description: str) -> JsonObject:
    return {"description": description, "type": ["string", "number", "boolean"]}


def _fields(description: str) -> JsonObject:
    return mapping(description, _field("A template; left out where an argument that it names is absent."))


def _body() -> JsonObject:
    part = closed(
        "One part of the form. Exactly one of 'text' and 'file'.",
        {
            "text": _field("What it holds, a template."),
            "file": _field("The workspace file it holds, a template."),
            "content_type": text("Its media type, e.g. image/png."),
        },
    )
    shape = closed(
        "What is sent: exactly one of these.",
        {
            "json": anything("A JSON value; a string is a template, and one placeholder alone keeps its type."),
            "form": _fields("Fields of a form."),
            "multipart": mapping(
                "Parts of a form, with files.", either("One part.", _field("What it holds, a template."), part)
            ),
            "text": string("Text, a template."),
        },
    )
    return shape | {"maxProperties": 1}


def _auth() -> JsonObject:
    basic = {"username": string("The user, a template."), "password": string("The password: {{ secrets.NAME }}.")}
    api_key = {
        "header": text("The header that holds the key."),
        "query": text("The field of the query that holds the key."),
        "value": string("The key: {{ secrets.NAME }}."),
    }
    oauth2 = {
        "token_url": text("Where tokens are had, a constant."),
        "client_id": string("The client, a template."),
        "client_secret": string("Its secret: {{ secrets.NAME }}."),
        "scopes": items("What the token is good for.", text("A scope.")),
        "audience": text("Whom the token is for."),
    }
    shape = closed(
        "How the request proves whose it is: exactly one of these.",
        {
            "bearer": string("A token: {{ secrets.NAME }}."),
            "basic": closed("A user and a password.", basic),
            "api_key": closed("A key in a header or in the query.", api_key),
            "oauth2": closed("OAuth 2 client credentials; tokens are kept until they expire.", oauth2),
        },
    )
    return shape | {"maxProperties": 1}


def _retry() -> JsonObject:
    status = or_constant({"type": "integer", "minimum": 400, "maximum": 599})
    return closed(
        "When the request is sent again.",
        {
            "statuses": items("After which statuses.", status) | {"default": [429, 502, 503, 504]},
            "attempts": integer("How often in all.", 2, 10, 3),
            "backoff": duration("How long to wait at first; twice as long each time.", "1s"),
        },
    )


def _pagination() -> JsonObject:
    parameter = text("The field of the query that asks for a page.")
    cursor = {
        "parameter": parameter,
        "pointer": text("Or where it stands in the body, which is JSON: a JSON Pointer.", _POINTER),
        "next": text(f"Where the next page's value stands in the body, {_EXPRESSION}"),
    }
    page = {"parameter": parameter, "first": integer("The number of the first page.", 0, 1, 1)}
    return closed(
        "How the pages of a result are had. Exactly one of 'cursor', 'link', 'offset', 'page'.",
        {
            "cursor": closed("The body says what to ask for next.", cursor),
            "link": _link(),
            "offset": closed("Ask for what comes after so many items.", {"parameter": parameter}),
            "page": closed("Ask for pages by number.", page),
            "items": text(f"The list in each page that is put together, {_EXPRESSION}"),
            "max_pages": integer("How many pages are asked for.", 1, 1000, 10),
            "max_items": integer("How many items are kept.", 1, 1_000_000),
        },
    )


def _link() -> JsonObject:
    words = f"True for the header 'Link'; or where the next page's URL stands in the body, {_EXPRESSION}"
    return {**or_constant({"const": True}, {"type": "string", "minLength": 1}), "description": words}


def _errors() -> JsonObject:
    kind = choice("The kind of error.", get_args(ErrorKind))
    status = or_constant({"type": "integer", "minimum": 200, "maximum": 599}, _STATUS)
    rule = closed(
        "An error where the status is this, and where the condition holds.",
        {
            "status": {**status, "description": "A status such as 404, or a class of them such as 5xx."},
            "when": text(f"A condition on the body, {_EXPRESSION}"),
            "kind": kind,
            "message": text("What the model is told."),
        },
        required=("kind",),
    )
    return either(
        "Which responses are errors, and of which kind.",
        mapping("Kinds of error by status.", kind, names=_STATUS),
        items("Rules, of which the first that fits counts.", rule),
    )
