"""Policies in commands that check, build, call and serve tools."""

from pathlib import Path

import pytest
from cli.command_line import toolc

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.compiler.project.policy import read_policy
from toolc.model.errors import PolicyError
from toolc.model.result import Capture, Outcome
from toolc.testing.fake_engine import FakeEngine

SPEC = """\
toolc: 1
name: hello
description: A tool that exists for the tests of the command line and for nothing else.
backend: {shell: {argv: [echo, hello]}}
sandbox: {limits: {timeout: 10s}}
tests: [{expect: {text: "hello\\n"}}]
"""
FINDING = "specs/hello.yaml:5:29: error TC901: 'hello': timeout: 10s is more than {} allows\n"
REFUSED = (
    "the tool hello was not called, because a policy does not allow it:\n"
    "  timeout: 10s is more than central.yml allows; central.yml allows timeout: 5s or less\n"
)


@pytest.fixture(autouse=True)
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / ".git").mkdir()
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/hello.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "central.yml").write_text("policy: {limits: {timeout: 5s}}\n", encoding="utf-8")
    return tmp_path


def test_project_policy_applies_to_every_command(specs: Path) -> None:
    (specs / "toolc.yaml").write_text("policy: {limits: {timeout: 5s}}\n", encoding="utf-8")
    finding = FINDING.format("toolc.yaml")
    codes = {"check specs": 1, "build specs": 1, "run specs/hello.yaml": 2, "serve specs": 2, "test specs": 1}
    for message, code in codes.items():
        status, out, err = toolc(*message.split())
        assert (status, finding in out + err) == (code, True), message
    assert not (specs / "build").exists()
    (specs / "toolc.yaml").write_text("policy: {limits: {timeout: 10s}}\n", encoding="utf-8")
    assert toolc("check", "specs")[0] == 0


def test_central_policy_applies_to_specs_and_registries() -> None:
    for message in (("check", "specs"), ("build", "specs")):
        assert toolc(*message)[0] == 0
        status, out, err = toolc(*message, "--policy", "central.yml")
        assert (status, FINDING.format("central.yml") in out + err) == (1, True), message
        assert toolc(*message)[0] == 0, "what was found with a policy is no answer without it"
    for called in ("run hello --registry build/registry.json", "run specs/hello.yaml", "serve build/registry.json"):
        assert toolc(*called.split(), "--policy", "central.yml") == (2, "", f"toolc: {REFUSED}")
    status, out, _ = toolc("test", "build/registry.json", "--policy", "central.yml")
    assert status == 2
    assert "timeout: 10s is more than central.yml allows" in out


def test_unreadable_policy_is_an_error(specs: Path) -> None:
    (specs / "central.yml").write_text("policy: {limit: {}}\n", encoding="utf-8")
    for message in (("check", "specs"), ("build", "specs"), ("run", "specs/hello.yaml"), ("serve", "specs")):
        status, out, err = toolc(*message, "--policy", "central.yml")
        assert (status, out) == (2, "")
        assert err.startswith("toolc: the policy central.yml cannot be used:\ncentral.yml:1:10: the policy has no key")
    assert toolc("test", "specs", "--policy", "nowhere.yml")[0] == 2


def test_executor_policy_refuses_before_the_start() -> None:
    engine = FakeEngine(lambda _: Outcome(ending="exited", stdout=Capture(head=b"hi", total_bytes=2)))
    registry = Registry.load("specs")
    policy = read_policy("central.yml")
    with Executor(registry, engine=engine, policy=policy) as executor, pytest.raises(PolicyError) as raised:
        executor.run("hello", {})
    assert (f"{raised.value}\n", raised.value.exit_code, engine.profiles) == (REFUSED, 2, [])
    Path("central.yml").write_text("policy: {limits: {timeout: 10s}}\n", encoding="utf-8")
    with Executor(registry, engine=engine, policy=read_policy("central.yml")) as executor:
        assert not executor.run("hello", {}).is_error


def test_read_result_is_exempt_from_policies_and_locks() -> None:
    from toolc.model.lock_file import Lock, lock_tools

    lock = lock_tools([Registry.load("specs").registered("hello")], lambda _: (None, ()), "toolc.lock")
    Path("central.yml").write_text("policy: {backends: [shell], require: [tests]}\n", encoding="utf-8")
    engine = FakeEngine(lambda _: Outcome(ending="exited"))
    with Executor(
        Registry.load("specs"),
        engine=engine,
        keep_results=True,
        policy=read_policy("central.yml"),
        lock=Lock("toolc.lock", lock.tools),
    ) as executor:
        result = executor.run("read_result", {"id": "none"})
    assert result.error is not None
