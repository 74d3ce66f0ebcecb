"""A build's files are the canonical bytes of what the registry and the providers say of all tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolc.artifacts import FORM
from toolc.compiler.compile import compile_specs
from toolc.digest import canonical
from toolc.provider_names import PROVIDER_NAMES
from toolc.providers import load_provider
from toolc.registry import RegistryFile

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def registry() -> RegistryFile:
    """Tools with losses and without."""
    return compile_specs([ROOT / "specs"]).registry()


def test_the_files_are_those_of_all_tools_lowered_together(registry: RegistryFile) -> None:
    tools = [tool.spec for tool in registry.tools]
    lowered = {name: load_provider(name).lower(tools) for name in PROVIDER_NAMES}
    losses = {name: [each._asdict() for each in lowering.losses] for name, lowering in lowered.items()}
    wanted = {f"providers/{name}.json": canonical(lowering.tools) for name, lowering in lowered.items()}
    wanted |= {
        "registry.json": canonical(registry.to_json()),
        "loss.json": canonical(json.loads(json.dumps(losses))),
    }
    assert any(losses.values())
    assert FORM.layout(registry.toolsets).join(FORM.finish(tools, tools)) == wanted


def test_tools_that_are_not_joint_may_be_finished_one_by_one(registry: RegistryFile) -> None:
    tools = [tool.spec for tool in registry.tools]
    assert not any(map(FORM.is_joint, tools))
    assert [each for tool in tools for each in FORM.finish([tool], tools)] == FORM.finish(tools, tools)
