"""``result.select`` and ``result.template``, both within the output limit."""

import re

import pytest

from toolc.guest.context import ToolError
from toolc.guest.http.shaping import shape


@pytest.mark.parametrize(
    ("text", "data", "select", "template", "content", "structured"),
    [
        ("ignored", [{"a": [1, {"b": "ü"}]}], "a[1]", None, '{"b":"ü"}', [{"b": "ü"}]),
        ('{"a": 1}\n', None, "a", None, "1", [1]),
        ("{}", None, "a", "{{ result is none }}", "True", [None]),
        ("words", [{"n": 2}], None, "{{ result.n }} {{ text }} {{ args.who }}", "2 words you", [{"n": 2}]),
        ("words\n", None, None, "<{{ result | trim }}>", "<words>", None),
    ],
    ids=["selection", "selection from text", "no match is null", "template", "no data"],
)
def test_a_selection_is_the_data_and_a_template_the_text(
    text: str, data: list[object] | None, select: str | None, template: str | None, content: str, structured: object
) -> None:
    found = shape(text, data, select, template, {"who": "you"}, 100)
    assert (found.content, found.structured) == (content, structured)


@pytest.mark.parametrize(
    ("text", "select", "template", "kind", "message"),
    [
        (
            "oops <b>\n",
            "a",
            None,
            "serialization",
            (
                "result.select requires JSON, but the output is not JSON: Expecting value: line 1 column 1 (char 0). "
                "It begins with: oops <b>"
            ),
        ),
        ("[1]", "length(@[0])", None, "serialization", r"length\(@\[0\]\) cannot be applied to the data: .*"),
        ("x", None, "{{ 1 // 0 }}", "serialization", "result.template cannot be applied to the data: .*zero"),
        ("x", None, "{{ text.__class__ }}{{ text.__class__.mro() }}", "serialization", ".*unsafe.*"),
        ('"12345678901"', "@", None, "output_limit", "the result has 13 bytes; the maximum is 10; .*"),
        ("x", None, "{% for _ in range(9) %}12{% endfor %}", "output_limit", "the result has 12 bytes; .*"),
    ],
)
def test_a_selection_or_template_that_fails_is_an_error(
    text: str, select: str | None, template: str | None, kind: str, message: str
) -> None:
    with pytest.raises(ToolError) as raised:
        shape(text, None, select, template, {}, 10)
    assert raised.value.kind == kind
    assert str(raised.value) == message or re.fullmatch(message, str(raised.value))
