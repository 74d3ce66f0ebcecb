"""The oci engine: isolation of its sandboxes, and their removal."""

import ast
import dataclasses
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from engines.oci_cases import HOSTILE, SMALL, needs_oci, run, start, traces
from engines.sandbox_output import line, output, workspace

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount, Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox.host.kernel import TRIES
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.oci import probe as oci_probe
from toolc.sandbox.oci.engine import OciEngine

pytestmark = needs_oci


@pytest.fixture(scope="module")
def engine() -> Iterator[OciEngine]:
    engine = OciEngine()
    yield engine
    engine.close()
    own = Owner.current().label()
    # The janitor has the label too, and lives as long as this process.
    assert [trace for trace in traces(own) if not trace.startswith("process")] == [f"folder /run/toolc/{own}"]


def status(engine: OciEngine) -> dict[str, str]:
    text = run(engine, "print(open('/proc/self/status').read())")
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def test_no_capability_can_be_gained(engine: OciEngine) -> None:
    found = status(engine)
    assert {found[key] for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert found["NoNewPrivs"] == "1"
    assert found["Seccomp"] == "2"
    assert found["Groups"] == ""


def test_the_guest_is_process_1_of_separate_namespaces(engine: OciEngine) -> None:
    program = """
import os, socket
print(os.getpid(), socket.gethostname(), [name for name in os.listdir("/proc") if name.isdigit()])
"""
    assert run(engine, program) == "1 sandbox ['1']\n"


def test_only_loopback_is_available(engine: OciEngine) -> None:
    program = """
import errno, socket
print([name for _, name in socket.if_nameindex()])
server = socket.create_server(("127.0.0.1", 0))
print(socket.create_connection(server.getsockname()).getpeername()[0])
for address in ("192.0.2.1", "169.254.169.254"):
    try: socket.create_connection((address, 80), timeout=5)
    except OSError as error: print(errno.errorcode[error.errno])
"""
    assert run(engine, program) == "['lo']\n127.0.0.1\nENETUNREACH\nENETUNREACH\n"


@pytest.mark.parametrize("host_programs", [False, True])
def test_the_root_is_read_only_and_has_no_user_files(engine: OciEngine, host_programs: bool) -> None:
    program = """
import errno, os
for path in ("/x", "/usr/x", "/etc/x", "/home/x", "/var/x", "/run/x", "/proc/sys/kernel/hostname", "/etc/passwd"):
    try: open(path, "w")
    except OSError as error: print(path, errno.errorcode[error.errno])
for path in ("/root", "/sys", "/home"):
    try: print(os.listdir(path), end=" ")
    except OSError as error: print(errno.errorcode[error.errno], end=" ")
print(os.access("/etc/shadow", os.R_OK))
print(sorted(os.listdir("/dev")))
"""
    lines = run(engine, program, Profile(limits=SMALL, host_programs=host_programs)).splitlines()
    assert {line.split()[1] for line in lines[:8]} <= {"EROFS", "EACCES"}
    assert lines[8] == ("ENOENT ENOENT [] False" if host_programs else "EACCES [] [] False")
    assert set(ast.literal_eval(lines[9])) == {
        "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"
    }  # fmt: skip


def test_only_temporary_folders_are_writable_and_limited(engine: OciEngine) -> None:
    program = """
import os
for path in ("/tmp", "/tool", "/dev/shm"):
    found = os.statvfs(path)
    print(path, found.f_frsize * found.f_blocks, oct(os.stat(path).st_mode), open(path + "/x", "w").write("x"))
try: open("/tmp/big", "wb").write(bytes(5 * 2**20))
except OSError as error: print(error.strerror)
"""
    assert run(engine, program).splitlines() == [
        f"/tmp {4 * MIB} 0o41777 1",
        f"/tool {16 * MIB} 0o41777 1",
        f"/dev/shm {16 * MIB} 0o41777 1",
        "No space left on device",
    ]


def test_mounts_have_neither_devices_nor_set_user_ids(engine: OciEngine, tmp_path: Path) -> None:
    profile = Profile(workspace=workspace(tmp_path), limits=SMALL)
    mounts = [line.split() for line in run(engine, "print(open('/proc/self/mountinfo').read())", profile).splitlines()]
    for _, _, _, _, point, options, *_ in (fields for fields in mounts if fields):
        if not point.startswith(("/proc/", "/dev/")) and point not in {"/", "/dev"}:
            assert {"nosuid", "nodev"} <= set(options.split(",")), point


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only x86-64 has other personalities")
@pytest.mark.parametrize("entry", ["x32", "x86"])
def test_other_architectures_are_killed(engine: OciEngine, entry: str) -> None:
    call = {
        "x32": "ctypes.CDLL(None).syscall(0x40000000 + 39)",
        # mov eax, 20 (getpid); int 0x80; ret
        "x86": "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()",
    }[entry]
    program = f"""
import ctypes, mmap, os
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))
pid = os.fork()
if pid == 0:
    print("got", {call}, flush=True)
    os._exit(0)
print(os.WTERMSIG(os.waitpid(pid, 0)[1]))
"""
    assert run(engine, program) == "31\n"


def test_ordinary_programs_work(engine: OciEngine) -> None:
    program = """
import subprocess
def say(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, cwd="/tmp", env={"PATH": "/usr/bin:/bin"})
    print(done.returncode, done.stdout.strip(), done.stderr.strip())
say("sh", "-c", "id -un && echo $(pwd) | cat")
say("python3", "-c", "import sqlite3, ssl; print(len(ssl.create_default_context().get_ca_certs()) >= 0)")
say("python3", "-c", "import multiprocessing as m; q = m.Queue(); m.Process(target=q.put, args=[5]).start();"
    "print(q.get())")
"""
    limits = dataclasses.replace(SMALL, memory_bytes=256 * MIB)
    assert run(engine, program, Profile(limits=limits)) == "0 nobody\n/tmp \n0 True \n0 5 \n"


WRITE = """
import os
print(os.getuid(), os.getgid(), os.stat("/workspace").st_uid, open("/workspace/in put").read())
try: print(open("/workspace/out put", "w").write("x"))
except OSError as error: print(error.strerror)
"""


@pytest.mark.parametrize(("owner", "inside"), [(0, 1000), (1234, 1234)], ids=["root's", "a user's"])
@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_workspace_files_belong_to_its_owner(
    engine: OciEngine, tmp_path: Path, owner: int, inside: int, mode: str
) -> None:
    # Other users cannot reach the folder on the host: the engine itself must pass it in.
    folder = tmp_path / "private" / "a folder, with a comma:and colon"
    folder.mkdir(parents=True)
    (folder / "in put").write_text("read", encoding="utf-8")
    for path in (folder / "in put", folder):
        os.chown(path, owner, owner)
        path.chmod(0o700)
    (tmp_path / "private").chmod(0o700)
    with closing(start(engine, WRITE, Profile(workspace=workspace(folder, mode), limits=SMALL))) as sandbox:
        assert sandbox.user == f"{inside}:{inside}"
        last = "1" if mode == "rw" else "Read-only file system"
        assert output(sandbox) == f"{inside} {inside} {inside} read\n{last}\n"
    assert (folder / "out put").exists() is (mode == "rw")
    if mode == "rw":
        assert ((folder / "out put").stat().st_uid, (folder / "out put").stat().st_gid) == (owner, owner)


def test_a_file_system_without_mapped_mounts_is_refused(engine: OciEngine) -> None:
    # proc never supports it, like some network file systems.
    profile = Profile(workspace=Mount(source="/proc/sys", mode="ro", owner=0, group=0))
    refusal = engine.unsupported_reason(profile)
    assert refusal is not None
    assert refusal.startswith("/proc/sys belongs to root and cannot be mounted as another user's")
    assert "give the folder to an ordinary user with chown" in refusal
    with pytest.raises(InfrastructureError, match="chown"):
        start(engine, "", profile)


def test_a_workspace_that_is_removed_while_a_sandbox_starts_is_named(engine: OciEngine, tmp_path: Path) -> None:
    profile = Profile(workspace=Mount(source=str(tmp_path / "gone"), mode="ro", owner=0, group=0))
    with pytest.raises(InfrastructureError, match="gone was removed or replaced while a sandbox was being started"):
        start(engine, "", profile)


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        (
            Profile(image="toolc-test/none:1"),
            "the image toolc-test/none:1 is not on this host; get it with: docker pull",
        ),
        (Profile(min_isolation="gvisor"), "the tool requires min_isolation: gvisor"),
    ],
)
def test_unsupported_profiles_are_refused(engine: OciEngine, profile: Profile, words: str) -> None:
    assert words in str(engine.unsupported_reason(profile))
    with pytest.raises(InfrastructureError, match=re.escape(words)):
        engine.start(profile, [])


def test_a_failed_start_reports_why_and_leaves_nothing(engine: OciEngine, tmp_path: Path) -> None:
    before = traces(Owner.current().label())
    gone = tmp_path / "gone"
    profile = Profile(workspace=Mount(source=str(gone), mode="ro", owner=1234, group=1234), limits=SMALL)
    with pytest.raises(InfrastructureError, match=r"could not start a sandbox: .*gone: No such file or directory"):
        start(engine, "", profile)
    assert traces(Owner.current().label()) == before


BUSY = """\
#!/bin/sh
case "$*" in *" run "*)
    echo >> {calls}
    if [ $(/usr/bin/wc -l < {calls}) -le {failures} ]; then
        echo 'level=error msg="runc run failed: write /sys/fs/cgroup/cpu/x/cgroup.procs: invalid argument"' >&2
        exit 1
    fi
esac
exec {runtime} "$@"
"""


@pytest.mark.parametrize("failures", [TRIES - 1, TRIES])
def test_a_transient_start_failure_is_retried(
    engine: OciEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    """This happens on busy machines with cgroup v1; each start mounts root's folder again."""
    (folder := tmp_path / "folder").mkdir()
    calls, wrapper = tmp_path / "calls", tmp_path / oci_probe.RUNTIME
    words = BUSY.format(calls=calls, failures=failures, runtime=oci_probe.runtime())
    wrapper.write_text(words, encoding="utf-8")
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    profile = Profile(workspace=workspace(folder), limits=SMALL)
    if failures < TRIES:
        assert run(engine, "open('/workspace/new', 'w'); print('fine')", profile) == "fine\n"
        assert (folder / "new").exists()
    else:
        with pytest.raises(InfrastructureError, match=r"cgroup\.procs: invalid argument"):
            start(engine, "", profile)
    assert len(calls.read_text().splitlines()) == TRIES
    assert not [trace for trace in traces(f"{Owner.current().label()}-") if not trace.startswith("process")]


@pytest.mark.parametrize("fd", [1, 2])
def test_a_guest_that_never_stops_writing_is_closed_immediately(engine: OciEngine, fd: int) -> None:
    sandbox = start(engine, f"import os\nwhile True: os.write({fd}, bytes(65536))")
    sandbox.close()
    assert not sandbox.out_of_memory()


def test_close_ends_a_hostile_process_tree(engine: OciEngine) -> None:
    sandbox = start(engine, HOSTILE)
    assert line(sandbox) == "ready"
    sandbox.close()
    sandbox.close()
    assert not [trace for trace in traces(f"{Owner.current().label()}-") if "cgroup" in trace or "process" in trace]
    assert not sandbox.out_of_memory()


def test_a_closed_engine_has_stopped_its_sandboxes() -> None:
    with closing(OciEngine()) as engine:
        sandbox = start(engine, HOSTILE)
        assert line(sandbox) == "ready"
        directory = sandbox._paths.state.parent
        engine.close()
        assert sandbox._runtime.returncode is not None
        # Each process of the tree may have said that it is ready.
        assert next(data for data in iter(sandbox.read, None) if not data.startswith(b"ready")) == b""
        assert not directory.exists()
        assert engine.closings == 1
        sandbox.close()
        assert run(engine, "print('again')") == "again\n"
    assert not [trace for trace in traces(f"{Owner.current().label()}-") if "cgroup" in trace or "process" in trace]


def test_a_killed_runtime_leaves_nothing(engine: OciEngine) -> None:
    sandbox = start(engine, HOSTILE)
    assert line(sandbox) == "ready"
    os.kill(sandbox._runtime.pid, signal.SIGKILL)
    sandbox.close()
    assert not [trace for trace in traces(f"{Owner.current().label()}-") if not trace.startswith("process")]


def test_signals_to_the_process_group_do_not_reach_the_runtime(engine: OciEngine) -> None:
    sandbox = start(engine, "input()")
    runtime = sandbox._runtime.pid
    assert (os.getsid(runtime), os.getpgid(runtime)) == (runtime, runtime)
    sandbox.close()


def test_no_descriptor_is_leaked_or_inherited(engine: OciEngine) -> None:
    run(engine, "")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with socket.socket() as precious:
        precious.set_inheritable(True)
        program = "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd')))"
        assert ast.literal_eval(run(engine, program))[:-1] == [0, 1, 2]
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_missing_runtime_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oci_probe, "RUNTIME", "no-such-runtime")
    probe = OciEngine().probe()
    assert (probe.available, probe.reason) == (False, "runc is not installed.")
    assert "apt-get install runc" in probe.remedy


def test_a_probe_leaves_nothing(engine: OciEngine) -> None:
    before = traces(Owner.current().label())
    engine.probe()
    assert traces(Owner.current().label()) == before


def test_the_defaults_of_format_1_can_be_enforced(engine: OciEngine) -> None:
    assert engine.unsupported_reason(Profile(limits=Limits())) is None
    assert run(engine, "print(1)", Profile()) == "1\n"
