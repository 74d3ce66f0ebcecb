"""Obtain the base image for tools without an image, once, on first use, for both engines.

These sources are tried in order: the store (``toolc.sandbox.images.stored``), which has the image if it was imported or
obtained before; then the image that the user's configuration names, pulled if needed. For toolc's own base image, they
are the image in the daemon if it is up to date, an image built from a public Debian if a registry responds, and a
minimal system created by mmdebstrap. A daemon loads the image from the store, so that both engines use the same one.

A lock makes other processes wait. If a process dies, its unfinished work is removed.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolc.model.errors import InfrastructureError, NoEngineError
from toolc.model.json_schema import JsonObject
from toolc.model.spec.sandbox import Build
from toolc.sandbox.docker.api_client import ApiError, Client, NoDaemonError, find_socket
from toolc.sandbox.docker.container import find_image
from toolc.sandbox.docker.container_config import LocalImage
from toolc.sandbox.docker.daemon import NAME_LABEL, connect
from toolc.sandbox.docker.image_builder import (
    BASE,
    PUBLIC_BASE,
    build_image,
    build_tag,
    dockerfile_of,
    ensure_built,
    recipe,
)
from toolc.sandbox.docker.sdk import (
    BASE_LABEL,
    RECIPE_LABEL,
    OnProgress,
    find_built,
    has_image,
    load_archive,
    pull,
    save_archive,
    tag_image,
)
from toolc.sandbox.host import store
from toolc.sandbox.images.metadata import Unpacked, base_images
from toolc.sandbox.images.stored import archive_of, base_note, base_tag, find_base

_LOG: Final = logging.getLogger("toolc.images")


def optional_client() -> Client | None:
    """Return a client of the daemon, or None if none responds."""
    try:
        return connect(find_socket(os.environ)).client
    except NoDaemonError:
        return None


def pull_missing(name: str, client: Client | None) -> None:
    """Pull an image that the daemon lacks. Raises ``InfrastructureError``."""
    try:
        if client and not has_image(client, name):
            _LOG.info(f"pulling {name}")
            pull(client, name, _LOG.info)
    except ApiError as error:
        raise InfrastructureError(f"Docker cannot pull {name}: {error}") from error


def obtain_base(name: str, client: Client | None) -> Unpacked:
    """Return the base image of this name, after creating it if it does not exist. Raises ``InfrastructureError``."""
    if found := find_base(name):
        return found

    def note_wait(holder: str) -> None:
        _LOG.warning(f"waiting for the process {holder}, which is getting the base image {name}")

    with store.locked("base", name, note_wait):
        if found := find_base(name):
            return found
        _LOG.warning(f"the base image {name} is not on this host; getting it now, which happens only once")
        if name != base_tag():
            return _configured(name, client)
        return _own(client, _LOG.info)


def load_base(client: Client, name: str) -> tuple[LocalImage, Unpacked]:
    """Return the base image of this name in the daemon, loaded if needed, and in the store.

    Raises ``InfrastructureError`` and ``ApiError``.
    """
    base = obtain_base(name, client)
    if found := _in_daemon(client, base):
        return found, base
    with store.locked("load", name):
        if found := _in_daemon(client, base):
            return found, base
        _LOG.info(f"loading the base image {name} into Docker")
        load_archive(client, archive_of(base))
        found = find_image(client, base.digest) or find_image(client, name)
        if found is None:
            raise InfrastructureError(f"Docker loaded the base image {name}, but then it was removed; try again")
        if found.id != base.digest:
            # The containerd image store identifies the image by another digest.
            store.write_note("loaded", base.digest, {"id": found.id})
    return found, base


def tag_base(client: Client, name: str) -> None:
    """Let ``name`` refer to the base image in the daemon, for Dockerfiles. Raises as ``load_base`` does."""
    found, _ = load_base(client, name)
    tagged = find_image(client, name)
    if tagged is None or tagged.id != found.id:
        tag_image(client, found.id, name)


def built_image(client: Client, build: Build) -> str:
    """Return the tag of the image for the folder of a spec, after providing the base image of its Dockerfile.

    Raises ``InfrastructureError`` and ``ApiError``.
    """
    tag = build_tag(build)
    if base_tag() in base_images(dockerfile_of(build), base_tag()) and not has_image(client, tag):
        tag_base(client, base_tag())
    ensure_built(client, build)
    return tag


def build_base(source: str | None, on_progress: OnProgress) -> str:
    """Build or update toolc's own base image for both engines, and return its tag.

    ``source`` is the image to start from. By default it is chosen as described above. Raises ``InfrastructureError``,
    or ``NoEngineError`` if there is a ``source`` but no daemon.
    """
    tag, client = base_tag(), optional_client()
    with store.locked("base", tag):
        note = base_note(tag)
        is_current = note.get("recipe") in {None, recipe(BASE).digest} and source in {None, note.get("origin")}
        if find_base(tag) and is_current:
            on_progress(f"{tag} is up to date (from {note.get('origin')})")
        elif source is None:
            _own(client, on_progress)
        elif client is None:
            raise NoEngineError("--from needs Docker, which does not respond here")
        else:
            _from_dockerfile(client, source, on_progress)
    if client is not None:
        with _api_errors(tag):
            tag_base(client, tag)
    return tag


def import_base_from(archive: Path, name: str) -> Unpacked:
    """Let the base image ``name`` refer to the image in an archive from now on. Raises ``InfrastructureError``."""
    with store.locked("base", name):
        return _import(name, archive, {"origin": f"the archive {archive.name}"})


def _configured(name: str, client: Client | None) -> Unpacked:
    """Return the image that the user's configuration names."""
    if client is None:
        raise InfrastructureError(
            f"the base image {name}, which base_image in your configuration names, is not on this host; import it with "
            f"toolc image import FILE {name}, or start Docker, so that it is pulled"
        )
    pull_missing(name, client)
    with _api_errors(name):
        return _from_daemon(client, name, {"origin": name})


def _own(client: Client | None, on_progress: OnProgress) -> Unpacked:
    """Return toolc's own base image, from the daemon or newly created."""
    tag, digest, reason = base_tag(), recipe(BASE).digest, "Docker does not respond here"
    if client is not None:
        with _api_errors(tag):
            existing = find_built(client, tag)
            if existing and existing.recipe == digest:
                return _from_daemon(client, tag, {"origin": existing.base, "recipe": digest})
            try:
                if not has_image(client, PUBLIC_BASE):
                    on_progress(f"pulling {PUBLIC_BASE}")
                    pull(client, PUBLIC_BASE, on_progress)
            except ApiError as error:
                reason = f"Docker cannot pull {PUBLIC_BASE}: {error}"
                on_progress(reason)
            else:
                return _from_dockerfile(client, PUBLIC_BASE, on_progress)
    from toolc.sandbox.images import debian  # lazy: +6 ms; only the first run on a host needs it

    if obstacle := debian.obstacle():
        raise InfrastructureError(_no_base(f"{reason}, and {obstacle}"))
    origin = f"mmdebstrap {debian.codename()}"
    labels: JsonObject = {NAME_LABEL: BASE, RECIPE_LABEL: digest, BASE_LABEL: origin}
    try:
        with debian.archive(tag, labels, on_progress) as archive:
            return _import(tag, archive, {"origin": origin, "recipe": digest})
    except InfrastructureError as error:
        raise InfrastructureError(_no_base(str(error))) from error


def _no_base(reason: str) -> str:
    return (
        f"the base image, in which tools without an image run, cannot be created: {reason}. To get it from another "
        "machine, run toolc image export base --output base.tar there, and toolc image import base.tar here"
    )


def _from_dockerfile(client: Client, source: str, on_progress: OnProgress) -> Unpacked:
    built = build_image(BASE, base=source, on_progress=on_progress)
    with _api_errors(built.tag):
        return _from_daemon(client, built.tag, {"origin": source, "recipe": built.recipe})


def _from_daemon(client: Client, name: str, origin: JsonObject) -> Unpacked:
    """Copy an image of the daemon to the store."""
    found = find_image(client, name)
    if found is None:
        raise InfrastructureError(f"the image {name} was removed while it was being copied; try again")
    with store.scratch() as work:
        archive = work / "saved.tar"
        with archive.open("wb") as file:
            save_archive(client, found.id, file)
        image = _import(name, archive, origin)
    if found.id != image.digest:
        store.write_note("loaded", image.digest, {"id": found.id})
    return image


def _in_daemon(client: Client, base: Unpacked) -> LocalImage | None:
    if found := find_image(client, base.digest):
        return found
    known = store.read_note("loaded", base.digest)
    return find_image(client, str(known["id"])) if known else None


@contextmanager
def _api_errors(name: str) -> Iterator[None]:
    """Turn errors of the daemon into ``InfrastructureError``."""
    try:
        yield
    except ApiError as error:
        raise InfrastructureError(f"Docker cannot provide the base image {name}: {error}") from error


def _import(name: str, archive: Path, origin: JsonObject) -> Unpacked:
    from toolc.sandbox.images.unpacked import import_base  # lazy: +6 ms; as debian

    return import_base(name, archive, origin)
