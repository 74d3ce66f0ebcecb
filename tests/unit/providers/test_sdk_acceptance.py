"""The SDK of each provider accepts the definition of every schema, plain and in strict mode."""

import copy
from typing import Any

import pytest
from parameter_schemas import SCHEMAS
from provider_cases import tool
from sdk_checks import SDK_CHECKS

from toolc.compiler.decode.tool import STRICT
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.tool import ProviderChoice
from toolc.providers import load_provider


def lowered(provider: str, *, strict: bool) -> dict[str, Any]:
    """Return the value of ``tools`` for each schema."""
    choices = (ProviderChoice(provider=provider, strict=True),) if strict else ()
    found = load_provider(provider)
    return {name: found.lower([tool(name, schema, providers=choices)]).tools for name, schema in SCHEMAS.items()}


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


@pytest.mark.slow
def test_the_helper_of_anthropic_changes_no_strict_definition() -> None:
    from anthropic import transform_schema

    strict = [each for [each] in lowered("anthropic", strict=True).values() if each.get("strict")]
    assert len(strict) >= 150
    for schema in (each["input_schema"] for each in strict):
        assert transform_schema(copy.deepcopy(schema)) == schema


@pytest.mark.slow
def test_the_helper_of_openai_changes_no_strict_definition() -> None:
    from openai.lib._pydantic import _ensure_strict_json_schema

    strict = [each for [each] in lowered("openai_responses", strict=True).values() if each["strict"]]
    assert len(strict) >= 150
    for schema in (each["parameters"] for each in strict):
        copied = copy.deepcopy(schema)
        assert _ensure_strict_json_schema(copied, path=(), root=copied) == schema
