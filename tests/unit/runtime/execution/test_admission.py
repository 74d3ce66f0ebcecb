from pathlib import Path

import pytest
from calls.scripted_tools import error_kind

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.functions.define import define
from toolc.model.errors import RegistryError, UsageError
from toolc.model.json_schema import Schema
from toolc.model.registry_io import register
from toolc.model.result import Capture, Outcome
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.execution.admission import check_calls
from toolc.testing.fake_engine import FakeEngine

SPECS = """\
toolc: 1
tools:
  - {name: say, aliases: [tell], description: Say a word to one person., backend: {shell: {argv: [echo, %s]}}}
  - name: inner
    description: Say it by way of another tool.
    backend: {composite: {strategy: sequential, steps: [{id: one, tool: tell}]}}
  - name: outer
    description: Say it by way of a tool that calls another.
    backend: {composite: {strategy: sequential, steps: [{id: deep, tool: inner}]}}
"""

ENGINE = FakeEngine(lambda _: Outcome(ending="exited", stdout=Capture(head=b"hi", total_bytes=2)))


def registry(folder: Path, word: str = "hi") -> Registry:
    (folder / f"{word}.yaml").write_text(SPECS % word, encoding="utf-8")
    return Registry.load(folder / f"{word}.yaml")


def call(registry: Registry, name: str = "outer") -> object:
    with Executor(registry, engine=ENGINE) as executor:
        result = executor.run(name, {})
        assert result.error is None, result
        return result.structured


@pytest.mark.parametrize("name", ["outer", "inner"])
def test_one_tool_of_a_registry_can_still_call_the_others(tmp_path: Path, name: str) -> None:
    only = registry(tmp_path).only(name)
    assert only.names == (name,)
    assert only.get("say") is None
    assert [*only.parts.by_name] == (["inner", "say"] if name == "outer" else ["say"])
    assert call(only, name) == ({"deep": {"one": "hi"}} if name == "outer" else {"one": "hi"},)


def test_parts_cannot_be_called_directly(tmp_path: Path) -> None:
    with Executor(registry(tmp_path).only("outer"), engine=ENGINE) as executor:
        with pytest.raises(UsageError, match="there is no tool 'say'"):
            executor.run("say", {})
        executor.deny("say")
        result = executor.run("outer", {})
    assert error_kind(result) == "denied"


def test_a_registry_includes_the_tools_that_its_tools_call(tmp_path: Path) -> None:
    mine = Registry()
    mine.add(registry(tmp_path).only("outer"))
    assert mine.names == ("outer",)
    assert call(mine) == ({"deep": {"one": "hi"}},)


def test_a_replaced_tool_of_a_step_is_not_called(tmp_path: Path) -> None:
    mine = registry(tmp_path)
    mine.remove("say")
    lost = r"\(in this registry: inner; missing, or functions of this program: tell\)"
    with pytest.raises(RegistryError, match=f"calls other tools than it was reviewed with {lost}"):
        call(mine)
    mine.add(define("say", "Say a word to one person.", aliases=["tell"]).handler(lambda: "boo"))
    with pytest.raises(RegistryError, match=f"calls other tools than it was reviewed with {lost}"):
        call(mine)
    mine.remove("say")
    mine.add(registry(tmp_path, "no").only("say"))
    with pytest.raises(RegistryError, match=r"other tools than it was reviewed with \(in this registry: inner, tell\)"):
        call(mine)


def test_parts_have_priority_over_tools_of_the_same_name(tmp_path: Path) -> None:
    mine = registry(tmp_path).only("outer")
    mine.add(registry(tmp_path, "no").only("say"))
    assert call(mine) == ({"deep": {"one": "hi"}},)


def test_a_cycle_is_refused_even_with_matching_digests(tmp_path: Path) -> None:
    steps = {"x": "y", "y": "z", "z": "x"}
    specs = {
        name: ToolSpec(
            name=name,
            description=name,
            parameters=Schema({"type": "object"}),
            backend=CompositeBackend(strategy="sequential", steps=(Step(id="s", tool=called),)),
        )
        for name, called in steps.items()
    }
    tools = {name: register(spec, specs) for name, spec in specs.items()}
    with pytest.raises(RegistryError, match="tool 'x' would call itself: x -> y -> z -> x"):
        check_calls(tools["x"], tools.__getitem__)
