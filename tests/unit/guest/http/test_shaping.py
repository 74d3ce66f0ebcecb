"""``result.select`` and ``result.template``, both within the output limit."""

import re

import pytest

from toolc.guest.context import ToolError
from toolc.guest.http.shaping import shape


def test_a_selection_is_the_data_and_its_json_the_text() -> None:
    found = shape("ignored", [{"a": [1, {"b": "ü"}]}], "a[1]", None, {}, 100)
    assert (found.content, found.structured) == ('{"b":"ü"}', [{"b": "ü"}])


def test_select_is_applied_to_json_text() -> None:
    assert shape('{"a": 1}\n', None, "a", None, {}, 100).structured == [1]


def test_a_selection_without_a_match_is_null() -> None:
    found = shape("{}", None, "a", "{{ result is none }}", {}, 100)
    assert (found.content, found.structured) == ("True", [None])


def test_a_template_has_the_data_the_text_and_the_arguments() -> None:
    template = "{{ result.n }} {{ text }} {{ args.who }}"
    found = shape("words", [{"n": 2}], None, template, {"who": "you"}, 100)
    assert (found.content, found.structured) == ("2 words you", [{"n": 2}])


def test_without_data_the_result_is_the_text_and_stays_text() -> None:
    found = shape("words\n", None, None, "<{{ result | trim }}>", {}, 100)
    assert (found.content, found.structured) == ("<words>", None)


@pytest.mark.parametrize(
    ("text", "select", "template", "kind", "message"),
    [
        (
            "oops <b>\n",
            "a",
            None,
            "serialization",
            (
                "the output is not JSON, which result.select requires: Expecting value: line 1 column 1 (char 0); "
                "it begins: oops <b>"
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
