import pytest

from toolc.model.template import Filter, Placeholder, Template, TemplateError, evaluate


def test_strings_are_inserted_unchanged_and_other_values_as_json() -> None:
    template = Template(("a=", Placeholder("a"), " b=", Placeholder("b"), "\n"))
    assert template.render({"a": "x y\n", "b": {"k": [1, True, None]}}) == 'a=x y\n b={"k":[1,true,null]}\n'


def test_rendered_text_is_not_a_template() -> None:
    assert Template((Placeholder("a"),)).render({"a": "{{ a }}"}) == "{{ a }}"


def test_keys_access_objects_but_not_attributes() -> None:
    assert evaluate(Placeholder("a", ("b", "c")), {"a": {"b": {"c": 7}}}) == 7
    with pytest.raises(
        TemplateError, match=r"argument 'a' has no key '__class__' \(needed for '\{\{ a.__class__ \}\}'\)"
    ):
        evaluate(Placeholder("a", ("__class__",)), {"a": {}})


@pytest.mark.parametrize(
    ("filters", "value", "expected"),
    [
        ((Filter("join", ", "),), ["a", 1], "a, 1"), ((Filter("json"),), "ä", '"ä"'), ((Filter("upper"),), "ä", "Ä"),
        ((Filter("lower"),), "Ä", "ä"), ((Filter("trim"), Filter("upper")), " a ", "A"),
        ((Filter("urlencode"),), "a/b c&d", "a%2Fb%20c%26d"),
    ],
)  # fmt: skip
def test_filters_are_applied(filters: tuple[Filter, ...], value: str, expected: str) -> None:
    assert evaluate(Placeholder("a", (), filters), {"a": value}) == expected


def test_a_filter_rejects_values_of_the_wrong_type() -> None:
    with pytest.raises(TemplateError, match="the filter 'join' needs an array, not 3"):
        evaluate(Placeholder("a", (), (Filter("join"),)), {"a": 3})


def test_a_placeholder_alone_keeps_its_type() -> None:
    assert Template((Placeholder("a"),)).sole_placeholder == Placeholder("a")
    assert Template(("x", Placeholder("a"))).sole_placeholder is None
    assert Template(()).render({}) == ""
