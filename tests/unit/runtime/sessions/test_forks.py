"""Tools with ``lifetime: fork`` and the fake engine: which calls share a server, and when it is replaced."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls.scripted_tools import captured

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.errors import SandboxDiedError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome, ToolResult
from toolc.runtime.pool.pool import Pool
from toolc.sandbox.interface import EngineSandbox
from toolc.testing.fake_engine import FakeEngine

SPEC: JsonObject = {
    "toolc": 1,
    "defaults": {"sandbox": {"lifetime": "fork"}},
    "tools": [
        {
            "name": name,
            "description": f"Print the word {name}, which the script of the engine knows.",
            "parameters": {"word": {"type": "string", "description": "What to print.", "maxLength": 100}},
            "backend": {"shell": {"argv": ["echo", name, "{{ word }}"]}},
        }
        for name in ("one", "two")
    ],
}


class Echo:
    """The script of the engine. It has no process for the word "die"."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def __call__(self, plan: Plan) -> Outcome:
        self.plans.append(plan)
        argv = plan.invocation.argv  # type: ignore[union-attr]
        if argv[-1] == "die":
            raise ValueError("the process of the call has died")
        return Outcome(ending="exited", stdout=captured(" ".join(argv).encode()))


@contextmanager
def opened(folder: Path, engine: FakeEngine, **options: object) -> Iterator[Executor]:
    (folder / "tools.yaml").write_text(json.dumps(SPEC), encoding="utf-8")
    with Executor(Registry.load(folder / "tools.yaml"), engine=engine, **options) as executor:  # type: ignore[arg-type]
        yield executor


def number(result: ToolResult) -> object:
    assert not result.is_error, result.text
    fork = result.details["fork"]
    assert isinstance(fork, dict)
    return fork["call"]


def test_calls_of_a_tool_share_a_server(tmp_path: Path) -> None:
    script = Echo()
    engine = FakeEngine(script)
    with opened(tmp_path, engine) as executor:
        found = [executor.run(name, {"word": word}) for word in ("a", "b") for name in ("one", "two", "one")]
    assert [each.text for each in found] == [
        "echo one a",
        "echo two a",
        "echo one a",
        *["echo one b", "echo two b", "echo one b"],
    ]
    assert [number(each) for each in found] == [1, 1, 2, 3, 2, 4]
    assert [profile.has_fork_server for profile in engine.profiles] == [True, True]
    assert {plan.profile for plan in script.plans} == {*engine.profiles}


def test_a_call_that_dies_does_not_end_the_next_one(tmp_path: Path) -> None:
    engine = FakeEngine(Echo())
    with opened(tmp_path, engine) as executor:
        executor.run("one", {"word": "a"})
        with pytest.raises(SandboxDiedError, match="the process of the call has died"):
            executor.run("one", {"word": "die"})
        assert number(executor.run("one", {"word": "b"})) == 1
    assert len(engine.profiles) == 2


def test_an_idle_server_is_closed(tmp_path: Path) -> None:
    engine = FakeEngine(Echo())
    with opened(tmp_path, engine, session_idle=0.05) as executor:
        executor.run("one", {"word": "a"})
        until = time.monotonic() + 60
        while executor._options.sessions._sessions and time.monotonic() < until:
            time.sleep(0.01)
        assert number(executor.run("one", {"word": "a"})) == 1
    assert len(engine.profiles) == 2


def test_an_ended_server_is_replaced_before_the_call(tmp_path: Path) -> None:
    engine = FakeEngine(Echo())
    with opened(tmp_path, engine) as executor:
        executor.run("one", {"word": "a"})
        (session,) = executor._options.sessions._sessions.values()
        assert session.server is not None
        session.server._server.has_ended = True  # type: ignore[attr-defined]
        assert number(executor.run("one", {"word": "b"})) == 1


class ReplacedImage(FakeEngine):
    """An engine that notices that an image was replaced."""

    closings = 0
    is_replaced = False

    def profile_ahead(self, profile: Profile) -> Profile:
        return profile

    def mount_workspace(self, profile: Profile, sandbox: EngineSandbox) -> None:
        pass

    def is_current(self, profile: Profile, sandbox: EngineSandbox) -> bool:
        return not self.is_replaced


def test_a_server_of_a_replaced_image_is_replaced(tmp_path: Path) -> None:
    engine = ReplacedImage(Echo())
    with opened(tmp_path, engine) as executor:
        assert [number(executor.run("one", {"word": "a"})) for _ in range(2)] == [1, 2]
        engine.is_replaced = True
        assert number(executor.run("one", {"word": "a"})) == 1
    assert len(engine.profiles) == 2


def test_no_sandbox_is_started_ahead_and_an_open_one_is_ordinary(tmp_path: Path) -> None:
    engine = FakeEngine(Echo())
    with opened(tmp_path, engine, pool=Pool()) as executor:
        assert executor._options.pool is not None
        assert engine.profiles == []
        with executor.sandbox("one"):
            assert engine.profiles == [Profile(limits=engine.profiles[0].limits)]
