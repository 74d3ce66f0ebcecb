from __future__ import annotations

from dataclasses import replace

from toolc.digest import canonical, digests
from toolc.schema import Schema
from toolc.spec import Argv, Limits, Sandbox, ShellBackend, ToolSpec
from toolc.template import Template

TOOL = ToolSpec(
    name="ls",
    description="List the files.",
    parameters=Schema({"type": "object", "properties": {}}),
    backend=ShellBackend(command=Argv(elements=(Template(("ls",)),))),
)


def test_these_bytes_are_format_1_and_never_change() -> None:
    """A digest that moves with a release of toolc would ask every reviewer to approve nothing at all."""
    found = digests(TOOL)
    assert found.surface == "sha256:345f35919ab1be10e31e6133156b2d083386d1e72c9517f0dd3f96215ce5cff9"
    assert found.effect == "sha256:719d2e4a6b5b11f1f91ae18090363d4c036908e3fddfd5b29ac63fbbb0562656"


def test_words_for_the_model_move_the_surface_alone() -> None:
    changed = digests(replace(TOOL, description="List the files, quickly."))
    assert changed.surface != digests(TOOL).surface
    assert changed.effect == digests(TOOL).effect


def test_what_a_call_does_moves_the_effect_alone() -> None:
    changed = digests(replace(TOOL, sandbox=Sandbox(limits=Limits(pids=129))))
    assert changed.surface == digests(TOOL).surface
    assert changed.effect != digests(TOOL).effect


def test_who_owns_a_tool_moves_neither() -> None:
    assert digests(replace(TOOL, owner="platform", version="2", tags=("a",))) == digests(TOOL)


def test_the_canonical_form_is_rfc_8785() -> None:
    assert canonical({"b": 1.0, "a": [1e21, "\u20ac", None]}) == '{"a":[1e+21,"€",null],"b":1}'.encode()
