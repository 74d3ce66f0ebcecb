"""toolc's own images: which there are, and how one is made where nothing is yet.

Each is a folder of ``sandbox-images`` with a Dockerfile that takes ``ARG BASE``: a public base where a
registry answers, else one made here.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from toolc.assets import asset
from toolc.engines import docker_build
from toolc.engines.docker_build import BASE_LABEL, NAME_LABEL, RECIPE_LABEL, Built
from toolc.engines.docker_daemon import connect
from toolc.engines.docker_host import NoHostError, find_socket
from toolc.engines.docker_http import ApiError, Client
from toolc.errors import InfrastructureError, NoEngineError, UsageError

PUBLIC_BASE: Final = "debian:bookworm-slim"
"""The base that is pulled where a registry answers."""

Say: TypeAlias = Callable[[str], None]
"""Where progress goes: one line, without its line feed."""


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
    return tuple(sorted(file.parent.name for file in asset("sandbox-images").glob("*/Dockerfile")))


def recipe(name: str) -> Recipe:
    """How the image ``name`` is made. Raises ``UsageError`` for a name that is none."""
    if name not in (names := image_names()):
        raise UsageError(f"there is no image {name!r} to build; there is: {', '.join(names)}")
    folder = asset("sandbox-images") / name
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return Recipe(name=name, folder=folder, digest="sha256:" + digest.hexdigest())


def build_image(name: str, *, base: str | None, say: Say) -> Built:
    """Make the image ``name`` unless it is there and up to date.

    ``base`` is the image to start from; None takes a public one, else one made on this host. Raises
    ``UsageError`` for an unknown name, ``NoEngineError`` without a daemon, ``InfrastructureError`` where
    the build fails.
    """
    made_from = recipe(name)
    client = _client()
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


def list_images() -> tuple[Built, ...]:
    """toolc's images on this host, by tag. Raises ``NoEngineError`` without a daemon."""
    client = _client()
    try:
        return docker_build.list_built(client)
    except ApiError as error:
        raise InfrastructureError(f"Docker could not list its images: {error}") from error


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
