"""Make the requests of an HTTP tool on the host. The guest asks for them, within the limits of the plan.

The guest decides only where a redirect or a page leads, and one query field or one value of the body. The secrets
of the request are sent only to the origin of the plan's URL.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import quote, unquote

from toolc.guest.frames import ProtocolError
from toolc.model.http_plan import HttpCall, NamedValue, Pieces, slots
from toolc.model.json_schema import JsonObject, JsonValue, list_index, parse_json, pointer_tokens
from toolc.model.spec.http_backend import CursorPages, NumberedPages, OffsetPages
from toolc.model.spec.sandbox import SecretSpec
from toolc.runtime.egress.transport import ConnectionRequest, RefusedError, Transport
from toolc.runtime.http.request import (
    ReadFile,
    Target,
    check_secret,
    fill_body,
    fill_header,
    fill_query,
    parse_url,
    pieces_of,
    request,
)
from toolc.runtime.http.token import TOKENS, TokenTransport, token_request
from toolc.runtime.http.transport import FramedTransport, connection_to
from toolc.runtime.secrets.redaction import Redactor

MAX_TOKENS: Final = 4
"""The maximum number of token requests per call. There is one, and another after a 401, each in two ways."""

_PRIVATE_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})

_COOKIE: Final = re.compile(r"[\x20-\x7e]{0,16384}")
"""A field ``Cookie``, at most as long as common servers accept all fields together."""


class HttpBroker:
    """The requests of one call. ``values`` are its secrets, and ``declared`` says where each may be sent.

    ``wrap`` creates the reader of the responses. By default, it forwards them to a guest.

    The access token, which neither the spec nor the user provides, is added to ``redactor``.
    """

    def __init__(
        self,
        call: HttpCall,
        *,
        values: Mapping[str, str],
        declared: tuple[SecretSpec, ...],
        redactor: Redactor,
        read_file: ReadFile,
        wrap: Callable[[Transport], Transport] = FramedTransport,
    ) -> None:
        self._call = call
        self._values = values
        self._hosts = {each.name: each.hosts for each in declared}
        self._redactor = redactor
        self._read_file = read_file
        self._wrap = wrap
        self._origin = parse_url(call.url)
        self._token_requests = 0
        self._token_key = TOKENS.key(call.token, values) if call.token else ""
        self._token = TOKENS.get(self._token_key)
        if self._token:
            self._redactor.add("access_token", self._token)

    @property
    def needs_token(self) -> bool:
        """Whether an access token must be requested before the first request."""
        return self._call.token is not None and self._token is None

    def connection_request(self, payload: bytes) -> ConnectionRequest:
        """Return the connection and data for a REQUEST frame. Raises ``RefusedError`` and ``ProtocolError``."""
        fields = _parse_request(payload)
        if fields.get("token") is True:
            return self._token_request(in_form=fields.get("in_form") is True)
        url, method, query = fields.get("url"), fields.get("method", self._call.method), fields.get("query", {})
        if not isinstance(method, str) or method not in {self._call.method, "GET"}:
            raise ProtocolError("it sent a request with a method that its call does not use")
        cursor, cookie = self._checked_cursor(fields.get("cursor")), self._checked_cookie(fields.get("cookie", ""))
        if url is None:
            return self._own_request(self._checked_query(query), cursor, cookie)
        if not isinstance(url, str) or query:
            raise ProtocolError("it sent a request with an invalid URL")
        return self._connection(self._checked_target(url), method, cursor, cookie)

    def _checked_target(self, url: str) -> Target:
        """Return the target of a URL from the server. Raises ``RefusedError``, whose message contains no secrets."""
        has_secret = self._has_secret(url)
        try:
            target = parse_url(url)
        except RefusedError:
            if has_secret:
                # Without the original message: it contains a part of the URL, and a part of a secret is not
                # redacted.
                raise RefusedError("the server redirected to an invalid URL that contains a secret") from None
            raise
        if has_secret and target.origin != self._origin.origin:
            raise RefusedError("the server redirected to another host, with a secret in the URL")
        return target

    def _has_secret(self, text: str) -> bool:
        """Return whether a server sent a secret back, possibly encoded once more."""
        return any(self._redactor.text(each) != each for each in (text, unquote(text)))

    def _own_request(self, query: Mapping[str, str], cursor: JsonValue, cookie: str) -> ConnectionRequest:
        """Return the plan's request. ``query`` replaces query fields by name, and ``cursor`` is set in the body."""
        call = self._call
        target = self._origin
        fields = [each for each in call.query if each.name not in query]
        fields += [NamedValue(name, (value,)) for name, value in query.items()]
        self._check_secrets(target, *(each.value for each in fields))
        path, _, query_text = target.path.partition("?")
        kept = [each for each in query_text.split("&") if each and each.partition("=")[0] not in query]
        filled = "&".join([*kept, *([fill_query(fields, self._values)] if fields else [])])
        target = replace(target, path=f"{path}?{filled}" if filled else path)
        return self._connection(target, call.method, cursor, cookie)

    def _connection(self, target: Target, method: str, cursor: JsonValue, cookie: str) -> ConnectionRequest:
        """Return a request with ``cursor`` in its body and ``cookie`` in its headers, if there are any.

        The target of a redirect or a link may be another origin, which gets no secrets and no private headers.
        """
        call, headers = self._call, self._call.headers
        is_other_origin = target.origin != self._origin.origin
        if is_other_origin:
            if cursor is not None and self._has_secret(_compact_json(cursor)):
                raise RefusedError("the server redirected to another host, with a secret in the cursor of a page")
            if self._has_secret(cookie):
                raise RefusedError("the server redirected to another host, with a secret in a cookie")
            headers = tuple(
                each for each in headers if not slots(each.value) and each.name.lower() not in _PRIVATE_HEADERS
            )
        self._check_secrets(target, *(each.value for each in headers))
        lines = [fill_header(each, self._values) for each in headers]
        if call.token is not None and not is_other_origin:
            lines.append(self._authorization(target))
        if cookie:
            own = next((line for line in lines if line.lower().startswith(b"cookie:")), b"Cookie: \r\n")
            separator = b"; " if own in lines else b""
            lines = [line for line in lines if line is not own]
            lines.append(own.removesuffix(b"\r\n") + separator + cookie.encode() + b"\r\n")
        body, content_type = None, ""
        if call.body is not None and method == call.method:
            pieces = pieces_of(call.body)
            if is_other_origin and slots(pieces):
                raise RefusedError(f"the server redirected a body with a secret to another host, {target.authority}")
            self._check_secrets(target, pieces)
            body, content_type = fill_body(call.body, self._values, self._read_file)
            if cursor is not None:
                body = set_json_pointer(body, self._pointer(), cursor)
        return connection_to(target, request(method, target, lines, body, content_type), self._wrap)

    def _authorization(self, target: Target) -> bytes:
        if self._token is None:
            raise RefusedError("there is no access token for this request", "network")
        if not target.is_private:
            raise RefusedError(f"an access token is sent only over TLS; use https in the URL of {target.authority}")
        return f"Authorization: Bearer {self._token}\r\n".encode()

    def _token_request(self, *, in_form: bool) -> ConnectionRequest:
        call = self._call.token
        self._token_requests += 1
        if call is None or self._token_requests > MAX_TOKENS:
            raise ProtocolError("it requested an access token that its call does not need")
        target = parse_url(call.url)
        self._check_secrets(target, *call.texts)
        head = token_request(call, target, self._values, in_form=in_form)
        self._token = None
        TOKENS.remove(self._token_key)
        return connection_to(target, head, lambda inner: self._wrap(TokenTransport(inner, self._store_token)))

    def _store_token(self, token: str, seconds: float | None) -> None:
        self._token = token
        self._redactor.add("access_token", token)
        TOKENS.add(self._token_key, token, seconds)

    def _check_secrets(self, target: Target, *texts: Pieces) -> None:
        names: frozenset[str] = frozenset().union(*map(slots, texts))
        for name in sorted(names):
            check_secret(name, self._hosts.get(name, ()), target)

    def _pointer(self) -> str:
        """Return the JSON pointer of the page cursor in the body, or an empty string if it is elsewhere."""
        style = self._call.reading.pagination.style if self._call.reading.pagination else None
        return (isinstance(style, CursorPages) and style.pointer) or ""

    def _checked_cursor(self, cursor: JsonValue) -> JsonValue:
        if cursor is not None and not self._pointer():
            raise ProtocolError("it requested a page with a cursor that its call does not use")
        return cursor

    def _checked_cookie(self, cookie: JsonValue) -> str:
        """Return a field ``Cookie`` of cookies that an earlier response of this call set."""
        if not isinstance(cookie, str) or not _COOKIE.fullmatch(cookie):
            raise RefusedError("the server set a cookie that is invalid or too long", "network")
        return cookie

    def _checked_query(self, query: object) -> dict[str, str]:
        if not isinstance(query, dict):
            raise ProtocolError("it requested a page with an invalid query")
        if not query:
            return {}
        style = self._call.reading.pagination.style if self._call.reading.pagination else None
        name = style.parameter if isinstance(style, CursorPages | OffsetPages | NumberedPages) else None
        if set(query) != {name} or not isinstance(value := query[name], str):
            raise ProtocolError("it requested a page with a query field that its call does not use")
        return {quote(str(name), safe=""): quote(value, safe="")}


def _parse_request(payload: bytes) -> JsonObject:
    try:
        value = parse_json(payload)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not set(value) <= {
        "url",
        "method",
        "query",
        "cursor",
        "cookie",
        "token",
        "in_form",
    }:
        raise ProtocolError("it sent an invalid request")
    return value


def set_json_pointer(body: bytes, pointer: str, cursor: JsonValue) -> bytes:
    """Return the JSON ``body`` with ``cursor`` at ``pointer``. Objects that are missing or null are created.

    Raises ``RefusedError`` if the pointer leads into a value without members.
    """
    try:
        return _compact_json(_with_member(parse_json(body), pointer_tokens(pointer), cursor)).encode()
    except LookupError:
        raise RefusedError(f"the body cannot contain a cursor at {pointer}", "network") from None


def _with_member(value: JsonValue, path: Sequence[str], member: JsonValue) -> JsonValue:
    """Return ``value`` with ``member`` at ``path``. Raises ``LookupError`` if there is no place for it."""
    if not path:
        return member
    if value is None:
        value = {}
    if isinstance(value, dict):
        return value | {path[0]: _with_member(value.get(path[0]), path[1:], member)}
    index = list_index(path[0])
    if not isinstance(value, list) or index is None:
        raise LookupError(path[0])
    return [*value[:index], _with_member(value[index], path[1:], member), *value[index + 1 :]]


def _compact_json(value: JsonValue) -> str:
    """Return a cursor, or a body that contains one, as JSON. Raises ``RefusedError`` if it is nested too deeply."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise RefusedError("the cursor of the next page is nested too deeply", "network") from None
