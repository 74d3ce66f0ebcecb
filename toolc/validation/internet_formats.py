"""Syntax of names and addresses of the Internet: host names, e-mail addresses, IP addresses, URIs and IRIs.

Every test takes linear time in the length of the text, because no pattern can match a text in two ways, and possessive
quantifiers (``*+``) do not backtrack.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

MAX_HOST: Final = 253
"""The maximum length of a host name: 255 octets on the wire (RFC 1035, 2.3.4) minus two length octets."""

_LABEL: Final = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*+"

_UCSCHAR: Final = (
    "\u00a0-\u200d\u2010-\u2029\u202f-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14))
    + "\U000e1000-\U000efffd"
)
"""RFC 3987, 2.2 ``ucschar``, without the characters that set the direction of text, which 4.1 forbids."""

_PRIVATE: Final = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_UNRESERVED: Final = r"A-Za-z0-9\-._~"
_SUB_DELIMS: Final = "!$&'()*+,;="
_PERCENT: Final = "%[0-9A-Fa-f]{2}"

_ATOM: Final = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_QUOTED: Final = r" !#-\[\]-~"
_BEYOND_ASCII: Final = "\u0080-\U0010ffff"


def is_hostname(text: str) -> bool:
    """Return whether ``text`` is a host name (RFC 1123, 2.1). Labels with ``xn--`` must be A-labels (RFC 5890)."""
    if len(text) > MAX_HOST or not re.fullmatch(_DOMAIN, text):
        return False
    return all(_is_idna_label(label) for label in text.split(".") if label[:4].lower() == "xn--")


def is_idn_hostname(text: str) -> bool:
    """Return whether ``text`` is an internationalized host name (RFC 5890, 2.3.2.3), with the dots of RFC 3490."""
    if len(text) > MAX_HOST:
        return False
    labels = re.split("[.\u3002\uff0e\uff61]", text)
    return all(is_hostname(label) if label.isascii() else _is_idna_label(label) for label in labels)


def is_email(text: str) -> bool:
    """Return whether ``text`` is a mailbox (RFC 5321, 4.1.2 ``Mailbox``)."""
    local, at, domain = text.rpartition("@")
    return bool(at) and _is_local_part(local, "") and (_is_address_literal(domain) or _is_mail_domain(domain))


def is_idn_email(text: str) -> bool:
    """Return whether ``text`` is an internationalized mailbox (RFC 6531, 3.3)."""
    local, at, domain = text.rpartition("@")
    if not at or not _is_local_part(local, _BEYOND_ASCII):
        return False
    return _is_address_literal(domain) or _is_mail_domain(domain) or is_idn_hostname(domain)


def is_ipv4(text: str) -> bool:
    """Return whether ``text`` is an IPv4 address (RFC 2673, 3.2 ``dotted-quad``), without leading zeros."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_ipv6(text: str) -> bool:
    """Return whether ``text`` is an IPv6 address (RFC 4291, 2.2), without a zone or prefix length."""
    try:
        return ipaddress.IPv6Address(text).scope_id is None
    except ValueError:
        return False


def is_uri(text: str) -> bool:
    """Return whether ``text`` is a URI with a scheme (RFC 3986, 3)."""
    return _is_identifier(text, "", "", needs_scheme=True)


def is_uri_reference(text: str) -> bool:
    """Return whether ``text`` is a URI or a relative reference (RFC 3986, 4.1)."""
    return _is_identifier(text, "", "", needs_scheme=False)


def is_iri(text: str) -> bool:
    """Return whether ``text`` is an IRI with a scheme (RFC 3987, 2.2)."""
    return _is_identifier(text, _UCSCHAR, _PRIVATE, needs_scheme=True)


def is_iri_reference(text: str) -> bool:
    """Return whether ``text`` is an IRI or a relative reference (RFC 3987, 2.2)."""
    return _is_identifier(text, _UCSCHAR, _PRIVATE, needs_scheme=False)


def is_uri_template(text: str) -> bool:
    """Return whether ``text`` is a URI template (RFC 6570, 2)."""
    literal = rf"[!#$&(-;=?-\[\]_a-z~{_UCSCHAR}{_PRIVATE}]|{_PERCENT}"
    name = rf"(?:[A-Za-z0-9_]|{_PERCENT})++(?:\.(?:[A-Za-z0-9_]|{_PERCENT})++)*+"
    variable = rf"{name}(?::[1-9][0-9]{{0,3}}|\*)?"
    expression = rf"\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*+\}}"
    return re.fullmatch(rf"(?:{literal}|{expression})*+", text) is not None


def _is_identifier(text: str, others: str, others_in_query: str, *, needs_scheme: bool) -> bool:
    """Return whether ``text`` is a URI. ``others`` are further characters to allow, as ranges of a character class.

    This is the grammar of RFC 3986, appendix A. An IPv6 address is tested separately.
    """
    segment = f"[{_UNRESERVED}{_SUB_DELIMS}:@/{others}]|{_PERCENT}"
    user = f"[{_UNRESERVED}{_SUB_DELIMS}:{others}]|{_PERCENT}"
    name = f"[{_UNRESERVED}{_SUB_DELIMS}{others}]|{_PERCENT}"
    literal = rf"\[(?:(?P<ipv6>[0-9A-Fa-f:.]++)|[vV][0-9A-Fa-f]++\.[{_UNRESERVED}{_SUB_DELIMS}:]++)\]"
    authority = f"(?:(?:{user})*+@)?(?:{literal}|(?:{name})*+)(?::[0-9]*+)?"
    path = f"(?://{authority}(?:/(?:{segment})*+)?|(?!//)(?:{segment})*+)"
    scheme = r"[A-Za-z][A-Za-z0-9+.\-]*+:"
    # The first segment of a relative reference has no colon, because it would be read as a scheme.
    start = scheme if needs_scheme else f"(?:{scheme}|(?![^/?#:]*+:))"
    query = f"(?:[{_UNRESERVED}{_SUB_DELIMS}:@/?{others}{others_in_query}]|{_PERCENT})*+"
    fragment = f"(?:[{_UNRESERVED}{_SUB_DELIMS}:@/?{others}]|{_PERCENT})*+"
    match = re.fullmatch(rf"{start}{path}(?:\?{query})?(?:#{fragment})?", text)
    return match is not None and (match["ipv6"] is None or is_ipv6(match["ipv6"]))


def _is_local_part(text: str, others: str) -> bool:
    """Return whether ``text`` can precede the ``@``, as atoms with dots or a quoted string (RFC 5321, 4.1.2)."""
    dots = rf"[{_ATOM}{others}]++(?:\.[{_ATOM}{others}]++)*+"
    quoted = rf'"(?:[{_QUOTED}{others}]|\\[ -~])*+"'
    return re.fullmatch(f"{dots}|{quoted}", text) is not None


def _is_mail_domain(text: str) -> bool:
    return len(text) <= MAX_HOST and re.fullmatch(_DOMAIN, text) is not None


def _is_address_literal(text: str) -> bool:
    """Return whether ``text`` is ``[192.0.2.1]`` or ``[IPv6:2001:db8::1]`` (RFC 5321, 4.1.3)."""
    if not (text.startswith("[") and text.endswith("]")):
        return False
    inner = text[1:-1]
    return is_ipv6(inner[5:]) if inner[:5].lower() == "ipv6:" else is_ipv4(inner)


def _is_idna_label(label: str) -> bool:
    """Return whether ``label`` is an A-label or a U-label of IDNA 2008 (RFC 5891, 4.2 and 5.4)."""
    import idna  # lazy: +4 ms; few host names have non-ASCII characters

    try:
        unicode_label = idna.ulabel(label) if label.isascii() else label
        idna.check_label(unicode_label)
        encoded = idna.alabel(unicode_label).decode()
    except (UnicodeError, ValueError, IndexError):
        return False
    return len(encoded) <= 63 and (encoded == label.lower() or not label.isascii())
