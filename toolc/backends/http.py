"""``backend.http``: one declared request, and what is made of the guest's reading of its response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from toolc.backends.base import Backend, PlanError, environment
from toolc.backends.http_templates import encoded, field, header, optional, render_url, secret_text, texts, written_path
from toolc.backends.python import Python
from toolc.model.call import BoundCall
from toolc.model.http_plan import (
    Base64,
    FormPart,
    HttpCall,
    MultipartForm,
    Named,
    Piece,
    PlainBody,
    Reading,
    RequestBody,
    TokenRequest,
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
    FormBody,
    HttpBackend,
    JsonBody,
    MultipartBody,
    OAuth2Auth,
    Part,
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
                entry for entry in entries if not isinstance(entry.value, Template) or optional(entry.value, arguments)
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


AUTHORIZATION: Final = "Authorization"

_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})

_ANSWERED: Final = PythonBackend(entry="", function="the request", files=())


class Http:
    """The backend kind ``http``."""

    def plan(self, backend: HttpBackend, call: BoundCall, profile: Profile) -> Plan:
        """The request to send, escaped for every place, secrets left open. Raises ``PlanError``."""
        try:
            invocation = _call(backend, call)
        except TemplateError as error:
            raise PlanError(str(error)) from None
        return Plan(
            profile=profile,
            invocation=invocation,
            call_id=call.call_id,
            env=environment(call),
            allow=_allow(backend, call.tool.sandbox.network.allow),
        )

    def read(self, backend: HttpBackend, result: ResultSpec, outcome: Outcome) -> ToolResult:
        """Read the guest's answer, which is as little trusted as any function's."""
        # The guest has read the body as ``result.format`` says, and a template makes text of data.
        read = Python().read(_ANSWERED, ResultSpec(), outcome)
        about = read.details.get("tool")
        if not isinstance(about, dict):
            return read
        # The guest of an HTTP call runs no tool's code: what it says of the response is toolc's own word.
        details = {key: value for key, value in read.details.items() if key != "tool"}
        truncated: JsonObject = {"truncated": True} if about.pop("truncated", False) is True else {}
        return replace(read, details=details | {"http": about} | truncated)


def _allow(backend: HttpBackend, listed: tuple[Destination, ...]) -> tuple[Destination, ...]:
    """What the call may connect to: the list, the host of its own URL and that of its token."""
    own = [backend.url] if isinstance(backend.url, Url) else []
    if isinstance(backend.auth, OAuth2Auth):
        own.append(backend.auth.token_url)
    found = {*listed, *(Destination(kind="exact", host=url.host, port=url.port) for url in own)}
    return tuple(sorted(found, key=lambda each: (each.host, each.port, each.kind)))


def _call(backend: HttpBackend, call: BoundCall) -> HttpCall:
    arguments = call.arguments
    query = _query(backend.query, arguments)
    headers = _headers(backend.headers, arguments)
    auth_headers, auth_query, token = _auth(backend.auth, arguments)
    return HttpCall(
        method=backend.method,
        url=_url(backend.url, arguments),
        query=query + auth_query,
        headers=_over(headers, auth_headers),
        body=body(backend.body, arguments) if backend.body else None,
        token=token,
        reading=Reading(
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
    """Whether a request may be sent again (RFC 9110, 9.2.2): by its method, or because the spec says so."""
    return backend.method in _IDEMPOTENT or call.tool.annotations.idempotent is True


def _url(url: Url | Template, arguments: JsonObject) -> str:
    if isinstance(url, Template):
        return render_url(url, arguments)
    host = f"[{url.host}]" if ":" in url.host else url.host
    query = f"?{url.query}" if url.query else ""
    return f"{url.scheme}://{host}:{url.port}{written_path(url.path, arguments)}{query}"


def _query(fields: tuple[Field, ...], arguments: JsonObject) -> tuple[Named, ...]:
    return tuple(
        Named(encoded(each.name, "query"), text) for each in fields for text in texts(each.value, arguments, "query")
    )


def _headers(fields: tuple[Field, ...], arguments: JsonObject) -> tuple[Named, ...]:
    kept = (each for each in fields if texts(each.value, arguments))
    return tuple(Named(each.name, header(each.name, each.value, arguments)) for each in kept)


def _auth(auth: Auth | None, arguments: JsonObject) -> tuple[tuple[Named, ...], tuple[Named, ...], TokenRequest | None]:
    """What ``auth`` adds to the headers and to the query, and the token that it needs first."""
    match auth:
        case None:
            return (), (), None
        case BearerAuth():
            return (Named(AUTHORIZATION, ("Bearer ", *header(AUTHORIZATION, auth.token, arguments))),), (), None
        case BasicAuth():
            user = secret_text(auth.username, arguments)
            if any(isinstance(piece, str) and ":" in piece for piece in user):
                raise PlanError("a user name cannot hold ':', which ends it (RFC 7617)")
            pair = (*user, ":", *secret_text(auth.password, arguments))
            return (Named(AUTHORIZATION, ("Basic ", Base64(pair))),), (), None
        case ApiKeyAuth(place="header"):
            return (Named(auth.name, header(auth.name, auth.value, arguments)),), (), None
        case ApiKeyAuth():
            return (), (field(auth.name, auth.value, arguments, "query"),), None
        case OAuth2Auth():
            return (), (), _token(auth, arguments)


def _token(auth: OAuth2Auth, arguments: JsonObject) -> TokenRequest:
    form = [Named("grant_type", ("client_credentials",))]
    if auth.scopes:
        form.append(Named("scope", (encoded(" ".join(auth.scopes), "form"),)))
    if auth.audience is not None:
        form.append(Named("audience", (encoded(auth.audience, "form"),)))
    return TokenRequest(
        url=_url(auth.token_url, {}),
        form=tuple(form),
        client_id=secret_text(auth.client_id, arguments),
        client_secret=secret_text(auth.client_secret, arguments),
    )


def _over(headers: tuple[Named, ...], more: tuple[Named, ...]) -> tuple[Named, ...]:
    """``more`` after ``headers``, in the place of those of the same name."""
    names = {each.name.lower() for each in more}
    return (*(each for each in headers if each.name.lower() not in names), *more)


BACKEND: Final[Backend[HttpBackend]] = Http()
