"""An issuer of JWTs for tests: keys, tokens that may be wrong in one respect, and a server of its public keys."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from toolc.config.configuration import Issuer, Scope

URL = "https://login.example.com"
AUDIENCE = "http://127.0.0.1:8000/mcp"


class TestIssuer:
    """Signs tokens. ``keys`` are the private keys by their ids, and ``published`` are the ids that the JWKS has."""

    __test__ = False

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {
            "rsa": rsa.generate_private_key(65537, 2048),
            "ec": ec.generate_private_key(ec.SECP256R1()),
            "ed": ed25519.Ed25519PrivateKey.generate(),
        }
        self.published = ["rsa", "ec", "ed"]
        self.reads = 0

    def jwks(self) -> bytes:
        """Return the public keys."""
        forms: dict[str, Any] = {"rsa": RSAAlgorithm, "ec": ECAlgorithm, "ed": OKPAlgorithm}
        keys = []
        for kid in self.published:
            key = self.keys[kid].public_key()
            keys.append(json.loads(forms[kid.partition("-")[0]].to_jwk(key)) | {"kid": kid, "use": "sig"})
        return json.dumps({"keys": keys}).encode()

    def read(self, _: Issuer) -> bytes:
        """Return the public keys, as ``toolc.serve.issuer_keys.read_keys`` does."""
        self.reads += 1
        return self.jwks()

    def token(self, kid: str = "rsa", algorithm: str = "", header: dict[str, Any] | None = None, **claims: Any) -> str:
        """Return a token that is valid except for what the arguments say. A claim that is None is left out."""
        now = int(time.time())
        payload = {"iss": URL, "sub": "user-1", "aud": AUDIENCE, "iat": now, "exp": now + 600} | claims
        payload = {name: each for name, each in payload.items() if each is not None}
        algorithm = algorithm or {"rsa": "RS256", "ec": "ES256", "ed": "EdDSA"}[kid]
        return jwt.encode(payload, self.keys[kid], algorithm, {"kid": kid, **(header or {})})

    def confused_token(self, **claims: Any) -> str:
        """Return a token whose HMAC has the public RSA key as its secret (CVE-2016-10555)."""
        secret = self.keys["rsa"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        payload = jwt.decode(self.token(**claims), options={"verify_signature": False})
        signed = b".".join(encoded(each) for each in ({"alg": "HS256", "typ": "JWT", "kid": "rsa"}, payload))
        return (signed + b"." + base64url(hmac.digest(secret, signed, hashlib.sha256))).decode()

    def unsigned_token(self, algorithm: str = "none", **claims: Any) -> str:
        """Return a token without a signature."""
        payload = jwt.decode(self.token(**claims), options={"verify_signature": False})
        return b".".join([encoded({"alg": algorithm, "kid": "rsa"}), encoded(payload), b""]).decode()


def issuer_settings(scopes: Mapping[str, Scope] = MappingProxyType({}), jwks: str = f"{URL}/keys") -> Issuer:
    """Return the settings of the issuer. In the names of scopes, ``_`` is a dot."""
    return Issuer(url=URL, jwks=jwks, scopes={name.replace("_", "."): each for name, each in scopes.items()})


def encoded(value: object) -> bytes:
    return base64url(json.dumps(value).encode())


def base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


@contextmanager
def key_server(issuer: TestIssuer, seconds_per_byte: float = 0.0) -> Iterator[str]:
    """Serve the public keys, and yield their URL."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = issuer.read(issuer_settings())
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            for byte in data if seconds_per_byte else ():
                if ended.wait(seconds_per_byte):
                    return
                self.wfile.write(bytes([byte]))
            if not seconds_per_byte:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/keys.json"
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
