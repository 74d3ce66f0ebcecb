"""TOML has the values of tomli and the position of every key and value."""

import json
from typing import TypeAlias

import pytest
import tomli
from compiling.places import covered, finding_lines
from hypothesis import given, settings
from hypothesis import strategies as st

from toolc.document.nodes import Mapping, Node, Scalar, Sequence, to_json
from toolc.document.toml.toml_parser import parse_toml
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText


def parse(text: str) -> tuple[Node | None, list[str]]:
    """Return the root, and each finding as ``line:column-end code message``."""
    diagnostics = Diagnostics()
    root = parse_toml(SourceText("a.toml", text), diagnostics)
    return root, finding_lines(diagnostics)


def parsed(text: str) -> Mapping:
    root, findings = parse(text)
    assert findings == []
    assert isinstance(root, Mapping)
    return root


def findings(text: str) -> list[str]:
    return parse(text)[1]


def places(text: str) -> dict[str, tuple[str, str]]:
    """Return the text of each key and of its value, by path."""
    found: dict[str, tuple[str, str]] = {}

    def visit(node: Node, path: str) -> None:
        match node:
            case Mapping():
                for entry in node.entries:
                    inner = f"{path}.{entry.key}" if path else entry.key
                    found[inner] = (covered(text, entry.key_span), covered(text, entry.value.span))
                    visit(entry.value, inner)
            case Sequence():
                for index, item in enumerate(node.items):
                    found[f"{path}[{index}]"] = ("", covered(text, item.span))
                    visit(item, f"{path}[{index}]")
            case Scalar():
                pass

    visit(parsed(text), "")
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1 # one\n", {"a": ("a", "1")}),
        ("a='#'\r\nb = true\r\n", {"a": ("a", "'#'"), "b": ("b", "true")}),
        ('"q\\u0041" = 1\n\'l it\' = "=]"', {"qA": ('"q\\u0041"', "1"), "l it": ("'l it'", '"=]"')}),
        (
            "a . b.'c' = 1\na.d = -0.5",
            {"a": ("a", "a"), "a.b": ("b", "b"), "a.b.c": ("'c'", "1"), "a.d": ("d", "-0.5")},
        ),
        (
            "[a . b]\nc = 1\n[a]\nd = 2",
            {"a": ("a", "[a]"), "a.b": ("b", "[a . b]"), "a.b.c": ("c", "1"), "a.d": ("d", "2")},
        ),
        (
            "[[t]]\na = 1\n[t.s]\nb = 2\n[[ t ]]\n[[t.u]]\nc = 3",
            {
                "t": ("t", "[[t]]"), "t[0]": ("", "[[t]]"), "t[0].a": ("a", "1"), "t[0].s": ("s", "[t.s]"),
                "t[0].s.b": ("b", "2"), "t[1]": ("", "[[ t ]]"), "t[1].u": ("u", "[[t.u]]"),
                "t[1].u[0]": ("", "[[t.u]]"), "t[1].u[0].c": ("c", "3"),
            },
        ),
        (
            "a = [ 1, # ]\n  ['x', {b = 2, c.d = [3]}],\n]",
            {
                "a": ("a", "[ 1, # ]\n  ['x', {b = 2, c.d = [3]}],\n]"),
                "a[0]": ("", "1"),
                "a[1]": ("", "['x', {b = 2, c.d = [3]}]"),
                "a[1][0]": ("", "'x'"),
                "a[1][1]": ("", "{b = 2, c.d = [3]}"),
                "a[1][1].b": ("b", "2"),
                "a[1][1].c": ("c", "c"),
                "a[1][1].c.d": ("d", "[3]"),
                "a[1][1].c.d[0]": ("", "3"),
            },
        ),
        pytest.param(
            'a = """x\n" "" \\""""" \n' + "b = '''\n''''' # c\n" + 'c = """"""',
            {"a": ("a", '"""x\n" "" \\"""""'), "b": ("b", "'''\n'''''"), "c": ("c", '""""""')},
            id="multi-line strings",
        ),
        pytest.param("é = 'ß' ".replace("é", '"é"'), {"é": ('"é"', "'ß'")}, id="beyond ASCII"),
    ],
)  # fmt: skip
def test_keys_and_values_have_spans(text: str, expected: dict[str, tuple[str, str]]) -> None:
    assert places(text) == expected
    assert to_json(parsed(text)) == tomli.loads(text)


def test_values_keep_their_type() -> None:
    root = parsed("a = 1\nb = 1.0\nc = 0x1F\nd = 1_000\ne = true\nf = 'no'")
    assert [type(entry.value.value) for entry in root.entries if isinstance(entry.value, Scalar)] == [
        int, float, int, int, bool, str,
    ]  # fmt: skip
    assert not any(entry.value.plain for entry in root.entries if isinstance(entry.value, Scalar))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nb = inf", ["2:5-8 TC010 inf is not a number in JSON"]),
        ("a = [nan, -inf]", ["1:6-9 TC010", "1:11-15 TC010"]),
        ("a = 1e999", ["1:5-10 TC010 1e999 is not a number in JSON"]),
        (
            "a = 1979-05-27 07:32:00Z # why",
            ["1:5-25 TC010 1979-05-27 07:32:00Z is a date or a time, which JSON does not have"],
        ),
        ("a = {b = 07:32:00}", ["1:10-18 TC010 07:32:00 is a date or a time, which JSON does not have"]),
        ("a = 9007199254740992", ["1:5-21 TC011 9007199254740992 is beyond"]),
        pytest.param(f"a = {'9' * 5000}", ["1:5-5005 TC011 this integer has too many digits"], id="endless integer"),
        ("a = 1\nb = 2\na = 3", ["3:1-2 TC002 the key 'a' is already defined"]),
        ("[a]\n[b]\n  [a]", ["3:3-6 TC002 the table 'a' is already defined"]),
        ("a = {b = 1, b = 2}", ["1:13-14 TC002"]),
        ("a = {{ path }}", ["1:5-15 TC110 {{ path }} must be in quotes"]),
        ("a = ['wc', {{ path }}]", ["1:12-22 TC110 {{ path }} must be in quotes"]),
        ("a = --x={{ path }}", ["1:5-19 TC110 --x={{ path }} must be in quotes"]),
        ("a = '{{ path }}'\nb = yes", ["2:5-8 TC001 yes is not a TOML value"]),
    ],
)
def test_problems_have_a_position(text: str, expected: list[str]) -> None:
    found = findings(text)
    assert len(found) == len(expected)
    assert [each[: len(start)] for each, start in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize(
    "text",
    [
        f"a = {'[' * 101}{']' * 101}", f"a = {'[' * 5000}{']' * 5000}", f"a = {'{b = ' * 101}1{'}' * 101}",
        ".".join("a" * 120) + " = 1", f"[{'.'.join('a' * 120)}]",
    ],
)  # fmt: skip
def test_nesting_has_a_limit(text: str) -> None:
    assert [each.split(maxsplit=1)[1] for each in findings(text)] == [
        "TC012 lists and maps nested deeper than 100 levels"
    ]


# Random documents in every style of TOML

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value]"

keys = st.text("abcé .'\"\\#=[]", max_size=3) | st.sampled_from(["a", "b", "c-d"])
texts = st.text("ab '\"\\\n#=[]{},.\té", max_size=8)
leaves = st.booleans() | st.integers(-1000, 1000) | st.floats(-1e6, 1e6) | texts
values: st.SearchStrategy[Value] = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Return TOML text of a random document in random styles."""
    content = draw(st.dictionaries(keys, values, max_size=4))
    lines: list[str] = []
    _write_table(draw, content, [], lines)
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines)


def _write_table(draw: st.DrawFn, table: dict[str, Value], path: list[str], lines: list[str]) -> None:
    later: list[tuple[str, Value]] = []
    for key, value in table.items():
        tables = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
        if tables and all(isinstance(each, dict) for each in tables) and draw(st.booleans()):
            later.append((key, value))
        elif isinstance(value, dict) and len(value) == 1 and draw(st.booleans()):
            [(inner, innermost)] = value.items()
            lines.append(f"{_key(draw, key)} . {_key(draw, inner)} = {_value(draw, innermost)}")
        else:
            lines.append(f"  {_key(draw, key)}= {_value(draw, value)} # {{ = [")
    for key, value in later:
        name = [*path, _key(draw, key)]
        for each in value if isinstance(value, list) else [value]:
            assert isinstance(each, dict)
            header = ".".join(name)
            lines.append(f"[[{header}]]" if isinstance(value, list) else f"\t[ {header} ]")
            _write_table(draw, each, name, lines)


def _key(draw: st.DrawFn, key: str) -> str:
    if key and key.isascii() and key.replace("-", "").isalnum() and draw(st.booleans()):
        return key
    if "'" not in key and draw(st.booleans()):
        return f"'{key}'"
    return json.dumps(key, ensure_ascii=draw(st.booleans()))


def _value(draw: st.DrawFn, value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _string(draw, value)
        case list():
            gap = draw(st.sampled_from(["", " ", "\n", " # ]\n  "]))
            return f"[{gap}{f'{gap},{gap}'.join(_value(draw, each) for each in value)}{gap}]"
        case dict():
            return "{" + ", ".join(f"{_key(draw, key)} = {_value(draw, each)}" for key, each in value.items()) + "}"
        case _:
            return str(value)


def _string(draw: st.DrawFn, value: str) -> str:
    styles = [json.dumps(value, ensure_ascii=False)]
    if "'" not in value:
        styles.append(f"'''\n{value}'''")
        if "\n" not in value:
            styles.append(f"'{value}'")
    if '"""' not in value:
        escaped = value.replace("\\", "\\\\")
        styles.append(f'"""\n{escaped}"""' if not escaped.endswith('"""') else f'"""{escaped}\\\n """')
    return draw(st.sampled_from(styles))


@pytest.mark.slow
@settings(deadline=None)
@given(documents())
def test_spans_cover_the_values_of_any_document(text: str) -> None:
    root = parsed(text)
    assert to_json(root) == tomli.loads(text)
    _check_spans(root, text)


def _check_spans(node: Node, text: str) -> None:
    written = covered(text, node.span)
    match node:
        case Scalar():
            assert tomli.loads(f"v = {written}") == {"v": node.value}
        case Sequence():
            if not written.startswith("[["):
                assert tomli.loads(f"v = {written}") == {"v": to_json(node)}
            for item in node.items:
                _check_spans(item, text)
        case Mapping():
            if written.startswith("{"):
                assert tomli.loads(f"v = {written}") == {"v": to_json(node)}
            for entry in node.entries:
                assert list(tomli.loads(f"{covered(text, entry.key_span)} = 0")) == [entry.key]
                _check_spans(entry.value, text)


@settings(deadline=None)
@given(st.text(st.sampled_from("ab1 \n\t.=[]{},\"'#\\-:é{}"), max_size=40))
def test_no_text_breaks_the_loader(text: str) -> None:
    root, found = parse(text)
    assert (root is None) <= bool(found)
    assert all(1 <= int(each.split(":")[0]) <= text.count("\n") + 1 for each in found)


def test_first_of_two_equal_keys_is_used() -> None:
    root, found = parse('toolc = 1\r\nname = "a"\r\nname = "b"\r\nother = 1\r\nname = "c"\r\n')

    assert root is not None
    assert to_json(root) == {"toolc": 1, "name": "a", "other": 1}
    message = "TC002 the key 'name' is already defined, or is in a table that cannot be extended"
    assert found == [f"3:1-5 {message}", f"5:1-5 {message}"]


@pytest.mark.parametrize("end", ["name = [1,\n  2]\n", "[a.b]\n[a.b]\n", "name = 1\nx =\n"])
def test_only_duplicate_keys_are_reported_if_the_rest_cannot_be_read(end: str) -> None:
    root, found = parse(f'toolc = 1\nname = "a"\n{end}')

    assert root is None
    assert [each.split(" ")[1] for each in found] == ["TC002"]
