"""Requests that toolc plans or sends, in the form of the expected ones, and the names of their fields in a spec."""

import json
import re
from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import BytesParser
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from calls.scripted_server import Request as Received

from openapi_rules.expected_request import SECRET, Request, Rules
from toolc.backends.http import FORM_TYPE, JSON_TYPE, Http
from toolc.model.call import BoundCall
from toolc.model.http_plan import HttpCall, MultipartForm, NamedValue, PlainBody, RequestBody, WorkspaceFile, slots
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Profile
from toolc.model.spec.http_backend import Body, FileBody, FormBody, HttpBackend, JsonBody, MultipartBody, TextBody, Url
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import JsonMap, Placeholder, Template
from toolc.runtime.http.request import fill

MULTIPART_TYPE = "multipart/form-data"
_OWN_HEADERS = {"accept-encoding", "connection", "content-length", "host"}


class Wire(NamedTuple):
    """The argument that a spec has for a value of the request. A whole body has no name."""

    argument: str
    place: str
    name: str
    is_file: bool = False


def wires(spec: ToolSpec, rules: Rules) -> Iterator[Wire]:
    """Yield each argument with the place and the name of its value."""
    backend = _http(spec)
    assert isinstance(backend.url, Url)
    styled = {each.name for each in backend.path}
    in_path = [each for each in re.findall(r"\{([^{}]*)\}", rules.path) if each not in styled]
    templates = [part.name for part in backend.url.path.parts if isinstance(part, Placeholder)]
    yield from (Wire(argument, "path", name) for argument, name in zip(templates, in_path, strict=True))
    places = {"path": backend.path, "query": backend.query, "header": backend.headers, "cookie": backend.cookies}
    for place, fields in places.items():
        yield from (Wire(argument, place, each.name) for each in fields for argument in _arguments(each.value))
    for name, value, is_file in _parts(backend.body):
        yield from (Wire(argument, "body", name, is_file) for argument in _arguments(value))


def _parts(body: Body | None) -> Iterator[tuple[str, Template, bool]]:
    match body:
        case JsonBody(value=JsonMap(entries=entries)):
            yield from ((each.key, each.value, False) for each in entries if isinstance(each.value, Template))
        case JsonBody(value=Template() as value) | TextBody(text=value):
            yield "", value, False
        case FormBody(fields=fields):
            yield from ((each.name, each.value, False) for each in fields)
        case MultipartBody(parts=parts):
            yield from ((each.name, each.value, each.is_file) for each in parts)
        case FileBody(path=path):
            yield "", path, True
        case _:
            pass


def media_type_of(spec: ToolSpec) -> str:
    """Return the media type of the body, or an empty text."""
    backend = _http(spec)
    for header in backend.headers:
        if header.name.lower() == "content-type":
            return "".join(map(str, header.value.parts))
    match backend.body:
        case FileBody(content_type=content_type):
            return content_type
        case FormBody():
            return FORM_TYPE
        case MultipartBody():
            return MULTIPART_TYPE
        case TextBody():
            return "text/plain"
        case JsonBody():
            return JSON_TYPE
        case _:
            return ""


def planned(spec: ToolSpec, arguments: JsonObject) -> Request:
    """Return the planned request. Raises ``PlanError``."""
    call = Http().plan(_http(spec), BoundCall(tool=spec, arguments=arguments, call_id="c"), Profile()).invocation
    assert isinstance(call, HttpCall)
    url = urlsplit(call.url)
    query = url.query.split("&") + [f"{each.name}={_text(each)}" for each in call.query]
    headers = {each.name.lower(): _text(each) for each in call.headers}
    if call.token is not None:
        headers["authorization"] = "Bearer"
    return _request(call.method, url.path, query, headers, _body(call.body))


def received(request: Received, files: Mapping[bytes, str]) -> Request:
    """Return a request as a server received it. ``files`` are the names of files by their contents."""
    headers = {name.lower(): each for name, each in request.headers.items() if name.lower() not in _OWN_HEADERS}
    if headers.get("user-agent") == "toolc":  # otherwise a parameter has this name
        del headers["user-agent"]
    path, _, query = request.path.partition("?")
    content_type = headers.get("content-type", "")
    body: JsonValue = None
    if request.body in files:
        body = files[request.body]
    elif "json" in content_type:
        body = json.loads(request.body)
    elif FORM_TYPE in content_type:
        body = _fields(request.body.decode())
    elif MULTIPART_TYPE in content_type:
        message = BytesParser().parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + request.body)
        parts = message.get_payload()
        assert isinstance(parts, list)
        body = [*sorted((_part(each, files) for each in parts if isinstance(each, Message)), key=str)]
    elif content_type:
        body = request.body.decode()
    return _request(request.method, path, query.split("&"), headers, body)


def _request(method: str, path: str, query: list[str], headers: dict[str, str], body: JsonValue) -> Request:
    cookies = sorted(each for each in headers.pop("cookie", "").split("; ") if each)
    kept = {name: each for name, each in headers.items() if name not in {"accept", "content-type"}}
    if "authorization" in kept and kept["authorization"] != SECRET:
        kept["authorization"] = kept["authorization"].partition(" ")[0]
    return Request(method, path, sorted(each for each in query if each), kept, cookies, body)


def _body(body: RequestBody | None) -> JsonValue:
    match body:
        case PlainBody(content_type=kind, pieces=pieces):
            text = fill(pieces, {}).decode()
            return json.loads(text) if kind == JSON_TYPE else _fields(text) if kind == FORM_TYPE else text
        case MultipartForm(parts=parts):
            listed: list[JsonValue] = [
                [each.name, fill(each.value, {}).decode() if each.path is None else each.path, each.content_type]
                for each in parts
            ]
            return [*sorted(listed, key=str)]
        case WorkspaceFile(path=path):
            return path
        case _:
            return None


def _part(part: Message, files: Mapping[bytes, str]) -> JsonValue:
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    is_file = part.get_filename() is not None
    kind = part.get_content_type() if "Content-Type" in part else None
    if is_file and kind == "application/octet-stream":
        kind = None  # which is what a file without a type is
    name = part.get_param("name", header="Content-Disposition")
    return [unquote(str(name)), files[content] if is_file else content.decode(), kind]


def _fields(text: str) -> JsonValue:
    # '+' and '%20' mean the same in a form.
    return [*sorted(each for each in text.replace("+", "%20").split("&") if each)]


def _text(value: NamedValue) -> str:
    return fill(value.value, dict.fromkeys(slots(value.value), SECRET)).decode()


def _arguments(template: Template) -> list[str]:
    return [each for each in template.names if each != "secrets"]


def _http(spec: ToolSpec) -> HttpBackend:
    assert isinstance(spec.backend, HttpBackend)
    return spec.backend
