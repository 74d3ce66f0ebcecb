"""Recognize names of credentials (``API_KEY``, ``X-Auth-Token``), and values that are literal credentials.

A name is compared word by word: ``page_token``, ``token_url`` and ``Idempotency-Key`` do not name credentials.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from toolc.compiler.text_analysis.secret_patterns import PUBLISHED, SecretMatch, find_secrets, looks_random

Certainty: TypeAlias = Literal["certain", "possible"]
"""``possible``: only a value that looks random is a credential, as for ``key`` or ``sig``."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NOUNS: Final = (
    "apikey", "apitoken", "authkey", "authorization", "accesskey", "accesstoken", "clientsecret", "credential",
    "credentials", "jwt", "passphrase", "passwd", "password", "privatekey", "pwd", "secret", "secretkey",
    "secretkeybase", "signingkey", "subscriptionkey", "token",
)  # fmt: skip
"""The ends of a name that make it the name of a credential."""

_KEYS: Final = frozenset(
    {
        "access", "account", "admin", "api", "app", "application", "auth", "bot", "client", "consumer", "encryption",
        "functions", "ingest", "license", "master", "private", "rapidapi", "secret", "server", "service", "signing",
        "ssh", "storage", "subscription", "write",
    }
)  # fmt: skip
"""The words before ``key`` that make it a credential."""

_OTHER_TOKENS: Final = frozenset(
    {
        "bos", "cancel", "cancellation", "change", "cls", "continuation", "csrf", "cursor", "delta", "end", "eos",
        "first", "last", "mask", "max", "min", "next", "nextpage", "pad", "page", "prev", "previous", "resume", "sep",
        "skip", "start", "stop", "sync", "unk", "xsrf",
    }
)  # fmt: skip
"""The words before ``token`` that make it something else, such as a position in a list."""

_OTHER_KEYS: Final = frozenset(
    {
        "cache", "foreign", "idempotency", "lookup", "message", "object", "order", "partition", "primary",
        "public", "routing", "sort", "surrogate", "translation", "websocket",
    }
)  # fmt: skip
_POSSIBLE: Final = frozenset(
    {
        "appid", "auth", "bearer", "code", "cookie", "credential", "key", "pass", "pat", "session", "sessionid", "sid",
        "sig", "signature",
    }
)  # fmt: skip

_WORDS: Final = frozenset(
    {
        "anonymous", "disabled", "enabled", "false", "guest", "no", "none", "null", "off", "on", "true", "undefined",
        "yes",
    }
)  # fmt: skip
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:[.,_][0-9]+)*")
_PATH: Final = re.compile(r"(?:file://|[A-Za-z]:\\|~?/|\.{1,2}/)[^\s]*")
_EXAMPLE: Final = re.compile(r"[A-Za-z0-9+/_-]*EXAMPLE(?:KEY)?")
_SCHEME: Final = re.compile(r"(?i)(?:apikey|basic|bearer|bot|digest|key|token)(?:\s+|$)(?:token=)?")
_UNEXPANDED: Final = re.compile(r"\$\{\{.*\}\}|\$\{[^}]*\}|\$\(?[A-Za-z_]\w*\)?|%[A-Za-z_]\w*%|\$env:\w+")

_USERINFO: Final = r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<user>[^\s/:@{}\"']{0,100}):(?P<value>[^\s/@{}$<*\"']{1,200})@"
_PAIR: Final = r"(?i)\b(?:password|pwd|accountkey|sharedaccesskey|accesstoken)=(?P<value>[^;,&\s\"'{}()\[\]$<*]{4,200})"
_LOCAL: Final = re.compile(r"[^@\s]{0,200}@(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/?#]|$)")


def credential_header(name: str) -> Certainty | None:
    """Return ``credential_name`` of a header; any other header whose name ends with ``key`` is possible."""
    *_, before, last = ("", "", *(word.lower() for word in _WORD.findall(name)))
    return credential_name(name) or ("possible" if last == "key" and before not in _OTHER_KEYS else None)


@lru_cache(maxsize=4096)
def credential_name(name: str) -> Certainty | None:
    """Return whether a header, variable, field or parameter with this name holds a credential."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return None
    joined, last, before = "".join(words), words[-1], words[-2] if len(words) > 1 else ""
    if joined in {"pwd", "oldpwd"}:  # the working directory
        return None
    if last == "token" and before in _OTHER_TOKENS:
        return None
    if joined.endswith("token") and joined.removesuffix("token") in _OTHER_TOKENS:
        return None
    if joined.endswith(_NOUNS) or (last == "key" and before in _KEYS):
        return "certain"
    if last == "pass" and before:
        return "certain"
    if joined.endswith("accesskeyid") or (last in _POSSIBLE and not (last == "key" and before in _OTHER_KEYS)):
        return "possible"
    return None


def is_exempt(value: str) -> bool:
    """Return whether a value is a number, a boolean, a path or a published example, and not a credential."""
    value = value.strip()
    if not value or value.lower() in _WORDS or _NUMBER.fullmatch(value):
        return True
    if value in PUBLISHED or _EXAMPLE.fullmatch(value):
        return True
    return bool(_PATH.fullmatch(value)) and not any(map(looks_random, re.split(r"[/\\.]", value)))


def without_scheme(value: str) -> str:
    """Return the value of an ``Authorization`` header without its scheme, such as ``Bearer``."""
    value = value.strip()
    match = _SCHEME.match(value)
    return value[match.end() :] if match else value


def literal_credential(value: str, certainty: Certainty) -> str:
    """Return the part of a value without placeholders that is a credential, or an empty string."""
    rest = without_scheme(value).strip()
    if is_exempt(rest) or is_exempt(value) or is_unexpanded(rest):
        return ""
    if certainty == "certain":
        return rest
    return next((each for each in re.split(r"[\s;,&=:\"']+", rest) if is_token(each)), "")


def is_unexpanded(value: str) -> bool:
    """Return whether a value is only a reference to an environment variable, which toolc does not expand."""
    return bool(_UNEXPANDED.fullmatch(value.strip()))


def unexpanded_name(value: str) -> str:
    """Return the name of the variable in a reference such as ``${API_KEY}``, or an empty string."""
    name = re.search(r"(?:(?:secrets|env|vars)[.:])?([A-Za-z_]\w*)", value) if is_unexpanded(value) else None
    return name[1] if name else ""


def is_token(value: str) -> bool:
    """Return whether a value looks like a credential wherever it is written: a known form, or a random value."""
    return not is_exempt(value) and (looks_random(value) or any(find_secrets(value)))


def credentials_in(text: str) -> Iterator[SecretMatch]:
    """Yield each password in the URLs and connection strings of a text."""
    for mark, pattern, kind in (("://", _USERINFO, "a password in a URL"), ("=", _PAIR, "a password")):
        for match in re.finditer(pattern, text) if mark in text else ():
            if not is_exempt(match["value"]) and not _LOCAL.match(text, match.start("value")):
                yield SecretMatch(kind, *match.span("value"))
