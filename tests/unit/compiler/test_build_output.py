"""The files of a build are the canonical bytes of the registry and of the definitions for providers."""

import json
from pathlib import Path

import pytest
from paths import ROOT

from toolc.compiler.build_output import depends_on_others, join, render, split
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry import RegistryFile
from toolc.model.registry_io import canonical
from toolc.providers import load_provider


@pytest.fixture(scope="module")
def registry() -> RegistryFile:
    """Tools with and without losses."""
    return compile_specs([ROOT / "specs"]).registry()


def test_files_contain_all_tools(registry: RegistryFile) -> None:
    tools = [tool.spec for tool in registry.tools]
    lowered = {name: load_provider(name).lower(tools) for name in PROVIDER_NAMES}
    losses = {name: [each._asdict() for each in lowering.losses] for name, lowering in lowered.items()}
    expected = {f"providers/{name}.json": canonical(lowering.tools) for name, lowering in lowered.items()}
    expected |= {"registry.json": canonical(registry.to_json()), "loss.json": canonical(json.loads(json.dumps(losses)))}
    assert any(losses.values())
    assert join(render(tools, tools), registry.toolsets) == expected


def test_independent_tools_can_be_rendered_separately(registry: RegistryFile) -> None:
    tools = [tool.spec for tool in registry.tools]
    assert not any(map(depends_on_others, tools))
    assert [each for tool in tools for each in render([tool], tools)] == render(tools, tools)


def written(registry: RegistryFile, folder: Path) -> list[list[int]]:
    """Write the files of a build into ``folder`` and return the sizes of the texts of each tool."""
    tools = [tool.spec for tool in registry.tools]
    rendered = render(tools, tools)
    (folder / "providers").mkdir()
    for path, data in join(rendered, registry.toolsets).items():
        (folder / path).write_bytes(data)
    return [[*map(len, tool.texts)] for tool in rendered]


def test_split_is_the_inverse_of_join(registry: RegistryFile, tmp_path: Path) -> None:
    tools = [tool.spec for tool in registry.tools]
    sizes = written(registry, tmp_path)
    assert split(tmp_path, registry.toolsets, sizes) == [tool.texts for tool in render(tools, tools)]


def test_files_of_another_length_are_rejected(registry: RegistryFile, tmp_path: Path) -> None:
    sizes = written(registry, tmp_path)
    for other in (sizes[1:], [*sizes, sizes[0]], [[size + 1 for size in sizes[0]], *sizes[1:]], []):
        with pytest.raises(ValueError, match=r"written|shorter"):
            split(tmp_path, registry.toolsets, other)
