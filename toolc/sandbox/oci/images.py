"""Images of the oci engine: unpacked once into the store, under the digest of their content.

They come from an archive (``toolc image export NAME --from FILE``), without a daemon, or from a running Docker
daemon. In the second case a name refers to the daemon's image of that name, and is unpacked again when it changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import Build
from toolc.sandbox.base import EngineSandbox
from toolc.sandbox.common_config import FILES
from toolc.sandbox.docker.api_client import ApiError, Client, NoDaemonError, find_socket
from toolc.sandbox.docker.container import find_image
from toolc.sandbox.docker.daemon import connect
from toolc.sandbox.docker.image_builder import (
    build_command,
    build_tag,
    docker_client,
    ensure_built,
    image_names,
    recipe,
)  # fmt: skip
from toolc.sandbox.docker.sdk import has_image, save_archive
from toolc.sandbox.host import store
from toolc.sandbox.images.archive import open_archive
from toolc.sandbox.images.metadata import CONFIG, volumes
from toolc.sandbox.images.unpack import resolve, split
from toolc.sandbox.oci.root import HOST, NO_HOST_PYTHON, RootSpec, Unpacked, interpreter
from toolc.sandbox.python.interpreter import IMAGE_COMMAND
from toolc.sandbox.python.packages import PLACES, RootFilesystem, packages_of, prepare_guest_environment

__all__ = ["export_image", "save_image"]

MOUNT_POINTS: Final = ("proc", "dev", "tmp", "tool", "workspace", *(place.lstrip("/") for place in PLACES))
WRITABLE: Final = ("tmp", "tool")
ARCHIVE: Final = "archive"
DOCKER: Final = "docker"


def export_image(name: str, archive: Path | None) -> Unpacked:
    """Unpack an image for the oci engine: from ``archive``, or from Docker.

    ``name`` is one of toolc's own images, or any other. Raises ``InfrastructureError``, and ``UsageError`` if the
    file does not exist.
    """
    tag = recipe(name).tag if name in image_names() else name
    if archive is not None:
        if not archive.exists():
            raise UsageError(f"there is no file {archive}; create one with: docker save --output FILE {tag}")
        return import_archive(tag, archive.absolute())
    try:
        return unpacked_image(tag)
    except ApiError as error:
        raise InfrastructureError(f"Docker could not export {tag}: {error}") from error


def save_image(name: str, output: Path) -> str:
    """Write an image to a new file for another host; return its tag. Raises ``InfrastructureError``, ``UsageError``."""
    tag = recipe(name).tag if name in image_names() else name
    client = docker_client()
    try:
        if not has_image(client, tag):
            raise InfrastructureError(f"the image {tag} is not on this host; get it with: {build_command(tag)}")
        with output.open("xb") as file:
            save_archive(client, tag, file)
    except ApiError as error:
        output.unlink(missing_ok=True)
        raise InfrastructureError(f"Docker could not save {tag}: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}; choose a new file") from error
    return tag


def missing_reason(profile: Profile) -> str | None:
    """Return why the image of ``profile`` is not available, with the remedy; None if it is. Unpack nothing."""
    name = profile.image
    if name is None or _known(name):
        return None
    try:
        client = _client()
        if client is not None and find_image(client, name):
            return None
    except InfrastructureError as error:
        return str(error)
    except ApiError as error:
        return f"the image {name} is not unpacked, and the Docker daemon that may have it does not work: {error}"
    return (
        f"the image {name} is not on this host; get it with: {build_command(name)} or, from a file: "
        f"toolc image export {name} --from FILE"
    )


def resolve_image(profile: Profile) -> Unpacked | None:
    """Return the image of ``profile``, unpacked; None if it names none. Raises ``InfrastructureError``."""
    try:
        if profile.build:
            return _built_image(profile.build)
        return unpacked_image(profile.image) if profile.image else None
    except ApiError as error:
        name = build_tag(profile.build) if profile.build else profile.image
        raise InfrastructureError(f"Docker could not export the image {name}: {error}") from error


def unpacked_image(name: str) -> Unpacked:
    """Return the unpacked image of this name. Raises ``InfrastructureError`` and ``ApiError``."""
    known = _known(name)
    if known is not None and known.get("source") == ARCHIVE:
        return _load(name, str(known["digest"]))
    client = _client()
    found = find_image(client, name) if client is not None else None
    if client is not None and found is not None:
        if known is None or known.get("digest") != found.id:
            _from_docker(client, name, found.id)
        return replace(_load(name, found.id), names=found.names)
    if known is not None:
        return _load(name, str(known["digest"]))
    raise InfrastructureError(str(missing_reason(Profile(image=name))))


def import_archive(name: str, archive: Path) -> Unpacked:
    """Unpack the image of an archive, and let ``name`` refer to it from now on. Raises ``InfrastructureError``."""
    with open_archive(archive) as opened:
        image = opened.image(name)
        store.make("rootfs", image.digest, lambda folder: _fill(folder, archive, name))
    store.write_note("images", name, {"digest": image.digest, "source": ARCHIVE})
    return _load(name, image.digest)


def build_root_spec(profile: Profile, start: Callable[[RootSpec, Sequence[str]], EngineSandbox]) -> RootSpec:
    """Return the root for ``profile``; ``start`` starts a sandbox to inspect it. Raises ``InfrastructureError``."""

    def host() -> RootFilesystem:
        return RootFilesystem(_host_key(), lambda arguments: start(HOST, arguments))

    image = resolve_image(profile)
    if image is None:
        binds = prepare_guest_environment(host(), host, profile.requirements).binds
        return RootSpec(binds=binds, packages=partial(packages_of, binds))
    bare = RootSpec(image=image, command=IMAGE_COMMAND)
    root = RootFilesystem(image.digest, lambda arguments: start(bare, arguments))
    environment = prepare_guest_environment(root, host, profile.requirements)
    binds = environment.binds
    return RootSpec(image=image, command=environment.command, binds=binds, packages=partial(packages_of, binds))


def _built_image(build: Build) -> Unpacked:
    tag = build_tag(build)
    if (known := _known(tag)) is not None:
        return _load(tag, str(known["digest"]))
    client = _client()
    if client is None:
        raise InfrastructureError(
            f"the image of {build.folder}/Dockerfile is built with Docker, which does not respond here; "
            f"start Docker, or build the image on another host and run: toolc image export {tag} --from FILE"
        )
    return unpacked_image(ensure_built(client, build))


def _known(name: str) -> JsonObject | None:
    """Return the stored note about an image name; None if there is none, or its image no longer exists."""
    note = store.read_note("images", name)
    return note if note is not None and store.find("rootfs", str(note.get("digest"))) else None


def _from_docker(client: Client, name: str, digest: str) -> None:
    def fill(folder: Path) -> None:
        archive = folder.parent / "image.tar"
        with archive.open("wb") as file:
            save_archive(client, digest, file)
        _fill(folder, archive, None)
        archive.unlink()

    store.make("rootfs", digest, fill)
    store.write_note("images", name, {"digest": digest, "source": DOCKER})


def _fill(folder: Path, archive: Path, name: str | None) -> None:
    root = folder / "root"
    root.mkdir(mode=0o755)
    with open_archive(archive) as opened:
        image = opened.image(name)
        opened.unpack(image, root)
    configuration = image.configuration.get("config")
    described = configuration if isinstance(configuration, dict) else {}
    # Without a mounted workspace, /workspace is a folder of the read-only root.
    writable = [path for path in volumes(described.get("Volumes")) if path != "/workspace"]
    _prepare_root(root, writable)
    environment = described.get("Env")
    words = [str(word) for word in environment] if isinstance(environment, list) else []
    path = next((word.removeprefix("PATH=") for word in words if word.startswith("PATH=")), None)
    note: JsonObject = {"search_path": path, "volumes": [*writable]}
    (folder / "image.json").write_text(json.dumps(note), encoding="utf-8")


def _prepare_root(root: Path, writable: list[str]) -> None:
    """Create the mount points that a sandbox needs in ``root``, where the runtime would otherwise create them."""
    for name in (*MOUNT_POINTS, *writable):
        if name in MOUNT_POINTS:
            _remove_link(root, name)
        folder = Path(resolve(str(root), split(name)))
        # The runtime gives a mount the mode of its mount point, whatever the mount's options are.
        folder.chmod(0o1777 if name in {*WRITABLE, *writable} else 0o755)
    etc = Path(resolve(str(root), ["etc"]))
    for name, text in FILES.items():
        path = etc / name
        if path.is_dir() and not path.is_symlink():
            raise InfrastructureError(f"the image has a folder at /etc/{name}, where a sandbox needs a file")
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)


def _remove_link(root: Path, name: str) -> None:
    """Remove a link at or above a mount point: runc before 1.3.6 follows a link at ``/dev`` on the host.

    CVE-2026-41579: it then removes and creates device files wherever the image's link leads.
    """
    path = root
    for part in split(name):
        path /= part
        if path.is_symlink():
            path.unlink()
        if not path.exists():
            return


def _load(name: str, digest: str) -> Unpacked:
    folder = store.find("rootfs", digest)
    if folder is None:
        raise InfrastructureError(f"the image {name} was removed; get it with: {build_command(name)}")
    try:
        described = json.loads((folder / "image.json").read_bytes())
    except (OSError, ValueError) as error:
        raise InfrastructureError(f"{folder} is damaged ({error}); remove it, and it is created again") from error
    names, paths = (f"{CONFIG}{digest}",), tuple(described["volumes"])
    return Unpacked(name, digest, folder / "root", described["search_path"], paths, names)


def _client() -> Client | None:
    """Return a client of the Docker daemon, None if none answers; it is optional here."""
    try:
        return connect(find_socket(os.environ)).client
    except NoDaemonError:
        return None


def _host_key() -> str:
    """Return a key of the host's Python that changes with each update of that Python."""
    python = interpreter()
    if python is None:
        raise InfrastructureError(NO_HOST_PYTHON)
    found = Path(python.path).stat()
    words = f"{python.path} {found.st_size} {found.st_mtime_ns}"
    return "host-" + hashlib.sha256(words.encode()).hexdigest()[:32]
