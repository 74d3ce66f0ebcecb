"""The actor of a node: which drivers it serves. What it does with calls is in tests/integration/slow/cluster."""

import asyncio
import pickle
import threading
from pathlib import Path

import pytest

from toolc.client import executor as client_executor
from toolc.client.registry import Registry
from toolc.cluster.messages import Denials, Failed, NodeReport, NodeSetup, RemoteCall, versions
from toolc.cluster.node import NodeActor
from toolc.model.call import NO_CLAIMS
from toolc.model.errors import NoEngineError
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
        f"it has toolc {own['toolc']}, and the driver has 0.2.0; install the same on all nodes"
    )
    assert "it has Python" in report({**own, "Python": "2.7"}).refusal


SPEC = """\
toolc: 1
tools:
  - {name: a, description: Uses an image, backend: {shell: {argv: [a]}}, sandbox: {image: "example.com/a:1"}}
  - {name: b, description: Needs another engine, backend: {shell: {argv: [b]}}, sandbox: {min_isolation: vm}}
  - {name: c, description: Has a workspace, backend: {shell: {argv: [c]}}, sandbox: {workspace: rw}}
"""


def test_a_node_gets_the_images_of_all_tools_at_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images: list[str | None] = []
    done = threading.Event()

    class Recording(FakeEngine):
        def content_digests(self, profile: Profile) -> ContentDigests:
            images.append(profile.image)
            if len(images) == 2:
                done.set()
            return super().content_digests(profile)

    def select(_: str, profile: Profile) -> EngineSelection:
        if profile.min_isolation == "vm":
            raise NoEngineError("no virtual machines")
        return selection_of(Recording(lambda _: pytest.fail("nothing runs")), profile)

    monkeypatch.setattr(client_executor, "select", select)
    (tmp_path / "tools.yaml").write_text(SPEC)
    registry = Registry.load(tmp_path / "tools.yaml")
    tools = tuple(registry.registered(name) for name in registry.names)
    actor = NodeActor(versions(), pickle.dumps(NodeSetup(tools=tools, parts=registry.parts)))
    assert done.wait(10)
    assert images == ["example.com/a:1", None]
    asyncio.run(actor.close())


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
