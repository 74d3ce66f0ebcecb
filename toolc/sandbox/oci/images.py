"""Images of the oci engine, which are unpacked once into the store under the digest of their content.

They come from an archive (``toolc image import FILE NAME``), without a daemon, or from a running Docker daemon. In the
second case, a name refers to the daemon's image of that name, and the image is unpacked again when it changes. The base
image for tools without an image comes from ``toolc.sandbox.docker.base_image``.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import Build
from toolc.sandbox.common_config import IMAGE_COMMAND
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.base_image import built_image, import_base_from, obtain_base, optional_client
from toolc.sandbox.docker.container import find_image
from toolc.sandbox.docker.image_builder import build_command, build_tag, docker_client, image_names, recipe
from toolc.sandbox.docker.sdk import has_image, save_archive
from toolc.sandbox.host import store
from toolc.sandbox.images.archive import open_archive
from toolc.sandbox.images.metadata import KIND, NAMES, Unpacked, load_unpacked
from toolc.sandbox.images.stored import archive_of, base_tag, find_base, name_of_base
from toolc.sandbox.images.unpacked import DOCKER, IMPORTED, fill, import_archive
from toolc.sandbox.interface import EngineSandbox
from toolc.sandbox.oci.root import HOST, NO_HOST_PYTHON, RootSpec, interpreter
from toolc.sandbox.python.packages import RootFilesystem, packages_of, prepare_guest_environment


def export_image(name: str) -> Unpacked:
    """Unpack an image of the daemon for the oci engine.

    ``name`` is one of toolc's own images or any other image. Raises ``InfrastructureError``.
    """
    tag = tag_for(name)
    try:
        return unpacked_image(tag)
    except ApiError as error:
        raise InfrastructureError(f"Docker could not export {tag}: {error}") from error


def import_image(archive: Path, name: str, base_image: str | None) -> Unpacked:
    """Let ``name`` refer to the image of an archive from now on. ``base_image`` is the name of the user's base image.

    Both engines use a base image, but only the oci engine uses other images. Raises ``InfrastructureError``, or
    ``UsageError`` if the file does not exist.
    """
    tag = tag_for(name)
    if not archive.exists():
        raise UsageError(f"there is no file {archive}; create one with: toolc image export {name} --output FILE")
    if tag in {base_tag(), base_image}:
        return import_base_from(archive.absolute(), tag)
    return replace(import_archive(tag, archive.absolute()), tree="")


def tag_for(name: str) -> str:
    """Return the tag of toolc's image ``name``, or ``name`` if it is another image."""
    return recipe(name).tag if name in image_names() else name


def save_image(name: str, output: Path) -> str:
    """Write an image to a new file for another host. Return its tag. Raises ``InfrastructureError``, ``UsageError``."""
    tag = tag_for(name)
    base = find_base(tag)
    client = None if base else docker_client()
    try:
        if client is not None and not has_image(client, tag):
            raise InfrastructureError(f"the image {tag} is not on this host; get it with: {build_command(tag)}")
        with output.open("xb") as file:
            try:
                if base is not None:
                    with archive_of(base).open("rb") as archive:
                        shutil.copyfileobj(archive, file)
                elif client is not None:
                    save_archive(client, tag, file)
            except BaseException:
                output.unlink()  # a part of an image
                raise
    except ApiError as error:
        raise InfrastructureError(f"Docker could not save {tag}: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}; choose a new file") from error
    return tag


def missing_reason(profile: Profile) -> str | None:
    """Return why the image of ``profile`` is not available, with the remedy, or None if it is. Unpack nothing."""
    name = profile.image
    if name is None or _known(name) or find_base(name):
        return None
    try:
        client = optional_client()
        if client is not None and find_image(client, name):
            return None
    except InfrastructureError as error:
        return str(error)
    except ApiError as error:
        return f"the image {name} is not unpacked, and the Docker daemon, which may have it, does not work: {error}"
    return (
        f"the image {name} is not on this host; get it with: {build_command(name)} or, from a file: "
        f"toolc image import FILE {name}"
    )


def resolve_image(profile: Profile) -> Unpacked | None:
    """Return the unpacked image of ``profile``, or None for the host's programs. Raises ``InfrastructureError``."""
    try:
        if profile.build:
            return _built_image(profile.build)
        if profile.image:
            # A digest identifies an image. Only a base image, which each host may create, needs its tree.
            return replace(unpacked_image(profile.image), tree="")
        return None if profile.host_programs else obtain_base(name_of_base(profile), optional_client())
    except ApiError as error:
        name = build_tag(profile.build) if profile.build else profile.image
        raise InfrastructureError(f"Docker could not export the image {name}: {error}") from error


def unpacked_image(name: str) -> Unpacked:
    """Return the unpacked image of this name. Raises ``InfrastructureError`` and ``ApiError``."""
    if base := find_base(name):
        return base
    known = _known(name)
    if known is not None and known.get("source") == IMPORTED:
        return _load(name, str(known["digest"]))
    client = optional_client()
    found = find_image(client, name) if client is not None else None
    if client is not None and found is not None:
        if known is None or known.get("digest") != found.id:
            _from_docker(client, name, found.id)
        return replace(_load(name, found.id), names=found.names)
    if known is not None:
        return _load(name, str(known["digest"]))
    raise InfrastructureError(str(missing_reason(Profile(image=name))))


def build_root_spec(profile: Profile, start: Callable[[RootSpec, Sequence[str]], EngineSandbox]) -> RootSpec:
    """Return the root for ``profile``. ``start`` starts a sandbox to inspect it. Raises ``InfrastructureError``."""

    def root_of(image: Unpacked) -> RootFilesystem:
        bare = RootSpec(image=image, command=IMAGE_COMMAND)
        return RootFilesystem(image.digest, lambda arguments: start(bare, arguments))

    def base() -> RootFilesystem:
        if profile.host_programs:
            return RootFilesystem(_host_key(), lambda arguments: start(HOST, arguments))
        return root_of(obtain_base(name_of_base(profile), optional_client()))

    image = resolve_image(profile)
    root = root_of(image) if image else base()
    environment = prepare_guest_environment(root, base, profile.requirements)
    binds = environment.binds
    packages = partial(packages_of, binds)
    return RootSpec(image=image, command=environment.command if image else (), binds=binds, packages=packages)


def _built_image(build: Build) -> Unpacked:
    tag = build_tag(build)
    if (known := _known(tag)) is not None:
        return _load(tag, str(known["digest"]))
    client = optional_client()
    if client is None:
        raise InfrastructureError(
            f"building the image of {build.folder}/Dockerfile needs Docker, which does not respond here; "
            f"start Docker, or build the image on another host and run toolc image import FILE {tag}"
        )
    return unpacked_image(built_image(client, build))


def _known(name: str) -> JsonObject | None:
    """Return the stored note about an image name, or None if it or its image does not exist."""
    note = store.read_note(NAMES, name)
    return note if note is not None and store.find(KIND, str(note.get("digest"))) else None


def _from_docker(client: Client, name: str, digest: str) -> None:
    def fill_from(folder: Path) -> None:
        archive = folder.parent / "image.tar"
        with archive.open("wb") as file:
            save_archive(client, digest, file)
        with open_archive(archive) as opened:
            fill(folder, opened, opened.image())
        archive.unlink()

    store.make(KIND, digest, fill_from)
    store.write_note(NAMES, name, {"digest": digest, "source": DOCKER})


def _load(name: str, digest: str) -> Unpacked:
    folder = store.find(KIND, digest)
    if folder is None:
        raise InfrastructureError(f"the image {name} was removed; get it with: {build_command(name)}")
    return load_unpacked(name, digest, folder)


def _host_key() -> str:
    """Return a key for the host's Python. It changes with each update of that Python."""
    python = interpreter()
    if python is None:
        raise InfrastructureError(NO_HOST_PYTHON)
    found = Path(python.path).stat()
    words = f"{python.path} {found.st_size} {found.st_mtime_ns}"
    return "host-" + hashlib.sha256(words.encode()).hexdigest()[:32]
