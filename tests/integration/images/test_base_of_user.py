"""An ordinary user without Docker creates the base image with the real mmdebstrap, which takes minutes."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import toolc

pytestmark = [pytest.mark.integrations, pytest.mark.timeout(900)]

USER = "games"
"""A user that every Debian has, and that has no processes."""

PYTHON = "/usr/bin/python3"

ENTER = """\
mount --bind "$1" /etc/subuid
mount --bind "$1" /etc/subgid
mkdir -p /var/lib/toolc
mount -t tmpfs tmpfs /var/lib/toolc
shift
exec "$@"
"""
"""A program of sh that gives users ids, and hides the images of root, for the command that it runs."""

OBTAIN = """\
from toolc.sandbox.docker.base_image import obtain_base
from toolc.sandbox.images.stored import base_tag
image = obtain_base(base_tag(), None)
print(image.root.stat().st_uid, (image.root / "usr/bin/python3").is_symlink())
"""


def obstacle() -> str:
    """Return why the test cannot run here; empty if it can."""
    if os.geteuid() != 0:
        return "needs root to act as another user"
    found = subprocess.run([PYTHON, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, check=False)
    if found.stdout.decode().strip() != str(sys.version_info[:2]):
        return f"needs {PYTHON} of the same version, because another user cannot enter the folder of this one"
    lacking = [program for program in ("mmdebstrap", "newuidmap", "unshare", "setpriv") if not shutil.which(program)]
    return f"needs {' and '.join(lacking)}" if lacking else ""


def test_an_ordinary_user_with_a_private_home_directory_creates_the_base() -> None:
    if reason := obstacle():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="base-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        home, ids = Path(folder, "home"), Path(folder, "ids")
        home.mkdir(mode=0o700)
        shutil.chown(home, USER, USER)
        ids.write_text(f"{USER}:200000:65536\n", encoding="utf-8")
        packages = Path(pytest.__file__).parents[1]
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", str(ids),
             "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", PYTHON, "-c", OBTAIN],
            env={
                "PATH": os.defpath, "HOME": str(home), "DOCKER_HOST": "unix:///nonexistent.sock",
                "PYTHONPATH": f"{Path(toolc.__file__).parents[1]}:{packages}",
            },
            cwd="/", capture_output=True, text=True, check=False,
        )  # fmt: skip
        owner = str(home.stat().st_uid)
        assert (done.returncode, done.stdout.split()[:2]) == (0, [owner, "True"]), done.stderr
