"""toolc's own images: which there are, and how one is made where nothing is yet.

Each is a folder of ``sandbox-images`` with a Dockerfile that takes ``ARG BASE``: a public base where a
registry answers, else one made here.
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

__all__ = [
    "build_image",
    "list_images",
    "prune_image",
    "prune_packages",
    "recipe",
    "unused_packages",
]

BASE: Final = "base"
"""The image that every other starts from."""

BUILD_LABEL: Final = "toolc.build"
"""The label of an image that was made of a spec's own folder: its tag."""

PUBLIC_BASE: Final = "debian:bookworm-slim"
"""The base that is pulled where a registry answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What an image is made from: its name, its folder, and the digest of all that lies in it."""

    name: str
    folder: Path
    digest: str

    @property
    def tag(self) -> str:
        """The tag that this release gives it."""
        return f"toolc/{self.name}:{_version()}"


def base_tag() -> str:
    """The image of a tool that names none."""
    return f"toolc/base:{_version()}"


def image_names() -> tuple[str, ...]:
    """The images that can be built, by name. Raises ``UsageError`` where toolc is installed without them."""
    return tuple(sorted(file.parent.name for file in packaged_path("sandbox-images").glob("*/Dockerfile")))


def recipe(name: str) -> Recipe:
    """How the image ``name`` is made. Raises ``UsageError`` for a name that is none."""
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
    """Make the image ``name`` unless it is there and up to date. Two at once wait for each other.

    ``base`` is the image to start from. None takes, for ``base`` itself, a public one, else one made on this
    host; for every other image ``base``, which is made first. Raises ``UsageError`` for an unknown name,
    ``NoEngineError`` without a daemon, ``InfrastructureError`` where the build fails.
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
    """The tag of the image that a spec's own folder makes: the folder's content is all that it depends on."""
    digest = hashlib.sha256()
    for file in sorted(build.files, key=lambda file: file.path):
        content = _content(file)
        digest.update(f"{_in_context(file, build)}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
    return f"toolc/build:{digest.hexdigest()[:40]}"


def ensure_built(client: Client, build: Build) -> str:
    """The tag of the image of a spec's own folder, built if it is not there yet.

    Its steps have Docker's usual network, and none where the daemon has no bridge; never the host's own.
    Raises ``InfrastructureError`` and ``ApiError``.
    """
    tag = build_tag(build)
    with store.locked("build", tag):
        if not docker_build.has(client, tag):
            files = {_in_context(file, build): _content(file) for file in build.files}
            _refuse_fetching(client, build, files.get("Dockerfile", b""))
            labels = {BUILD_LABEL: tag, BASE_LABEL: base_tag()}
            last: list[str] = []
            try:
                docker_build.build_files(
                    client, files=files, tag=tag, base=base_tag(), labels=labels, say=last.append
                )
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
    return f"the image of {build.folder}/Dockerfile could not be built: {error}" + "".join(
        f"\n  {w}" for w in words
    )


def _in_context(file: File, build: Build) -> str:
    return file.path.removeprefix(f"{build.folder.rstrip('/')}/")


def _content(file: File) -> bytes:
    if file.base64 is not None:
        return base64.b64decode(file.base64)
    return (file.text or "").encode("utf-8", "surrogateescape")


def list_images() -> tuple[BuiltImage, ...]:
    """toolc's images on this host, by tag. Raises ``NoEngineError`` without a daemon."""
    client = _client()
    try:
        return docker_build.list_built(client)
    except ApiError as error:
        raise InfrastructureError(f"Docker could not list its images: {error}") from error


def prune_image(image: Stored) -> None:
    """Remove an unpacked image that no name means any more. Raises ``InfrastructureError``."""
    remove(image)


def unused_packages() -> tuple[Packages, ...]:
    """Packages of Python tools that no call has used for a month. Raises ``InfrastructureError``."""
    return tuple(each for each in packages.installed() if each.is_unused)


def prune_packages(unused: Packages) -> None:
    """Remove packages that nobody uses. Raises ``InfrastructureError``."""
    packages.remove(unused)


def _client() -> Client:
    try:
        return connect(find_socket(os.environ)).client
    except NoHostError as error:
        raise NoEngineError(f"images are built with Docker: {error}") from error


@functools.cache
def _version() -> str:
    import importlib.metadata  # 10 ms

    # Tags have no "+", which a version of a development build may hold.
    return importlib.metadata.version("toolc").replace("+", "-")


def build_command(tag: str) -> str:
    """The command that brings the image of this tag to this host."""
    for name in image_names():
        if tag == f"toolc/{name}:{_version()}":
            return f"toolc image build {name}"
    return f"docker pull {tag}"
