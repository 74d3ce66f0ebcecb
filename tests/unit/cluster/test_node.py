"""The actor of a node: which drivers it serves. What it does with calls is in tests/integration/slow/cluster."""

import asyncio
import logging
import pickle
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from toolc.client import executor as client_executor
from toolc.client.registry import Registry
from toolc.cluster import node
from toolc.cluster.messages import Denials, Failed, NodeReport, NodeSetup, RemoteCall, versions
from toolc.cluster.node import NodeActor
from toolc.compiler.project.policy import read_policy
from toolc.model.call import NO_CLAIMS
from toolc.model.errors import InfrastructureError, NoEngineError
from toolc.model.plan import Profile
from toolc.sandbox.interface import ContentDigests
from toolc.sandbox.selection import EngineSelection, selection_of
from toolc.testing.fake_engine import FakeEngine


def report(needed: dict[str, str]) -> NodeReport:
    setup = pickle.dumps(NodeSetup(tools=(), parts=Registry().parts))
    return asyncio.run(NodeActor(needed, setup).report())


def test_a_node_with_the_code_of_the_driver_runs_calls() -> None:
    assert (report(dict(versions())).refusal, report(dict(versions())).slots > 0) == ("", True)


def test_a_node_with_other_code_or_another_python_says_what_differs() -> None:
    own = versions()
    assert "the digest of its code begins with" in own["toolc"]
    assert report({**own, "toolc": "0.2.0"}).refusal == (
        f"it has toolc {own['toolc']}, and the driver has 0.2.0; install the same version on all nodes"
    )
    assert "it has Python" in report({**own, "Python": "2.7"}).refusal


SPEC = """\
toolc: 1
tools:
  - {name: a, description: Uses an image, backend: {shell: {argv: [a]}}, sandbox: {image: "example.com/a:1"}}
  - {name: b, description: Needs another engine, backend: {shell: {argv: [b]}},
     sandbox: {min_isolation: vm, image: "example.com/b:1"}}
  - {name: c, description: Has a workspace, backend: {shell: {argv: [c]}}, sandbox: {workspace: rw}}
"""
ONE = "toolc: 1\nname: one\ndescription: Uses the base image\nbackend: {shell: {argv: [one]}}\n"


class Engine(FakeEngine):
    """An engine that runs nothing, and says which images it was asked for. With ``gate``, each one waits for it."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        super().__init__(lambda _: pytest.fail("nothing runs"))
        self.images: list[str | None] = []
        self._gate = gate

    def content_digests(self, profile: Profile) -> ContentDigests:
        if self._gate:
            self._gate.wait()
        self.images.append(profile.image)
        return super().content_digests(profile)


@pytest.fixture
def pulled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The images that were pulled. ``example.com/absent`` does not exist."""
    names: list[str] = []

    def pull(name: str) -> None:
        names.append(name)
        if name == "example.com/absent":
            raise InfrastructureError(f"Docker cannot pull {name}: not found")

    monkeypatch.setattr(node, "pull", pull)
    return names


def messages(
    folder: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine, spec: str, **options: Any
) -> AsyncIterator[tuple[int, str]]:
    """Return what a node says while it gets the images of these tools. Close it with ``aclose``."""

    def select(_: str, profile: Profile) -> EngineSelection:
        if profile.min_isolation == "vm":
            raise NoEngineError("no virtual machines")
        return selection_of(engine, profile)

    monkeypatch.setattr(client_executor, "select", select)
    (folder / "tools.yaml").write_text(spec)
    registry = Registry.load(folder / "tools.yaml")
    tools = tuple(registry.registered(name) for name in registry.names)
    setup = NodeSetup(tools=tools, parts=registry.parts, **options)
    return NodeActor(versions(), pickle.dumps(setup)).fetch_images()


async def all_of(items: AsyncIterator[tuple[int, str]], level: int) -> list[str]:
    return [text async for each, text in items if each >= level]


def test_a_node_gets_the_images_of_all_tools_that_can_run_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulled: list[str]
) -> None:
    engine = Engine()
    assert asyncio.run(all_of(messages(tmp_path, monkeypatch, engine, SPEC), logging.WARNING)) == []
    assert engine.images == ["example.com/a:1", None]
    assert pulled == ["example.com/a:1"]


def test_an_image_that_cannot_be_pulled_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulled: list[str]
) -> None:
    spec = SPEC.replace("example.com/a:1", "example.com/absent")
    assert asyncio.run(all_of(messages(tmp_path, monkeypatch, Engine(), spec), logging.WARNING)) == [
        "cannot get the image of a: Docker cannot pull example.com/absent: not found"
    ]


def test_an_image_that_takes_long_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "LONG_SECONDS", 0.01)
    gate = threading.Event()

    async def texts() -> list[tuple[int, str]]:
        items = messages(tmp_path, monkeypatch, Engine(gate), ONE)
        first = await anext(items)
        gate.set()
        return [first, *[each async for each in items]]

    assert asyncio.run(texts()) == [
        (logging.INFO, "is getting the image of one"),
        (logging.INFO, "has the image of one"),
    ]


def test_a_tool_that_a_policy_forbids_needs_no_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulled: list[str]
) -> None:
    (tmp_path / "policy.yaml").write_text("policy: {images: ['example.com/other:*']}\n")
    engine, policy = Engine(), read_policy(tmp_path / "policy.yaml")
    asyncio.run(all_of(messages(tmp_path, monkeypatch, engine, SPEC, policy=policy), logging.INFO))
    assert (engine.images, pulled) == ([None], [])


def test_a_node_refuses_a_call_of_a_tool_that_it_has_in_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def select(_: str, profile: Profile) -> EngineSelection:
        raise NoEngineError("the call went on")

    monkeypatch.setattr(client_executor, "select", select)
    (tmp_path / "tools.yaml").write_text(SPEC)
    registry = Registry.load(tmp_path / "tools.yaml")
    tool = registry.registered("b")

    async def answers(*effect_digests: str) -> list[Failed]:
        actor = NodeActor(versions(), pickle.dumps(NodeSetup(tools=(tool,), parts=registry.parts)))
        calls = (
            RemoteCall(
                name="b", effect_digest=digest, arguments={}, call_id="1", workspace=None, timeout=None, session="",
                is_confirmed=False, calls_others=False, denials=Denials(), claims=NO_CLAIMS,
            )
            for digest in effect_digests
        )  # fmt: skip
        failures = [pickle.loads(await actor.run(pickle.dumps(call))) for call in calls]
        await actor.close()
        return failures

    assert asyncio.run(answers("sha256:other", tool.effect_digest)) == [
        Failed("RegistryError", "the node has another version of the tool 'b' than the driver"),
        Failed("NoEngineError", "the call went on"),
    ]
