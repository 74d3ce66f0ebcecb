import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.json_schema import JsonValue
from toolc.runtime.egress.transport import RefusedError
from toolc.runtime.http.broker import set_json_pointer


@pytest.mark.parametrize(
    ("body", "pointer", "changed"),
    [
        pytest.param('{"a":1}', "/start_cursor", '{"a":1,"start_cursor":"next"}', id="Notion"),
        pytest.param('{"query":"q"}', "/variables/after", '{"query":"q","variables":{"after":"next"}}', id="GraphQL"),
        pytest.param('{"variables":{"after":null,"n":2}}', "/variables/after", None, id="replaces null"),
        pytest.param('{"variables":null}', "/variables/after", '{"variables":{"after":"next"}}', id="null on the way"),
        pytest.param("null", "/after", '{"after":"next"}', id="null"),
        pytest.param('[{"a":1},{"b":[0]}]', "/1/b/0", '[{"a":1},{"b":["next"]}]', id="lists"),
        pytest.param('{"a/b":{"~1":1}}', "/a~1b/~01", '{"a/b":{"~1":"next"}}', id="escapes"),
        pytest.param('{"":{"":1}}', "//", '{"":{"":"next"}}', id="empty names"),
        pytest.param('{"0":1}', "/0", '{"0":"next"}', id="a name that is a number"),
        pytest.param('{"ä":"é\\n","n":1.5,"big":123456789012345678901}', "/c", None, id="the rest is unchanged"),
    ],
)
def test_the_cursor_is_set_at_the_pointer(body: str, pointer: str, changed: str | None) -> None:
    expected = json.loads(changed or body)
    if changed is None:
        expected = expected | ({"variables": {"after": "next", "n": 2}} if "variables" in expected else {"c": "next"})
    assert json.loads(set_json_pointer(body.encode(), pointer, "next")) == expected


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ('{"a":"text"}', "/a/b"), ('{"a":[1]}', "/a/1"), ('{"a":[1]}', "/a/-"), ('{"a":[1]}', "/a/b/c"),
        ('{"a":[1]}', "/a/²"), ('{"a":[1]}', "/a/00"),
        pytest.param('{"a":[1]}', "/a/" + "9" * 5000, id="a number that is too long to read"), ("1", "/a"),
        ('{"a":1}', "/a/b/c/d"),
    ],
)  # fmt: skip
def test_a_pointer_into_a_missing_value_is_refused(body: str, pointer: str) -> None:
    with pytest.raises(RefusedError) as caught:
        set_json_pointer(body.encode(), pointer, "next")
    assert (str(caught.value), caught.value.kind) == (f"the body cannot contain a cursor at {pointer}", "network")


def test_a_cursor_that_is_nested_too_deeply_is_refused() -> None:
    cursor: JsonValue = 1
    for _ in range(5000):
        cursor = [cursor]
    with pytest.raises(RefusedError, match="nested too deeply"):
        set_json_pointer(b"{}", "/a", cursor)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), JSON, max_size=4), st.lists(st.text(), min_size=1, max_size=3), JSON)
def test_any_name_can_be_in_a_pointer(body: dict[str, JsonValue], names: list[str], cursor: JsonValue) -> None:
    body.pop(names[0], None)
    pointer = "".join("/" + each.replace("~", "~0").replace("/", "~1") for each in names)
    expected: JsonValue = cursor
    for each in reversed(names):
        expected = {each: expected}
    assert isinstance(expected, dict)
    assert json.loads(set_json_pointer(json.dumps(body).encode(), pointer, cursor)) == body | expected
