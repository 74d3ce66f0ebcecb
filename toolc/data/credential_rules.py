"""The rules that recognize credentials: the words in their names, their forms, and the programs that receive them.

A name is compared word by word, in lower case. For example, ``X-API-Key`` has the words ``x``, ``api`` and ``key``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

ENDS: Final = tuple[str, ...](_DATA["ends"])
"""The ends of a name, without separators, that make it the name of a credential."""

BEFORE_KEY: Final = frozenset[str](_DATA["before_key"])
"""The words before ``key`` that make the name a credential's."""

NOT_BEFORE_KEY: Final = frozenset[str](_DATA["not_before_key"])
"""The words before ``key`` in names that are not of credentials."""

NOT_BEFORE_TOKEN: Final = frozenset[str](_DATA["not_before_token"])
"""The words before ``token`` in names that are not of credentials, such as of a position in a list."""

POSSIBLE: Final = frozenset[str](_DATA["possible"])
"""The last words of names for which only a value that looks random is a credential."""

ASKED: Final = frozenset[str](_DATA["asked"])
"""Names of parameters that ask a model for a secret."""

AUTH: Final = dict[str, str](_DATA["auth"])
"""Keys in ``auth`` that hold credentials, with the ends of their secrets' names. In format 1, some hold only a map."""

WORDS: Final = frozenset[str](_DATA["words"])
"""Values that are not credentials."""

EXAMPLES: Final = frozenset[str](_DATA["examples"])
"""Example keys from the documentation of AWS, Stripe and NASA, which anyone may use."""

MARKS: Final = tuple[str, ...](_DATA["marks"])
"""Strings of which one precedes a credential that only its name identifies."""

HTTP_CLIENTS: Final = frozenset[str](_DATA["http_clients"])
"""Programs with an option for a user name and a password, and one for a header. ``date`` uses ``-u`` differently."""

PASSWORD_OPTIONS: Final = dict[str, str](_DATA["password_options"])
"""Programs with their option for a password, which is the next word."""

PASSWORD_IN_OPTION: Final = frozenset[str](_DATA["password_in_option"])
"""Programs whose option ``-p`` has the password in the same word."""


class Form(NamedTuple):
    """A form of credentials: its ``kind`` for messages, strings of which one must occur, and the slower pattern.

    ``is_long`` is true if each credential has at least 16 consecutive letters and digits, which few texts have.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    is_long: bool = False


FORMS: Final = tuple(Form(**{**each, "marks": tuple(each["marks"])}) for each in _DATA["forms"])
"""The forms of credentials. Sentences can contain the header of a private key, so a line of base64 must follow it."""
