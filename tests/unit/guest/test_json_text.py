"""JSON that is written without the module ``json``."""

import json

from hypothesis import given
from hypothesis import strategies as st

from toolc.guest.json_text import decode_json, encode_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_json_has_the_same_meaning(value: object) -> None:
    assert json.loads(encode_json(value)) == value == decode_json(encode_json(value))


def test_characters_beyond_ascii_are_escaped() -> None:
    assert encode_json({"ä": ["\U0001f600", '"\\\n']}) == rb'{"\u00e4": ["\ud83d\ude00", "\u0022\u005c\u000a"]}'
    assert json.loads(encode_json("\ud800")) == "\ud800"
