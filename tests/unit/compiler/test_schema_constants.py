"""The declared kinds of keys that have a form of their own in the schema for editors."""

from typing import Any, Final

from toolc.compiler.decode.tool import PROVIDERS
from toolc.compiler.editor_schema import spec_schema
from toolc.compiler.project.variables import IDENTITY
from toolc.model.spec.tool import STRICT

SPEC: Final[Any] = spec_schema()
TOOL: Final = SPEC["$defs"]


def test_the_providers_match_the_code() -> None:
    providers = TOOL["providers"]["properties"]
    assert tuple(providers) == PROVIDERS
    assert {name for name, schema in providers.items() if "strict" in schema["properties"]} == {*STRICT}


def test_each_map_of_a_tool_refers_to_the_definitions_of_its_keys() -> None:
    assert [*TOOL["single"]["properties"]] == ["toolc", *TOOL["tool"]["properties"]]
    assert [*TOOL["tool"]["properties"]] == [name for name in TOOL if name in TOOL["tool"]["properties"]]
    assert {*TOOL["tool"]["properties"]} == {*IDENTITY, *TOOL["defaults"]["properties"]}
    assert all(schema == {"$ref": f"#/$defs/{name}"} for name, schema in TOOL["tool"]["properties"].items())
