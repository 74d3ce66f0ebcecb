"""toolc's own images and the images of a spec's ``build`` folder: their recipes and tags, and how to build them.

Each of toolc's images is a folder in ``sandbox-images`` with a Dockerfile that takes ``ARG BASE``: a public base
image if a registry is reachable, otherwise an image created on this host.
"""

import base64
import hashlib
import os
from pathlib import Path
from typing import Final

from toolc.data.paths import packaged_path
from toolc.dataclass import dataclass
from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import Build
from toolc.sandbox.docker.api_client import ApiError, Client, NoDaemonError, find_socket
from toolc.sandbox.docker.daemon import NAME_LABEL, connect
from toolc.sandbox.docker.sdk import (
    BASE_LABEL,
    RECIPE_LABEL,
    BuiltImage,
    OnProgress,
    build_files,
    build_folder,
    find_built,
    has_image,
    list_built,
    onbuild_instructions,
    pull,
    remove_replaced,
)
from toolc.sandbox.host import store
from toolc.sandbox.images.metadata import base_images, remote_source
from toolc.sandbox.images.stored import base_tag

BASE: Final = "base"
"""The name of the image that all others are built from."""

BUILD_LABEL: Final = "toolc.build"
"""The label with the tag of an image that was built from the folder of a spec."""

PUBLIC_BASE: Final = "debian:bookworm-slim"
"""The base image to pull from a registry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The source of an image: its name, its folder, and the digest of all files in the folder."""

    name: str
    folder: Path
    digest: str

    @property
    def tag(self) -> str:
        """The tag of the image in this release."""
        return tag_of(self.name)


def tag_of(name: str) -> str:
    """Return the tag of toolc's image ``name`` in this release."""
    return f"toolc/{name}:{base_tag().rpartition(':')[2]}"


def image_names() -> tuple[str, ...]:
    """Return the names of the images that can be built. Raises ``UsageError`` if their folders are not installed."""
    return tuple(sorted(file.parent.name for file in packaged_path("sandbox-images").glob("*/Dockerfile")))


def recipe(name: str) -> Recipe:
    """Return the recipe of the image ``name``. Raises ``UsageError`` for an unknown name."""
    if name not in (names := image_names()):
        raise UsageError(f"there is no image {name!r} to build; choose one of: {', '.join(names)}")
    folder = packaged_path("sandbox-images") / name
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return Recipe(name=name, folder=folder, digest="sha256:" + digest.hexdigest())


def build_image(name: str, *, base: str, on_progress: OnProgress) -> BuiltImage:
    """Build the image ``name`` from the image ``base`` unless it exists and is up to date.

    Concurrent builds of an image wait for each other. Raises ``UsageError`` for an unknown name, ``NoEngineError``
    without a daemon, and ``InfrastructureError`` if the build fails.
    """
    source = recipe(name)
    client = docker_client()
    with store.locked("build", source.tag):
        return _build(client, source, base, on_progress)


def _build(client: Client, source: Recipe, base: str, on_progress: OnProgress) -> BuiltImage:
    tag = source.tag
    try:
        existing = find_built(client, tag)
        if existing and existing.recipe == source.digest and base == existing.base:
            on_progress(f"{tag} is up to date (from {existing.base})")
            return existing
        _pull_base(client, base, on_progress)
        on_progress(f"building {tag} from {base}")
        labels = {
            NAME_LABEL: source.name,
            RECIPE_LABEL: source.digest,
            BASE_LABEL: base,
            "org.opencontainers.image.title": f"toolc {source.name}",
            "org.opencontainers.image.version": tag.rpartition(":")[2],
        }
        build_folder(client, folder=source.folder, tag=tag, base=base, labels=labels, on_progress=on_progress)
        built = find_built(client, tag)
        if existing and built and existing.id != built.id:
            remove_replaced(client, existing)
    except ApiError as error:
        raise InfrastructureError(f"Docker could not build {tag}: {error}") from error
    if built is None:
        raise InfrastructureError(f"Docker built {tag}, but then it was removed; build it again")
    return built


def _pull_base(client: Client, base: str, on_progress: OnProgress) -> None:
    if has_image(client, base):
        return
    on_progress(f"pulling {base}")
    try:
        pull(client, base, on_progress)
    except ApiError as error:
        raise InfrastructureError(f"cannot pull {base}: {error}; use a base that is on this host") from error


def build_tag(build: Build) -> str:
    """Return the tag of the image for the folder of a spec. It depends only on the content of the folder."""
    digest = hashlib.sha256()
    for file in sorted(build.files, key=lambda file: file.path):
        content = _content(file)
        digest.update(f"{_in_context(file, build)}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
    return f"toolc/build:{digest.hexdigest()[:40]}"


def dockerfile_of(build: Build) -> bytes:
    """Return the Dockerfile in the folder of a spec, or ``""`` if there is none."""
    return next((_content(file) for file in build.files if _in_context(file, build) == "Dockerfile"), b"")


def ensure_built(client: Client, build: Build) -> None:
    """Build the image for the folder of a spec, unless it exists. Its base image must exist.

    The build steps have Docker's default network, or no network if the daemon has no bridge, but never the host's
    network. Raises ``InfrastructureError`` and ``ApiError``.
    """
    tag = build_tag(build)
    with store.locked("build", tag):
        if not has_image(client, tag):
            files = {_in_context(file, build): _content(file) for file in build.files}
            _check_sources(client, build, dockerfile_of(build))
            labels = {BUILD_LABEL: tag, BASE_LABEL: base_tag()}
            log: list[str] = []
            try:
                build_files(client, files=files, tag=tag, base=base_tag(), labels=labels, on_progress=log.append)
            except ApiError as error:
                raise InfrastructureError(_build_error(build, error, log)) from error


def _check_sources(client: Client, build: Build, dockerfile: bytes) -> None:
    """Raise ``InfrastructureError`` if the daemon would download a file with the host's network."""
    if line := remote_source(dockerfile):
        raise InfrastructureError(
            f"{build.folder}/Dockerfile makes Docker download {line!r:.200} with the host's network; put the file "
            "into the folder and COPY it, or download it with RUN"
        )
    for base in base_images(dockerfile, base_tag()):
        steps = onbuild_instructions(client, base)
        if line := remote_source("\n".join(steps).encode()):
            raise InfrastructureError(
                f"{build.folder}/Dockerfile starts from {base}, whose ONBUILD makes Docker download {line!r:.200} with "
                "the host's network; start from another image"
            )


def _build_error(build: Build, error: ApiError, log: list[str]) -> str:
    last = [line for line in log if not line.startswith((" --->", "Removing intermediate"))][-5:]
    return "\n  ".join([f"the image of {build.folder}/Dockerfile could not be built: {error}", *last])


def _in_context(file: File, build: Build) -> str:
    return file.path.removeprefix(f"{build.folder.rstrip('/')}/")


def _content(file: File) -> bytes:
    if file.base64 is not None:
        return base64.b64decode(file.base64)
    return (file.text or "").encode("utf-8", "surrogateescape")


def list_images() -> tuple[BuiltImage, ...]:
    """Return toolc's images on this host, by tag. Raises ``NoEngineError`` and ``InfrastructureError``."""
    client = docker_client()
    try:
        return list_built(client)
    except ApiError as error:
        raise InfrastructureError(f"Docker could not list its images: {error}") from error


def docker_client() -> Client:
    """Return a client of the daemon. Raises ``NoEngineError`` if there is none."""
    try:
        return connect(find_socket(os.environ)).client
    except NoDaemonError as error:
        raise NoEngineError(f"Docker is needed to build images: {error}") from error


def build_command(tag: str) -> str:
    """Return the command that builds or pulls the image with this tag."""
    for name in image_names():
        if tag == tag_of(name):
            return f"toolc image build {name}"
        if tag == f"toolc/{name}" or tag.startswith(f"toolc/{name}:"):
            return f"toolc image build {name}, then use image: {tag_of(name)}"
    return f"docker pull {tag}"
