"""Text that libyaml accepts and YAML 1.2 reads differently. Names such as 652Z are cases of the YAML test suite."""

import pytest
from compiling.places import finding_lines

from toolc.document.nodes import to_json
from toolc.document.yaml.yaml_parser import parse_yaml
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText

QUESTION = "only some YAML parsers read a '?' at the start of text without quotes as part of the text"
COMMENT = "a comment must have a space before its '#'"


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ ?foo: bar, bar: 42 }\n", f"1:3-4 TC001 {QUESTION}"),
        ("- [?x]\n", f"1:4-5 TC001 {QUESTION}"),
        ("é: [😀, ?x]\n", f"1:8-9 TC001 {QUESTION}"),
        ("k: &an:chor v\n", "1:7-8 TC001 YAML parsers disagree about a ':' in the name of an anchor"),
        ("- ! 12\n", "1:3-4 TC006 the tag ! has no meaning in a spec"),
    ],
)
def test_ambiguous_yaml_is_rejected(text: str, expected: str) -> None:
    assert findings(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('k: "v"#c\n', f"1:7-8 TC001 {COMMENT}"),
        ("k: 'v'#c\n", f"1:7-8 TC001 {COMMENT}"),
        ("[ a, b ]#c\n", f"1:9-10 TC001 {COMMENT}"),
        ("{ a: b }#c\n", f"1:9-10 TC001 {COMMENT}"),
        ("[ a,#c\n b ]\n", f"1:5-6 TC001 {COMMENT}"),
        ("k: >#c\n  v\n", f"1:5-6 TC001 {COMMENT}"),
        ("k: |-2#c\n  v\n", f"1:7-8 TC001 {COMMENT}"),
        ("- [-, -]\n", "1:4-5 TC001 a single '-' is not a value in YAML 1.2"),
    ],
)
def test_yaml_that_other_parsers_reject_is_rejected(text: str, expected: str) -> None:
    assert findings(text)[0] == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: x?y\n", {"a": "x?y"}),
        ("? a\n: b\n", {"a": "b"}),
        ("{? a : b}\n", {"a": "b"}),
        ("a: 'is it [?x]'\n", {"a": "is it [?x]"}),
        ("a: &b 1\nc: *b\n", {"a": 1, "c": 1}),
        ("a: 'x &y:z'\n", {"a": "x &y:z"}),
        ("a: Hello !\n", {"a": "Hello !"}),
        ("a: say ! twice\n", {"a": "say ! twice"}),
        ("a: 'b' # c\n", {"a": "b"}),
        ("a: b#c\n", {"a": "b#c"}),
        ("a: x]#c\n", {"a": "x]#c"}),
        ('a: "x\'#c"\n', {"a": "x'#c"}),
        ("a: |\n  [b]#c\n", {"a": "[b]#c\n"}),
        ("a: [b, '-']\n", {"a": ["b", "-"]}),
        ("a: [-1, --]\n", {"a": [-1, "--"]}),
        ('# [?x] &a:b ! "#\n- 1\n', [1]),
    ],
)
def test_similar_but_valid_yaml_is_accepted(text: str, value: object) -> None:
    diagnostics = Diagnostics()
    root = parse_yaml(SourceText("a.yaml", text), diagnostics)
    assert diagnostics.sorted() == ()
    assert root is not None
    assert to_json(root) == value


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('k: !!str "a\nb"\n', "2:1-3"), ('k: !!str "a\nb"', "2:1-3"), ("k: &x 'a\nb'\nc: d\n", "2:1-3"),
        ('k: !!str "a\n\nb"\n', "3:1-3"), ('l: 1\nk: !!str "a\nb"\nc: d\n', "3:1-3"),
        ('l:\n  k: "a\n  b"\n', "3:3-5"),
    ],
)  # fmt: skip
def test_a_line_of_a_quoted_value_that_is_not_indented_deeper_is_rejected(text: str, place: str) -> None:
    message = "TC001 this line continues the value of line"
    (finding,) = findings(text)
    assert finding.startswith(f"{place} {message}")


@pytest.mark.parametrize("text", ['k: !!str "a\n b"\n', "k: &x 'a\n b'\n", "# a: '\nk: |\n  b\n"])
def test_an_indented_line_is_accepted(text: str) -> None:
    assert findings(text) == []


def findings(text: str) -> list[str]:
    diagnostics = Diagnostics()
    parse_yaml(SourceText("a.yaml", text), diagnostics)
    return finding_lines(diagnostics)
