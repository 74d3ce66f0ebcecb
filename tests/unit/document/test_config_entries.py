"""One entry in a configuration file: everything else stays byte for byte, or the edit is refused."""

import pytest

from toolc.document.config_entries import EntryPlace, Format
from toolc.model.errors import UsageError

PLACES: dict[Format, EntryPlace] = {
    "json": EntryPlace("json", "servers", "tools"),
    "toml": EntryPlace("toml", "servers", "tools"),
    "yaml": EntryPlace("yaml", "servers", "tools"),
}
JSON = [
    ("", '{\n  "servers": {\n    "tools": {\n      "url": "u"\n    }\n  }\n}\n'),
    ("// empty\n", '// empty\n{\n  "servers": {\n    "tools": {\n      "url": "u"\n    }\n  }\n}\n'),
    ("{}", '{\n  "servers": {\n    "tools": {\n      "url": "u"\n    }\n  }\n}'),
    ('{"a": 1}\n', '{"a": 1,\n  "servers": {\n    "tools": {\n      "url": "u"\n    }\n  }\n}\n'),
    ('{\n\t"a": "}" // }\n}', '{\n\t"a": "}", // }\n\t"servers": {\n\t\t"tools": {\n\t\t\t"url": "u"\n\t\t}\n\t}\n}'),
    ('{\r\n "servers": {}\r\n}', '{\r\n "servers": {\r\n  "tools": {\r\n   "url": "u"\r\n  }\r\n }\r\n}'),
    ('\ufeff{"servers": {},}', '\ufeff{"servers": {\n  "tools": {\n    "url": "u"\n  }\n},}'),
    (
        '{\n  "servers": {\n    "b": {}, /* , */\n    // c\n  }\n}',
        '{\n  "servers": {\n    "b": {}, /* , */\n    // c\n    "tools": {\n      "url": "u"\n    },\n  }\n}',
    ),
]
TOML = [
    ("", '[servers.tools]\nurl = "u"\n'),
    ("a = 1", 'a = 1\n\n[servers.tools]\nurl = "u"\n'),
    ("[servers]\n# none\r\n", '[servers]\n# none\r\n\r\n[servers.tools]\r\nurl = "u"\r\n'),
]
YAML = [
    ("", 'servers:\n  tools:\n    url: "u"\n'),
    ("# c\na: 1", '# c\na: 1\nservers:\n  tools:\n    url: "u"\n'),
    ("servers: {} # c\na: 1\n", 'servers: # c\n  tools:\n    url: "u"\na: 1\n'),
    ("servers: null", 'servers:\n  tools:\n    url: "u"\n'),
    ("servers:\n    # b\n    b: 1\n", 'servers:\n    tools:\n      url: "u"\n    # b\n    b: 1\n'),
]
CASES = [("json", *each) for each in JSON] + [("toml", *each) for each in TOML] + [("yaml", *each) for each in YAML]


@pytest.mark.parametrize(("name", "before", "after"), CASES)
def test_an_entry_is_added_and_found_again(name: Format, before: str, after: str) -> None:
    place = PLACES[name]
    assert place.edited(before, {"url": "u"}) == after
    assert place.edited(after, {"url": "u"}) == after
    assert "tools" not in place.entries(place.edited(after, None))


@pytest.mark.parametrize(("name", "before", "after"), CASES)
def test_an_entry_is_replaced_in_its_place(name: Format, before: str, after: str) -> None:
    place = PLACES[name]
    changed = place.edited(after, {"command": "c", "args": ["a", "b"], "env": {"K": "v"}})
    assert place.entries(changed)["tools"] == {"command": "c", "args": ["a", "b"], "env": {"K": "v"}}
    assert place.edited(changed, {"url": "u"}) == after


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("json", '{"servers": {"tools": {}}}', '{"servers": {}}'),
        ("json", '{"servers": {"tools": {}, "b": 1}}', '{"servers": { "b": 1}}'),
        ("json", '{"servers": {"b": 1, "tools": {}}}', '{"servers": {"b": 1}}'),
        ("json", '{"servers": {\n "b": 1, // b\n "tools": {}\n}}', '{"servers": {\n "b": 1 // b\n}}'),
        ("json", '{"servers": {\n "tools": {}, // t\n "b": [1,],\n}}', '{"servers": { // t\n "b": [1,],\n}}'),
        ("toml", "[servers.tools]\na = 1\n[servers.tools.env]\nb = 2\n\n# c\n[c]\n", "\n# c\n[c]\n"),
        ("toml", "a = 1\n\n[servers.'tools']\nb = 2\n", "a = 1\n"),
        ("yaml", "servers:\n  tools:\n    a: 1\n  # b\n  b: 1\n", "servers:\n  # b\n  b: 1\n"),
        ("yaml", "servers: # s\n  tools:\n    a:\n    - 1\n\n# c\nc: 1\n", "servers: {} # s\n\n# c\nc: 1\n"),
    ],
)
def test_an_entry_is_removed(name: Format, before: str, after: str) -> None:
    assert PLACES[name].edited(before, None) == after
    assert PLACES[name].edited(after, None) == after


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("json", '{"servers": 1,}', "servers is not an object"),
        ("json", '{"servers": null}', "servers is not an object"),
        ("json", "[]", "it is not an object"),
        ("json", '{"a": 1', "it is not valid JSON: Expecting ',' delimiter"),
        ("json", "{'a': 1}", "it is not valid JSON"),
        ("json", "[" * 100_000, "it is not valid JSON"),
        ("toml", "servers = {b = {}}\n", "servers is written in a way that toolc cannot edit"),
        ("toml", "servers.tools.a = 1\n", "servers is written in a way that toolc cannot edit"),
        ("toml", "a = ", "it is not valid TOML"),
        ("yaml", "servers: {b: 1}\n", "servers is written in a way that toolc cannot edit"),
        ("yaml", "- a\n", "it is not an object"),
        ("yaml", "a: 1\n---\nb: 1\n", "it is not valid YAML"),
        ("yaml", "servers: [\n", "it is not valid YAML"),
        ("yaml", "servers: &a\n  b: 1\nc: {servers: 1}\n...\n", None),
    ],
)
def test_text_that_cannot_be_edited_is_refused(name: Format, text: str, reason: str | None) -> None:
    if reason is None:
        assert PLACES[name].edited(text, {"url": "u"}).startswith('servers: &a\n  tools:\n    url: "u"\n')
        return
    with pytest.raises(UsageError, match=reason):
        PLACES[name].edited(text, {"url": "u"})


@pytest.mark.parametrize("name", PLACES)
def test_a_second_entry_of_the_name_is_not_left(name: Format) -> None:
    twice = '{"servers": {"tools": {"a": 1}, "tools": {"a": 2}}}'
    with pytest.raises(UsageError, match="cannot edit"):
        PLACES["json"].edited(twice, None)
    assert PLACES[name].edited("", None) == ""
