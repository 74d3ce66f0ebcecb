"""The lists, limits and patterns of ``data/schemas.yaml`` are those of the constants in the code."""

from collections.abc import Iterator
from typing import Any, Final, get_args

import pytest

from toolc.compiler.decode.tool import PROVIDERS, STRICT
from toolc.compiler.editor_schema import project_schema, spec_schema
from toolc.compiler.project.limits import MIN_FILES, MIN_PIDS
from toolc.compiler.project.policy import GRADES, RISK
from toolc.compiler.project.settings import HOST
from toolc.compiler.project.variables import IDENTITY
from toolc.compiler.schema.dialects import PATTERN
from toolc.compiler.schema.parameters import RESERVED, WITHOUT_PROPERTIES
from toolc.model.spec.code_backends import ErrorKind
from toolc.model.spec.composed_backends import AgentProvider, Strategy
from toolc.model.spec.http_backend import Method
from toolc.model.spec.sandbox import Commit, Expose, Lifetime, MinIsolation, WorkspaceMode
from toolc.model.spec.tool import FORMAT, ResultFormat
from toolc.policy.policy import BackendKind, RequiredField

SPEC: Final[Any] = spec_schema()
PROJECT: Final[Any] = project_schema()
TOOL: Final = SPEC["$defs"]
HTTP: Final = TOOL["backend"]["properties"]["http"]["properties"]
SANDBOX: Final = TOOL["sandbox"]["properties"]
POLICY: Final = PROJECT["properties"]["policy"]["properties"]

ERROR_KINDS: Final = get_args(ErrorKind)
JSON_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object", "null")
LISTS: Final = [
    (TOOL["backend"]["properties"]["shell"]["properties"]["errors"], ERROR_KINDS), (HTTP["method"], get_args(Method)),
    (HTTP["errors"]["anyOf"][0], ERROR_KINDS), (HTTP["errors"]["anyOf"][1], ERROR_KINDS),
    (TOOL["backend"]["properties"]["composite"]["properties"]["strategy"], get_args(Strategy)),
    (TOOL["backend"]["properties"]["agent"]["properties"]["provider"], get_args(AgentProvider)),
    (TOOL["result"]["properties"]["format"], get_args(ResultFormat)),
    (TOOL["retry"]["properties"]["kinds"], ERROR_KINDS),
    (TOOL["tests"]["items"]["properties"]["expect"]["properties"]["error"], ERROR_KINDS),
    (SANDBOX["workspace"]["anyOf"][0], get_args(WorkspaceMode)),
    (SANDBOX["workspace"]["anyOf"][1]["properties"]["mode"], get_args(WorkspaceMode)),
    (SANDBOX["workspace"]["anyOf"][1]["properties"]["commit"], get_args(Commit)),
    (SANDBOX["secrets"], get_args(Expose)), (SANDBOX["lifetime"], get_args(Lifetime)),
    (SANDBOX["min_isolation"], get_args(MinIsolation)), (SANDBOX["run_as"], ("nonroot",)),
    (TOOL["schemaObject"]["properties"]["type"]["anyOf"][0], JSON_TYPES),
    (TOOL["schemaObject"]["properties"]["type"]["anyOf"][1], JSON_TYPES),
    (TOOL["shorthandParameters"]["propertyNames"], tuple(sorted(RESERVED))),
    (TOOL["fullParameters"]["properties"]["properties"]["propertyNames"], tuple(sorted(RESERVED))),
    (TOOL["parameters"]["if"]["anyOf"][1], tuple(sorted(WITHOUT_PROPERTIES))),
    (PROJECT["properties"]["lint"]["properties"]["severity"], ("error", "warning", "off")),
    (PROJECT["properties"]["review"]["properties"]["accept_from"], ("base", "head")),
    (POLICY["require"], get_args(RequiredField)), (POLICY["backends"], get_args(BackendKind)),
    (POLICY["expose"], get_args(Expose)), (POLICY["workspace"], get_args(WorkspaceMode)),
    (POLICY["lifetime"], get_args(Lifetime)), (POLICY["min_isolation"], get_args(MinIsolation)),
    (POLICY["run_as"], ("nonroot",)),
]  # fmt: skip


def lists(schema: Any) -> Iterator[tuple[str, ...]]:
    """Yield each ``enum`` in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("enum"), list):
            yield tuple(schema["enum"])
        for inner in schema.values():
            yield from lists(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from lists(inner)


@pytest.mark.parametrize(("schema", "values"), LISTS)
def test_lists_of_values_match_the_code(schema: Any, values: tuple[str, ...]) -> None:
    assert list(lists(schema)) == [values]


def test_every_list_of_values_is_compared() -> None:
    assert {*lists(SPEC), *lists(PROJECT)} == {values for _, values in LISTS}


def test_the_format_version_matches_the_code() -> None:
    assert SPEC["properties"]["toolc"]["const"] == FORMAT
    assert SPEC["title"] == f"toolc spec, format {FORMAT}"


def test_the_providers_match_the_code() -> None:
    providers = TOOL["providers"]["properties"]
    assert tuple(providers) == PROVIDERS
    assert {name for name, schema in providers.items() if "strict" in schema["properties"]} == {*STRICT}


@pytest.mark.parametrize("limits", [SANDBOX["limits"], POLICY["limits"]])
def test_the_minimum_limits_match_the_code(limits: Any) -> None:
    assert limits["properties"]["pids"]["anyOf"][0]["minimum"] == MIN_PIDS
    assert limits["properties"]["files"]["anyOf"][0]["minimum"] == MIN_FILES


def test_the_patterns_match_the_code() -> None:
    or_constant = f"|{TOOL['constant']['pattern']}"
    risks = POLICY["approvals"]["items"]["properties"]["risks"]["items"]
    assert TOOL["schemaObject"]["properties"]["$schema"]["pattern"] == PATTERN
    assert PROJECT["properties"]["lint"]["properties"]["hosts"]["items"]["pattern"] == HOST + or_constant
    assert risks["pattern"] == f"^({RISK}|{'|'.join(GRADES)})${or_constant}"


def test_each_map_of_a_tool_refers_to_the_definitions_of_its_keys() -> None:
    assert [*TOOL["single"]["properties"]] == ["toolc", *TOOL["tool"]["properties"]]
    assert [*TOOL["tool"]["properties"]] == [*IDENTITY, *TOOL["defaults"]["properties"]]
    assert all(schema == {"$ref": f"#/$defs/{name}"} for name, schema in TOOL["tool"]["properties"].items())
