"""YAML has the meaning of YAML 1.2, every problem has a position, and no input breaks the loader."""

import json
import time

import pytest
import yaml
from compiling.places import covered, finding_lines
from hypothesis import given, settings
from hypothesis import strategies as st

from toolc.document.nodes import Mapping, Node, Scalar, Sequence, to_json
from toolc.document.yaml.yaml_parser import parse_yaml
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText


def parse(text: str) -> tuple[Node | None, list[str]]:
    """Return the root, and each finding as ``line:column-end code message``."""
    diagnostics = Diagnostics()
    root = parse_yaml(SourceText("a.yaml", text), diagnostics)
    return root, finding_lines(diagnostics)


def value(text: str) -> object:
    root, findings = parse(text)
    assert findings == []
    assert root is not None
    return to_json(root)


def findings(text: str) -> list[str]:
    return parse(text)[1]


# Values of scalars


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None), ("true", True), ("False", False), ("0", 0),
        ("-17", -17), ("+5", 5), ("0x1F", 31), ("1.10", 1.1), ("-0.5", -0.5), (".5", 0.5),
        ("9007199254740991", 2**53 - 1), ("1.2.3", "1.2.3"), ("30s", "30s"), ("nULL", "nULL"), ("'true'", "true"),
        ('"1"', "1"), ("!!str 1", "1"), ("!!int 0x10", 16), ("!!float 1", 1.0), ("!!bool 'true'", True),
        ("|\n  two\n  lines\n", "two\nlines\n"), (">-\n  one\n  line\n", "one line"), ('"\\u2028\\0"', "\u2028\0"),
        ("a # comment", "a"),
    ],
)  # fmt: skip
def test_scalars_follow_the_core_schema(text: str, meaning: object) -> None:
    found = value(f"k: {text}")
    assert found == {"k": meaning}
    assert isinstance(found, dict)
    assert type(found["k"]) is type(meaning)


@pytest.mark.parametrize(
    ("text", "here", "there"),
    [
        ("no", 'the text "no"', "false"), ("Yes", 'the text "Yes"', "true"), ("ON", 'the text "ON"', "true"),
        ("off", 'the text "off"', "false"), ("y", 'the text "y"', "true"),
        ("22:22", 'the text "22:22"', "the number 1342"), ("12:30:00", 'the text "12:30:00"', "the number 45000"),
        ("012", "the number 12", "the number 10"), ("08", "the number 8", 'the text "08"'),
        ("0o14", "the number 12", 'the text "0o14"'), ("0b11", 'the text "0b11"', "the number 3"),
        ("1_000", 'the text "1_000"', "the number 1000"),
        ("1_00000000000000000000", 'the text "1_00000000000000000000"', "a number with many digits"),
        ("1e3", "the number 1000.0", 'the text "1e3"'),
        ("2026-11-21", 'the text "2026-11-21"', "the date 2026-11-21"),
        ("2026-13-45", 'the text "2026-13-45"', "an invalid date"),
    ],
)  # fmt: skip
def test_values_that_differ_in_yaml_1_1_are_warnings(text: str, here: str, there: str) -> None:
    assert findings(f"k: {text}") == [
        f"1:4-{4 + len(text)} TC003 {text} is {here} in YAML 1.2, but {there} in YAML 1.1"
    ]


def test_quoted_values_are_not_ambiguous() -> None:
    assert value("{'on': 'no', 'no': \"22:22\", a: yes and no}") == {"on": "no", "no": "22:22", "a": "yes and no"}


@pytest.mark.parametrize(
    ("key", "there"), [("on", "true"), ("No", "false"), ("22:22", "the number 1342"), ("1_000", "the number 1000")]
)
def test_keys_that_differ_in_yaml_1_1_are_warnings(key: str, there: str) -> None:
    root, found = parse(f"{key}: a")
    assert root is not None
    assert to_json(root) == {key: "a"}
    assert found == [f'1:1-{1 + len(key)} TC003 {key} is the text "{key}" in YAML 1.2, but {there} in YAML 1.1']


def test_y_and_n_are_valid_keys() -> None:
    assert value("{x: 1, y: 2, n: 3}") == {"x": 1, "y": 2, "n": 3}


# Problems and their positions


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", ["3:1-2 TC002 the key 'a' is already on line 1"]),
        ("{a: 1, 'a': 2}", ["1:8-11 TC002 the key 'a' is already on line 1"]),
        ("1: a", ["1:1-2 TC007 the key 1 is a number, but keys must be strings"]),
        ("true: a", ["1:1-5 TC007 the key true is a boolean, but keys must be strings"]),
        ("~: a", ["1:1-2 TC007 the key ~ is null, but keys must be strings"]),
        ("? [a]\n: b", ["1:3-6 TC007 a key must be text, not a list or a map"]),
        ("&b 12: x", ["1:4-6 TC007 the key 12 is a number, but keys must be strings"]),
        ("a: x\n&b a: z", ["2:4-5 TC002 the key 'a' is already on line 1"]),
        ("&b {c: d}: e", ["1:4-10 TC007 a key must be text, not a list or a map"]),
        ("a: &b {}\n<<: *b", ["2:1-3 TC005 merge keys are not part of YAML 1.2"]),
        ("a: &b [*b]", ["1:4-11 TC005 this contains an alias to itself"]),
        ("a: *b", ["1:4-6 TC005 there is no anchor with this name above the alias"]),
        ("a: &b 1\nc: &b 2", ["2:4-6 TC005 another anchor has the same name"]),
        ("a: !x 1", ["1:4-8 TC006 the tag !x has no meaning in a spec"]),
        ("a: !!python/name:os.system {}", ["1:4-30 TC006 the tag !!python/name:os.system has no meaning in a spec"]),
        ("a: !!int x", ["1:4-11 TC108 'x' is not a valid !!int"]),
        ("a: !b!c 1", ["1:4-8 TC006 an unquoted '!' starts a YAML tag, and this tag is not valid"]),
        ("a: .inf", ["1:4-8 TC010 .inf is not a number in JSON"]),
        ("a: -.INF", ["1:4-9 TC010 -.INF is not a number in JSON"]),
        ("a: .nan", ["1:4-8 TC010 .nan is not a number in JSON"]),
        ("a: 1.0e+999", ["1:4-12 TC010 1.0e+999 is not a number in JSON"]),
        (
            "a: 9007199254740992",
            ["1:4-20 TC011 9007199254740992 is beyond ±9007199254740991, the limit for exact integers in JSON"],
        ),
        ("a: &b {{ x }}", ["1:7-14 TC110 {{ x }} must be in quotes, because its braces would open a map"]),
        ("a: &b .nan", ["1:7-11 TC010 .nan is not a number in JSON"]),
        ("a: 1\n---\nb: 2\n", ["3:1-5 TC008 a second YAML document starts here, but a spec file has only one"]),
        ("a: b\n---", ["2:4-4 TC008 a second YAML document starts here, but a spec file has only one"]),
        ("a: !%x 1", ["1:4-7 TC006 an unquoted '!' starts a YAML tag, and this tag is not valid"]),
        ("a: x\u2028y", ["1:5-6 TC009 YAML does not allow the character U+2028 here"]),
        ("a:\n\tb: 1", ["2:1-2 TC009 YAML does not allow tabs for indentation"]),
    ],
)
def test_invalid_content_is_reported(text: str, expected: list[str]) -> None:
    assert findings(text) == expected


def test_all_problems_of_a_file_are_reported() -> None:
    text = "a: {b: 1, b: 2}\n1: no\nc: [.inf, {{ path }}]\n<<: x\n"
    assert [finding.split()[1] for finding in findings(text)] == ["TC002", "TC007", "TC003", "TC010", "TC110", "TC005"]


def test_an_integer_of_thousands_of_digits_is_a_finding() -> None:
    assert findings(f"a: {'9' * 10_000}")[0].startswith("1:4-10004 TC011 9999")


# Placeholders without quotes


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a: {{ path }}", ["{{ path }}"]),
        ("a: [wc, {{ path }}, {{ x.y }}]", ["{{ path }}", "{{ x.y }}"]),
        ("{{ a }}: b", ["{{ a }}"]),
        ("a: {{ x }}/y\nb: 1", ["{{ x }}/y"]),
        ("a: {{ x }} and {{ y }} # why\nb: 1", ["{{ x }} and {{ y }}"]),
        ("a: [w, --o={{ x }}, {{ y }}/z]", ["--o={{ x }}", "{{ y }}/z"]),
        ("- w\n- {{ x }}/y\n- {{ z }}/y", ["{{ x }}/y", "{{ z }}/y"]),
        ("a: {{ x | join(',') }}\nb: 1", ["{{ x | join(',') }}"]),
        ("a: {{ x['k'] }}", ["{{ x['k'] }}"]),
        ("a: '{{ q }}' # {{ c }}\nb: {{ x }}y", ["{{ x }}y"]),
    ],
)
def test_unquoted_placeholders_are_reported(text: str, wrong: list[str]) -> None:
    diagnostics = Diagnostics()
    parse_yaml(SourceText("a.yaml", text), diagnostics)
    found = diagnostics.sorted()
    assert [each.code.number for each in found] == ["TC110"] * len(wrong)
    assert [covered(text, each.span) for each in found] == wrong
    assert [each.hint for each in found] == [f'write "{each}"' for each in wrong]
    assert found[0].message == f"{wrong[0]} must be in quotes, because its braces would open a map"


def test_the_hint_avoids_escape_sequences() -> None:
    diagnostics = Diagnostics()
    parse_yaml(SourceText("a.yaml", 'a: {{ x["k"] }}'), diagnostics)
    assert [each.hint for each in diagnostics.sorted()] == ["write '{{ x[\"k\"] }}'"]


def test_other_problems_are_reported_with_a_placeholder() -> None:
    assert [each.split()[:2] for each in findings("a: {{ x }}/y\nb: 1\nb: 2\n")] == [
        ["1:4-13", "TC110"],
        ["3:1-2", "TC002"],
    ]


def test_errors_caused_by_missing_quotes_are_not_reported() -> None:
    assert [each.split()[1] for each in findings("a: {{ x }}/y, {z\n")] == ["TC110"]


# Depth and aliases


@pytest.mark.slow
@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "? "])
def test_deep_nesting_is_rejected_without_a_crash(opening: str) -> None:
    assert [each.split(maxsplit=1)[1] for each in findings(opening * 20_000)] == [
        "TC012 lists and maps nested deeper than 100 levels"
    ]


def test_a_hundred_levels_are_allowed() -> None:
    assert findings("[" * 100 + "]" * 100) == []
    assert findings("[" * 101 + "]" * 101) == ["1:101-103 TC012 lists and maps nested deeper than 100 levels"]


def test_aliases_are_resolved() -> None:
    assert value("a: &x {b: [1]}\nc: *x\nd: [*x, *x]") == {
        "a": {"b": [1]},
        "c": {"b": [1]},
        "d": [{"b": [1]}, {"b": [1]}],
    }


def test_exponential_aliases_are_rejected_fast() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20)
    )
    started = time.process_time()
    found = findings(bomb)
    assert time.process_time() - started < 5
    assert {each.split()[1] for each in found} == {"TC005"}
    assert "the file's aliases expand to more than 10000 values, including this one" in found[0]


def test_many_small_aliases_exceed_the_limit() -> None:
    many = f"a: &a [x]\nb: [{', '.join(['*a'] * 5001)}]\n"
    assert findings(many) == ["1:4-10 TC005 the file's aliases expand to more than 10000 values, including this one"]
    assert findings(many.replace("*a, ", "", 1)) == []


def test_aliases_count_for_the_depth() -> None:
    layers = "".join(f"a{n}: &a{n} {'[' * 40}{f'*a{n - 1}' if n else ''}{']' * 40}\n" for n in range(4))
    assert {each.split()[1] for each in findings(layers)} == {"TC012"}


# Positions


@pytest.mark.usefixtures("both_parsers")
def test_keys_and_values_have_spans() -> None:
    text = "a: plain text # why\n\"b\": 'q'\nc:\n  - x\n  - {d: [1,\n     2]}\n\ne: |\n  block\n\n\nf:\n# end\n"
    root, _ = parse(text)
    assert isinstance(root, Mapping)
    assert [covered(text, entry.key_span) for entry in root.entries] == ["a", '"b"', "c", "e", "f"]
    assert [covered(text, entry.value.span) for entry in root.entries] == [
        "plain text",
        "'q'",
        "- x\n  - {d: [1,\n     2]}",
        "|\n  block",
        "",
    ]
    items = root.get("c")
    assert isinstance(items, Sequence)
    assert [covered(text, item.span) for item in items.items] == ["x", "{d: [1,\n     2]}"]
    assert covered(text, root.span) == text[: text.index("f:") + 2]


@pytest.mark.usefixtures("both_parsers")
def test_spans_exclude_anchors_and_tags() -> None:
    text = "a: &x no\nb: !!str &y 1\nc: [&z , &w 'q']\nd: &v !!str |\n  block\ne: &u\n  below\nf: *x\n"
    root, _ = parse(text)
    assert isinstance(root, Mapping)
    assert [covered(text, scalar.span) for scalar in scalars(root)] == [
        "no", "1", "&z", "'q'", "|\n  block", "&u\n  below", "no",
    ]  # fmt: skip


def test_columns_count_characters_and_lines_may_end_in_crlf() -> None:
    root, _ = parse("a: '😀é'\r\nb: x\r\n")
    assert isinstance(root, Mapping)
    assert [str(entry.value.span) for entry in root.entries] == ["a.yaml:1:4", "a.yaml:2:4"]
    assert [entry.value.span.end.column for entry in root.entries] == [8, 5]


def test_only_unquoted_scalars_are_plain() -> None:
    root, _ = parse("[1, '1', a, !!str a]")
    assert isinstance(root, Sequence)
    assert [item.plain for item in root.items if isinstance(item, Scalar)] == [True, False, True, False]


# Random documents


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufffe\uffff\ufeff")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcßñ_- :#'\"", min_size=1), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(deadline=None)
@given(json_values)
def test_json_is_valid_yaml(document: object) -> None:
    text = json.dumps({"k": document}, ensure_ascii=False, indent=1)
    root, found = parse(text)
    assert root is not None
    assert to_json(root) == {"k": document}
    assert {each.split()[1] for each in found} <= {"TC003"}


def scalars(node: Node) -> list[Scalar]:
    match node:
        case Scalar():
            return [node]
        case Sequence():
            return [scalar for item in node.items for scalar in scalars(item)]
        case Mapping():
            return [scalar for entry in node.entries for scalar in scalars(entry.value)]


@pytest.mark.slow
@settings(deadline=None)
@given(json_values)
def test_every_span_covers_the_text_of_its_value(document: object) -> None:
    text = yaml.safe_dump({"k": document}, allow_unicode=True, default_flow_style=None, width=40)
    root, _ = parse(text)
    assert root is not None
    for scalar in scalars(root):
        again, _ = parse(f"- {covered(text, scalar.span)}")
        assert again is not None
        assert to_json(again) == [scalar.value]


@settings(deadline=None)
@given(st.text(st.sampled_from("ab1 \n\t:-?[]{},&*!|>'\"%@`#<~.{}\\é\u2028\r/"), max_size=60))
def test_no_text_breaks_the_loader(text: str) -> None:
    root, found = parse(text)
    assert all(1 <= int(each.split(":")[0]) <= text.count("\n") + text.count("\r") + 1 for each in found)
    if root is None and not found:
        assert yaml.compose(text, yaml.SafeLoader) is None, "nothing but comments"
    if root is not None:
        json.dumps(to_json(root))


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_their_value(number: float) -> None:
    root, _ = parse(f"- {number}")
    assert root is not None
    assert to_json(root) == [number]


@pytest.mark.parametrize("text", ["0" * 5000, "-" + "0" * 5000 + "7", "1_" * 5000, "1:0" * 20_000, "9" * 5000])
def test_numbers_with_thousands_of_digits_are_reported(text: str) -> None:
    assert findings(f"k: {text}")
    assert len(findings(f"k: {text}")) < 5
