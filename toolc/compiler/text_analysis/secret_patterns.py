"""Detect secrets: well-known forms of keys and tokens, and random values assigned to a name such as "token".

Placeholders such as ``ghp_xxxx`` do not count: their entropy (Shannon, in bits per character) is too low.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

ALPHANUMERIC: Final = string.ascii_letters + string.digits

# The header alone also occurs in sentences about keys, so a line of base64 must follow.
_PRIVATE_KEY: Final = (
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY-----(?=(?:\\[nr]|\s){1,99}(?:[A-Za-z0-9+/=]{8}|Proc-Type))"
)

# Name, strings of which one must occur before the (slower) pattern is tried, pattern:
_KNOWN: Final = (
    ("a GitHub token", ("github_pat_",), r"\bgithub_pat_\w{22,}"),
    ("a GitLab token", ("glpat-",), r"\bglpat-[\w-]{20,64}"),
    ("an API key of a model provider", ("sk-",), r"\bsk-(?=[\w-]{0,200}[0-9])[\w-]{20,200}"),
    ("a Slack token", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}"),
    ("a Slack webhook", ("hooks.slack.com",), r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{20,}"),
    ("a Google API key", ("AIza",), r"\bAIza[\w-]{35}"),
    ("a PyPI token", ("pypi-",), r"\bpypi-AgE[\w-]{40,512}"),
    ("a SendGrid key", ("SG.",), r"\bSG\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("a private key", ("PRIVATE KEY-----",), _PRIVATE_KEY),
    (
        "a JSON Web Token", ("eyJ",),
        r"\beyJ[\w-]{10,4096}\.eyJ[\w-]{10,4096}\.[\w-]{10,4096}",
    ),
)  # fmt: skip

# The same, for secrets with a long run of letters and digits, which few texts have.
_RUN: Final = 16
_KNOWN_RUNS: Final = (
    ("an AWS access key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("a GitHub token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), r"\bgh[opsur]_[A-Za-z0-9]{36,}"),
    ("a Stripe key", ("k_live_", "k_test_"), r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,128}"),
    ("an npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,64}\b"),
)

# A name that indicates a secret, and its value: `API_KEY=…`, `token: "…"`, `Bearer …`.
_NAMED: Final = (
    r"(?:(?:api[_-]?key|access[_-]?key|auth|credential|passwd|password|private[_-]?key|secret|token)['\"]?\s{0,4}[:=]\s{0,4}"
    r"(?:f?['\"])?(?:(?:Basic|Bearer)\s)?|\b(?:Basic|Bearer)\s)(?P<value>[A-Za-z0-9+/_=.-]{20,512})"
)
_MARKS: Final = (
    "api-key", "api_key", "apikey", "access", "auth", "basic ", "bearer ", "credential", "passw", "private",
    "secret", "token",
)  # fmt: skip

_EXAMPLE: Final = r"(?i)example|placeholder|your|dummy|changeme|redacted|\.\.\."

PUBLISHED: Final = frozenset(
    {
        "AKIAIOSFODNN7EXAMPLE", "AKIAI44QH8DHBEXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY", "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
        "sk_test_BQokikJOvBiI2HlWgH4olfQ2", "sk_test_26PHem9AhJZvU623DfE1x4sd", "pk_test_TYooMQauvdEDq54NiTphI7jx",
        "pk_test_6pRNASCoBOKtIshFeQd4XMUh", "DEMO_KEY",
    }
)  # fmt: skip
"""Example keys that AWS, Stripe and NASA publish in their documentation. Everyone may use them."""

_MIN_BITS: Final = 3.0
"""The minimum bits per character of a value whose form identifies it as a secret; ``xxxx`` has 0."""
_MIN_BITS_NAMED: Final = 3.2
"""The minimum for a value that only a name identifies. Hexadecimal digits reach it; words have no digits."""


def character_table(characters: str) -> bytes:
    """Return a table of ASCII characters for ``has_long_run``; characters beyond ASCII always count."""
    members = frozenset(characters.encode("ascii"))
    return bytes(ord("a") if byte in members or byte >= 0x80 else ord(" ") for byte in range(256))


def has_long_run(text: str, of: bytes, length: int) -> bool:
    """Return whether ``text`` has ``length`` consecutive characters of the table ``of``."""
    return b"a" * length in text.encode(errors="replace").translate(of)


@dataclass(frozen=True, slots=True)
class SecretMatch:
    """The range ``start:end`` of a text that looks like a secret; ``kind`` names it, with an article."""

    kind: str
    start: int
    end: int


_RUN_CHARACTERS: Final = character_table(f"{ALPHANUMERIC}+=")
"""The characters of a value with a secret's name, without those that join names, as in a path."""


def find_secrets(text: str) -> Iterator[SecretMatch]:
    """Yield each range of ``text`` that looks like a secret, in order. The run time is linear in its length."""
    matches = [*_known_forms(text, _KNOWN)]
    if has_long_run(text, _RUN_CHARACTERS, _RUN):
        matches += (*_known_forms(text, _KNOWN_RUNS), *_assigned(text))
    matches.sort(key=lambda secret: (secret.start, -secret.end))
    end = 0
    for secret in matches:
        if secret.start >= end:
            yield secret
            end = secret.end


def _known_forms(text: str, forms: Iterable[tuple[str, tuple[str, ...], str]]) -> Iterator[SecretMatch]:
    for kind, marks, pattern in forms:
        if _contains_any(text, marks):
            for match in re.finditer(pattern, text):
                if match[0] not in PUBLISHED and _is_random(match[0], _MIN_BITS):
                    yield SecretMatch(kind, match.start(), match.end())


def _contains_any(text: str, marks: tuple[str, ...]) -> bool:
    for mark in marks:  # noqa: SIM110  any() takes three times as long, and this runs ten times per file
        if mark in text:
            return True
    return False


def _assigned(text: str) -> Iterator[SecretMatch]:
    if not _contains_any(text.lower(), _MARKS):
        return
    for match in re.finditer(_NAMED, text, re.IGNORECASE):
        value = match["value"]
        if value in PUBLISHED:
            continue
        if _is_mixed(value) and _is_random(value, _MIN_BITS_NAMED) and not re.search(_EXAMPLE, value):
            yield SecretMatch("a secret", *match.span("value"))


def looks_random(value: str) -> bool:
    """Return whether a whole value is like a generated key: a long run of letters and digits with high entropy."""
    return len(value) >= _RUN and _is_mixed(value) and _is_random(value, _MIN_BITS) and not re.search(_EXAMPLE, value)


def _is_mixed(value: str) -> bool:
    """Return whether a value has letters and digits in one long run, unlike joined names in a path or host."""
    longest = max(re.split(r"[./_-]", value), key=len)
    return len(longest) >= _RUN and bool(re.search(r"[0-9]", longest) and re.search(r"[A-Za-z]", longest))


def _is_random(value: str, min_bits: float) -> bool:
    if value.startswith("-----BEGIN"):
        return True
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits >= min_bits
