"""The packages of a Python tool, installed once into a folder that is bound read-only at ``/opt/toolc/site``.

pip runs on the host, and installs only wheels for the sandbox's Python. No code of the packages runs on the host, and
no sandbox needs a network. The requirements of a spec can be only packages of an index, and pip cannot start programs.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError
from toolc.model.text import lazy_re
from toolc.sandbox.common_config import IMAGE_COMMAND, RUNTIME, SITE
from toolc.sandbox.host import store
from toolc.sandbox.python import wheels_only
from toolc.sandbox.python.interpreter import (
    MIN_VERSION,
    PORTABLE_COMMAND,
    PythonInfo,
    Start,
    portable_python,
    python_info,
)

KIND: Final = "site"
"""The store's kind of package folders."""

UNUSED_DAYS: Final = 30
"""After this many days without a call, a folder is unused. It is not known which specs on this host need it."""

_LIST: Final = ".toolc-packages"
"""The file in the package folder that lists the packages."""

_PINNED: Final = lazy_re(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._,-]*\])?==[A-Za-z0-9.!_+-]+(?: --hash=sha256:[0-9a-f]{64})*"
)
"""A requirement. Its only options are digests, and it has no address or path, which could run code on the host."""

_UNLISTED: Final = lazy_re(r"In --require-hashes mode, all .*\n\s+([A-Za-z0-9._-]+)")
_ANOTHER: Final = lazy_re(r"DO NOT MATCH THE HASHES.*\n\s+(\S+) from (?:.*\n)*?\s+Got\s+([0-9a-f]{64})")
"""Patterns for pip's error messages about digests, which have several lines."""

MIN_GLIBC: Final = 5
SECONDS: Final = 600.0
"""The oldest glibc of manylinux (PEP 571, PEP 600), and a timeout, because downloads of large wheels take minutes."""

_ENVIRONMENT: Final = lazy_re(r"(?i)(?:PIP_|SSL_|XDG_)\w+|(?:https?|all|no)_proxy|PATH|HOME|REQUESTS_CA_BUNDLE")
"""The environment variables that pip gets, which set its index, proxies and certificates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """One folder of packages: their names and versions, and its last use by a call, in seconds since 1970."""

    key: str
    names: tuple[str, ...]
    folder: Path
    last_used: float

    @property
    def is_unused(self) -> bool:
        """Whether no call has used it for ``UNUSED_DAYS``."""
        return _is_old(self.last_used)


def make(key: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder of this key, marked as used. ``fill`` creates it if needed. Raises ``InfrastructureError``."""
    while True:
        folder = store.make(KIND, key, fill)
        try:
            os.utime(folder)
        except FileNotFoundError:
            continue  # it was removed in between
        return folder


def installed_packages() -> tuple[Packages, ...]:
    """Return all package folders in the store, by name. Raises ``InfrastructureError``."""
    found = []
    for folder in (store.directory() / KIND).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            used = folder.stat().st_mtime
            # The name of a metadata folder has the name and version of its package (PEP 427).
            names = tuple(sorted(each.name.removesuffix(".dist-info") for each in folder.glob("*.dist-info")))
            found.append(Packages(key=folder.name, names=names, folder=folder, last_used=used))
    return tuple(sorted(found, key=lambda each: (each.names, each.key)))


def remove_packages(packages: Packages) -> None:
    """Remove an unused folder. Raises ``InfrastructureError`` if a call uses it, or it cannot be removed."""
    store.remove(KIND, packages.key, packages.folder, is_needed=lambda folder: not _is_old(folder.stat().st_mtime))


def site(requirements: Sequence[str], python: PythonInfo) -> Path:
    """Return the folder of these packages and their dependencies. Raises ``InfrastructureError``."""
    # A compiled spec contains only such requirements, but they may have another source.
    if invalid := next((each for each in requirements if not _PINNED.fullmatch(each)), None):
        raise InfrastructureError(f"{invalid!r:.100} does not require one version; write it as pandas==2.2.3")
    identity = json.dumps([sorted(requirements), python.version, python.libc, python.machine])
    key = hashlib.sha256(identity.encode()).hexdigest()

    def fill(folder: Path) -> None:
        file = folder.parent / "requirements.txt"
        file.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        _install(file, folder, python)

    return make(key, fill)


def require_pip() -> None:
    """Raise ``InfrastructureError`` if this Python has no pip."""
    if importlib.util.find_spec("pip") is None:
        raise InfrastructureError(
            f"installing packages needs pip, which this Python does not have; run: {sys.executable} -m ensurepip"
        )


def packages_in(folder: Path) -> tuple[str, ...]:
    """Return the packages in a folder that ``site`` created, each as ``name==version@sha256:...``, sorted."""
    return tuple((folder / _LIST).read_text(encoding="utf-8").split())


def pip_options(python: PythonInfo) -> list[str]:
    """Return the options with which pip chooses wheels for this Python instead of its own."""
    number = f"{python.version[0]}{python.version[1]}"
    options = ["--python-version", ".".join(map(str, python.version)), "--implementation", "cp"]
    options += [word for abi in (f"cp{number}", "abi3", "none") for word in ("--abi", abi)]
    return options + [word for name in platforms(python) for word in ("--platform", name)]


def platforms(python: PythonInfo) -> list[str]:
    """Return the platform tags of wheels that this Python can load, best first (PEP 600)."""
    found = re.fullmatch(r"glibc 2\.(\d+)", python.libc)
    if found is None:
        return [f"musllinux_1_{minor}_{python.machine}" for minor in (2, 1)]
    tags = [f"manylinux_2_{minor}_{python.machine}" for minor in range(int(found[1]), MIN_GLIBC - 1, -1)]
    return [*tags, *(f"manylinux{name}_{python.machine}" for name in ("2014", "2010", "1"))]


@dataclass(frozen=True, slots=True)
class GuestEnvironment:
    """The command of the guest's Python, and the host folders to bind (source, target)."""

    command: tuple[str, ...] = IMAGE_COMMAND
    binds: tuple[tuple[str, str], ...] = ()


def packages_of(binds: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the packages in the bound host folders."""
    return next((packages_in(Path(source)) for source, target in binds if target == SITE), ())


@dataclass(frozen=True, slots=True)
class RootFilesystem:
    """A root for sandboxes: a key that identifies it, and a function that starts a sandbox with it."""

    key: str
    start: Start


def prepare_guest_environment(
    root: RootFilesystem, base: Callable[[], RootFilesystem], requirements: Sequence[str]
) -> GuestEnvironment:
    """Return the Python and packages for a sandbox of ``root``. If ``root`` has no Python, it is that of ``base``.

    Everything is created once and then reused. Raises ``InfrastructureError``.
    """
    command: tuple[str, ...] = IMAGE_COMMAND
    binds: list[tuple[str, str]] = []
    python = python_info(root.key, root.start)
    if python is None:
        origin = base()
        python = python_info(origin.key, origin.start)
        if python is None:
            version = ".".join(map(str, MIN_VERSION))
            raise InfrastructureError(f"neither the image nor toolc's base image has Python {version} or newer")
        command = PORTABLE_COMMAND
        binds.append((str(portable_python(origin.key, origin.start)), RUNTIME))
    if requirements:
        binds.append((str(site(requirements, python)), SITE))
    return GuestEnvironment(command, tuple(binds))


def _is_old(last_used: float) -> bool:
    return time.time() - last_used > UNUSED_DAYS * 24 * 3600


def _listed(report: Path) -> str:
    """Return the packages of pip's installation report, one per line."""
    lines = []
    for each in json.loads(report.read_text(encoding="utf-8"))["install"]:
        about, origin = each["metadata"], each["download_info"]["archive_info"]
        lines.append(f"{about['name']}=={about['version']}@sha256:{origin['hashes']['sha256']}\n")
    return "".join(sorted(lines))


def _install(requirements: Path, folder: Path, python: PythonInfo) -> None:
    require_pip()
    argv = [sys.executable, "-I", wheels_only.__file__, "install"]
    argv += ["--target", str(folder), "--requirement", str(requirements)]
    argv += ["--only-binary", ":all:", "--no-compile", "--no-input", "--disable-pip-version-check", "--quiet"]
    report = requirements.parent / "report.json"
    argv += ["--report", str(report), "--no-warn-conflicts", "--progress-bar", "off", *pip_options(python)]
    environment = {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name)}
    # If this process is killed, the processes that fill the folder are found by their TMPDIR.
    environment |= {"TMPDIR": str(requirements.parent), "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            argv, cwd=requirements.parent, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InfrastructureError(f"pip did not finish within {SECONDS / 60:.0f} minutes; try again") from None
    if done.returncode != 0:
        raise InfrastructureError(_pip_error(done.stderr, requirements, python))
    (folder / _LIST).write_text(_listed(report), encoding="utf-8")
    report.unlink()


def _pip_error(stderr: str, requirements: Path, python: PythonInfo) -> str:
    """Return the last error message of pip as a message for the user."""
    names = ", ".join(line.partition(" ")[0] for line in requirements.read_text(encoding="utf-8").splitlines())
    return (
        f"pip could not install {names} for Python {'.'.join(map(str, python.version))} from wheels: "
        f"{_reason(stderr)}; check the versions in 'requirements', and whether this host can reach its package index"
    )


def _reason(stderr: str) -> str:
    if unlisted := _UNLISTED.search(stderr):
        return f"it needs {unlisted[1]}, which must be listed with its hash, like all the other packages"
    if another := _ANOTHER.search(stderr):
        return f"the hash of {another[1]} is sha256:{another[2]}, which is not one of the listed hashes"
    lines = [line.removeprefix("ERROR: ").strip() for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else stderr.strip().rpartition("\n")[2] or "it gave no reason"
