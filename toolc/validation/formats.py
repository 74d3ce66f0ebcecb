"""The formats of strings that ``format`` asserts (JSON Schema 2020-12 Validation, 7.3), with an example of each.

All formats of JSON Schema are asserted wherever a value is validated. The formats of OpenAPI that add nothing to
``type`` and other keywords are known annotations. Any other format is an annotation and a finding (TC312), because its
values are not checked.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from toolc.validation import internet_formats as internet
from toolc.validation.schema_patterns import is_regular_expression


class _Format(NamedTuple):
    """A format, with its ``name`` for users, an ``example``, and a function that tests a text."""

    name: str
    example: str
    matches: Callable[[str], bool]


_DATE: Final = "(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME: Final = (
    r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9]|60)(?:\.[0-9]++)?"
    "(?:[Zz]|(?P<sign>[+-])(?P<offset_hour>[01][0-9]|2[0-3]):(?P<offset_minute>[0-5][0-9]))"
)
_DURATION: Final = (
    "P(?=[0-9T])(?:[0-9]++W|(?:[0-9]++Y)?(?:[0-9]++M)?(?:[0-9]++D)?"
    "(?:T(?=[0-9])(?:[0-9]++H)?(?:[0-9]++M)?(?:[0-9]++S)?)?)"
)
"""RFC 3339, appendix A. As in ISO 8601, a unit between two others may be absent (``PT1H5S``)."""

_POINTER: Final = "(?:/(?:[^~]|~[01])*+)?"
"""RFC 6901, 3."""

_RELATIVE_POINTER: Final = rf"(?:0|[1-9][0-9]*+)(?:[+-][1-9][0-9]*+)?(?:#|{_POINTER})"
"""draft-bhutton-relative-json-pointer-00, 3."""

_UUID: Final = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
"""RFC 4122, 3."""


def _is_date(text: str) -> bool:
    """Return whether a text is a ``full-date`` of RFC 3339, 5.6."""
    match = re.fullmatch(_DATE, text)
    return match is not None and _exists(match)


def _is_time(text: str) -> bool:
    """Return whether a text is a ``full-time`` of RFC 3339, 5.6."""
    match = re.fullmatch(_TIME, text)
    return match is not None and _is_second(match)


def _is_date_time(text: str) -> bool:
    """Return whether a text is a ``date-time`` of RFC 3339, 5.6."""
    match = re.fullmatch(f"{_DATE}[Tt]{_TIME}", text)
    return match is not None and _exists(match) and _is_second(match)


def _exists(match: re.Match[str]) -> bool:
    """Return whether the day exists (RFC 3339, 5.7). The year 0000 exists and is a leap year."""
    year, month, day = (int(match[name]) for name in ("year", "month", "day"))
    return 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def _is_second(match: re.Match[str]) -> bool:
    """Return whether the second can exist. The second 60 occurs only at the end of a day in UTC."""
    if match["second"] != "60":
        return True
    minutes = int(match["hour"]) * 60 + int(match["minute"])
    if match["sign"]:
        offset = int(match["offset_hour"]) * 60 + int(match["offset_minute"])
        minutes += offset if match["sign"] == "-" else -offset
    return minutes % (24 * 60) == 24 * 60 - 1


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that tests whether a pattern matches a whole text."""
    return lambda text: re.fullmatch(pattern, text) is not None


_FORMATS: Final[Mapping[str, _Format]] = {
    "date": _Format("a date", "2026-01-31", _is_date),
    "date-time": _Format("a date and time with an offset", "2026-01-31T09:30:00Z", _is_date_time),
    "duration": _Format("a duration", "P1DT12H", _matcher(_DURATION)),
    "email": _Format("an e-mail address", "ann@example.com", internet.is_email),
    "hostname": _Format("a host name", "www.example.com", internet.is_hostname),
    "idn-email": _Format("an e-mail address", "ann@bücher.example", internet.is_idn_email),
    "idn-hostname": _Format("a host name", "bücher.example", internet.is_idn_hostname),
    "ipv4": _Format("an IPv4 address", "192.0.2.1", internet.is_ipv4),
    "ipv6": _Format("an IPv6 address", "2001:db8::1", internet.is_ipv6),
    "iri": _Format("an absolute IRI", "https://example.com/bücher", internet.is_iri),
    "iri-reference": _Format("an IRI or a relative reference", "/bücher", internet.is_iri_reference),
    "json-pointer": _Format("a JSON Pointer", "/items/0", _matcher(_POINTER)),
    "regex": _Format("an ECMA-262 regular expression", "^[a-z]+$", is_regular_expression),
    "relative-json-pointer": _Format("a relative JSON Pointer", "1/items", _matcher(_RELATIVE_POINTER)),
    "time": _Format("a time with an offset", "09:30:00Z", _is_time),
    "uri": _Format("an absolute URI", "https://example.com/a", internet.is_uri),
    "uri-reference": _Format("a URI or a relative reference", "/a?b=1", internet.is_uri_reference),
    "uri-template": _Format("a URI template", "/users/{id}", internet.is_uri_template),
    "uuid": _Format("a UUID", "2eb8aa08-aa98-41ea-b4aa-73b441d16380", _matcher(_UUID)),
}  # fmt: skip
"""The asserted formats."""

EXAMPLES: Final[Mapping[str, str]] = {name: each.example for name, each in _FORMATS.items()}
"""An example for each asserted format."""

KNOWN_FORMATS: Final = frozenset(_FORMATS) | {
    "base64url", "binary", "byte", "char", "commonmark", "decimal", "decimal128", "double", "double-int", "float",
    "html", "http-date", "int", "int8", "int16", "int32", "int64", "int128", "media-range", "password", "sf-binary",
    "sf-boolean", "sf-decimal", "sf-integer", "sf-string", "sf-token", "uint", "uint8", "uint16", "uint32", "uint64",
    "uint128", "unixtime",
}  # fmt: skip
"""The asserted formats, the formats in OpenAPI's registry (spec.openapis.org/registry/format), and Rust's integers."""


def matches_format(text: str, name: str) -> bool:
    """Return whether ``text`` has the format ``name``. Return True for a format that is not asserted.

    The time is linear in the length of ``text``.
    """
    known = _FORMATS.get(name)
    return known is None or known.matches(text)


def describe_format(name: str) -> str:
    """Return the expected form of an asserted format for messages: ``a date such as 2026-01-31``."""
    known = _FORMATS[name]
    return f"{known.name} such as {known.example}"
