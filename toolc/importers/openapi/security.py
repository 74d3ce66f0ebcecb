"""Convert the security schemes of an operation to ``auth``, fields and secrets."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from toolc.importers.openapi.requests import PLACES
from toolc.importers.openapi.source import Document, LeftOutError
from toolc.model.json_schema import JsonObject, JsonValue, map_under

_TOKENS: Final = frozenset({"bearer", "oauth2"})
"""The kinds of ``auth`` that send the token of ``Authorization: Bearer``."""
_AUTHORIZATION: Final = _TOKENS | {"basic"}


class Security(NamedTuple):
    """The authentication of a request: ``auth``, the names of the secrets, and each API key by place and name.

    A key that is a field of the request has a template. A key that ``auth`` sends has an empty string.
    """

    auth: JsonObject
    secrets: list[str]
    keys: dict[tuple[str, str], str]


def read_security(operation: JsonObject, document: Document, name: str) -> Security:
    """Return the authentication of an operation. ``name`` is the name of the import.

    Raises ``LeftOutError`` if no alternative can be expressed.
    """
    alternatives = operation.get("security", document.root.get("security"))
    if not isinstance(alternatives, list) or not alternatives or {} in alternatives:
        return Security({}, [], {})
    declared = map_under(map_under(document.root, "components"), "securitySchemes")
    declared = declared or map_under(document.root, "securityDefinitions")
    reason = ""
    for each in alternatives:
        try:
            if not isinstance(each, dict):
                raise LeftOutError(f"{str(each)[:40]!r} in its 'security' is not a map of schemes")
            if unknown := each.keys() - declared.keys():
                raise LeftOutError(f"the security scheme {min(unknown)!r} is not declared")
            schemes = [(key, document.object_at(declared[key], document.base)[0], each[key]) for key in each]
            return _combined(schemes, name)
        except LeftOutError as error:
            reason = reason or str(error)
    raise LeftOutError(reason)


def _combined(schemes: list[tuple[str, JsonObject, JsonValue]], name: str) -> Security:
    found = Security({}, [], {})
    # A request has one 'auth', so that keys come last, which can also be fields with a secret.
    for key, scheme, scopes in sorted(schemes, key=lambda each: each[1].get("in") in PLACES):
        auth, secrets = _auth(scheme, scopes, _secret(name, key))
        place, field = str(scheme.get("in")), str(scheme.get("name"))
        if place in PLACES and not (field.lower() == "authorization" and _AUTHORIZATION & found.auth.keys()):
            found.keys[place, field] = f"{{{{ secrets.{secrets[0]} }}}}" if found.auth or not auth else ""
        elif found.auth and not (_TOKENS & auth.keys() and _TOKENS & found.auth.keys()):
            raise LeftOutError("it needs two kinds of authentication at once")
        elif found.auth:  # a request has one token, which both schemes describe
            continue
        found.secrets.extend(secrets)
        if not found.auth:
            found.auth.update(auth)
    return found


def _auth(scheme: JsonObject, scopes: JsonValue, secret: str) -> tuple[JsonObject, list[str]]:
    """Return ``auth`` for a scheme (empty for a cookie) and the secrets that it uses."""
    kind, value = scheme.get("type"), f"{{{{ secrets.{secret} }}}}"
    http = str(scheme.get("scheme", "basic" if kind == "basic" else "")).lower()
    if kind == "apiKey" and scheme.get("in") in ("header", "query"):
        return {"api_key": {str(scheme["in"]): str(scheme.get("name")), "value": value}}, [secret]
    if kind == "apiKey" and scheme.get("in") == "cookie":
        return {}, [secret]
    if http == "basic":
        user, password = f"{secret}_USERNAME", f"{secret}_PASSWORD"
        basic: JsonObject = {"username": f"{{{{ secrets.{user} }}}}", "password": f"{{{{ secrets.{password} }}}}"}
        return {"basic": basic}, [user, password]
    flows = map_under(scheme, "flows")
    flow = map_under(flows, "clientCredentials")
    if scheme.get("flow") == "application":
        flow = scheme
    if kind == "oauth2" and str(flow.get("tokenUrl", "")).startswith("https://"):
        client: JsonObject = {
            "token_url": flow["tokenUrl"], "client_id": f"{{{{ secrets.{secret}_CLIENT_ID }}}}",
            "client_secret": f"{{{{ secrets.{secret}_CLIENT_SECRET }}}}",
        }  # fmt: skip
        listed: JsonObject = {"scopes": scopes} if isinstance(scopes, list) and scopes else {}
        return {"oauth2": client | listed}, [f"{secret}_CLIENT_ID", f"{secret}_CLIENT_SECRET"]
    if http == "bearer" or kind in ("oauth2", "openIdConnect"):
        return {"bearer": value}, [secret]
    raise LeftOutError(f"the authentication {str(http or kind)[:40]!r} is not supported")


def _secret(name: str, scheme: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", scheme)
    return re.sub(r"[^A-Z0-9]+", "_", f"{name}_{words}".upper()).strip("_")[:40]
