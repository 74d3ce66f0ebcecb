"""``auth`` of an HTTP tool. Its values are templates, and the place for secrets."""

from __future__ import annotations

from functools import partial
from typing import Literal

from toolc.compiler.decode_http_url import read_constant_url
from toolc.compiler.templates import Scope, read_template
from toolc.document.map_reader import Findings, Reader, list_of, mapping, text
from toolc.document.nodes import Node
from toolc.model.spec.http_backend import ApiKeyAuth, Auth, BasicAuth, BearerAuth, OAuth2Auth


def read_auth(node: Node, what: str, findings: Findings, scope: Scope) -> Auth | None:
    """``auth``, which is exactly one of four kinds."""
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'auth'", findings)
    auth: Auth | None = None
    match reader.one_of("bearer", "basic", "api_key", "oauth2"):
        case "bearer":
            token = reader.optional("bearer", partial(read_template, scope=scope))
            auth = BearerAuth(token=token) if token is not None else None
        case "basic":
            auth = reader.optional("basic", partial(_basic, scope=scope))
        case "api_key":
            auth = reader.optional("api_key", partial(_api_key, scope=scope))
        case "oauth2":
            auth = reader.optional("oauth2", partial(_oauth2, scope=scope))
        case _:
            pass
    reader.close()
    return auth


def _basic(node: Node, what: str, findings: Findings, scope: Scope) -> BasicAuth | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'basic'", findings)
    username = reader.required("username", partial(read_template, scope=scope))
    password = reader.required("password", partial(read_template, scope=scope))
    reader.close()
    return BasicAuth(username=username, password=password) if username and password else None


def _api_key(node: Node, what: str, findings: Findings, scope: Scope) -> ApiKeyAuth | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'api_key'", findings)
    place: Literal["header", "query"] = "query" if reader.one_of("header", "query") == "query" else "header"
    name = reader.optional(place, text)
    value = reader.required("value", partial(read_template, scope=scope))
    reader.close()
    return ApiKeyAuth(place=place, name=name, value=value) if name is not None and value is not None else None


def _oauth2(node: Node, what: str, findings: Findings, scope: Scope) -> OAuth2Auth | None:
    found = mapping(node, what, findings)
    if found is None:
        return None
    reader = Reader(found, "'oauth2'", findings)
    token_url = reader.required("token_url", read_constant_url)
    client_id = reader.required("client_id", partial(read_template, scope=scope))
    client_secret = reader.required("client_secret", partial(read_template, scope=scope))
    scopes = reader.optional("scopes", list_of(text)) or ()
    audience = reader.optional("audience", text)
    reader.close()
    if token_url is None or client_id is None or client_secret is None:
        return None
    return OAuth2Auth(
        token_url=token_url, client_id=client_id, client_secret=client_secret, scopes=scopes, audience=audience
    )
