"""The probes hold in a sandbox and fail without protection."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from cli.cli_engines import engines

from toolc.client.executor import Executor
from toolc.config.configuration import Configuration
from toolc.data.probes import attempts
from toolc.doctor.probes import ProbeResult, load_probes, load_tools, run_probes
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Plan, Profile, PythonCall
from toolc.model.result import Capture, Outcome
from toolc.model.spec.sandbox import MinIsolation
from toolc.sandbox.docker import container_config
from toolc.sandbox.docker.engine import DockerEngine
from toolc.testing.fake_engine import FakeEngine

HOST: attempts.Host = {"secret": "/dev/null", "word": "", "socket": "", "port": 1}


def run(
    output: Callable[[Plan], Outcome], isolation: MinIsolation = "namespace", accepted: tuple[str, ...] = ()
) -> dict[str, ProbeResult]:
    make = partial(Executor, engine=FakeEngine(output), configuration=Configuration())
    return run_probes(make, isolation, accepted)


def leaky(plan: Plan) -> Outcome:
    """A sandbox that refuses all attempts but two, enforces no limit, and shows traces of an earlier call."""
    entry = plan.invocation.entry if isinstance(plan.invocation, PythonCall) else ""
    found: JsonValue = ["/tmp/left"]
    if entry == "attempts.py":
        refused: dict[str, JsonValue] = dict.fromkeys(attempts.attempts(HOST), "refused")
        found = refused | {"tunnel": "done: 3", "bpf": "let through: EINVAL"}
    answer = json.dumps({"content": [], "structured": [found], "details": {}}).encode()
    return Outcome(ending="exited", reply=Capture(answer, b"", len(answer)) if entry else None)


def test_successful_attempt_fails_the_probe() -> None:
    found = run(leaky)
    assert found["bpf"] == ProbeResult("failed", "let through: EINVAL")
    assert found["tunnel"] == ProbeResult("failed", "done: 3")
    assert found["keys"] == ProbeResult("held")


def test_exceeded_limit_fails_the_probe() -> None:
    found = run(leaky)
    assert found["time"] == ProbeResult("failed", "expected the error timeout, got no error")
    assert found["memory_of_many"] == ProbeResult("failed", "expected the error out_of_memory, got no error")
    assert found["find_files"].verdict == "failed"


def test_accepted_unenforced_limit_does_not_fail() -> None:
    found = run(leaky, accepted=("memory",))
    assert found["memory"] == ProbeResult("unenforced", "not enforced here, which you have accepted")
    assert found["time"].verdict == "failed"


def test_limit_enforced_by_another_limit() -> None:
    def hungry(plan: Plan) -> Outcome:
        attempted = isinstance(plan.invocation, PythonCall) and plan.invocation.entry == "attempts.py"
        return leaky(plan) if attempted else Outcome(ending="out_of_memory")

    found = run(hungry)
    assert (found["number_of_files"], found["memory"]) == (ProbeResult("held"), ProbeResult("held"))
    assert found["open_files"].verdict == "failed"


def test_devices_of_the_sandbox_kernel() -> None:
    found = run(leaky, "gvisor")
    assert found["tunnel"] == ProbeResult("own", "only in its own kernel")
    assert found["bpf"].verdict == "failed"


def test_broken_attempts_are_an_infrastructure_failure() -> None:
    with pytest.raises(InfrastructureError, match="the tool of the escape attempts failed"):
        run(lambda _: Outcome(ending="timed_out"))


# The conformance suite makes the same attempts on every engine.
@pytest.mark.integrations
@pytest.mark.parametrize("engine", engines())
def test_every_probe_holds(engine: str) -> None:
    make = partial(Executor, engine=engine, configuration=Configuration())
    found = run_probes(make, "namespace")
    assert list(found) == [probe.name for probe in load_probes()]
    assert {name: answer for name, answer in found.items() if answer.verdict != "held"} == {}


def test_unprotected_sandbox_fails_the_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = container_config.create_config

    def weak(*args: Any, **named: Any) -> JsonObject:  # Any, for it passes on what it is given
        body = whole(*args, **named)
        own = body["HostConfig"]
        assert isinstance(own, dict)
        for name in ("ReadonlyRootfs", "MaskedPaths", "ReadonlyPaths"):
            del own[name]
        return body | {"User": "0:0", "HostConfig": own | {"SecurityOpt": ["seccomp=unconfined"]}}

    engine = DockerEngine()
    if reason := engine.unsupported_reason(Profile()):
        pytest.skip(reason)
    monkeypatch.setattr(container_config, "create_config", weak)
    with Executor(load_tools("namespace"), engine=engine, configuration=Configuration()) as executor:
        result = executor.run("attempts", {"secret": "/none", "word": "none", "socket_name": "none", "port": 1})
    engine.close()
    assert result.structured
    output = result.structured[0]
    assert isinstance(output, dict)
    broken_out = {name for name, each in output.items() if each != "refused"}
    assert broken_out >= {
        "no-new-privileges", "system-call-filter", "set-user-id-file", "user-namespace", "clone3-user-namespace",
        "io-uring", "keys", "firewall-socket", "password-hashes", "write-system-files", "new-system-file",
    }  # fmt: skip
    assert "capabilities" not in broken_out
