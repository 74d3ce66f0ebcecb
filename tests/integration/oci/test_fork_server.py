"""Tools with ``lifetime: fork`` on the oci engine: what a call leaves is gone, and its process has no special right.

The whole conformance suite runs with it too, with hostile tools and attempts on the host.
"""

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier

import pytest
from calls.scripted_tools import error_kind
from engines.configurations import configured
from engines.waiting_sandboxes import until
from workspaces.late_writers import LateWriters, write_specs

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.sessions.pool import SERVERS
from toolc.sandbox.interface import Engine
from toolc.sandbox.oci.fork_server import OciForkServer

SANDBOX: JsonObject = {"lifetime": "fork", "limits": {"timeout": "100s", "memory": "128MiB"}}
RUN = "def run(code: str):\n    names = {}\n    exec(code, names)\n    return names.get('answer')\n"
CODE: JsonObject = {"code": {"type": "string", "description": "Python code that sets the variable 'answer'."}}

LEAVES_THINGS = r"""
import builtins, ctypes, fcntl, json, os, pty, signal, socket, subprocess, sys, threading, time
builtins.LEFT = json.LEFT = sys.LEFT = "left"
sys.modules["left"] = json
os.environ["LEFT"] = "left"
os.umask(0)
for folder in ("/tmp", "/dev/shm", "/tool"):
    os.mkdir(folder + "/left")
    open(folder + "/left/file", "w").write("left")
libc = ctypes.CDLL(None, use_errno=True)
segment = libc.shmget(77, 4096, 0o1666)
assert segment >= 0 and libc.msgget(77, 0o1666) >= 0 and libc.semget(77, 1, 0o1666) >= 0
assert libc.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o666, None) >= 0
listener = socket.socket(socket.AF_UNIX)
listener.bind("\0left")
listener.listen()
pty.openpty()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        open("/dev/shm/alive", "w")
        time.sleep(1000)
    os._exit(0)
while not os.path.exists("/dev/shm/alive"):
    time.sleep(0.01)
answer = "left"
"""

FINDS_THINGS = r"""
import builtins, ctypes, json, os, socket, sys
found = []
for place in (builtins, json, sys):
    found += [repr(place)] * hasattr(place, "LEFT")
found += [name for name in ("left",) if name in sys.modules]
found += [name for name in ("LEFT",) if name in os.environ]
found += [f"umask {mask:o}" for mask in [os.umask(0o022)] if mask != 0o022]
for folder in ("/tmp", "/dev/shm", "/dev/pts"):
    found += [folder + "/" + name for name in os.listdir(folder) if name != "ptmx"]
found += [name for name in os.listdir("/tool") if not name.endswith(".py")]
libc = ctypes.CDLL(None, use_errno=True)
found += ["shm"] * (libc.shmget(77, 4096, 0o666) >= 0) + ["msg"] * (libc.msgget(77, 0o666) >= 0)
found += ["sem"] * (libc.semget(77, 1, 0o666) >= 0) + ["mq"] * (libc.mq_open(b"/left", os.O_RDWR) >= 0)
for path in ("/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem", "/proc/net/unix", "/proc/net/tcp"):
    found += [path] * (len(open(path).read().splitlines()) > 1)
try:
    socket.socket(socket.AF_UNIX).connect("\0left")
    found.append("socket")
except OSError:
    pass
found += [f"process {pid}" for pid in os.listdir("/proc") if pid.isdigit() and pid not in ("1", str(os.getpid()))]
answer = found
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = configured("oci root")
    yield engine
    engine.close()


def registry(folder: Path, sandbox: JsonObject = SANDBOX, **backend: JsonValue) -> Registry:
    (folder / "run.py").write_text(RUN, encoding="utf-8")
    spec: JsonObject = {
        "toolc": 1,
        "name": "run",
        "description": "Run Python code, to see what it finds in its sandbox.",
        "parameters": CODE,
        "backend": {"python": {"file": "run.py", "function": "run", **backend}},
        "sandbox": sandbox,
    }
    (folder / "run.yaml").write_text(json.dumps(spec), encoding="utf-8")
    return Registry.load(folder / "run.yaml")


@pytest.fixture
def executor(engine: Engine, tmp_path: Path) -> Iterator[Executor]:
    with Executor(registry(tmp_path), engine=engine) as executor:
        yield executor


def run(executor: Executor, code: str) -> JsonValue:
    result = executor.run("run", {"code": code})
    assert not result.is_error, result.text
    return result.structured[0] if result.structured else result.text


def call_number(result: ToolResult) -> JsonValue:
    fork = result.details["fork"]
    assert isinstance(fork, dict)
    return fork["call"]


def server_of(executor: Executor) -> OciForkServer:
    (session,) = executor._options.sessions._sessions.values()
    assert session.server is not None
    server = session.server._server  # type: ignore[attr-defined]
    assert isinstance(server, OciForkServer)
    return server


NAP = "import subprocess\nsubprocess.run(['sleep', '61877'])"


def until_it_naps() -> None:
    """Wait until a call runs ``NAP``."""
    until(lambda: any(map(is_napping, Path("/proc").glob("[0-9]*"))))


def is_napping(process: Path) -> bool:
    with suppress(OSError):
        return (process / "cmdline").read_bytes() == b"sleep\00061877\0"
    return False


def test_a_call_finds_nothing_of_an_earlier_one(executor: Executor) -> None:
    for number in range(1, 6):
        result = executor.run("run", {"code": FINDS_THINGS})
        assert (result.structured, call_number(result)) == (([],), 2 * number - 1), result.text
        assert run(executor, LEAVES_THINGS) == "left"


def test_these_things_are_found_in_their_own_call(executor: Executor) -> None:
    found = run(executor, LEAVES_THINGS + FINDS_THINGS)
    assert isinstance(found, list)
    assert len(found) >= 20


def test_the_process_of_a_call_has_no_right_of_the_server(executor: Executor) -> None:
    status = (
        "answer = {line.split(':')[0]: line.split()[1] for line in open('/proc/self/status') "
        "if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp:'))}"
    )
    for _ in range(3):
        assert run(executor, status) == {
            **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "0000000000000000"),
            "NoNewPrivs": "1",
            "Seccomp": "2",
        }


@pytest.mark.parametrize(
    "attempt",
    [
        "libc.unshare(0x10000000)", "libc.unshare(0x20000)", "libc.unshare(0x20000000)",
        "libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None)", "libc.umount2(b'/tmp', 2)",
        "libc.umount2(b'/proc/sys', 2)", "libc.mount(b'/proc/sys', b'/proc/sys', None, 0x1020, None)",
        "libc.syscall(clone, 0x20000000 | 17, 0, 0, 0, 0)", "libc.syscall(clone, 0x10000000 | 17, 0, 0, 0, 0)",
        "libc.setns(os.open('/proc/self/ns/mnt', os.O_RDONLY), 0)", "libc.ptrace(16, 1, 0, 0)",
        "libc.sethostname(b'other', 5)", "libc.chroot(b'/tmp')",
        # Only the filter of a call refuses these: the kernel would find that the pointer is invalid.
        "libc.mount(ctypes.c_void_p(8), b'/tmp', b'tmpfs', 0, None)", "libc.umount2(ctypes.c_void_p(8), 0)",
    ],
)  # fmt: skip
def test_a_call_cannot_make_namespaces_or_mounts(executor: Executor, attempt: str) -> None:
    code = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
clone = {{"x86_64": 56, "aarch64": 220}}[os.uname().machine]
found = {attempt}
if found == 0 and "clone" in {attempt!r}: os._exit(0)
answer = [found, ctypes.get_errno() in (1, 13)]
"""
    assert run(executor, code) == [-1, True]


def test_a_call_has_a_network_namespace_of_its_own_without_loopback(executor: Executor) -> None:
    code = """
import errno, socket
found = []
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "192.0.2.1")):
    try:
        socket.socket(family).connect((address, 80))
    except OSError as error:
        found.append(errno.errorcode[error.errno] in ("ENETUNREACH", "EADDRNOTAVAIL"))
answer = [found, [name for _, name in socket.if_nameindex()]]
"""
    for _ in range(3):
        assert run(executor, code) == [[True] * 3, ["lo"]]


def test_the_files_of_the_kernel_are_hidden_as_in_any_sandbox(engine: Engine, tmp_path: Path) -> None:
    code = """
import os
answer = {}
for folder, folders, files in os.walk("/proc"):
    folders[:] = [each for each in folders if not each.isdigit() and each not in ("self", "thread-self", "net")]
    for name in files:
        path = folder + "/" + name
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            os.close(descriptor)
            answer[path] = "writable"
        except OSError as error:
            answer[path] = error.strerror
        if name in ("kcore", "keys", "timer_list", "cmdline", "kallsyms"):
            try:
                answer[path] += str(len(open(path, "rb").read(1)))
            except OSError as error:
                answer[path] += error.strerror
"""
    found = []
    for lifetime in ("call", "fork"):
        with Executor(registry(tmp_path, {**SANDBOX, "lifetime": lifetime}), engine=engine) as executor:
            found.append(run(executor, code))
    assert found[0] == found[1]


def test_no_signal_reaches_the_server_or_the_next_process(executor: Executor) -> None:
    run(executor, "answer = 1")
    code = """
import os, signal
for target in (-1, 1):
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
        try:
            os.kill(target, number)
        except ProcessLookupError:
            pass  # there is no other process
answer = "alive"
"""
    assert run(executor, code) == "alive"
    result = executor.run("run", {"code": "import os\nos.killpg(0, 9)"})
    assert result.text == "[the function's process was killed by SIGKILL]"
    assert call_number(executor.run("run", {"code": "answer = 2"})) == 4


def test_a_late_call_ends_alone(executor: Executor) -> None:
    run(executor, "answer = 1")
    sleeps: JsonObject = {"code": "import os, time\nos.fork()\ntime.sleep(1000)"}
    seconds = 1
    while "fork" not in (result := executor.run("run", sleeps, timeout=seconds)).details:
        seconds *= 10  # a machine that stalls may leave no time to begin
    assert (error_kind(result), call_number(result)) == ("timeout", 2)
    result = executor.run("run", {"code": FINDS_THINGS})
    assert (result.structured, call_number(result)) == (([],), 3)


def test_a_cancelled_call_ends_alone(executor: Executor) -> None:
    run(executor, "answer = 1")
    with Cancellation() as cancellation, ThreadPoolExecutor(1) as threads:
        call = threads.submit(executor.run, "run", {"code": NAP}, cancellation=cancellation)
        until_it_naps()
        cancellation.cancel()
        result = call.result(60)
    assert (error_kind(result), call_number(result)) == ("cancelled", 2)
    assert call_number(executor.run("run", {"code": "answer = 1"})) == 3


def test_a_call_that_runs_out_of_memory_ends_alone(executor: Executor) -> None:
    for number in (1, 4, 7):
        result = executor.run("run", {"code": "answer = 1"})
        assert (result.text, call_number(result)) == ("1", number)
        for more in (1, 2):
            result = executor.run("run", {"code": "x = b'x' * (1 << 30)"})
            assert (error_kind(result), call_number(result)) == ("out_of_memory", number + more)


def test_the_limit_of_processes_is_that_of_a_call(engine: Engine, tmp_path: Path) -> None:
    code = """
import os, time
number = 0
try:
    while True:
        if os.fork() == 0: time.sleep(1000)
        number += 1
except OSError:
    answer = number
"""
    found = []
    for lifetime in ("call", "fork"):
        sandbox: JsonObject = {"lifetime": lifetime, "limits": {"timeout": "100s", "pids": 30}}
        with Executor(registry(tmp_path, sandbox), engine=engine) as executor:
            found.append([run(executor, code) for _ in range(4)])
    assert found[0] == [28] * 4
    # The two processes of the next call, which may not exist yet, are added to the limit.
    assert all(28 <= int(str(each)) <= 30 for each in found[1])


def test_random_numbers_differ_and_the_hash_seed_is_shared(engine: Engine, tmp_path: Path) -> None:
    with Executor(registry(tmp_path, preload=["random"]), engine=engine) as executor:
        code = "import random\nanswer = [random.random(), hash('word')]"
        found = [run(executor, code) for _ in range(4)]
        assert all(isinstance(each, list) for each in found)
        assert len({str(each[0]) for each in found if isinstance(each, list)}) == 4
        assert len({str(each[1]) for each in found if isinstance(each, list)}) == 1


def test_standard_modules_of_preload_are_imported_once(engine: Engine, tmp_path: Path) -> None:
    code = "import sys, fractions\nanswer = 'fractions' in sys.modules and id(fractions)"
    with Executor(registry(tmp_path, preload=["fractions"]), engine=engine) as executor:
        assert len({str(run(executor, code)) for _ in range(3)}) == 1


def test_a_module_that_cannot_be_imported_is_the_error_of_the_call(engine: Engine, tmp_path: Path) -> None:
    with Executor(registry(tmp_path, preload=["tkinter"]), engine=engine) as executor:
        for number in (1, 2):
            result = executor.run("run", {"code": "answer = 1"})
            assert "the module 'tkinter' in preload cannot be imported" in result.text
            assert call_number(result) == number


def test_the_workspace_is_that_of_all_calls(engine: Engine, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    os.chown(workspace, 1234, 1234)
    sandbox: JsonObject = {**SANDBOX, "workspace": "rw"}
    with Executor(registry(tmp_path, sandbox), engine=engine, workspace=workspace) as executor:
        for number in range(1, 4):
            code = "open('file', 'a').write('x')\nimport os\nanswer = [os.getcwd(), os.path.getsize('file')]"
            assert run(executor, code) == ["/workspace", number]
    assert (workspace / "file").stat().st_uid == 1234


def test_a_script_is_run_by_a_fork_server_too(engine: Engine, tmp_path: Path) -> None:
    spec: JsonObject = {
        "toolc": 1,
        "name": "count",
        "description": "Count the files that earlier calls have left.",
        "parameters": {},
        "backend": {"shell": {"script": "echo $$; ls /tmp /dev/shm | wc -w; touch /tmp/left /dev/shm/left"}},
        "sandbox": SANDBOX,
    }
    (tmp_path / "count.yaml").write_text(json.dumps(spec), encoding="utf-8")
    with Executor(Registry.load(tmp_path / "count.yaml"), engine=engine) as executor:
        assert [executor.run("count", {}).text.split() for _ in range(3)] == [["2", "2"]] * 3


def test_a_dead_server_is_an_error_of_its_call_only(executor: Executor) -> None:
    run(executor, "answer = 1")
    run(executor, "answer = 1")
    server = server_of(executor)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(executor.run, "run", {"code": NAP})
        until_it_naps()
        signal.pidfd_send_signal(server.await_process(), signal.SIGKILL)
        failure = call.exception(60)
    if failure is None:
        # The runtime had removed the counters already, and another process on this machine has run out of memory.
        assert error_kind(call.result()) == "out_of_memory"
    else:
        assert isinstance(failure, InfrastructureError)
        assert "the sandbox ended before its call did" in str(failure)
    assert call_number(executor.run("run", {"code": "answer = 1"})) == 1
    run(executor, "answer = 1")
    # Between two calls it is not even an error.
    server = server_of(executor)
    signal.pidfd_send_signal(server.await_process(), signal.SIGKILL)
    while not server.has_ended:
        time.sleep(0.01)
    assert call_number(executor.run("run", {"code": "answer = 1"})) == 1


def test_concurrent_calls_have_a_server_each_up_to_a_limit(executor: Executor) -> None:
    count = SERVERS + 2
    # All begin together: a thread that begins later would find a free server.
    with ThreadPoolExecutor(count, initializer=Barrier(count).wait) as threads:
        found = [*threads.map(lambda _: executor.run("run", {"code": FINDS_THINGS}), range(5 * SERVERS))]
    assert [each.structured for each in found] == [([],)] * 5 * SERVERS
    assert len(executor._options.sessions._sessions) == SERVERS
    firsts = [each for each in found if call_number(each) == 1]
    assert len(firsts) == SERVERS


def test_nothing_is_left_after_close(engine: Engine, tmp_path: Path) -> None:
    with Executor(registry(tmp_path), engine=engine) as executor:
        run(executor, "answer = 1")
        run(executor, "answer = 1")
        server = server_of(executor)
        name = server._paths.name
        assert any(name in group for group in control_groups())
    assert not any(name in group for group in control_groups())


def control_groups() -> Iterator[str]:
    """Yield the control groups of each process."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield (process / "cgroup").read_text("utf-8")


def test_nothing_is_written_after_a_result(engine: Engine, tmp_path: Path) -> None:
    specs, workspace = tmp_path / "specs", tmp_path / "workspace"
    specs.mkdir()
    workspace.mkdir()
    write_specs(specs)
    for path in specs.glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"sandbox": {', '"sandbox": {"lifetime": "fork", '), encoding="utf-8")
        assert "fork" in path.read_text(encoding="utf-8")
    with Executor(Registry.load(specs), engine=engine, workspace=workspace) as executor:
        writers = LateWriters(executor=executor, workspace=workspace)
        writers.calls(60, 3)
        writers.check()
    assert writers.wrong == []
    assert writers.written >= 30
