"""A base image made on this host, where no registry answers: a small Debian, by mmdebstrap."""

from __future__ import annotations

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
"""What the base image adds to a minimal system."""


def tag() -> str | None:
    """The tag of the base that this host can make, by os-release(5); None where it is no Debian."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return None
    family, codename = release.get("ID", ""), release.get("VERSION_CODENAME", "")
    return f"toolc/{family}:{codename}" if family in {"debian", "ubuntu"} and codename else None


@contextmanager
def archive(say: Callable[[str], None]) -> Iterator[Path]:
    """A tar file of a minimal system of this host's own release, there until the end of the block.

    Takes about a minute, as root. Raises ``InfrastructureError``.
    """
    codename = platform.freedesktop_os_release()["VERSION_CODENAME"]
    with store.scratch() as directory:
        # mmdebstrap unpacks as another user at times, who must reach the folder.
        directory.chmod(0o755)
        target = directory / "base.tar"
        argv = ["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}"]
        argv += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")]
        say(f"making a minimal {codename} with mmdebstrap; this takes about a minute")
        _run([*argv, codename, str(target)], directory, say)
        yield target


def _run(argv: list[str], directory: Path, say: Callable[[str], None]) -> None:
    # All that it does is done in there, so that it ends with this process, however that ends.
    environment = {**os.environ, "TMPDIR": str(directory)}
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=directory, env=environment
    ) as process:
        assert process.stderr is not None
        last = ""
        for line in process.stderr:
            last = line.strip() or last
            if line.startswith("I: "):
                say(line.strip())
    if process.returncode != 0:
        raise InfrastructureError(f"mmdebstrap failed: {last}; run it by hand to see why: {' '.join(argv)}")
