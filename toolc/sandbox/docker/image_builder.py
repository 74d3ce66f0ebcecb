"""toolc's own images and the images of a spec's ``build`` folder: their recipes and tags, and how to build them.

Each of toolc's images is a folder in ``sandbox-images`` with a Dockerfile that takes ``ARG BASE``: a public base
image if a registry is reachable, else one created on this host.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolc.data.paths import packaged_path
from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import Build
from toolc.sandbox.docker import build as docker_build
from toolc.sandbox.docker.api_client import ApiError, Client, NoHostError, find_socket
from toolc.sandbox.docker.build import BASE_LABEL, RECIPE_LABEL, BuiltImage, Say
from toolc.sandbox.docker.daemon import NAME_LABEL, connect
from toolc.sandbox.host import store
from toolc.sandbox.images.metadata import Stored, bases, fetched, remove
from toolc.sandbox.python import packages
from toolc.sandbox.python.packages import Packages

__all__ = ["build_image", "list_images", "prune_image", "prune_packages", "recipe", "unused_packages"]

BASE: Final = "base"
"""The image that all other images are built from."""

BUILD_LABEL: Final = "toolc.build"
"""The label of an image that was built from the folder of a spec: its tag."""

PUBLIC_BASE: Final = "debian:bookworm-slim"
"""The base image to pull from a registry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What an image is built from: its name, its folder, and the digest of all files in the folder."""

    name: str
    folder: Path
    digest: str

    @property
    def tag(self) -> str:
        """The tag of the image in this release."""
        return f"toolc/{self.name}:{_version()}"


def base_tag() -> str:
    """Return the tag of the image for tools that name none."""
    return f"toolc/base:{_version()}"


def image_names() -> tuple[str, ...]:
    """Return the names of the images that can be built. Raises ``UsageError`` if they are not installed."""
    return tuple(sorted(file.parent.name for file in packaged_path("sandbox-images").glob("*/Dockerfile")))


def recipe(name: str) -> Recipe:
    """Return the recipe of the image ``name``. Raises ``UsageError`` for an unknown name."""
    if name not in (names := image_names()):
        raise UsageError(f"there is no image {name!r} to build; there is: {', '.join(names)}")
    folder = packaged_path("sandbox-images") / name
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return Recipe(name=name, folder=folder, digest="sha256:" + digest.hexdigest())


def build_image(name: str, *, base: str | None, say: Say) -> BuiltImage:
    """Build the image ``name`` unless it exists and is up to date.

    Concurrent builds of an image wait for each other. ``base`` is the image to start from. If None, the image
    ``base`` starts from a public image, else from one created on this host; all others start from the image
    ``base``, which is built first. Raises ``UsageError`` for an unknown name, ``NoEngineError`` without a daemon,
    ``InfrastructureError`` if the build fails.
    """
    made_from = recipe(name)
    client = _client()
    if base is None and name != BASE:
        base = build_image(BASE, base=None, say=say).tag
    with store.locked("build", made_from.tag):
        return _build(client, made_from, base, say)


def _build(client: Client, made_from: Recipe, base: str | None, say: Say) -> BuiltImage:
    name = made_from.name
    try:
        found = docker_build.find(client, made_from.tag)
        if found and found.recipe == made_from.digest and base in {None, found.base}:
            say(f"{made_from.tag} is up to date (from {found.base})")
            return found
        chosen = docker_build.obtain(client, base, PUBLIC_BASE, say)
        say(f"building {made_from.tag} from {chosen}")
        labels = {
            NAME_LABEL: name,
            RECIPE_LABEL: made_from.digest,
            BASE_LABEL: chosen,
            "org.opencontainers.image.title": f"toolc {name}",
            "org.opencontainers.image.version": _version(),
        }
        docker_build.build(client, folder=made_from.folder, tag=made_from.tag, base=chosen, labels=labels, say=say)
        built = docker_build.find(client, made_from.tag)
        if found and built and found.id != built.id:
            docker_build.discard(client, found)
    except ApiError as error:
        raise InfrastructureError(f"Docker could not build {made_from.tag}: {error}") from error
    if built is None:
        raise InfrastructureError(f"Docker built {made_from.tag} and lost it; build it again")
    return built


def build_tag(build: Build) -> str:
    """Return the tag of the image for the folder of a spec, which depends only on the content of the folder."""
    digest = hashlib.sha256()
    for file in sorted(build.files, key=lambda file: file.path):
        content = _content(file)
        digest.update(f"{_in_context(file, build)}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
    return f"toolc/build:{digest.hexdigest()[:40]}"


def ensure_built(client: Client, build: Build) -> str:
    """Return the tag of the image for the folder of a spec; build the image if it does not exist.

    The build steps have Docker's default network, or none if the daemon has no bridge, but never the host's
    network. Raises ``InfrastructureError`` and ``ApiError``.
    """
    tag = build_tag(build)
    with store.locked("build", tag):
        if not docker_build.has(client, tag):
            files = {_in_context(file, build): _content(file) for file in build.files}
            _refuse_fetching(client, build, files.get("Dockerfile", b""))
            labels = {BUILD_LABEL: tag, BASE_LABEL: base_tag()}
            last: list[str] = []
            try:
                docker_build.build_files(client, files=files, tag=tag, base=base_tag(), labels=labels, say=last.append)
            except ApiError as error:
                raise InfrastructureError(_failed_build(build, error, last)) from error
    return tag


def _refuse_fetching(client: Client, build: Build, dockerfile: bytes) -> None:
    if line := fetched(dockerfile):
        raise InfrastructureError(
            f"{build.folder}/Dockerfile has Docker fetch {line!r:.200} with the host's own network; put it "
            "into the folder and COPY it, or fetch it with RUN"
        )
    for base in bases(dockerfile, base_tag()):
        steps = docker_build.triggers(client, base, lambda _: None)
        if line := fetched("\n".join(steps).encode()):
            raise InfrastructureError(
                f"{build.folder}/Dockerfile starts from {base}, whose ONBUILD has Docker fetch {line!r:.200} with "
                "the host's own network; start from another image"
            )


def _failed_build(build: Build, error: ApiError, said: list[str]) -> str:
    words = [line for line in said if not line.startswith((" --->", "Removing intermediate"))][-5:]
    return f"the image of {build.folder}/Dockerfile could not be built: {error}" + "".join(f"\n  {w}" for w in words)


def _in_context(file: File, build: Build) -> str:
    return file.path.removeprefix(f"{build.folder.rstrip('/')}/")


def _content(file: File) -> bytes:
    if file.base64 is not None:
        return base64.b64decode(file.base64)
    return (file.text or "").encode("utf-8", "surrogateescape")


def list_images() -> tuple[BuiltImage, ...]:
    """Return toolc's images on this host, by tag.

    Raises ``NoEngineError`` without a daemon, ``InfrastructureError`` if the daemon fails.
    """
    client = _client()
    try:
        return docker_build.list_built(client)
    except ApiError as error:
        raise InfrastructureError(f"Docker could not list its images: {error}") from error


def prune_image(image: Stored) -> None:
    """Remove an unpacked image that no name refers to. Raises ``InfrastructureError``."""
    remove(image)


def unused_packages() -> tuple[Packages, ...]:
    """Return packages of Python tools that were not used for a month. Raises ``InfrastructureError``."""
    return tuple(each for each in packages.installed() if each.is_unused)


def prune_packages(unused: Packages) -> None:
    """Remove unused packages. Raises ``InfrastructureError``."""
    packages.remove(unused)


def _client() -> Client:
    try:
        return connect(find_socket(os.environ)).client
    except NoHostError as error:
        raise NoEngineError(f"images are built with Docker: {error}") from error


@functools.cache
def _version() -> str:
    import importlib.metadata  # 10 ms

    # The version of a development build may contain "+", which is not allowed in tags.
    return importlib.metadata.version("toolc").replace("+", "-")


def build_command(tag: str) -> str:
    """Return the command that builds or pulls the image with this tag."""
    for name in image_names():
        if tag == f"toolc/{name}:{_version()}":
            return f"toolc image build {name}"
    return f"docker pull {tag}"
