"""Texts that are tried as witnesses have the lengths and the formats that are asked for."""

from itertools import islice

import pytest

from toolc.validation.formats import matches_format
from toolc.validation.witness.texts import TextConstraints, matching_texts

GROWING = (
    "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "iri", "iri-reference", "json-pointer",
    "regex", "time", "uri", "uri-reference", "uri-template",
)  # fmt: skip
"""The formats of texts that can be longer than their example."""


@pytest.mark.parametrize("length", [30, 31, 100, 101])
@pytest.mark.parametrize("name", GROWING)
def test_a_format_has_texts_of_a_minimum_length(name: str, length: int) -> None:
    texts, is_none = matching_texts(TextConstraints(shortest=length, formats={name: True}), lambda _: None)
    assert not is_none
    assert any(len(text) >= length and matches_format(text, name) for text in islice(texts, 2))
