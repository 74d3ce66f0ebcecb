"""Verify JWTs of the configured issuers, and map their scopes to rights (RFC 9068, RFC 8725)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import jwt
from jwt import PyJWTError

from toolc.config.configuration import Issuer, Role
from toolc.serve.http.gate import Caller, RefusedTokenError
from toolc.serve.http.host import ClientSettingsFile
from toolc.serve.issuer_keys import ALGORITHMS, RETRY_SECONDS, IssuerKeys, NoKeysError, Read, read_keys

MAX_TOKEN: Final = 16 * 1024
"""The maximum length of a JWT, in characters. A token with many groups has a few thousand."""

MAX_SUBJECT: Final = 255
"""The maximum length of a subject, in characters, as in OpenID Connect."""

LEEWAY_SECONDS: Final = 30
"""How much the clocks of the issuer and this machine may differ, in seconds."""

_ACCEPTED: Final = {each for group in ALGORITHMS.values() for each in group}
_TYPES: Final = {"jwt", "at+jwt", "application/at+jwt"}
_REQUIRED: Final = ["iss", "sub", "aud", "exp"]

_EXPLAINED: Final = (
    jwt.ExpiredSignatureError, jwt.ImmatureSignatureError, jwt.InvalidAudienceError, jwt.MissingRequiredClaimError,
)  # fmt: skip
"""What PyJWT says about these, once the signature has been verified, contains no part of the token."""


class JwtCallers:
    """Finds the caller of a JWT from the current ``settings``. ``resource`` is the server's URL, the audience."""

    def __init__(self, settings: ClientSettingsFile, resource: str, read: Read = read_keys) -> None:
        self._settings = settings
        self._resource = resource
        self._read = read
        self._keys: dict[str, tuple[Issuer, IssuerKeys]] = {}

    async def caller(self, token: str) -> Caller:
        """Return the caller for this token. Raises ``RefusedTokenError``, with no part of the token in the message."""
        try:
            payload, issuer = await self._verified(token)
        except NoKeysError as error:
            raise RefusedTokenError(str(error), 503, retry_seconds=int(RETRY_SECONDS)) from None
        except (PyJWTError, ValueError, TypeError, RecursionError) as error:
            what = f"refused: {error}" if isinstance(error, _EXPLAINED) else "not valid"
            raise RefusedTokenError(f"this token is {what}") from None
        subject: str = payload["sub"]
        if not (subject.isprintable() and 0 < len(subject) <= MAX_SUBJECT):
            raise RefusedTokenError("the subject of this token cannot be used")
        role, tags = _rights(payload, issuer)
        name = self._settings.entry_of(issuer.url, subject)
        if name is None:
            raise RefusedTokenError("this server does not know the subject of this token", 403, "access_denied")
        # 'name' of a token is what a user calls themselves, and not a name in the configuration.
        claims = {claim: value for claim, value in payload.items() if isinstance(value, str) and claim != "name"}
        claims |= {} if name == "default" else {"name": name}
        return Caller(name=f"{issuer.url}#{subject}", role=role, tags=tags, claims=claims, entry=name)

    async def _verified(self, token: str) -> tuple[dict[str, Any], Issuer]:
        """Return the payload of a valid token and its issuer. Raises ``PyJWTError`` and ``NoKeysError``."""
        if len(token) > MAX_TOKEN:
            raise PyJWTError("too long")
        # Nothing of this is trusted. It only chooses the issuer whose keys verify the token.
        unverified = jwt.decode_complete(token, options={"verify_signature": False})
        header, url = unverified["header"], unverified["payload"].get("iss")
        issuer = self._settings.current().issuers.get(url) if isinstance(url, str) else None
        algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
        if issuer is None or str(algorithm) not in _ACCEPTED or str(kind).lower() not in _TYPES:
            raise PyJWTError("another issuer, algorithm or type")
        if not isinstance(kid, str | None):
            raise PyJWTError("not the id of a key")
        if self._keys.get(issuer.url, (None,))[0] != issuer:  # the first token, or the settings have changed
            self._keys[issuer.url] = issuer, IssuerKeys(issuer, self._read)
        key = await self._keys[issuer.url][1].find(kid, algorithm)
        if key is None:
            raise PyJWTError("unknown key")
        payload = jwt.decode(
            token, key, algorithms=[algorithm], audience=issuer.audience or self._resource, issuer=issuer.url,
            leeway=LEEWAY_SECONDS, options={"require": _REQUIRED, "enforce_minimum_key_length": True},
        )  # fmt: skip
        return payload, issuer


def _rights(payload: Mapping[str, Any], issuer: Issuer) -> tuple[Role, tuple[str, ...] | None]:
    """Return the combined role and tags of a token's scopes. Raises ``RefusedTokenError`` if no scope counts."""
    if not issuer.scopes:
        return "caller", None
    given = payload.get("scope", payload.get("scp", ""))  # some issuers name it 'scp', and send a list
    names = given.split() if isinstance(given, str) else given
    scopes = [scope for name, scope in issuer.scopes.items() if isinstance(names, list) and name in names]
    if not scopes:
        needed = " ".join(issuer.scopes)
        raise RefusedTokenError(f"this token has none of the scopes {needed}", 403, "insufficient_scope", needed)
    role: Role = "reviewer" if any(each.role == "reviewer" for each in scopes) else "caller"
    if any(each.tags is None for each in scopes):
        return role, None
    return role, tuple(sorted({tag for each in scopes for tag in each.tags or ()}))
