"""Generate the spec of an operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlsplit

from toolc.importers.openapi.operations import READING, Operation
from toolc.importers.openapi.requests import PLACES, Request
from toolc.importers.openapi.responses import read_responses
from toolc.importers.openapi.schemas import converted, one_line
from toolc.importers.openapi.security import read_security
from toolc.importers.openapi.servers import Server, server_url, texts_of
from toolc.importers.openapi.source import Document, LeftOutError
from toolc.model.destinations import is_loopback
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under
from toolc.model.text import shorten

_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_MAX_DESCRIPTION: Final = 1_000
_SAFE: Final = "/%:@!$&'()*+,;=-._~?[]"
"""The characters of a path and a query that are written as they are (RFC 3986, 3.3 and 3.4)."""


def tool_spec(document: Document, operation: Operation, tool: str, import_name: str, server: Server) -> JsonObject:
    """Return the spec of an operation, with the name ``tool``. Raises ``LeftOutError``."""
    if operation.method not in _METHODS:
        raise LeftOutError(f"the method {operation.method} is not supported")
    value = _modern(operation.value, document)
    auth, secrets, keys = read_security(operation.value, document, import_name)
    request = Request(document, frozenset((place, name.lower()) for place, name in keys))
    path, in_query = _without_query(_encoded(operation.path))
    for place, parameter, base in _parameters(document, operation, in_query):
        try:
            path = request.parameter(parameter, base, path)
        except LeftOutError as error:
            raise LeftOutError(str(error), *place) from None
    named = re.findall(r"\{[^{}]*\}", re.sub(r"\{\{.*?\}\}", "", path))
    if left := [each for each in named if each[1:-1] not in request.http.get("path", {})]:
        raise LeftOutError(f"the segment {left[0][:60]} of its path is not declared")
    body, base = document.object_at(value.get("requestBody", {}), operation.base)
    if body and operation.method not in READING:
        request.add_body(body, base)
    for (kind, name), template in keys.items():
        if template:
            request.field(PLACES[kind], name, template)
    url = server_url(document, operation, server) + path
    http: JsonObject = {"url": url} if operation.method == "GET" else {"method": operation.method, "url": url}
    response = read_responses(document, value, operation)
    for name, each in response.headers.items():
        if name not in {key.title() for key in request.http.get("headers", {})}:
            request.field("headers", name, each)
    http |= {key: request.http[key] for key in PLACES.values() if key in request.http}
    http |= {key: each for key, each in (("body", request.body), ("auth", auth)) if each}
    http |= response.http
    parameters = converted(document, is_request=True, build=request.arguments.schema)
    host = urlsplit(url).hostname or ""
    sandbox: JsonObject = {"workspace": "ro"} if request.reads_workspace else {}
    if secrets and url.startswith("http:") and not is_loopback(host):
        raise LeftOutError("its server uses http, and secrets are sent only over TLS; pass --server https://...")
    if secrets:
        client = map_under(auth, "oauth2")
        token_host = urlsplit(str(client.get("token_url"))).hostname
        hosts = {each: token_host if f".{each} " in str(client) else host for each in secrets}
        sandbox["secrets"] = {each: {"hosts": [place]} for each, place in hosts.items()}
    spec: JsonObject = {"toolc": 1, "name": tool}
    spec |= _texts(value, operation)
    spec |= {"parameters": parameters, "backend": {"http": http}}
    spec |= {"result": response.result} if response.result else {}
    spec |= {"sandbox": sandbox} if sandbox else {}
    return spec | {"annotations": _annotations(operation.method)}


def _encoded(path: str) -> str:
    """Return a path without its fragment, which is never sent, and encode characters that URLs cannot contain."""
    parts = re.split(r"(\{[^{}]*\})", path.partition("#")[0])
    return "".join(each if index % 2 else quote(each, safe=_SAFE) for index, each in enumerate(parts))


def _without_query(path: str) -> tuple[str, dict[str, str]]:
    """Remove each ``NAME={PARAMETER}`` of a query from a path. Return the path, and these names by parameter.

    OpenAPI does not allow a query in a path, but many documents have one and declare its parameters as path parameters.
    """
    path, _, query = path.partition("?")
    pairs = dict(re.findall(r"(?:^|&)([^=&{}]+)=\{([^{}]+)\}(?=&|$)", query))
    rest = "&".join(each for each in query.split("&") if each.partition("=")[0] not in pairs)
    return f"{path}?{rest}" if rest else path, {parameter: name for name, parameter in pairs.items()}


def _parameters(
    document: Document, operation: Operation, in_query: Mapping[str, str]
) -> list[tuple[tuple[str | int, ...], JsonObject, str]]:
    """Return the parameters of an operation and of its path, with their places. The operation's parameters win.

    ``in_query`` has the names in the query of the path, by parameter.
    """
    found: dict[tuple[str, str], tuple[tuple[str | int, ...], JsonObject, str]] = {}
    place: tuple[str | int, ...]
    for owner, tokens in ((operation.shared, operation.tokens[:-1]), (operation.value, operation.tokens)):
        for index, each in enumerate(list_under(owner, "parameters")):
            parameter, base = document.object_at(each, operation.base)
            if parameter.get("in") == "path" and (name := in_query.get(str(parameter.get("name")))):
                parameter = {**parameter, "in": "query", "name": name}
            if parameter.get("in") not in ("body", "formData"):
                place = (*tokens, "parameters", index)
                found[str(parameter.get("in")), str(parameter.get("name"))] = (place, parameter, base)
    return [*found.values()]


def _modern(value: JsonObject, document: Document) -> JsonObject:
    """Return an operation of Swagger 2 with the body and the responses of OpenAPI 3."""
    if "swagger" not in document.root:
        return value
    consumed = value.get("consumes", document.root.get("consumes")) or ["application/json"]
    produced = value.get("produces", document.root.get("produces")) or ["application/json"]
    fields: JsonObject = {}
    required: list[JsonValue] = []
    body: JsonObject = {}
    for each in list_under(value, "parameters"):
        parameter, _ = document.object_at(each, document.base)
        name = str(parameter.get("name"))
        if parameter.get("in") == "body":
            content: JsonObject = {str(kind): {"schema": parameter.get("schema", {})} for kind in texts_of(consumed)}
            body = {key: parameter[key] for key in ("description", "required") if key in parameter}
            body["content"] = content
        elif parameter.get("in") == "formData":
            fields[name] = {key: inner for key, inner in parameter.items() if key != "required"}
            required += [name] if parameter.get("required") is True else []
    if fields:
        has_file = any(isinstance(each, dict) and each.get("type") == "file" for each in fields.values())
        is_multipart = has_file or "application/x-www-form-urlencoded" not in texts_of(consumed)
        kind = "multipart/form-data" if is_multipart else "application/x-www-form-urlencoded"
        schema: JsonObject = {"type": "object", "properties": fields, "required": required}
        body = {"required": True, "content": {kind: {"schema": schema}}}
    responses: JsonObject = {}
    for status, response in map_under(value, "responses").items():
        inner, _ = document.object_at(response, document.base)
        schemas: JsonObject = (
            {kind: {"schema": inner["schema"]} for kind in texts_of(produced)} if "schema" in inner else {}
        )
        responses[status] = {**inner, "content": schemas}
    return {**value, "requestBody": body, "responses": responses}


def _texts(value: JsonObject, operation: Operation) -> JsonObject:
    """Return the label, description and tags of a tool."""
    summary, described = (one_line(value.get(key), _MAX_DESCRIPTION) for key in ("summary", "description"))
    label = summary.rstrip(".")
    text = described if described.startswith(label) else f"{label}. {described}".strip()
    found: JsonObject = {"label": shorten(label, 80)} if label else {}
    found["description"] = shorten(text, _MAX_DESCRIPTION) or f"{operation.method} {operation.path}."
    if value.get("deprecated") is True:
        found["deprecated"] = "the service has deprecated this operation"
    return found | ({"tags": [*dict.fromkeys(operation.tags)]} if operation.tags else {})


def _annotations(method: str) -> JsonObject:
    if method in READING:
        return {"read_only": True, "idempotent": True, "open_world": True}
    found: JsonObject = {"read_only": False, "open_world": True}
    found |= {"destructive": True} if method != "POST" else {}
    return found | ({"idempotent": True} if method in {"PUT", "DELETE"} else {})
