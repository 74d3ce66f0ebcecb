"""The SDK of each provider accepts the definition of every schema, plain and in strict mode."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from models.provider_cases import tool
from models.sdk_checks import SDK_CHECKS
from schemas.parameter_schemas import SCHEMAS

from toolc.model.json_schema import Schema
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.tool import STRICT, ProviderChoice
from toolc.providers import load_provider


def lowered(provider: str, *, strict: bool) -> dict[str, Any]:
    """Return the value of ``tools`` for each schema."""
    choices = (ProviderChoice(provider=provider, strict=True),) if strict else ()
    found = load_provider(provider)
    return {
        name: found.lower([tool(name, schema, result_schema=Schema(schema), providers=choices)]).tools
        for name, schema in SCHEMAS.items()
    }


def test_there_are_at_least_200_schemas() -> None:
    assert len(SCHEMAS) >= 200


CASES = [(name, False) for name in PROVIDER_NAMES] + [(name, True) for name in STRICT]


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "strict"), CASES, ids=[f"{name}{'-strict' * strict}" for name, strict in CASES])
def test_the_sdk_accepts_every_definition(provider: str, strict: bool) -> None:
    refused = {}
    for name, tools in lowered(provider, strict=strict).items():
        try:
            SDK_CHECKS[provider](tools)
        except Exception as error:  # noqa: BLE001  every kind of refusal, of all SDKs
            refused[name] = f"{type(error).__name__}: {error} for {tools}"
    assert refused == {}


def helper_of_openai(schema: dict[str, Any]) -> object:
    from openai.lib._pydantic import _ensure_strict_json_schema

    return _ensure_strict_json_schema(schema, path=(), root=schema)


def helper_of_anthropic(schema: dict[str, Any]) -> object:
    from anthropic import transform_schema

    return transform_schema(schema)


def helper_of_mistral(schema: dict[str, Any]) -> object:
    from mistralai.extra.utils._pydantic_helper import rec_strict_json_schema

    return rec_strict_json_schema(schema)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "helper"),
    [
        ("openai_responses", helper_of_openai), ("anthropic", helper_of_anthropic), ("mistral", helper_of_mistral),
    ],
)  # fmt: skip
def test_the_helpers_of_the_sdks_change_no_strict_definition(
    provider: str, helper: Callable[[dict[str, Any]], object]
) -> None:
    definitions = [each.get("function", each) for [each] in lowered(provider, strict=True).values()]
    schemas = [each.get("parameters", each.get("input_schema")) for each in definitions if each.get("strict")]
    assert len(schemas) >= 150
    for schema in schemas:
        assert helper(copy.deepcopy(schema)) == schema
