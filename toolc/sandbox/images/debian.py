"""Create a small Debian base image on this host with mmdebstrap, if no registry is reachable."""

import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host import store

PACKAGES: Final = "python3,ca-certificates"
"""The packages that the base image adds to a minimal system."""


def tag() -> str | None:
    """Return the tag of the base that this host can create, by os-release(5); None without Debian or Ubuntu."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return None
    family, codename = release.get("ID", ""), release.get("VERSION_CODENAME", "")
    return f"toolc/{family}:{codename}" if family in {"debian", "ubuntu"} and codename else None


@contextmanager
def archive(on_progress: Callable[[str], None]) -> Iterator[Path]:
    """Yield a tar file of a minimal system of this host's release, removed at the end of the block.

    This takes about a minute, as root. Raises ``InfrastructureError``.
    """
    codename = platform.freedesktop_os_release()["VERSION_CODENAME"]
    with store.scratch() as directory:
        # mmdebstrap sometimes unpacks as another user, who needs access to the folder.
        directory.chmod(0o755)
        target = directory / "base.tar"
        argv = ["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}"]
        argv += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")]
        on_progress(f"creating a minimal {codename} with mmdebstrap; this takes about a minute")
        _run([*argv, codename, str(target)], directory, on_progress)
        yield target


def _run(argv: list[str], directory: Path, on_progress: Callable[[str], None]) -> None:
    # It works in this folder only, so that it ends with this process, however this process ends.
    environment = {**os.environ, "TMPDIR": str(directory)}
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=directory, env=environment
    ) as process:
        assert process.stderr is not None
        last = ""
        for line in process.stderr:
            last = line.strip() or last
            if line.startswith("I: "):
                on_progress(line.strip())
    if process.returncode != 0:
        raise InfrastructureError(f"mmdebstrap failed: {last}; to see why, run: {' '.join(argv)}")
