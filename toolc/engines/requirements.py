"""The packages of a Python tool: a folder of them, made once, and bound read-only at ``/opt/toolc/site``.

pip runs here, on the host, and installs wheels only, for the sandbox's Python: so none of their code runs, and
no sandbox needs a network. What a spec asks for can only be packages of an index, and pip can start no program.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from toolc.engines import packages, wheels_only
from toolc.engines.guest_python import Facts
from toolc.model.errors import InfrastructureError

SITE: Final = "/opt/toolc/site"
"""Where the packages stand in a sandbox."""

_LIST: Final = ".toolc-packages"
"""The file beside the packages that says which they are."""

_PINNED: Final = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._,-]*\])?==[A-Za-z0-9.!_+-]+(?: --hash=sha256:[0-9a-f]{64})*"
)
"""No option of pip's but a digest, no address and no path, each of which could run code here."""

_UNLISTED: Final = re.compile(r"In --require-hashes mode, all .*\n\s+([A-Za-z0-9._-]+)")
_ANOTHER: Final = re.compile(r"DO NOT MATCH THE HASHES.*\n\s+(\S+) from (?:.*\n)*?\s+Got\s+([0-9a-f]{64})")
"""What pip says of digests, over several lines."""

OLDEST_GLIBC: Final = 5
SECONDS: Final = 600.0
_ENVIRONMENT: Final = re.compile(
    r"(?:PIP_|SSL_|XDG_)\w+|(?:https?|all|no)_proxy|PATH|HOME|REQUESTS_CA_BUNDLE", re.IGNORECASE
)
"""What pip may know of this process's environment: where its index is, and how to get there."""


def site(requirements: Sequence[str], python: Facts) -> Path:
    """The folder of these packages and of those that they need. Raises ``InfrastructureError``."""
    # A compiled spec can hold no other, but one may come from somewhere else.
    if strange := next((each for each in requirements if not _PINNED.fullmatch(each)), None):
        raise InfrastructureError(f"{strange!r:.100} is no package of one version; write it as in pandas==2.2.3")
    key = hashlib.sha256(
        json.dumps([sorted(requirements), python.version, python.libc, python.machine]).encode()
    ).hexdigest()

    def fill(folder: Path) -> None:
        wanted = folder.parent / "requirements.txt"
        wanted.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        _install(wanted, folder, python)

    return packages.make(key, fill)


def packages_in(folder: Path) -> tuple[str, ...]:
    """What stands in a folder that ``site`` made, each as ``name==version@sha256:...``, sorted."""
    return tuple((folder / _LIST).read_text(encoding="utf-8").split())


def _listed(report: Path) -> str:
    """The packages of pip's installation report, a line each."""
    installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    lines = []
    for each in installed:
        about, origin = each["metadata"], each["download_info"]["archive_info"]
        lines.append(f"{about['name']}=={about['version']}@sha256:{origin['hashes']['sha256']}\n")
    return "".join(sorted(lines))


def pip_options(python: Facts) -> list[str]:
    """The options that make pip choose wheels for this Python, and never for its own."""
    number = f"{python.version[0]}{python.version[1]}"
    options = ["--python-version", ".".join(map(str, python.version)), "--implementation", "cp"]
    options += [word for abi in (f"cp{number}", "abi3", "none") for word in ("--abi", abi)]
    return options + [word for name in platforms(python) for word in ("--platform", name)]


def platforms(python: Facts) -> list[str]:
    """The platform tags of wheels that this Python can load, best first (PEP 600)."""
    found = re.fullmatch(r"glibc 2\.(\d+)", python.libc)
    if found is None:
        return [f"musllinux_1_{minor}_{python.machine}" for minor in (2, 1)]
    tags = [f"manylinux_2_{minor}_{python.machine}" for minor in range(int(found[1]), OLDEST_GLIBC - 1, -1)]
    return [*tags, *(f"manylinux{name}_{python.machine}" for name in ("2014", "2010", "1"))]


def _install(wanted: Path, folder: Path, python: Facts) -> None:
    if importlib.util.find_spec("pip") is None:
        raise InfrastructureError(
            f"requirements are installed with pip, which this Python has not; run: {sys.executable} -m ensurepip"
        )
    argv = [
        sys.executable,
        "-I",
        wheels_only.__file__,
        "install",
        "--target",
        str(folder),
        "--requirement",
        str(wanted),
    ]
    argv += ["--only-binary", ":all:", "--no-compile", "--no-input", "--disable-pip-version-check", "--quiet"]
    report = wanted.parent / "report.json"
    argv += ["--report", str(report), "--no-warn-conflicts", "--progress-bar", "off", *pip_options(python)]
    environment = {name: value for name, value in os.environ.items() if _ENVIRONMENT.fullmatch(name)}
    # Where this process is killed, who works for the folder is found by its TMPDIR.
    environment |= {"TMPDIR": str(wanted.parent), "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            argv, cwd=wanted.parent, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InfrastructureError(f"pip did not end within {SECONDS / 60:.0f} minutes; try again") from None
    if done.returncode != 0:
        raise InfrastructureError(_explained(done.stderr, wanted, python))
    (folder / _LIST).write_text(_listed(report), encoding="utf-8")
    report.unlink()


def _explained(said: str, wanted: Path, python: Facts) -> str:
    """pip's last words in a user's."""
    names = ", ".join(line.partition(" ")[0] for line in wanted.read_text(encoding="utf-8").splitlines())
    version = ".".join(map(str, python.version))
    return (
        f"pip could not install {names} for Python {version} from wheels: {_reason(said)}; "
        f"check the versions in 'requirements' and that this host reaches its package index"
    )


def _reason(said: str) -> str:
    if unlisted := _UNLISTED.search(said):
        return f"it needs {unlisted[1]}, which must be listed with its own hash, as all others are"
    if another := _ANOTHER.search(said):
        return f"{another[1]} has none of the hashes that it may have, but sha256:{another[2]}"
    lines = [line.removeprefix("ERROR: ").strip() for line in said.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else said.strip().rpartition("\n")[2] or "it gave no reason"
