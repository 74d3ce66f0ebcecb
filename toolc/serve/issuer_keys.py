"""The public keys of one issuer (JWKS). They are read again when they are old or a token names an unknown key.

No part of a token decides what is read. A ``kid`` is only compared with the key ids, and the keys and URLs in a token
(``jwk``, ``jku``, ``x5u``) are ignored.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from time import monotonic
from typing import Final

import anyio
import anyio.to_thread
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from toolc.config.configuration import Issuer
from toolc.importers.fetching import destination_of, fetch
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, parse_json
from toolc.model.spec.sandbox import Destination

ALGORITHMS: Final = {
    ("RSA", None): ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
"""The algorithms of tokens by the type and the curve of the key. A key of one type never verifies another's tokens."""

MAX_BYTES: Final = 256 * 1024
"""The maximum size of a set of keys, in bytes."""

MAX_KEYS: Final = 100
"""The maximum number of keys of an issuer."""

FRESH_SECONDS: Final = 600.0
"""How long keys are used without reading them again, in seconds. A key that its issuer withdrew is used no longer."""

STALE_SECONDS: Final = 3600.0
"""How long keys are used if they cannot be read again, in seconds."""

RETRY_SECONDS: Final = 30.0
"""How long keys are not read again after an attempt without success, in seconds, whatever keys tokens name."""

FETCH_SECONDS: Final = 5.0
"""How long a server may take to send the keys, in seconds."""

Read = Callable[[Issuer], bytes]
"""Returns the set of keys of an issuer, on a thread. Raises ``UsageError``."""


class NoKeysError(Exception):
    """The keys of an issuer could not be read."""


def read_keys(issuer: Issuer) -> bytes:
    """Return the content of the URL of the keys (JWKS). Raises ``UsageError``."""
    allowed = destination_of(issuer.jwks)
    private = (Destination(kind="exact", host=each, port=allowed.port) for each in issuer.addresses)
    how = f"add it to 'addresses' of issuers.{issuer.url} without its port:"
    return fetch(issuer.jwks, [allowed, *private], MAX_BYTES, seconds=FETCH_SECONDS, how=how)


class IssuerKeys:
    """The keys of an issuer. Use it on the thread of the event loop."""

    def __init__(self, issuer: Issuer, read: Read = read_keys) -> None:
        self._issuer = issuer
        self._read = read
        self._keys: tuple[JsonObject, ...] = ()
        self._fetched = self._tried = -math.inf
        self._lock = anyio.Lock()

    async def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """Return the key with this id and algorithm, or None unless there is exactly one. Raises ``NoKeysError``."""
        age, key = monotonic() - self._fetched, self._select(kid, algorithm)
        # Only one request waits for a server that does not answer. Others use the keys that there are.
        if key is None or (age > FRESH_SECONDS and not self._lock.locked()):
            key = await self._refreshed(kid, algorithm)
        if monotonic() - self._fetched > STALE_SECONDS:
            self._keys = ()
            raise NoKeysError(f"the keys of {self._issuer.url} cannot be read at present")
        return key

    async def _refreshed(self, kid: str | None, algorithm: str) -> PyJWK | None:
        async with self._lock:
            key, now = self._select(kid, algorithm), monotonic()
            if now - self._tried < RETRY_SECONDS or (key and now - self._fetched <= FRESH_SECONDS):
                return key
            self._tried = now
            try:
                self._keys = parse_keys(await anyio.to_thread.run_sync(self._read, self._issuer))
                self._fetched = monotonic()
            except UsageError as error:
                logging.getLogger("toolc").error("the keys of %s cannot be read: %s", self._issuer.url, error)
                return key
            if key := self._select(kid, algorithm):
                self._tried = -math.inf  # the keys did change, so the next change need not wait
            return key

    def _select(self, kid: str | None, algorithm: str) -> PyJWK | None:
        fitting = [each for each in self._keys if kid in {None, each.get("kid")} and _fits(each, algorithm)]
        if len(fitting) != 1:
            return None
        try:
            return PyJWK(fitting[0], algorithm)
        except PyJWTError:
            return None


def parse_keys(data: bytes) -> tuple[JsonObject, ...]:
    """Return the public signature keys of a JWKS document. Raises ``UsageError``."""
    try:
        value = parse_json(data)
    except ValueError as error:
        raise UsageError(f"it is not JSON: {error}") from None
    keys = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(keys, list) or len(keys) > MAX_KEYS:
        raise UsageError(f"it is not a JWKS with at most {MAX_KEYS} keys")
    maps = (each for each in keys if isinstance(each, dict))
    return tuple(each for each in maps if each.get("use", "sig") == "sig" and {"d", "k"}.isdisjoint(each))


def _fits(key: JsonObject, algorithm: str) -> bool:
    curve = None if key.get("kty") == "RSA" else key.get("crv")
    kind = str(key.get("kty")), curve if curve is None else str(curve)
    return algorithm in ALGORITHMS.get(kind, ()) and key.get("alg", algorithm) == algorithm
