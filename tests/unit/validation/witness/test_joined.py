"""Two schemas in one: which of their parts are the same."""

import pytest

from toolc.validation.witness.joined import Joined

ANNOTATIONS = (
    "$comment", "$schema", "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema", "default",
    "deprecated", "description", "examples", "readOnly", "title", "writeOnly",
)  # fmt: skip


@pytest.mark.parametrize("keyword", ANNOTATIONS)
def test_an_annotation_makes_no_other_schema(keyword: str) -> None:
    joined = Joined.of({"type": "string"}, {"type": "string", keyword: {}})
    assert joined.key(joined.old) == joined.key(joined.new)


@pytest.mark.parametrize(("keyword", "is_same"), [("allOf", True), ("anyOf", True), ("oneOf", False)])
def test_a_repeated_member_makes_another_schema_only_in_one_of(keyword: str, *, is_same: bool) -> None:
    joined = Joined.of({keyword: [{"type": "string"}] * 2}, {keyword: [{"type": "string"}]})
    assert (joined.key(joined.old) == joined.key(joined.new)) is is_same
