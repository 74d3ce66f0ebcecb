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
