"""The backend ``http``: builds the request that a spec declares, and the result from its response."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolc.backends.backend_protocol import Backend, PlanError, environment
from toolc.backends.http_styles import cookies, header, path_segment, query_fields
from toolc.backends.http_templates import (
    escape,
    has_arguments,
    render_header,
    render_path,
    render_text,
    render_url,
    render_values,
)
from toolc.backends.python import Python
from toolc.model.call import BoundCall
from toolc.model.http_plan import (
    Base64,
    FormPart,
    HttpCall,
    MultipartForm,
    NamedValue,
    Piece,
    PlainBody,
    RequestBody,
    ResponseHandling,
    TokenRequest,
    WorkspaceFile,
)
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome, ToolResult
from toolc.model.spec.code_backends import PythonBackend
from toolc.model.spec.http_backend import (
    ApiKeyAuth,
    Auth,
    BasicAuth,
    BearerAuth,
    Body,
    Field,
    FileBody,
    FormBody,
    HttpBackend,
    JsonBody,
    MultipartBody,
    MultipartPart,
    OAuth2Auth,
    TextBody,
    Url,
)
from toolc.model.spec.sandbox import Destination
from toolc.model.spec.tool import ResultSpec
from toolc.model.template import (
    SECRETS,
    JsonConstant,
    JsonList,
    JsonMap,
    JsonTemplate,
    Template,
    TemplateError,
    evaluate,
)

JSON_TYPE: Final = "application/json"
FORM_TYPE: Final = "application/x-www-form-urlencoded"
TEXT_TYPE: Final = "text/plain; charset=utf-8"

AUTHORIZATION: Final = "Authorization"

_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})


def request_body(body: Body, arguments: JsonObject) -> RequestBody:
    """Return the body for these arguments, with slots for secrets. Raises ``PlanError`` and ``TemplateError``."""
    match body:
        case JsonBody(value=value):
            return PlainBody(content_type=JSON_TYPE, pieces=_join_text(_json(value, arguments)))
        case FormBody(fields=fields):
            return PlainBody(content_type=FORM_TYPE, pieces=_join_text(_form(fields, arguments)))
        case MultipartBody(parts=parts):
            return MultipartForm(parts=tuple(each for part in parts for each in _form_parts(part, arguments)))
        case TextBody(text=text):
            return PlainBody(content_type=TEXT_TYPE, pieces=render_text(text, arguments))
        case FileBody(path=path, content_type=content_type):
            return WorkspaceFile(
                path=_workspace_path(path.render(arguments), path, "body.file"), content_type=content_type
            )


class Http:
    """The backend kind ``http``."""

    def plan(self, backend: HttpBackend, call: BoundCall, profile: Profile) -> Plan:
        """Return the request with escaped arguments and slots for secrets. Raises ``PlanError``."""
        try:
            invocation = _call(backend, call)
        except TemplateError as error:
            raise PlanError(str(error)) from None
        return Plan(
            profile=profile,
            invocation=invocation,
            call_id=call.call_id,
            env=environment(call.tool.sandbox, call.call_id),
            allow=_allow(backend, call.tool.sandbox.network.allow),
        )

    def read(self, backend: HttpBackend, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Return the result of the guest's response, which is validated like the response of any function."""
        # The guest has already applied ``result.format``.
        function = PythonBackend(entry="", function="the request", files=())
        read = Python().returned(function, ResultSpec(), outcome)
        about = read.details.get("tool")
        if not isinstance(about, dict):
            return read
        # The guest runs no code of a tool here, so these details come from toolc itself.
        details = {key: value for key, value in read.details.items() if key != "tool"}
        truncated: JsonObject = {"truncated": True} if about.pop("truncated", False) is True else {}
        return replace(read, details=details | {"http": about} | truncated)


def _json(value: JsonTemplate, arguments: JsonObject) -> Iterator[Piece]:
    match value:
        case Template():
            yield from _json_text(value, arguments)
        case JsonConstant(value=constant):
            yield json.dumps(constant, ensure_ascii=False)
        case JsonList(items=items):
            yield from _delimited("[", (tuple(_json(item, arguments)) for item in items), "]")
        case JsonMap(entries=entries):
            kept = (
                entry
                for entry in entries
                if not isinstance(entry.value, Template) or has_arguments(entry.value, arguments)
            )
            pairs = (
                (f"{json.dumps(entry.key, ensure_ascii=False)}:", *_json(entry.value, arguments)) for entry in kept
            )
            yield from _delimited("{", pairs, "}")


def _json_text(template: Template, arguments: JsonObject) -> Iterator[Piece]:
    sole = template.sole_placeholder
    if sole is not None and sole.name != SECRETS:
        yield json.dumps(evaluate(sole, arguments), ensure_ascii=False, separators=(",", ":"))
        return
    yield '"'
    yield from render_text(template, arguments, "json")
    yield '"'


def _delimited(start: str, items: Iterator[tuple[Piece, ...]], end: str) -> Iterator[Piece]:
    yield start
    for index, item in enumerate(items):
        yield from ((",", *item) if index else item)
    yield end


def _form(fields: tuple[Field, ...], arguments: JsonObject) -> Iterator[Piece]:
    between = ""
    for each in fields:
        for pair in query_fields(each, arguments, "form"):
            yield f"{between}{pair.name}="
            yield from pair.value
            between = "&"


def _form_parts(part: MultipartPart, arguments: JsonObject) -> Iterator[FormPart]:
    for text in render_values(part.value, arguments):
        if part.is_file:
            # A path has no secrets: the compiler rejects them.
            path = _workspace_path("".join(map(str, text)), part.value, part.name)
            yield FormPart(name=part.name, path=path, content_type=part.content_type)
        else:
            yield FormPart(name=part.name, value=text, content_type=part.content_type)


def _workspace_path(path: str, template: Template, name: str) -> str:
    if not path or path.startswith("/") or "\0" in path or ".." in path.split("/"):
        names = ", ".join(sorted(template.names)) or name
        raise PlanError(f"{names}: {path[:80]!r} is not a path in the workspace; use one relative to it")
    return path


def _join_text(pieces: Iterator[Piece]) -> tuple[Piece, ...]:
    joined: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece != "":
            joined.append(piece)
    return tuple(joined)


def _allow(backend: HttpBackend, listed: tuple[Destination, ...]) -> tuple[Destination, ...]:
    """Return the allowed destinations: the spec's list, and the hosts of the request and of its token request."""
    urls = [backend.url] if isinstance(backend.url, Url) else []
    if isinstance(backend.auth, OAuth2Auth):
        urls.append(backend.auth.token_url)
    allowed = {*listed, *(Destination(kind="exact", host=url.host, port=url.port) for url in urls)}
    return tuple(sorted(allowed, key=lambda each: (each.host, each.port, each.kind)))


def _call(backend: HttpBackend, call: BoundCall) -> HttpCall:
    arguments = call.arguments
    query = tuple(pair for each in backend.query for pair in query_fields(each, arguments, "query"))
    headers = tuple(pair for each in backend.headers for pair in header(each, arguments))
    auth_headers, auth_query, token = _auth(backend.auth, arguments)
    return HttpCall(
        method=backend.method,
        url=_url(backend.url, arguments, backend.path),
        query=query + auth_query,
        headers=merge_headers((*headers, *cookies(backend.cookies, arguments)), auth_headers),
        body=request_body(backend.body, arguments) if backend.body else None,
        token=token,
        reading=ResponseHandling(
            format=call.tool.result.format,
            retry=backend.retry if _may_repeat(backend, call) else None,
            pagination=backend.pagination,
            errors=backend.errors,
            select=call.tool.result.select,
            template=call.tool.result.template,
            arguments=arguments if call.tool.result.template else {},
        ),
    )


def _may_repeat(backend: HttpBackend, call: BoundCall) -> bool:
    """Return whether a request may be repeated, because its method (RFC 9110, 9.2.2) or the spec allows it."""
    return backend.method in _IDEMPOTENT or call.tool.annotations.idempotent is True


def _url(url: Url | Template, arguments: JsonObject, path: tuple[Field, ...] = ()) -> str:
    if isinstance(url, Template):
        return render_url(url, arguments)
    host = f"[{url.host}]" if ":" in url.host else url.host
    query = f"?{url.query}" if url.query else ""
    segments = {each.name: path_segment(each, arguments) for each in path}
    return f"{url.scheme}://{host}:{url.port}{render_path(url.path, arguments, segments)}{query}"


def _auth(
    auth: Auth | None, arguments: JsonObject
) -> tuple[tuple[NamedValue, ...], tuple[NamedValue, ...], TokenRequest | None]:
    """Return the headers and query fields that ``auth`` adds, and the request for a token that must come first."""
    match auth:
        case None:
            return (), (), None
        case BearerAuth():
            return (
                (NamedValue(AUTHORIZATION, ("Bearer ", *render_header(AUTHORIZATION, auth.token, arguments))),),
                (),
                None,
            )
        case BasicAuth():
            user = render_text(auth.username, arguments)
            if any(isinstance(piece, str) and ":" in piece for piece in user):
                raise PlanError("a user name cannot contain ':' (RFC 7617)")
            pair = (*user, ":", *render_text(auth.password, arguments))
            return (NamedValue(AUTHORIZATION, ("Basic ", Base64(pair))),), (), None
        case ApiKeyAuth(place="header"):
            return (NamedValue(auth.name, render_header(auth.name, auth.value, arguments)),), (), None
        case ApiKeyAuth():
            return (), (NamedValue(escape(auth.name, "query"), render_text(auth.value, arguments, "query")),), None
        case OAuth2Auth():
            return (), (), _token(auth, arguments)


def _token(auth: OAuth2Auth, arguments: JsonObject) -> TokenRequest:
    form = [NamedValue("grant_type", ("client_credentials" if auth.refresh_token is None else "refresh_token",))]
    if auth.refresh_token is not None:
        form.append(NamedValue("refresh_token", render_text(auth.refresh_token, arguments, "form")))
    if auth.scopes:
        form.append(NamedValue("scope", (escape(" ".join(auth.scopes), "form"),)))
    if auth.audience is not None:
        form.append(NamedValue("audience", (escape(auth.audience, "form"),)))
    return TokenRequest(
        url=_url(auth.token_url, {}),
        form=tuple(form),
        client_id=render_text(auth.client_id, arguments),
        client_secret=render_text(auth.client_secret, arguments),
    )


def merge_headers(headers: tuple[NamedValue, ...], more: tuple[NamedValue, ...]) -> tuple[NamedValue, ...]:
    """Return ``headers`` with ``more`` added. Headers in ``more`` replace those of the same name."""
    names = {each.name.lower() for each in more}
    return (*(each for each in headers if each.name.lower() not in names), *more)


BACKEND: Final[Backend[HttpBackend]] = Http()
