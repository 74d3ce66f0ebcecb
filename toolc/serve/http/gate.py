"""The checks that every request passes before it reaches a route: Host, Origin, authentication, rate and size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolc.config.configuration import Role
from toolc.dataclass import dataclass, field
from toolc.model.call import Claims
from toolc.serve.http.problems import problem, retry_later
from toolc.serve.http.settings import METADATA, OAUTH, HttpSettings
from toolc.serve.served_client import QuotaError, ServedClient
from toolc.serve.tokens import Token

HEALTH: Final = ("/healthz", "/readyz")
"""Paths that need no authentication, and accept every Host, because load balancers use addresses."""

PAGE: Final = "/page/"
"""The path of the page's files. Like the page itself at ``/``, they need no authentication, but a known Host."""

METRICS: Final = "/metrics"
"""The path of the metrics, which have the names of all tools. No client of tools may read them."""

MAX_BODY: Final = 4 * 2**20
"""The maximum size of the body of a request, in bytes. Large data belongs in a workspace."""

UPLOADS: Final = "/workspace/"
"""The path of the workspace below ``/api/v1``."""

MAX_UPLOAD: Final = 32 * 2**20
"""The maximum size of the body of a request below ``UPLOADS``, in bytes."""

MAX_BODIES: Final = 128 * 2**20
"""The maximum size of the bodies of all open requests of a client, in bytes."""

MAX_HEADERS: Final = 32 * 1024
"""The maximum size of the headers of a request, in bytes."""

BODY_SECONDS: Final = 30.0
"""The time in which a client must send the body of a request, in seconds."""

SIGN_IN: Final = ("POST", "/api/v1/session")
"""The request that starts a session, which needs no authentication."""

SESSION_HEADER: Final = "toolc-session"
"""The header with the secret that the page of a session keeps."""

LOCAL: Final = "local"
"""The name of the client that sends no token to a server on a loopback address."""

BODY: Final = "toolc.body"
"""The key of the body in the scope of a request that passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request: the name of a token, its role, and the tags of the tools that it may use (None: all).

    ``claims`` fill parameters with ``from``. They may differ between requests of one caller. ``entry`` is the key in
    ``clients`` of the configuration if it differs from the name.
    """

    name: str
    role: Role = "caller"
    tags: tuple[str, ...] | None = None
    claims: Claims = field(default_factory=dict, compare=False)
    entry: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of the caller. JWTs of one subject with different scopes count as different clients."""
        return (self.name, self.role, self.tags) if self.entry else (self.name,)


class RefusedTokenError(Exception):
    """A token is refused. ``error`` and ``scopes`` are defined by RFC 6750. Any one of the scopes would suffice."""

    def __init__(
        self, message: str, status: int = 401, error: str = "invalid_token", scopes: str = "", retry_seconds: int = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.scopes = scopes
        self.retry_seconds = retry_seconds


VerifyJwt: TypeAlias = Callable[[str], Awaitable[Caller]]
"""Returns the caller with this JWT. Raises ``RefusedTokenError``."""

Verify: TypeAlias = Callable[[str], Token | None]
"""Returns the valid token with this secret, or None."""

FindSession: TypeAlias = Callable[[str, str], Caller | None]
"""Returns the client of the session with this cookie and this secret of the page, or None."""


class ServedUser(AuthenticatedUser):
    """The client of a request. The SDK binds sessions to it."""

    def __init__(self, caller: Caller, client: ServedClient) -> None:
        super().__init__(AccessToken(token="", client_id=caller.name, scopes=[caller.role]))
        self.caller = caller
        self.client = client


def user_of(request: Request) -> ServedUser:
    """Return the client of a request that passed the gate."""
    user = request.scope["user"]
    assert isinstance(user, ServedUser)
    return user


def reviewer_of(request: Request) -> str:
    """Return the name of the client. Raises ``HTTPException`` unless it is a reviewer."""
    caller = user_of(request).caller
    if caller.role != "reviewer":
        raise HTTPException(403, "this needs a token with the role reviewer: toolc token create NAME --role reviewer")
    return caller.name


class Gate:
    """Passes requests on to ``app``, with a ``ServedUser`` as ``user`` and the complete body in their scope."""

    def __init__(
        self,
        app: ASGIApp,
        settings: HttpSettings,
        verify: Verify,
        session: FindSession,
        client_of: Callable[[Caller], ServedClient],
        verify_jwt: VerifyJwt | None = None,
    ) -> None:
        self.app = app
        self._settings = settings
        self._verify = verify
        self._verify_jwt = verify_jwt
        self._session = session
        self._client_of = client_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        refusal = await self._checked(scope) if scope["type"] == "http" else None
        if refusal is None and "user" in scope:
            await self._serve(scope["user"].client, scope, receive, send)
        else:
            await (refusal or self.app)(scope, receive, send)

    async def _serve(self, client: ServedClient, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Until then, it counts as open."""
        try:
            client.open_request()
        except QuotaError as error:
            await retry_later(429, str(error), error.seconds)(scope, receive, send)
            return
        body = bytearray()
        try:
            is_upload = scope["path"].removeprefix(self._settings.base_path).startswith(f"/api/v1{UPLOADS}")
            refusal = await _read(body, receive, client, MAX_UPLOAD if is_upload else MAX_BODY)
            if refusal is None:
                scope[BODY] = bytes(body)
                receive = _replay(scope[BODY], receive)
            await (refusal or self.app)(scope, receive, send)
        finally:
            client.close_request(len(body))

    async def _checked(self, scope: Scope) -> Response | None:
        """Check the headers of a request. Set its user and return None, or return the refusal."""
        if sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > MAX_HEADERS:
            return problem(431, f"the headers of the request are larger than {MAX_HEADERS} bytes", _CLOSE)
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value.decode("latin-1"))
        path = scope["path"].removeprefix(self._settings.base_path)
        is_health, is_sign_in = path in HEALTH, (scope["method"], path) == SIGN_IN
        hosts = headers.get(b"host", [])
        if not is_health and not (len(hosts) == 1 and self._settings.accepts_host(hosts[0])):
            return problem(421, "this server does not have the name in the Host header; add it with --allowed-host")
        if not all(map(self._settings.accepts_origin, headers.get(b"origin", []))):
            return problem(403, "pages of this origin may not use this server")
        keys = headers.get(SESSION_HEADER.encode(), [])
        if (keys or is_sign_in) and scope["method"] not in {"GET", "HEAD"} and b"origin" not in headers:
            return problem(403, "a request of the page must have an Origin header")
        is_public = is_health or is_sign_in or path == "/" or path.startswith((PAGE, METADATA)) or path in OAUTH
        return None if is_public else await self._authenticated(scope, headers.get(b"authorization", []), keys)

    async def _authenticated(self, scope: Scope, authorization: list[str], keys: list[str]) -> Response | None:
        try:
            caller = await self._caller(scope, authorization, keys)
        except RefusedTokenError as error:
            return self._refused(error)
        is_metrics = scope["path"].removeprefix(self._settings.base_path) == METRICS
        if caller.name != LOCAL and is_metrics != (caller.role == "metrics"):
            return problem(403, f"only a token with the role metrics may read {METRICS}, and it may read nothing else")
        scope["user"] = ServedUser(caller, self._client_of(caller))
        return None

    async def _caller(self, scope: Scope, authorization: list[str], keys: list[str]) -> Caller:
        """Return the sender of a request. Raises ``RefusedTokenError``."""
        if keys:
            cookie = HTTPConnection(scope).cookies.get(self._settings.cookie, "")
            session = self._session(cookie, keys[0]) if len(keys) == 1 and not authorization else None
            if session is None:
                raise RefusedTokenError("this session has ended; sign in with a new link: toolc token link", error="")
            return session
        if authorization:
            kind, _, secret = authorization[0].partition(" ")
            is_bearer = len(authorization) == 1 and kind.lower() == "bearer"
            if is_bearer and self._verify_jwt and secret.count(".") == 2:
                return await self._verify_jwt(secret.strip())
            token = self._verify(secret.strip()) if is_bearer else None
            if token is None:
                raise RefusedTokenError("this token is unknown, expired or revoked")
            return caller_with(token)
        if self._settings.requires_token or not self._settings.is_loopback:
            raise RefusedTokenError("send a token: Authorization: Bearer TOKEN", error="")
        return Caller(name=LOCAL)

    def _refused(self, refused: RefusedTokenError) -> Response:
        """Return the response, with the header of RFC 6750 and RFC 9728 that says how to get a token."""
        if refused.retry_seconds:
            return retry_later(refused.status, str(refused), refused.retry_seconds)
        fields = {"error": refused.error, "scope": refused.scopes, "resource_metadata": self._settings.metadata_url}
        challenge = ", ".join(['Bearer realm="toolc"', *(f'{name}="{each}"' for name, each in fields.items() if each)])
        return problem(refused.status, str(refused), {"WWW-Authenticate": challenge})


def caller_with(token: Token) -> Caller:
    """Return the caller for a token."""
    return Caller(name=token.name, role=token.role, tags=token.tags, claims={"name": token.name})


async def _read(body: bytearray, receive: Receive, client: ServedClient, maximum: int) -> Response | None:
    """Read the body of a request. Return the refusal, or None."""
    with anyio.move_on_after(BODY_SECONDS):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return Response(status_code=400)  # the client has gone and does not read this
            part = message.get("body", b"")
            body += part
            client.body_bytes += len(part)
            if len(body) > maximum:
                return problem(413, f"the body of the request is larger than {maximum} bytes", _CLOSE)
            if client.body_bytes > MAX_BODIES:
                return retry_later(429, f"the open requests of this client exceed {MAX_BODIES} bytes in total", 1)
            if not message.get("more_body", False):
                return None
    return problem(408, f"the body of the request took more than {BODY_SECONDS:g} seconds", _CLOSE)


_CLOSE: Final = {"Connection": "close"}


def _replay(body: bytes, receive: Receive) -> Receive:
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return parts.pop() if parts else await receive()

    return replayed
