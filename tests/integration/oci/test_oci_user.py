"""The oci engine as an ordinary user, with and without delegated control groups."""

import logging
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from engines.configurations import CONFIGURATIONS, as_user
from engines.oci_cases import needs_oci, run, start
from engines.sandbox_output import line
from engines.waiting_sandboxes import until

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonValue
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox.host import cgroups
from toolc.sandbox.interface import Engine
from toolc.sandbox.oci.engine import OciEngine

pytestmark = needs_oci

LIMITS = Limits(memory_bytes=64 * MIB, pids=20, tmp_bytes=4 * MIB, cpus=0.5)
ALL = ("memory", "cpus", "pids")

FORK = """
import os
count = 1
try:
    for _ in range(1000):
        if os.fork() == 0: os.read(os.pipe()[0], 1)
        count += 1
except BlockingIOError: print(count)
"""
HOG = """
import os
pid = os.fork()
if pid == 0: hog = [bytearray(os.urandom(2**20)) for _ in range(1000)]
print(os.WTERMSIG(os.waitpid(pid, 0)[1]), flush=True)
os.read(0, 1)
"""


def engine_as_user(work: object, *, groups: bool = True) -> JsonValue:
    """Return the result of ``work`` with an engine of an ordinary user."""
    assert callable(work)

    def with_engine() -> JsonValue:
        with closing(OciEngine()) as engine:
            found: JsonValue = work(engine)
            return found

    return as_user(with_engine, groups=groups)


def test_delegated_groups_enforce_every_limit() -> None:
    def work(engine: Engine) -> JsonValue:
        assert isinstance(engine, OciEngine)
        (offered,) = engine.capabilities()
        profile = Profile(limits=LIMITS)
        reason = engine.unsupported_reason(profile)
        with closing(start(engine, HOG, profile)) as sandbox:
            results: list[JsonValue] = [line(sandbox), sandbox.out_of_memory()]
        return [[*offered.weak], [*offered.users], reason, run(engine, FORK, profile), *results]

    assert CONFIGURATIONS["oci user"].run(work) == [[], ["owner"], None, "20\n", "9", True]


def test_without_groups_the_reason_and_the_remedy_are_reported() -> None:
    assert engine_as_user(lambda engine: engine.unsupported_reason(Profile()), groups=False) == (
        "it cannot enforce limits.memory, limits.cpus and limits.pids here. "
        "No control group with memory, pids, cpu is delegated to this user. "
        "Run it as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes toolc run TOOL. "
        "To run without full enforcement (limited instead: memory: each process separately; cpus: nothing; "
        "pids: the processes of the tool's user), add this to ~/.config/toolc/config.yaml: "
        "accept_unenforced: [memory, cpus, pids]"
    )


def test_a_start_checks_the_limits() -> None:
    def work(engine: OciEngine) -> JsonValue:
        with pytest.raises(InfrastructureError) as caught:
            start(engine, "print(1)", Profile(accept_unenforced=("memory", "cpus")))
        return str(caught.value).partition(".")[0] + str(caught.value)[-25:]

    assert engine_as_user(work, groups=False) == "it cannot enforce limitsaccept_unenforced: [pids]"


def test_accepted_limits_run_in_the_users_own_groups() -> None:
    program = "import os; print(os.getuid(), open('/proc/self/status').read().split('CapEff:')[1].split()[0])"

    def work(engine: OciEngine) -> JsonValue:
        return run(engine, program, Profile(limits=LIMITS, accept_unenforced=ALL))

    assert engine_as_user(work, groups=False) == "0 0000000000000000\n"


def test_an_exit_is_immediate_and_not_out_of_memory() -> None:
    def work(engine: OciEngine) -> JsonValue:
        sandbox = start(engine, "input()", Profile(limits=LIMITS, accept_unenforced=ALL))
        alive = sandbox.out_of_memory()
        sandbox.close()
        return [alive, sandbox.out_of_memory()]

    assert engine_as_user(work, groups=False) == [False, False]


@pytest.mark.parametrize("missing", [["cpu"], ["memory"], ["pids", "cpu"]])
def test_delegated_controllers_are_enforced_without_the_others(
    missing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "unenforceable", lambda: missing)

    def work(engine: OciEngine) -> JsonValue:
        (offered,) = engine.capabilities()
        profile = Profile(limits=LIMITS, accept_unenforced=ALL)
        with closing(start(engine, "import os; print(os.getpid(), flush=True); input()", profile)) as sandbox:
            return [[*sorted(offered.weak)], kept(sandbox._paths.name)]

    limits = {"cpu": "cpus", "memory": "memory", "pids": "pids"}
    assert engine_as_user(work) == [
        sorted(limits[name] for name in missing),
        sorted({"cpu", "memory", "pids"} - {*missing}),
    ]


def kept(sandbox: str) -> list[JsonValue]:
    """Return the controllers in which a sandbox has a group with a limit of ``LIMITS``."""
    files = {
        "memory": ("memory.limit_in_bytes", "memory.max"),
        "pids": ("pids.max", "pids.max"),
        "cpu": ("cpu.cfs_quota_us", "cpu.max"),
    }
    expected = {"memory": str(LIMITS.memory_bytes), "pids": str(LIMITS.pids), "cpu": "50000"}
    found: set[str] = set()
    until(lambda: bool(groups_with(sandbox)))
    for folder in groups_with(sandbox):
        for controller, names in files.items():
            for name in names:
                path = folder / name
                if path.exists() and path.read_text(encoding="ascii").split()[0] == expected[controller]:
                    found.add(controller)
    return [*sorted(found)]


def groups_with(text: str) -> list[Path]:
    """Return the control groups with ``text`` in their name; others may appear and disappear."""
    tree = os.walk("/sys/fs/cgroup")
    return [Path(folder, name) for folder, names, _ in tree for name in names if text in name]


TOOLS = """\
toolc: 1
defaults:
  sandbox: {limits: {memory: 64MiB, pids: 20, tmp: 4MiB, timeout: 100s}}
tools:
  - name: hog
    description: Take more memory than there is, for tests of toolc itself and for nothing else.
    backend: {python: {code: "def hog():\\n    return len(bytearray(100 * 2**20))\\n"}}
  - name: forks
    description: Start more processes than it may, for tests of toolc itself and for nothing else.
    backend: {python: {code: "def forks():\\n    import os\\n    for n in range(1000):\\n        try:\\n            if os.fork() == 0: os.read(os.pipe()[0], 1)\\n        except BlockingIOError:\\n            return n\\n"}}
"""  # noqa: E501  code in a string


def test_the_guest_limits_the_call_and_each_result_says_so(tmp_path: Path) -> None:
    specs = tmp_path / "specs.yaml"
    specs.write_text(TOOLS, encoding="utf-8")
    registry = Registry.load(specs)
    configuration = Configuration(engine="oci", accept_unenforced=ALL)

    def work() -> JsonValue:
        warnings = Warnings()
        with Executor(registry, configuration=configuration) as executor:
            hog, forks = executor.run("hog", {}), executor.run("forks", {})
        assert hog.error is not None
        assert hog.details["unenforced"] == forks.details["unenforced"]
        return [hog.error.message, forks.text, hog.details["unenforced"], *warnings.messages]

    message, forked, unenforced, *warned = as_list(as_user(work, groups=False))
    assert "MemoryError" in str(message)
    assert 10 < int(str(forked)) < 20
    assert unenforced == ["memory", "cpus", "pids"]
    assert warned == [
        f"tool {name!r} runs without limits.memory, limits.cpus and limits.pids: the engine 'oci' cannot "
        "enforce that here, and your configuration accepts it; limited instead: memory: each process "
        "separately; cpus: nothing; pids: the processes of the tool's user"
        for name in ("hog", "forks")
    ]


def command_output(home: Path, *arguments: str) -> str:
    """Return the exit code and stderr of a command of a user who accepts unenforced limits."""
    configuration = home / ".config/toolc/config.yaml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text("engine: oci\naccept_unenforced: [memory, cpus, pids]\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "toolc", *arguments], capture_output=True, text=True, check=False)
    return f"{done.returncode} {done.stderr}"


def test_the_command_line_reports_unenforced_limits() -> None:
    def work() -> JsonValue:
        home = Path(os.environ["HOME"])
        (home / "specs.yaml").write_text(TOOLS, encoding="utf-8")
        return command_output(home, "run", f"{home}/specs.yaml#forks")

    assert as_user(work, groups=False) == (
        "0 toolc: warning: tool 'forks' runs without limits.memory, limits.cpus and limits.pids: "
        "the engine 'oci' cannot enforce that here, and your configuration accepts it; limited instead: "
        "memory: each process separately; cpus: nothing; pids: the processes of the tool's user\n"
    )


def test_the_doctor_reports_unenforced_limits_without_warnings() -> None:
    def work() -> JsonValue:
        return command_output(Path(os.environ["HOME"]), "doctor", "--engine", "oci")

    assert as_user(work, groups=False) == "0 "


class Warnings(logging.Handler):
    """Collects toolc's warnings in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []
        logging.getLogger("toolc").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def as_list(value: JsonValue) -> list[JsonValue]:
    assert isinstance(value, list)
    return value


def test_the_delegated_groups_are_removed() -> None:
    CONFIGURATIONS["oci user"].run(lambda engine: engine.unsupported_reason(Profile()))
    assert groups_with(f"toolc-test-{os.getpid()}-") == []
