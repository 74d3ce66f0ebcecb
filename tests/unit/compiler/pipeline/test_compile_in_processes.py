"""Several processes have the results of one process, even if one of them fails."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from project.paths import ROOT, TEST_SPECS

from toolc.compiler.pipeline import processes
from toolc.compiler.pipeline.compile import compile_specs
from toolc.document.nodes import to_json

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells the number of threads")

SETUP = """
import os, signal, sys, threading, time
from pathlib import Path
from toolc.compiler.pipeline import processes
os.sched_getaffinity = lambda _pid: {0, 1, 2}
fork, threads = os.fork, []
def counted_fork():
    threads.append(len(os.listdir("/proc/self/task")))
    return fork()
os.fork = counted_fork
HERE, NUMBERS = os.getpid(), range(200)
"""
"""Three processors on every machine, and the number of threads at each fork. Tests themselves have several threads."""

WORK = """
def work(number):
    if os.getpid() != HERE:
        {}
    time.sleep(0.001)
    return number
assert processes.parallel_map(work, NUMBERS) == [*NUMBERS]
"""


def run(code: str, *arguments: str, folder: Path | None = None, status: int = 0, notes: bool = False) -> str:
    """Return the output of a program with ``SETUP``. Warnings are errors."""
    program = [sys.executable, "-W", "error", "-c", SETUP + code, *arguments]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, notes or done.stderr) == (status, notes or "")
    return done.stdout


def test_results_are_in_order_and_no_process_with_threads_is_forked(tmp_path: Path) -> None:
    code = """
def work(number):
    Path(str(os.getpid())).touch()
    while len([*Path().iterdir()]) < 3:  # until every process has a part
        time.sleep(0.001)
    return number * number
for _ in range(5):
    assert processes.parallel_map(work, NUMBERS) == [number * number for number in NUMBERS]
    for each in Path().iterdir():
        each.unlink()
print(threads)
"""
    assert run(code, folder=tmp_path) == f"{[1] * 10}\n"


@pytest.mark.parametrize("failure", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(3)", "raise OSError"])
def test_this_process_does_the_work_of_one_that_fails(failure: str) -> None:
    assert run(f"{WORK.format(failure)}print(len(threads))") == "2\n"


def test_an_error_of_the_work_is_raised() -> None:
    code = """
def work(number):
    raise KeyError(number)
try:
    processes.parallel_map(work, NUMBERS)
except KeyError:
    print("raised")
"""
    assert run(code) == "raised\n"


@pytest.mark.parametrize("after", [0, 1])
def test_a_failed_fork_is_handled(after: int) -> None:
    code = f"""
def failing_fork():
    if len(threads) == {after}:
        raise BlockingIOError
    return counted_fork()
os.fork = failing_fork
{WORK.format("time.sleep(60)")}"""
    assert run(code) == ""


def test_one_processor_or_another_thread_means_one_process() -> None:
    code = f"""
done = threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
{WORK.format("pass")}
done.set()
thread.join()
os.sched_getaffinity = lambda _pid: {{0}}
{WORK.format("pass")}
print(threads)
"""
    assert run(code) == "[]\n"


SLEEPER = """
def work(number):
    os.write(1, f"{os.getpid()}\\n".encode())
    while True:
        time.sleep(0.05)  # not one long sleep: a signal that arrives just before it does not end it
processes.parallel_map(work, NUMBERS)
"""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_other_processes_end_with_their_parent(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", SETUP + SLEEPER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(process.stdout.readline()) for _ in range(3)]
        assert process.pid in pids
        for pid in pids if number == signal.SIGINT else [process.pid]:  # Ctrl-C goes to all of them
            os.kill(pid, number)
        process.wait()
        deadline = time.monotonic() + 60
        while any(map(is_running, pids)):
            assert time.monotonic() < deadline, "a process is still running"
            time.sleep(0.01)


COMMAND = """
from toolc.cli.main import main
processes.FEW, processes.CHUNK_SIZES = 3, range(1, 2)
if sys.argv[1] == "1":
    os.sched_getaffinity = lambda _pid: {0}
try:
    main(sys.argv[2:])
finally:
    assert len(threads) == (0 if sys.argv[1] == "1" else 2), threads
"""
CALLER = """\
toolc: 1
name: caller
description: Count the words of one file and then those of another one.
parameters: {}
backend:
  composite:
    strategy: sequential
    steps: [{id: one, tool: word_count, args: {file: x}}, {id: two, tool: git_log, args: {}}]
"""
"""A tool whose findings depend on the tools it calls."""

ODD = {
    "bom.yaml": b"\xef\xbb\xbf\xef\xbb\xbftoolc: 1\nname: bom\n",
    "latin.yaml": b"toolc: 1\nname: caf\xe9\n",
    "empty.yaml": b"",
    "broken.toml": b"toolc = 1\nname = [\n",
    "ignored.yaml": b"toolc: 1\nname: x\ndescription: no  # toolc: ignore[TC204] why\nbackend: {}\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the built-in tools and the examples, and no cache."""
    ignored = shutil.ignore_patterns("toolc.yaml", "plugins", "templates", "*.toml")
    shutil.copytree(ROOT / "specs", tmp_path / "specs/own", ignore=ignored)
    shutil.copytree(ROOT / "docs/guides/examples", tmp_path / "specs/examples", ignore=ignored)
    (tmp_path / "specs/caller.yaml").write_text(CALLER, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "project"),
    [
        ("check", "vars: {}\n"),
        ("build", "lint: {max_tokens: {tool: 100}}\n"),
        pytest.param("check", "vars: [\n", marks=pytest.mark.integrations),
    ],
)
def test_findings_are_the_same(folder: Path, command: str, project: str) -> None:
    shutil.copytree(TEST_SPECS / "negative", folder / "specs/negative")
    for name, data in ODD.items():
        (folder / "specs" / name).write_bytes(data)
    (folder / "toolc.yaml").write_text(project, encoding="utf-8")
    line = (command, "specs", "--select", "TC", "--format", "json")
    one, several = (run(COMMAND, count, *line, folder=folder, status=1) for count in ("1", "3"))
    assert several == one
    assert '"code"' in one


@pytest.mark.slow
@pytest.mark.parametrize("provider", [pytest.param("openai_chat", marks=pytest.mark.integrations), "anthropic"])
def test_a_build_has_the_same_bytes(folder: Path, provider: str) -> None:
    """Anthropic limits the strict tools of a request, so its definitions depend on all tools."""
    (folder / "specs/caller.yaml").write_text(CALLER.replace("file: x", "path: x"), encoding="utf-8")
    (folder / "toolc.yaml").write_text(f"defaults: {{providers: {{{provider}: {{strict: true}}}}}}\n")
    built = []
    for count in ("1", "3"):
        run(COMMAND, count, "build", "specs", "--format", "json", "--out", count, folder=folder, notes=True)
        built.append({path.relative_to(folder / count): path.read_bytes() for path in (folder / count).rglob("*.json")})
    assert built[0] == built[1]
    assert len(built[0]) > 10


def test_tools_without_their_nodes_read_them_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "toolc.yaml").write_text("defaults: {owner: us}\nvars: {a: b}\n", encoding="utf-8")
    monkeypatch.setattr(processes, "FEW", 0)
    expected = compile_specs([folder / "specs"])
    found = processes.compile_many([folder / "specs"])
    assert found.tools == expected.tools
    assert [to_json(tool.node) for tool in found.located] == [to_json(tool.node) for tool in expected.located]
    for one, other in zip(found.located, expected.located, strict=True):
        assert one.tokens == other.tokens
        for key in (*other.node.by_key, "missing"):
            assert (one.span(key), one.key_span(key)) == (other.span(key), other.key_span(key))


def test_a_process_of_the_caller_is_not_killed_with_those_of_a_broken_pool() -> None:
    child = "import multiprocessing as m; child = m.get_context('fork').Process(target=time.sleep, args=(60,))\n"
    work = WORK.format("os.kill(os.getpid(), signal.SIGKILL)")
    run(f"{child}child.start()\n{work}assert child.is_alive()\nchild.kill()\n")
