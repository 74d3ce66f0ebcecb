"""Values that are worth a try, whatever a schema says of them."""

from __future__ import annotations

from typing import Final

from toolc.model.json_schema import JsonValue

BY_TYPE: Final[dict[str, tuple[JsonValue, ...]]] = {
    "string": (
        "a",
        "",
        "abc",
        "0",
        "a b",
        "A-1",
        "2020-01-31",
        "a@example.com",
        "https://example.com/",
        "aaaaaaaaaaaaaaaa",
        "4f9f5f0e-3b7a-4c1d-9e2b-6a8d0c1e2f3a",
        "2020-01-31T12:30:00Z",
        "12:30:00Z",
        "192.0.2.1",
        "www.example.com",
        "/a/b",
        "1.0.0",
        "en-GB",
        "0123456789abcdef",
        "ABC",
        "1",
    ),
    "integer": (1, 0, 2, -1, 10, 1000),
    "number": (0.5, 1, 0, -1.5, 1000.25),
    "boolean": (True, False),
    "null": (None,),
    "array": ([],),
    "object": ({},),
}
"""A few values of each type; the strings also fit the patterns that are most common: identifiers, times, hosts."""

BY_FORMAT: Final[dict[str, str]] = {
    "uuid": "4f9f5f0e-3b7a-4c1d-9e2b-6a8d0c1e2f3a",
    "date": "2020-01-31",
    "date-time": "2020-01-31T12:30:00Z",
    "time": "12:30:00Z",
    "duration": "P1D",
    "email": "a@example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "hostname": "www.example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
"""What a string of a format looks like. Nothing is held against formats: they are for whoever reads the witness."""
