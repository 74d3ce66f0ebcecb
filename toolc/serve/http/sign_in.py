"""Sign-in to the page. A single-use link becomes a session with the rights of a named client.

The secret of a link is in the fragment of its URL. A browser sends a fragment to no server, so the link appears neither
in a log nor in a Referer header. The page asks its user and sends the secret back.

A session needs two secrets. One is in a cookie, which scripts cannot read. The page keeps the other one and sends it in
a header with every request. Without that header, the cookie gives no rights. Pages of other sites cannot send the
header. A server on another port of this host receives the cookie, but not the header.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from secrets import token_urlsafe
from time import monotonic
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolc.dataclass import dataclass
from toolc.model.errors import UsageError
from toolc.serve.http.gate import LOCAL, SESSION_HEADER, SIGN_IN, Caller, caller_with, user_of
from toolc.serve.http.problems import problem
from toolc.serve.http.settings import HttpSettings
from toolc.serve.tokens import Token, digest_of

LINK_SECONDS: Final = 300.0
"""How long a link is valid, in seconds."""

SESSION_SECONDS: Final = 12 * 3600.0
"""How long a session is valid, in seconds."""

LINK_HEADER: Final = "toolc-link"
"""The header with the secret of a link."""

_NOT_STORED: Final = {"Cache-Control": "no-store"}

MAX_OPEN: Final = 100
"""The maximum number of links that are valid, and of sessions. A further one ends the oldest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The right to act as a client: a link that is valid, or a session.

    ``token`` is the digest of the client's token, so that a session ends with that token even if a new token gets the
    same name. It is None for the client ``local``. ``key`` is the digest of the secret in the header, or None for a
    link.
    """

    client: str
    token: str | None
    ends: float
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """The secrets of a new session: the value of its cookie, and the secret that the page keeps."""

    client: str
    cookie: str
    key: str


class SignIn:
    """The links and sessions of a running server. ``named`` returns the valid token of a client.

    ``local`` is the client of the person who started the server. It needs no token, because only that person sees links
    on the terminal and from the local socket. It is never a reviewer. Links and sessions are lost when the server ends.
    """

    def __init__(self, named: Callable[[str], Token | None] = lambda _: None) -> None:
        self._named = named
        self._links: dict[str, Grant] = {}
        self._sessions: dict[str, Grant] = {}

    def new_link(self, client: str, settings: HttpSettings) -> str:
        """Return a single-use URL that signs in as this client.

        Raises ``UsageError`` if the client has no valid token.
        """
        token = None if client == LOCAL else self._named(client)
        if client != LOCAL and token is None:
            raise UsageError(f"there is no valid token {client!r:.80}; see: toolc token list")
        secret = token_urlsafe(32)
        grant = Grant(client=client, token=token.digest if token else None, ends=monotonic() + LINK_SECONDS)
        _add(self._links, secret, grant)
        return f"{settings.url}/#/sign-in/{client}/{secret}"

    def redeem(self, secret: str) -> NewSession | None:
        """Use up a link, and return a new session for its secret. None if the link is not valid."""
        link = self._links.pop(digest_of(secret), None)
        if link is None or self._caller(link) is None:
            return None
        new = NewSession(client=link.client, cookie=token_urlsafe(32), key=token_urlsafe(32))
        ends = monotonic() + SESSION_SECONDS
        _add(self._sessions, new.cookie, Grant(client=link.client, token=link.token, ends=ends, key=digest_of(new.key)))
        return new

    def caller(self, cookie: str, key: str) -> Caller | None:
        """Return the client of a session with its current rights, or None if the secrets belong to no session."""
        session = self._sessions.get(digest_of(cookie))
        if session is None or session.key is None or not hmac.compare_digest(session.key, digest_of(key)):
            return None
        return self._caller(session)

    def end(self, cookie: str) -> None:
        """End a session."""
        self._sessions.pop(digest_of(cookie), None)

    def _caller(self, grant: Grant) -> Caller | None:
        if grant.ends <= monotonic():
            return None
        if grant.token is None:
            return Caller(name=LOCAL)
        token = self._named(grant.client)
        if token is None or token.digest != grant.token:
            return None
        return caller_with(token)


class Session:
    """The route of sessions. A new sign-in in the same browser ends the earlier session."""

    def __init__(self, settings: HttpSettings, sign_in: SignIn) -> None:
        self._settings = settings
        self._sign_in = sign_in

    def route(self) -> Route:
        """Return the route below ``/api/v1``."""
        return Route("/session", self._answer, methods=["GET", "POST", "DELETE"])

    async def _answer(self, request: Request) -> Response:
        cookie = request.cookies.get(self._settings.cookie, "")
        if request.method == SIGN_IN[0]:
            return self._start(cookie, request.headers.get(LINK_HEADER, ""))
        if request.method != "DELETE":
            caller, is_session = user_of(request).caller, SESSION_HEADER in request.headers
            state = {"client": caller.name, "role": caller.role, "is_session": is_session}
            return JSONResponse(state, headers=_NOT_STORED)
        self._sign_in.end(cookie)
        response = Response(status_code=204)
        self._set_cookie(response, "", 0)
        return response

    def _start(self, old_cookie: str, secret: str) -> Response:
        new = self._sign_in.redeem(secret)
        if new is None:
            return problem(401, "this link has been used or has expired; create a new one: toolc token link")
        self._sign_in.end(old_cookie)
        response = JSONResponse({"client": new.client, "key": new.key}, headers=_NOT_STORED)
        self._set_cookie(response, new.cookie, int(SESSION_SECONDS))
        return response

    def _set_cookie(self, response: Response, value: str, seconds: int) -> None:
        response.set_cookie(
            self._settings.cookie, value, max_age=seconds, secure=self._settings.is_https, httponly=True,
            samesite="strict",
        )  # fmt: skip


def _add(grants: dict[str, Grant], secret: str, grant: Grant) -> None:
    grants[digest_of(secret)] = grant
    while len(grants) > MAX_OPEN:
        del grants[next(iter(grants))]
