"""Host names that a reader may confuse with others, through typing mistakes, similar letters or another domain.

This needs no list of domains, because a new host is compared with the hosts that the tool could already reach.
"""

from __future__ import annotations

import ipaddress
import unicodedata
from collections.abc import Iterable
from typing import Final

_SHARED: Final = (
    "github.io", "gitlab.io", "pages.dev", "workers.dev", "vercel.app", "netlify.app", "herokuapp.com", "web.app",
    "firebaseapp.com", "azurewebsites.net", "blob.core.windows.net", "cloudfront.net", "s3.amazonaws.com",
    "execute-api.amazonaws.com", "appspot.com", "run.app", "onrender.com", "fly.dev", "ngrok.io", "ngrok-free.app",
    "trycloudflare.com", "blogspot.com", "myshopify.com", "atlassian.net", "sharepoint.com", "zendesk.com",
)  # fmt: skip
"""Domains below which anyone can register a name."""

_SECOND_LEVEL: Final = frozenset(
    {"ac", "co", "com", "edu", "gob", "gov", "gouv", "mil", "ne", "net", "nom", "or", "org"}
)
"""Second-level labels that are part of a public suffix if the last label is a country, as in ``co.uk``."""

_AFFIXES: Final = (
    "account", "accounts", "api", "app", "apps", "auth", "cdn", "cloud", "com", "corp", "data", "dev", "files",
    "get", "help", "hq", "id", "inc", "internal", "io", "live", "login", "mail", "my", "net", "online", "org", "pay",
    "portal", "prod", "proxy", "secure", "service", "services", "site", "sso", "static", "status", "support", "team",
    "test", "the", "try", "update", "updates", "use", "web", "www", "x",
)  # fmt: skip
"""Words that imitators add to a name, as in ``example-login``."""

_LETTERS: Final = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("nn", "m"))
_DIGITS_AND_LETTERS: Final = ("01i345789_j", "olleastbg-l")
_ALPHABETS: Final = (
    ("a", "\u0430\u03b1\u0251"), ("b", "\u0432\u03b2\u00df"), ("c", "\u0441"), ("d", "\u0501\u0111"),
    ("e", "\u0435\u03b5"), ("f", "\u0493"), ("g", "\u0261"), ("h", "\u04bb\u043d"), ("k", "\u043a\u03ba"),
    ("l", "\u0456\u0457\u0458\u04cf\u03b9\u0131\u0142\u217c\u01c0"), ("m", "\u043c"), ("n", "\u0578\u03b7"),
    ("o", "\u043e\u04e9\u03bf\u00f8"), ("p", "\u0440\u03c1"), ("q", "\u051b"), ("r", "\u0433"), ("s", "\u0455"),
    ("t", "\u0442\u03c4"), ("u", "\u03c5\u0446"), ("v", "\u0475\u03bd"), ("w", "\u051d"), ("x", "\u0445\u03c7"),
    ("y", "\u0443\u028f"),
)  # fmt: skip
"""ASCII letters, each with the letters of other alphabets that look like it (confusables of Unicode TS 39)."""

_SIMILAR: Final = str.maketrans(*_DIGITS_AND_LETTERS) | {
    ord(each): letter for letter, similar in _ALPHABETS for each in similar
}

_MIN_LENGTH: Final = 4
"""The minimum length of a name. Shorter names are too often similar by chance."""


def imitated(host: str, known: Iterable[str]) -> str:
    """Return the host in ``known`` that ``host`` resembles although another party may own it, or ``""``.

    Hosts are in canonical form, and wildcards have no ``*.``. Hosts below the same registered name belong together.
    """
    if _is_address(host):
        return ""
    others = sorted({each for each in known if each and not _is_address(each)})
    if any(_split(host) == _split(each) for each in others):
        return ""
    return next((each for each in others if _is_similar(host, each)), "")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _split(host: str) -> tuple[str, str]:
    """Return the registered label, and the suffix below which it is registered."""
    for suffix in _SHARED:
        if host.endswith(f".{suffix}"):
            return host.removesuffix(f".{suffix}").rpartition(".")[2], suffix
    labels = host.split(".")
    is_country = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL
    length = min(2 if is_country else 1, len(labels) - 1)
    if not length:
        return host, ""
    return labels[-length - 1], ".".join(labels[-length:])


def _is_similar(host: str, known: str) -> bool:
    name, suffix = _split(host)
    brand, known_suffix = _split(known)
    plain, known_plain = _skeleton(name), _skeleton(brand)
    if plain == known_plain:  # the same name in another domain, or with letters that look the same
        return name != brand or suffix not in _SHARED or known_suffix not in _SHARED or suffix != known_suffix
    if len(brand) < _MIN_LENGTH:
        return False
    labels = [_skeleton(each) for each in host.split(".")]
    if any(_imitates(each, known_plain) for each in labels):
        return True
    return _is_one_edit(plain, known_plain) or _is_one_edit(_decoded(name), brand)


def _imitates(label: str, brand: str) -> bool:
    """Return whether a label is a known name, alone or combined with a common word as in ``example-login``."""
    if label == brand or brand in label.split("-") or label.replace("-", "") == brand.replace("-", ""):
        return True
    affixes = {_skeleton(each) for each in _AFFIXES}
    return (label.startswith(brand) and label.removeprefix(brand).strip("-") in affixes) or (
        label.endswith(brand) and label.removesuffix(brand).strip("-") in affixes
    )


def _is_one_edit(one: str, other: str) -> bool:
    """Return whether one character was added, removed or replaced, or two adjacent characters were swapped."""
    if one == other or min(len(one), len(other)) < _MIN_LENGTH:
        return False
    pairs = zip(one, other, strict=False)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    a, b = one[same:], other[same:]
    is_swapped = a[:2] == b[:2][::-1] and a[2:] == b[2:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or is_swapped


def _skeleton(text: str) -> str:
    """Return a name with each letter replaced by the one that it looks like."""
    plain = unicodedata.normalize("NFKD", _decoded(text))
    plain = "".join(each for each in plain if not unicodedata.combining(each)).translate(_SIMILAR)
    for letters, letter in _LETTERS:
        plain = plain.replace(letters, letter)
    return plain


def _decoded(label: str) -> str:
    """Return a label with Punycode (``xn--``) decoded to letters."""
    if not label.startswith("xn--"):
        return label
    try:
        return label.removeprefix("xn--").encode("ascii").decode("punycode")
    except UnicodeError:
        return label
