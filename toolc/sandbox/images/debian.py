"""Create a small Debian base image on this host with mmdebstrap. It is used if no registry is reachable."""

import os
import platform
import pwd
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.sandbox.host import store
from toolc.sandbox.host.store_sweep import OUTSIDE
from toolc.sandbox.images.archive import write_archive

PACKAGES: Final = "python3,ca-certificates"
"""The packages that the base image adds to a minimal system."""


SUBORDINATE_IDS: Final = ("/etc/subuid", "/etc/subgid")
"""The files with the ids that ordinary users may use in their own user namespaces."""

FOLDERS_LEFT_OUT: Final = ("doc", "info", "locale", "man")

FINISH: Final = (
    'rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/log/* "$1"/etc/hostname "$1"/etc/resolv.conf',
    'find "$1" -xdev -type f -perm /6000 -exec chmod a-s {} +',
    'mkdir -p "$1"/workspace && mkdir -p -m 1777 "$1"/tool',
)
"""The last steps, as in the Dockerfile of the base image. mmdebstrap copies the host's name and resolver."""

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def codename() -> str | None:
    """Return the codename of this host's release, by os-release(5), or None if it is not Debian or Ubuntu."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return None
    name = release.get("VERSION_CODENAME", "")
    return name if name and release.get("ID") in {"debian", "ubuntu"} else None


def obstacle() -> str | None:
    """Return why no base image can be created here, with the remedy, or None if it may be tried."""
    if codename() is None:
        return "a base image can be created only on Debian and Ubuntu"
    if shutil.which("mmdebstrap") is None:
        return "mmdebstrap is not installed (sudo apt-get install mmdebstrap)"
    if _is_root() or shutil.which("fakechroot"):
        return None
    if shutil.which("newuidmap") is None:
        return "an ordinary user needs newuidmap to create a base image (sudo apt-get install uidmap)"
    if not all(map(_has_range, SUBORDINATE_IDS)):
        files = " and ".join(SUBORDINATE_IDS)
        return (
            f"this user has no range of ids in {files} (sudo usermod --add-subuids 100000-165535 --add-subgids "
            f"100000-165535 {_user_name()})"
        )
    return None


def _is_root() -> bool:
    return os.geteuid() == 0


def _has_range(file: str) -> bool:
    """Return whether subuid(5) has a range for this user."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return any(line.partition(":")[0] in {_user_name(), str(os.getuid())} for line in lines)


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@contextmanager
def archive(name: str, labels: JsonObject, on_progress: Callable[[str], None]) -> Iterator[Path]:
    """Yield an archive with a minimal system of this host's release. It is removed at the end of the block.

    This takes about a minute. Raises ``InfrastructureError``.
    """
    release = codename()
    with store.scratch() as directory:
        folder = _reachable(directory)
        layer, target = directory / "base.tar", directory / "image.tar"
        argv = ["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}"]
        # Files are not synced, because the folder is packed immediately and need not survive a crash.
        argv += ["--dpkgopt=force-unsafe-io"]
        argv += [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in FOLDERS_LEFT_OUT]
        argv += [f"--customize-hook={step}" for step in FINISH]
        on_progress(f"creating a minimal {release} with mmdebstrap; this takes about a minute")
        _run([*argv, str(release), str(layer)], directory, folder, on_progress)
        configuration: JsonObject = {"Env": [f"PATH={PATH}"], "Cmd": ["python3"], "Labels": labels}
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        write_archive(layer, {"created": created, "config": configuration}, name, target)
        layer.unlink()
        yield target


def _reachable(directory: Path) -> Path:
    """Return a folder in which mmdebstrap can unpack as another user.

    It is not in a home directory, which may be private, and is removed with the scratch folder ``directory``. Raises
    ``InfrastructureError``.
    """
    folder = directory
    try:
        if not _is_root():
            folder = Path("/var/tmp") / os.urandom(8).hex()
            (directory / OUTSIDE).symlink_to(folder)
            folder.mkdir()
        folder.chmod(0o755)
    except OSError as error:
        raise InfrastructureError(f"cannot write to {folder}: {error.strerror}") from error
    return folder


def _run(argv: list[str], directory: Path, folder: Path, on_progress: Callable[[str], None]) -> None:
    # A variable names the scratch folder, so that mmdebstrap is killed when this process has ended.
    environment = {**os.environ, "TMPDIR": str(folder), "TOOLC_SCRATCH": str(directory)}
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
    ) as process:
        assert process.stderr is not None
        last = ""
        for line in process.stderr:
            last = line.strip() or last
            if (step := line.strip()).startswith("I: ") and step.endswith("...") and "tempdir" not in step:
                on_progress(step.removeprefix("I: "))
    if process.returncode != 0:
        raise InfrastructureError(f"mmdebstrap failed: {last}; to see why, run: {shlex.join(argv)}")
