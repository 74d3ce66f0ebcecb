"""``/api/v1/session``: who makes a request, and the start and the end of a session of the page."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolc.serve.http.gate import SESSION_HEADER, SIGN_IN, ServedUser
from toolc.serve.http.problems import problem
from toolc.serve.http.settings import HttpSettings
from toolc.serve.http.sign_in import SESSION_SECONDS, SignIn

LINK_HEADER = "toolc-link"
"""The header with the secret of a link."""


class Session:
    """The route of sessions. A later sign-in in the same browser ends the earlier session."""

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
        user = request.scope["user"]
        assert isinstance(user, ServedUser)
        if request.method != "DELETE":
            is_session = SESSION_HEADER in request.headers
            state = {"client": user.caller.name, "role": user.caller.role, "is_session": is_session}
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


_NOT_STORED = {"Cache-Control": "no-store"}
