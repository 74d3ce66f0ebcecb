from dataclasses import replace

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from toolc.model.call_graph import tools_by_name
from toolc.model.json_schema import JsonValue, Schema
from toolc.model.registry_io import canonical, digests
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.spec.sandbox import Limits, SandboxSpec
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Template

TOOL = ToolSpec(
    name="ls",
    description="List the files.",
    parameters=Schema({"type": "object", "properties": {}}),
    backend=ShellBackend(command=Argv(elements=(Template(("ls",)),))),
)


def test_the_digests_of_format_1_never_change() -> None:
    """A digest that changes with a release of toolc would require a review without a change."""
    found = digests(TOOL)
    assert found.surface == "sha256:f3f17dd01ae4ee840e3680abd1dfa62107bf661f8d69c0d80a2a0005a6190cf4"
    assert found.effect == "sha256:6c1eeddc450a001b85c16631c680fe198d13f514937a6b99557d119d249749c4"


def test_surface_fields_change_only_the_surface_digest() -> None:
    changed = digests(replace(TOOL, description="List the files, quickly."))
    assert changed.surface != digests(TOOL).surface
    assert changed.effect == digests(TOOL).effect


def test_effect_fields_change_only_the_effect_digest() -> None:
    changed = digests(replace(TOOL, sandbox=SandboxSpec(limits=Limits(pids=129))))
    assert changed.surface == digests(TOOL).surface
    assert changed.effect != digests(TOOL).effect


def test_other_fields_change_no_digest() -> None:
    assert digests(replace(TOOL, owner="platform", version="2", tags=("a",))) == digests(TOOL)


def caller(*tools: str) -> ToolSpec:
    steps = tuple(Step(id=f"s{at}", tool=tool) for at, tool in enumerate(tools))
    return replace(TOOL, name="all", backend=CompositeBackend(strategy="sequential", steps=steps))


def test_called_tools_change_the_effect_digest_of_the_caller() -> None:
    inner, outer = replace(caller("ls"), name="inner"), caller("inner")
    was = digests(outer, tools_by_name([TOOL, inner]))
    for changed in (replace(TOOL, sandbox=SandboxSpec(workspace="rw")), replace(TOOL, description="List them.")):
        now = digests(outer, tools_by_name([changed, inner]))
        assert (now.surface, now.effect != was.effect) == (was.surface, True)
    assert digests(outer, tools_by_name([replace(TOOL, owner="us"), inner])) == was
    assert digests(outer) != was


def test_the_canonical_form_is_rfc_8785() -> None:
    assert canonical({"b": 1.0, "a": [1e21, "\u20ac", None]}) == '{"a":[1e+21,"€",null],"b":1}'.encode()


_KEYS = st.text(max_size=4) | st.sampled_from(["\ue000", "\U00010000", "\x7f", '"', "\\", "\x00", "\ud800"])
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**53 - 2, max_value=2**53 + 2)
    | st.floats()
    | st.sampled_from([1e-4, 1e-5, 1e-7, 1e15, 1e16, 123456789012345.5, 0.5, -0.0, 10.0, 1e22])
    | st.text(alphabet=st.characters())
    | st.sampled_from(["\ud800", "\x7f\x1f\x08\x0b\u2028\ufeff", '\\"/', "\U0001f600", "sha256:12e4", "[1.0,"])
)


@pytest.mark.slow
@given(st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4)))
def test_canonical_equals_rfc8785(value: JsonValue) -> None:
    try:
        expected = rfc8785.dumps(value)
    except ValueError as error:
        with pytest.raises(type(error)):
            canonical(value)
    else:
        assert canonical(value) == expected
