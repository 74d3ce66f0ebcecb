from __future__ import annotations

import pytest

from toolc.model.template import Filter, Placeholder, Template, TemplateError, evaluate


def test_strings_stand_as_they_are_and_the_rest_as_compact_json() -> None:
    template = Template(("a=", Placeholder("a"), " b=", Placeholder("b"), "\n"))
    assert template.render({"a": "x y\n", "b": {"k": [1, True, None]}}) == 'a=x y\n b={"k":[1,true,null]}\n'


def test_rendered_text_is_never_read_as_a_template_again() -> None:
    assert Template((Placeholder("a"),)).render({"a": "{{ a }}"}) == "{{ a }}"


def test_keys_reach_into_objects_and_never_attributes() -> None:
    assert evaluate(Placeholder("a", ("b", "c")), {"a": {"b": {"c": 7}}}) == 7
    with pytest.raises(
        TemplateError, match=r"argument 'a' has no key '__class__' \(needed for '\{\{ a.__class__ \}\}'\)"
    ):
        evaluate(Placeholder("a", ("__class__",)), {"a": {}})


@pytest.mark.parametrize(
    ("filters", "value", "expected"),
    [
        ((Filter("join", ", "),), ["a", 1], "a, 1"),
        ((Filter("json"),), "ä", '"ä"'),
        ((Filter("upper"),), "ä", "Ä"),
        ((Filter("lower"),), "Ä", "ä"),
        ((Filter("trim"), Filter("upper")), " a ", "A"),
        ((Filter("urlencode"),), "a/b c&d", "a%2Fb%20c%26d"),
    ],
)
def test_filters(filters: tuple[Filter, ...], value: str, expected: str) -> None:
    assert evaluate(Placeholder("a", (), filters), {"a": value}) == expected


def test_a_filter_that_cannot_take_a_value_says_so() -> None:
    with pytest.raises(TemplateError, match="the filter 'join' needs an array, not 3"):
        evaluate(Placeholder("a", (), (Filter("join"),)), {"a": 3})


def test_a_placeholder_alone_keeps_its_type() -> None:
    assert Template((Placeholder("a"),)).sole_placeholder == Placeholder("a")
    assert Template(("x", Placeholder("a"))).sole_placeholder is None
    assert Template(()).render({}) == ""
