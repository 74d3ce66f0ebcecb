"""What toolc is compared with: programs on the host, container runtimes, and another library.

All programs have absolute paths: a version manager's shim takes ten times as long as the program. The containers have
the image and the limits of toolc's sandboxes.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from engines.shared_base import known_base
from figures import Skipped
from interleaved import Subject

from toolc.model.plan import Profile
from toolc.model.spec.sandbox import Limits
from toolc.sandbox import seccomp
from toolc.sandbox.common_config import tmpfs_bounds
from toolc.sandbox.host import cgroups
from toolc.sandbox.images.metadata import Unpacked
from toolc.sandbox.images.stored import base_tag
from toolc.sandbox.oci.config import config, resources
from toolc.sandbox.oci.root import RootSpec
from toolc.sandbox.oci.user_namespace import sandbox_user

ECHO: Final = "subprocess.run(echo)"
PYTHON: Final = "python3 -I -S -c pass"
WORDS: Final = ("echo", "hello")


class MissingError(Exception):
    """A peer cannot run here; ``str(error)`` is the reason."""


def program(name: str) -> str:
    """Return the absolute path of a program, without symbolic links. Raises ``MissingError``."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if path is None:
        raise MissingError(f"{name} is not installed")
    return str(Path(path).resolve())


def run(*command: str) -> Callable[[], object]:
    """Return a function that runs a program and checks its status."""
    return lambda: subprocess.run(command, capture_output=True, check=True)


@contextmanager
def peers(folder: Path, callers: int) -> Iterator[tuple[list[Subject], list[Skipped]]]:
    """Yield the peers that can run here, ready for so many concurrent calls, and those that cannot."""
    found, skipped = [], []
    with ExitStack() as stack:
        for name, make in PEERS.items():
            try:
                found.append(Subject(name=name, call=stack.enter_context(make(folder, callers))))
            except (MissingError, OSError, subprocess.SubprocessError) as error:
                skipped.append(Skipped(subject=name, reason=str(error)))
        yield found, skipped


@contextmanager
def _echo(folder: Path, callers: int) -> Iterator[Callable[[], object]]:
    yield run(program("echo"), "hello")


@contextmanager
def _python(folder: Path, callers: int) -> Iterator[Callable[[], object]]:
    yield run(str(Path(sys.executable).resolve()), "-I", "-S", "-c", "pass")


@contextmanager
def _bubblewrap(folder: Path, callers: int) -> Iterator[Callable[[], object]]:
    """The image's root, and new namespaces of every kind. It sets no limits and no filter by itself."""
    mounts = ("--ro-bind", str(_base().root), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
    call = run(program("bwrap"), "--unshare-all", "--die-with-parent", *mounts, "--", *WORDS)
    call()
    yield call


@contextmanager
def _runc(folder: Path, callers: int) -> Iterator[Callable[[], object]]:
    """The configuration of a sandbox of the oci engine, with the program in place of its guest."""
    runtime, base, limits = program("runc"), _base(), Limits()
    bundle, state = (folder / f"runc-{callers}-{each}" for each in ("bundle", "state"))
    for each in (bundle, state):
        each.mkdir()
    configuration = config(
        Profile(),
        sandbox_user(None, euid=os.geteuid(), egid=os.getegid()),
        root=base.root,
        workspace="",
        root_spec=RootSpec(image=base, command=WORDS),
        arguments=(),
        resources=resources(limits, swap=cgroups.swap_limit(limits.memory_bytes)),
    )
    (bundle / "config.json").write_text(json.dumps(configuration), encoding="utf-8")
    numbers = itertools.count(1)

    def call() -> object:
        name = f"peer-{os.getpid()}-{callers}-{next(numbers)}"
        return run(runtime, "--root", str(state), "run", "--bundle", str(bundle), name)()

    call()
    yield call


@contextmanager
def docker_run(folder: Path, callers: int) -> Iterator[Callable[[], object]]:
    """A new container for each call."""
    call = run(program("docker"), "run", "--rm", *_options(folder), base_tag(), *WORDS)
    call()
    yield call


@contextmanager
def _docker_exec(folder: Path, callers: int) -> Iterator[Callable[[], object]]:
    """One container that all calls share."""
    docker = program("docker")
    command = [docker, "run", "--rm", "--detach", *_options(folder), base_tag(), "sleep", "infinity"]
    container = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    try:
        yield run(docker, "exec", container, *WORDS)
    finally:
        subprocess.run([docker, "rm", "--force", container], capture_output=True, check=True)


@contextmanager
def _llm_sandbox(folder: Path, callers: int) -> Iterator[Callable[[], object]]:
    """A container for each caller. Each is used for many calls, one after another."""
    try:
        from docker import DockerClient
        from llm_sandbox import SandboxSession
        from llm_sandbox.pool import PoolConfig, create_pool_manager
    except ImportError as error:
        raise MissingError(str(error)) from error
    limits = Limits()
    settings = {
        "network_mode": "none",
        "mem_limit": limits.memory_bytes,
        "pids_limit": limits.pids,
        "nano_cpus": round(limits.cpus * 1e9),
        "stop_signal": "SIGKILL",
    }
    socket = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    pool = create_pool_manager(
        backend="docker",
        config=PoolConfig(min_pool_size=callers, max_pool_size=callers),
        lang="python",
        image=base_tag(),
        client=DockerClient(base_url=socket, max_pool_size=callers),
        runtime_configs=settings,
        skip_environment_setup=True,
    )

    def call() -> object:
        with SandboxSession(lang="python", pool=pool) as session:
            output = session.execute_command(" ".join(WORDS))
        assert output.stdout.strip() == WORDS[1], output
        return output

    try:
        call()
        yield call
    finally:
        pool.close()


PEERS: Final = {
    ECHO: _echo,
    PYTHON: _python,
    "bwrap": _bubblewrap,
    "runc run": _runc,
    "docker exec": _docker_exec,
    "docker run --rm": docker_run,
    "llm-sandbox, pool": _llm_sandbox,
}
"""The peers by name, in the order of the page."""


def _base() -> Unpacked:
    base = known_base()
    if base is None:
        raise MissingError("the base image is not built")
    return base


def _options(folder: Path) -> list[str]:
    """Return the options of ``docker run`` for the limits of a sandbox."""
    limits = Limits()
    rules = folder / "seccomp.json"
    rules.write_text(json.dumps(seccomp.profile()), encoding="utf-8")
    tmp = f"/tmp:rw,nosuid,nodev,mode=1777,{','.join(tmpfs_bounds(limits.tmp_bytes))}"
    return [
        "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
        f"--security-opt=seccomp={rules}", f"--memory={limits.memory_bytes}", f"--memory-swap={limits.memory_bytes}",
        f"--pids-limit={limits.pids}", f"--cpus={limits.cpus:g}", f"--tmpfs={tmp}", "--ipc=none", "--log-driver=none",
        "--user=65534:65534", "--ulimit=core=1",
    ]  # fmt: skip
