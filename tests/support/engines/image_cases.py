"""Small images for the tests of both engines, made from the host's static busybox."""

import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import docker
import pytest

from toolc.model.plan import Profile
from toolc.sandbox.docker.api_client import find_socket
from toolc.sandbox.selection import load

BUSYBOX = shutil.which("busybox", path="/bin:/usr/bin:/usr/local/bin")
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}

needs_busybox = pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox: apt-get install busybox-static")


def busybox() -> bytes:
    """Return a layer with busybox and the links for its programs."""
    assert BUSYBOX
    applets = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        _add(tar, "bin/busybox", Path(BUSYBOX).read_bytes())
        for name in sorted({*applets} - {"busybox"}):
            info = tarfile.TarInfo(f"bin/{name}")
            info.type, info.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(info)
    return data.getvalue()


def one_program() -> bytes:
    """Return a layer with only one static program."""
    assert BUSYBOX
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        _add(tar, "echo", Path(BUSYBOX).read_bytes())
    return data.getvalue()


def archive(path: Path, name: str, layer: bytes, comment: str = "", volume: str = "/data") -> Path:
    """Write an image with one layer as ``docker save`` does; another comment makes another image."""
    machine = platform.machine()
    described = {
        "os": "linux",
        "comment": comment,
        "architecture": MACHINES.get(machine, machine),
        "config": {"Env": ["PATH=/bin:/opt/own"], "Volumes": {volume: {}}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }
    config = json.dumps(described).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer/layer.tar"]}]).encode()
    with tarfile.open(path, "w") as tar:
        for each, content in ((config_name, config), ("layer/layer.tar", layer), ("manifest.json", manifest)):
            _add(tar, each, content)
    return path


@contextmanager
def in_docker(archive: Path, name: str) -> Iterator[None]:
    """Load an archive into the daemon, and remove the image afterwards."""
    api = docker.APIClient(base_url=f"unix://{find_socket(os.environ)}", version="auto", timeout=60)
    try:
        for _ in api.load_image(archive.read_bytes()):  # type: ignore[no-untyped-call]
            pass
        yield
    finally:
        if api.images(name):
            api.remove_image(name, force=True)
        api.close()


def remove(name: str) -> None:
    """Remove an image that a call has built."""
    with closing(docker.APIClient(base_url=f"unix://{find_socket(os.environ)}", version="auto", timeout=60)) as api:
        api.remove_image(name, force=True)


def usable(engine: str) -> None:
    """Skip the test if this engine cannot run here; on CI, a skipped test is a failed test."""
    found = load(engine).probe()
    if not found.available:
        pytest.skip(found.reason)
    if reason := load(engine).unsupported_reason(Profile()):
        pytest.skip(reason)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o755
    tar.addfile(info, io.BytesIO(content))
