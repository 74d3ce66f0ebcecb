"""The files of a build are the canonical bytes of the registry and of the definitions for providers."""

import json
from pathlib import Path

import pytest
from project.paths import ROOT

from toolc.compiler.build_output import depends_on_others, join, render
from toolc.compiler.pipeline.compile import Compilation, compile_specs
from toolc.model.names import PROVIDER_NAMES
from toolc.model.registry_io import canonical
from toolc.providers import load_provider, openapi


@pytest.fixture(scope="module")
def compilation() -> Compilation:
    """Tools with and without losses."""
    return compile_specs([ROOT / "specs"])


def test_files_contain_all_tools(compilation: Compilation) -> None:
    lowered = {name: load_provider(name).lower(compilation.tools) for name in PROVIDER_NAMES}
    registry = canonical(compilation.registry().to_json())
    expected = {f"providers/{name}.json": canonical(lowering.tools) for name, lowering in lowered.items()}
    expected |= {"registry.json": registry, "openapi.json": canonical(openapi.document(compilation.tools))}
    files = join(render(compilation.located, compilation.tools), compilation.toolsets)
    losses = json.loads(files.pop("loss.json"))
    assert files == expected
    for name, lowering in lowered.items():
        assert len(losses[name]) == len(lowering.losses)
        for entry, loss in zip(losses[name], lowering.losses, strict=True):
            values = {key: value for key, value in loss._asdict().items() if value and key != "kind"}
            assert {key: value for key, value in entry.items() if key != "position"} == values


@pytest.mark.parametrize(
    ("current", "path"), [(".", "specs/inner/tool.yaml"), ("specs/inner", "tool.yaml"), ("elsewhere", "tool.yaml")]
)
def test_the_position_of_a_loss_has_the_path_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current: str, path: str
) -> None:
    for folder in ("specs/inner", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "specs/inner/tool.yaml").write_text(POSITIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path / current)
    compilation = compile_specs([tmp_path / "specs"])
    losses = json.loads(join(render(compilation.located, compilation.tools), {})["loss.json"])["gemini"]
    assert {each["position"].partition(":")[0] for each in losses} == {path}


def test_each_loss_has_the_position_of_its_keyword(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tool.yaml").write_text(POSITIONS, encoding="utf-8")
    compilation = compile_specs([Path("tool.yaml")])
    files = join(render(compilation.located, compilation.tools), {})
    losses = {each["pointer"]: each["position"] for each in json.loads(files["loss.json"])["gemini"]}
    lines = POSITIONS.splitlines()
    for keyword in ("minLength", "pattern", "default", "exclusiveMinimum", "uniqueItems", "oneOf"):
        (position,) = {losses[pointer] for pointer in losses if pointer.endswith(keyword)}
        path, line, column = position.split(":")
        assert path == "tool.yaml"
        assert lines[int(line) - 1][int(column) - 1 :].startswith(keyword), keyword


POSITIONS = """\
toolc: 1
name: book
description: Book a room for some guests. Use it when a user wants to reserve a room.
parameters:
  type: object
  properties:
    room: {$ref: "#/$defs/room"}
    day: {allOf: [{type: string}, {pattern: "^[0-9]+$"}]}
    count:
      description: How many guests
      allOf: [{$ref: "#/$defs/count"}, {title: Guests}]
      default: 2
    tags: {type: array, items: {type: string}, uniqueItems: true}
    size:
      oneOf: [{type: string}, {type: integer}]
  $defs:
    room: {type: string, minLength: 2, description: Which room}
    count: {type: integer, exclusiveMinimum: 0}
backend: {shell: {argv: [book]}}
"""


def test_an_absolute_path_is_not_part_of_a_position(tmp_path: Path) -> None:
    path = tmp_path / "tool.yaml"
    path.write_text(POSITIONS, encoding="utf-8")
    compilation = compile_specs([path])
    files = join(render(compilation.located, compilation.tools), {})
    assert str(tmp_path).encode() not in files["loss.json"]


def test_independent_tools_can_be_rendered_separately(compilation: Compilation) -> None:
    tools, specs = compilation.located, compilation.tools
    assert not any(map(depends_on_others, specs))
    assert [each for tool in tools for each in render([tool], specs)] == render(tools, specs)
