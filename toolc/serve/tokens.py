"""Tokens of clients. A file in the user's configuration folder stores only their digests.

A token has 256 random bits, so its digest cannot be reversed even though the hash function is fast.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from fcntl import LOCK_EX, flock
from pathlib import Path
from secrets import token_urlsafe
from time import time
from typing import Final

from toolc.config.configuration import ROLES, Role
from toolc.config.user_config import configuration_folder
from toolc.dataclass import dataclass
from toolc.model.atomic_files import replace_file
from toolc.model.errors import UsageError

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED: Final = ("default", "local")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """The stored data of a token. It may use tools with one of ``tags`` (None: all tools).

    ``created`` and ``expires`` are seconds since 1970.
    """

    name: str
    digest: str
    role: Role = "caller"
    tags: tuple[str, ...] | None = None
    created: int
    expires: int | None = None

    @property
    def is_expired(self) -> bool:
        """Whether the token is no longer valid."""
        return self.expires is not None and self.expires <= time()


class TokenFile:
    """The stored tokens. Reads the file again after every change. Thread-safe, and safe with several processes."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or configuration_folder(os.environ) / "tokens.json"
        self._state: tuple[int, int, int] | None = None
        self._tokens: Mapping[str, Token] = {}

    def tokens(self) -> Mapping[str, Token]:
        """Return the tokens by name. Raises ``UsageError`` if the file cannot be read or other users can access it."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._state, self._tokens = None, {}
            return {}
        state = status.st_mtime_ns, status.st_ino, status.st_size
        if state != self._state:
            if status.st_uid not in {os.geteuid(), 0} or stat.S_IMODE(status.st_mode) & 0o077:
                raise UsageError(f"other users can access {self.path}; run: chmod 600 {self.path}")
            self._tokens = _parse(self.path)
            self._state = state
        return self._tokens

    def find(self, secret: str) -> Token | None:
        """Return the valid token with this secret. The time does not depend on which token matches, or how much of it.

        If the file cannot be read, no token is valid, and the log says why.
        """
        digest, found = digest_of(secret), None
        for token in self._valid().values():
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found

    def named(self, name: str) -> Token | None:
        """Return the valid token of this name. If the file cannot be read, there is none, and the log says why."""
        return self._valid().get(name)

    def create(
        self, name: str, *, role: Role = "caller", tags: tuple[str, ...] | None = None, days: int | None = None
    ) -> str:
        """Store a new token and return its secret, which is not stored. Raises ``UsageError``."""
        if not _NAME.fullmatch(name) or name in _RESERVED:
            raise UsageError(f"{name!r:.80} cannot be the name of a token; use letters, digits and . _ -, such as ci")
        secret = f"toolc_{token_urlsafe(32)}"
        now = datetime.now(UTC)
        token = Token(
            name=name, digest=digest_of(secret), role=role, tags=tags, created=int(now.timestamp()),
            expires=None if days is None else int((now + timedelta(days=days)).timestamp()),
        )  # fmt: skip
        with self._changing() as tokens:
            if name in tokens and not tokens[name].is_expired:
                raise UsageError(f"there is a token {name!r} already; revoke it first: toolc token revoke {name}")
            tokens[name] = token
        return secret

    def revoke(self, name: str) -> None:
        """Remove a token. Requests with it are refused from now on. Raises ``UsageError`` if there is none."""
        with self._changing() as tokens:
            if tokens.pop(name, None) is None:
                raise UsageError(
                    f"there is no token {name!r:.80}; the tokens are: {', '.join(sorted(tokens)) or 'none'}"
                )

    def _valid(self) -> Mapping[str, Token]:
        try:
            return {name: token for name, token in self.tokens().items() if not token.is_expired}
        except UsageError as error:
            logging.getLogger("toolc").error("tokens are refused: %s", error)
            return {}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.path.with_suffix(".lock").open("w") as lock:
            flock(lock, LOCK_EX)
            tokens = dict(self.tokens())
            yield tokens
            entries = {name: asdict(token) for name, token in sorted(tokens.items())}
            with replace_file(self.path, mode=0o600) as file:
                file.write(json.dumps({"tokens": entries}, indent=1).encode())


def digest_of(secret: str) -> str:
    """Return the digest that is stored for a secret. Comparing digests does not leak how much of a secret matches."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _parse(path: Path) -> dict[str, Token]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["tokens"]
        tokens = {
            name: Token(**{**each, "tags": each["tags"] and tuple(each["tags"])}) for name, each in entries.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}); restore it, or remove it and create the tokens again"
        ) from None
    if any(name != each.name or each.role not in ROLES for name, each in tokens.items()):
        raise UsageError(f"{path} is damaged; restore it, or remove it and create the tokens again")
    return tokens
