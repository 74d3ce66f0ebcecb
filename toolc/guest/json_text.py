"""Control messages as JSON, written without the module ``json``, whose import takes longer than Python's start.

A sandbox for a program never reads JSON, because the host sends the call as ``marshal`` data.
"""

from __future__ import annotations


def encode_json(value: object) -> bytes:
    """Return ``value`` as ASCII JSON: dicts with text keys, lists, texts, finite numbers, booleans or None."""
    return _text(value).encode()


def decode_json(text: str | bytes) -> object:
    """Return the value of a JSON text. Raises ``ValueError`` and ``RecursionError``."""
    import json  # lazy: +12 ms; programs do not need it

    return json.loads(text)


def _text(value: object) -> str:
    if isinstance(value, str):
        return '"%s"' % (value if _is_plain(value) else "".join(map(_escaped, value)))
    if isinstance(value, dict):
        return "{%s}" % ", ".join(["%s: %s" % (_text(name), _text(item)) for name, item in value.items()])
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(map(_text, value))
    if value is None:
        return "null"
    return repr(value) if not isinstance(value, bool) else "true" if value else "false"


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def _escaped(character: str) -> str:
    if _is_plain(character):
        return character
    number = ord(character)
    if number < 0x10000:
        return "\\u%04x" % number
    # JSON escapes such a character as two surrogates (RFC 8259, section 7).
    number -= 0x10000
    return "\\u%04x\\u%04x" % (0xD800 + (number >> 10), 0xDC00 + (number & 0x3FF))
