"""gVisor as a runtime of the docker engine."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from engines.configurations import configured
from engines.docker_cases import containers, python, run
from engines.gvisor_daemon import gvisor_socket
from engines.sandbox_output import line, output, workspace
from engines.waiting_sandboxes import until

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.errors import InfrastructureError, SandboxDiedError
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.spec.sandbox import MIB, EnvVar, Limits
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.wire.call_loop import converse
from toolc.sandbox import seccomp
from toolc.sandbox.docker.daemon import Runtime, connect
from toolc.sandbox.docker.engine import DockerEngine

LIMITS = Limits(memory_bytes=128 * MIB, pids=16, tmp_bytes=4 * MIB)
PATH = (EnvVar(name="PATH", value="/usr/bin:/bin"),)
PROFILE = Profile(min_isolation="gvisor", limits=LIMITS)

pytestmark = pytest.mark.integrations


@pytest.fixture(scope="module")
def engine() -> Iterator[DockerEngine]:
    engine = configured("docker+gvisor")
    assert isinstance(engine, DockerEngine)
    yield engine
    engine.close()


def shell(engine: DockerEngine, script: str, profile: Profile = PROFILE) -> str:
    """Return what a command prints in a call."""
    plan = Plan(profile=profile, invocation=Exec(argv=("sh", "-c", script)), call_id="1", env=PATH)
    with closing(engine.start(profile, BOOTSTRAP_ARGUMENTS)) as sandbox:
        outcome = converse(sandbox, plan, timeout_ms=20_000, cancellation=None, on_progress=lambda *_: None)
    return f"{outcome.ending} {outcome.status} {outcome.stdout.text()}"


def test_the_kernel_is_gvisors(engine: DockerEngine) -> None:
    assert run(engine, PROFILE, "import os; print(os.uname().release)").strip() != os.uname().release


def test_no_network_no_capability_and_a_read_only_root(engine: DockerEngine) -> None:
    program = """
import errno, socket
print([name for _, name in socket.if_nameindex()])
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")])
try: open("/usr/x", "w")
except OSError as error: print(error.errno in (errno.EROFS, errno.EACCES))
"""
    assert run(engine, PROFILE, program) == "['lo']\n['0000000000000000']\nTrue\n"


def test_a_fork_bomb_reaches_the_limit_and_the_sandbox_survives(engine: DockerEngine) -> None:
    script = "i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); echo $i; done"
    found = shell(engine, script)
    ending, _, started = found.split(" ", 2)
    assert ending == "exited"
    assert 10 <= len(started.split()) < LIMITS.pids


def test_the_limit_applies_to_root(engine: DockerEngine, tmp_path: Path) -> None:
    profile = Profile(min_isolation="gvisor", limits=LIMITS, workspace=workspace(tmp_path))
    found = shell(engine, "id -u; i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); echo $i; done", profile)
    assert found.startswith("exited 2 0\n")
    assert 10 < len(found.split()) < LIMITS.pids + 3


def test_out_of_memory_is_detected_by_events(engine: DockerEngine) -> None:
    program = """
import os
if os.fork() == 0: hog = [bytearray(os.urandom(2**20)) for _ in range(1000)]
os.wait()
print("survived")
"""
    sandbox = engine.start(PROFILE, python(program))
    assert output(sandbox) == ""
    sandbox.close()
    assert sandbox.out_of_memory()


KILL = "import os, time; os.kill(1, 9); time.sleep(1)"


def test_a_tool_cannot_kill_process_1(engine: DockerEngine) -> None:
    found = shell(engine, f"python3 -c '{KILL}' 2>/dev/null; echo alive")
    assert found == "exited 0 alive\n"


def test_killing_process_1_without_the_filter_is_not_out_of_memory(
    monkeypatch: pytest.MonkeyPatch, engine: DockerEngine
) -> None:
    daemon = connect(gvisor_socket())
    shims = [Runtime(each.name, each.isolation, "runtimeType=io.containerd.runsc.v1") for each in daemon.runtimes]
    object.__setattr__(daemon, "runtimes", tuple(shims))
    monkeypatch.setattr(seccomp, "gvisor_profile", seccomp.profile)
    plain = DockerEngine(gvisor_socket())
    plain._daemon = daemon
    with pytest.raises(SandboxDiedError, match=r"(?s)the sandbox ended before its call did; .*killed by the tool"):
        shell(plain, f"exec python3 -c '{KILL}'")
    plain.close()


def test_memory_of_gvisor_itself_is_not_counted(engine: DockerEngine) -> None:
    profile = Profile(min_isolation="gvisor", limits=Limits(memory_bytes=16 * MIB, tmp_bytes=1 * MIB))
    assert shell(engine, "echo there is room", profile) == "exited 0 there is room\n"


def test_a_normal_exit_is_not_out_of_memory(engine: DockerEngine) -> None:
    sandbox = engine.start(PROFILE, python("print('x')"))
    assert output(sandbox) == "x\n"
    sandbox.close()
    assert not sandbox.out_of_memory()


SPIN = """
import os, time
end = time.monotonic() + 1
[os.fork() for _ in range(2)]
while time.monotonic() < end: pass
"""


def test_the_host_measures_at_most_the_cpu_limit(engine: DockerEngine) -> None:
    """gVisor's own measurement counts waiting as used time."""
    used, passed = _spun(engine)
    # Four processes at once would use as many processors as there are. A period of 0.1 s may have been begun.
    assert 0.1 < used < 0.5 * passed + 0.1


def _spun(engine: DockerEngine) -> tuple[float, float]:
    """Return the CPU time that four busy processes used, and the elapsed time.

    Where processors are short this gVisor sometimes stalls with busy processes: then twice more.
    """
    profile = Profile(min_isolation="gvisor", limits=Limits(cpus=0.5))
    for timeout in (25.0, 25.0, 100.0):
        begun = time.monotonic()
        sandbox = engine.start(
            profile, python(f"{SPIN}\nprint('spun', flush=True)\nos._exit(0) if os.getpid() != 1 else input()")
        )
        try:
            while line(sandbox, timeout) != "spun":
                pass
            return used_seconds(engine, sandbox.container), time.monotonic() - begun
        except AssertionError:
            if timeout == 100.0:
                raise
        finally:
            sandbox.close()
    raise AssertionError


def used_seconds(engine: DockerEngine, container: str) -> float:
    """Return the CPU time of a container so far, by the host."""
    found = engine._connect().client.call("GET", f"/containers/{container}/stats?stream=false", timeout=60)
    assert isinstance(found, dict)
    counted: Any = found["cpu_stats"]
    return int(counted["cpu_usage"]["total_usage"]) / 1e9


@pytest.mark.parametrize(
    "script",
    [
        "echo begun; exec sleep 1000",
        "echo begun; yes & yes >&2 & trap '' TERM; wait",
        "echo begun; (trap '' TERM; setsid yes & setsid sleep 999 &); exec yes",
    ],
)
def test_a_cancelled_call_ends_immediately(engine: DockerEngine, script: str) -> None:
    plan = Plan(profile=PROFILE, invocation=Exec(argv=("sh", "-c", script)), call_id="1", env=PATH)
    with closing(engine.start(PROFILE, BOOTSTRAP_ARGUMENTS)) as sandbox, Cancellation() as cancellation:
        outcome = converse(
            sandbox,
            plan,
            timeout_ms=1_000_000,
            cancellation=cancellation,
            on_progress=lambda *_: None,
            on_output=lambda *_: cancellation.cancel(),
        )
    assert outcome.ending == "cancelled"
    until(lambda: not processes(sandbox.container))


def test_the_number_of_files_in_tmp_is_limited(engine: DockerEngine) -> None:
    assert shell(engine, "head -c 8m /dev/zero >/tmp/x 2>/dev/null; wc -c </tmp/x") == f"exited 0 {4 * MIB}\n"


def test_the_workspace_is_written_as_its_owner(engine: DockerEngine, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    os.chown(folder, 1234, 1235)
    tmp_path.chmod(0o755)
    profile = Profile(min_isolation="gvisor", limits=LIMITS, workspace=workspace(folder))
    assert shell(engine, "id -u; id -g; echo x >/workspace/new", profile) == "exited 0 1234\n1235\n"
    made = (folder / "new").stat()
    assert (made.st_uid, made.st_gid) == (1234, 1235)


def test_a_runtime_that_is_falsely_named_gvisor_is_detected(engine: DockerEngine) -> None:
    """A runtime with the host's kernel: the guest exits before it has read anything."""
    argument = f"not-kernel={os.uname().release}"
    plain = DockerEngine(gvisor_socket())
    sandbox = plain.start(Profile(), [*BOOTSTRAP_ARGUMENTS, argument])
    plan = Plan(profile=Profile(), invocation=Exec(argv=("true",)), call_id="1")
    try:
        with pytest.raises(InfrastructureError, match="must give sandboxes a separate kernel"):
            converse(sandbox, plan, timeout_ms=100_000, cancellation=None, on_progress=lambda *_: None)
    finally:
        sandbox.close()
        plain.close()


def test_a_runtime_that_cannot_start_is_named() -> None:
    daemon = connect(gvisor_socket())
    object.__setattr__(daemon, "runtimes", (Runtime("runc"), Runtime("no-such-runtime", "gvisor")))
    with closing(DockerEngine(gvisor_socket())) as broken:
        broken._daemon = daemon
        with pytest.raises(InfrastructureError, match="the Docker runtime 'no-such-runtime' does not work: Unknown"):
            broken.start(PROFILE, python("pass"))


def test_one_line_of_a_live_sandbox(engine: DockerEngine) -> None:
    sandbox = engine.start(PROFILE, python("print('here', flush=True); input()"))
    assert line(sandbox) == "here"
    sandbox.close()


OWNER = """
import sys
from toolc.sandbox.docker.engine import DockerEngine
from toolc.model.plan import Profile
sandbox = DockerEngine(sys.argv[1]).start(Profile(min_isolation="gvisor"), ["-I", "-S", "-c", "print(1); input()"])
print(sandbox.container, flush=True)
sandbox.read()
sys.stdin.read()
"""


def test_a_killed_owner_leaves_no_container_and_no_process(engine: DockerEngine) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, gvisor_socket()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        container = owner.stdout.readline().decode().strip()
        client = engine._connect().client
        assert container in containers(client)
        assert processes(container)
        owner.kill()
    until(lambda: container not in containers(client) and not processes(container))


def processes(container: str) -> list[str]:
    """Return the processes of a container's runtime, which have its id in their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if container.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found
