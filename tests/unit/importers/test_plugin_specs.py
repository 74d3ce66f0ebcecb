"""Generated specs of a plugin's tools: their names and text, and that they compile."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.backends.plugin import difference
from toolc.backends.plugin_protocol import Description, Offer
from toolc.compiler.pipeline.compile import compile_specs
from toolc.importers.plugin_spec import plugin_spec, valid_names
from toolc.model.json_schema import JsonObject
from toolc.model.plan import PluginCall
from toolc.model.spec.code_backends import PluginBackend
from toolc.model.spec.tool import ToolSpec

STATS = Description(
    "stats",
    "Compute statistics on numbers: min, max and mean.",
    {"type": "object", "properties": {"n": {"type": "array", "items": {"type": "number"}}}, "required": ["n"]},
)


def compiled(folder: Path, text: str) -> tuple[ToolSpec, ...]:
    (folder / "plugin.yaml").write_text(text, encoding="utf-8")
    (folder / "tool.py").write_text("", encoding="utf-8")
    compilation = compile_specs([folder / "plugin.yaml"])
    assert not compilation.diagnostics.has_errors, [str(each) for each in compilation.diagnostics.sorted()]
    return compilation.tools


def test_the_spec_of_a_plugin_with_one_tool() -> None:
    text = plugin_spec(Offer((STATS,), has_several=False), ["python3", "tool.py"], ["tool.py"], {"image": "a:1"})
    assert (
        text
        == """\
toolc: 1
name: stats
description: "Compute statistics on numbers: min, max and mean."
parameters:
  type: object
  properties: {"n": {type: array, items: {type: number}}}
  required: ["n"]
backend: {plugin: {command: [python3, tool.py], files: [tool.py]}}
sandbox: {image: "a:1", lifetime: session}
"""
    )


def test_several_tools_share_the_plugin_as_a_default() -> None:
    other = Description("stats.more", "Compute more statistics.", {})
    text = plugin_spec(Offer((STATS, other), has_several=True), ["stats"], [], {})
    assert (
        text
        == """\
toolc: 1
defaults:
  backend: {plugin: {command: [stats]}}
  sandbox: {lifetime: session}
tools:
  - name: stats
    description: "Compute statistics on numbers: min, max and mean."
    parameters:
      type: object
      properties: {"n": {type: array, items: {type: number}}}
      required: ["n"]
  - name: stats_more
    description: "Compute more statistics."
    parameters: {type: object, properties: {}}
    backend: {plugin: {tool: stats.more}}
"""
    )


PARAMETERS: list[JsonObject] = [
    {},
    {"type": "object"},
    {"type": "object", "properties": {}, "required": []},
    {"type": "object", "properties": {"a": {"type": "number", "minimum": 1.0}}, "additionalProperties": True},
    {"$defs": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("name", ["plain", "notes.add", "9 lives", "ü"])
def test_a_plugin_matches_its_generated_spec(tmp_path: Path, parameters: JsonObject, name: str) -> None:
    offer = Offer((Description(name, "Do what has to be done: 'it', # now.\n", parameters),), has_several=False)
    (tool,) = compiled(tmp_path, plugin_spec(offer, ["python3", "tool.py"], ["tool.py"], {}))
    backend = tool.backend
    assert isinstance(backend, PluginBackend)
    reviewed = PluginCall(
        argv=backend.command,
        tool=backend.tool or tool.name,
        description=tool.description,
        parameters=tool.parameters.value,
        arguments={},
    )
    assert difference(reviewed, offer) is None
    assert tool.sandbox.lifetime == "session"


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["stats"], ["stats"]),
        (["notes.add", "notes/add"], ["notes_add", "notes_add_2"]),
        (["notes.add", "notes_add"], ["notes_add_2", "notes_add"]),
        (["9lives", "-x", "ü", " "], ["_9lives", "_-x", "_", "__2"]),
        (["a" * 100, "a" * 99], ["a" * 64, "a" * 62 + "_2"]),
    ],
)
def test_names_are_changed_to_valid_unique_names(names: list[str], found: list[str]) -> None:
    assert valid_names(names) == found


@given(st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=12))
def test_all_names_become_valid_and_unique(names: list[str]) -> None:
    found = valid_names(names)
    assert len(set(found)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", each) for each in found)
    assert all(old == new for old, new in zip(names, found, strict=True) if re.fullmatch(r"[a-z]{1,64}", old))
