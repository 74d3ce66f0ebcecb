"""Text that libyaml accepts and YAML 1.2 reads differently. Names such as 652Z are cases of the YAML test suite."""

from __future__ import annotations

import pytest
import yaml
from places import shown

from toolc.document.nodes import to_json
from toolc.document.yaml.parser import parse_yaml
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText


@pytest.fixture(params=["libyaml", "pure"])
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)


QUESTION = "only some YAML parsers read a '?' at the start of text without quotes as part of the text"
COMMENT = "a comment must have a space before its '#'"


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{ ?foo: bar, bar: 42 }\n", f"1:3-4 TC001 {QUESTION}", id="652Z"),
        pytest.param("- [?x]\n", f"1:4-5 TC001 {QUESTION}", id="HM87"),
        pytest.param("é: [😀, ?x]\n", f"1:8-9 TC001 {QUESTION}", id="beside other characters"),
        pytest.param(
            "k: &an:chor v\n", "1:7-8 TC001 YAML parsers disagree about a ':' in the name of an anchor", id="Y2GN"
        ),
        pytest.param("- ! 12\n", "1:3-4 TC006 the tag ! has no meaning in a spec", id="S4JQ"),
    ],
)
def test_what_is_read_in_two_ways_is_refused(text: str, expected: str) -> None:
    assert findings(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('k: "v"#c\n', f"1:7-8 TC001 {COMMENT}", id="SU5Z"),
        pytest.param("k: 'v'#c\n", f"1:7-8 TC001 {COMMENT}", id="single quotes"),
        pytest.param("[ a, b ]#c\n", f"1:9-10 TC001 {COMMENT}", id="9JBA"),
        pytest.param("{ a: b }#c\n", f"1:9-10 TC001 {COMMENT}", id="braces"),
        pytest.param("[ a,#c\n b ]\n", f"1:5-6 TC001 {COMMENT}", id="CVW2"),
        pytest.param("k: >#c\n  v\n", f"1:5-6 TC001 {COMMENT}", id="X4QW"),
        pytest.param("k: |-2#c\n  v\n", f"1:7-8 TC001 {COMMENT}", id="block with indicators"),
        pytest.param("- [-, -]\n", "1:4-5 TC001 a single '-' is not a value in YAML 1.2", id="G5U8"),
    ],
)
def test_what_other_readers_refuse_is_refused(text: str, expected: str) -> None:
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
def test_what_only_looks_so_is_read(text: str, value: object) -> None:
    diagnostics = Diagnostics()
    root = parse_yaml(SourceText("a.yaml", text), diagnostics)
    assert diagnostics.sorted() == ()
    assert root is not None
    assert to_json(root) == value


def findings(text: str) -> list[str]:
    diagnostics = Diagnostics()
    parse_yaml(SourceText("a.yaml", text), diagnostics)
    return shown(diagnostics)
