"""Build, pull and list images with the docker SDK."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote

from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject, JsonValue, list_under, map_under
from toolc.sandbox.docker.api_client import ApiError, Client
from toolc.sandbox.docker.daemon import NAME_LABEL
from toolc.sandbox.host.kernel import retry_transient

if TYPE_CHECKING:
    from docker.api.client import APIClient

RECIPE_LABEL: Final = "toolc.image.recipe"
BASE_LABEL: Final = "toolc.image.base"

OnProgress: TypeAlias = Callable[[str], None]
"""A function that receives one line of progress, without a line feed."""

_LIST_SECONDS: Final = 30.0
"""How long the daemon may take to list images, in seconds. Its other requests have the same timeout."""

_PULL_SECONDS: Final = 15
"""How long a registry may be silent, in seconds.

A reachable registry answers within seconds, and a call waits for the base image.
"""

_NO_BRIDGE: Final = (
    'this Docker daemon has no bridge; give it one (remove --bridge=none or "bridge": "none" from its configuration), '
    "or put the files that the Dockerfile downloads into its folder"
)
"""Why the build of a spec's image has no network, and the remedy."""

_DEFAULT_NETWORKS: Final = frozenset({"bridge", "podman"})
"""The names of the default networks of Docker and Podman."""

_BUILD_SECONDS: Final = 600
"""How long a build step may be silent, in seconds. Installing packages can be silent for minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImage:
    """An image on this host, built by toolc. ``recipe`` is the digest of its folder, and ``base`` is its base image."""

    name: str
    tag: str
    id: str
    recipe: str
    base: str
    size_bytes: int


def list_built(client: Client) -> tuple[BuiltImage, ...]:
    """Return the images that toolc has built, sorted by tag. Raises ``ApiError``."""
    filters = quote(json.dumps({"label": [NAME_LABEL]}))
    listed = client.call("GET", f"/images/json?filters={filters}", timeout=_LIST_SECONDS)
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return tuple(sorted((built for entry in entries for built in _built(entry)), key=lambda built: built.tag))


def find_built(client: Client, tag: str) -> BuiltImage | None:
    """Return toolc's image with this tag, or None if there is none. Raises ``ApiError``."""
    return next((built for built in list_built(client) if built.tag == tag), None)


def remove_replaced(client: Client, old: BuiltImage) -> None:
    """Remove an image that lost its tag to a new one. An image that is in use or has other tags is kept."""
    with suppress(ApiError):
        client.call("DELETE", f"/images/{quote(old.id)}", timeout=_LIST_SECONDS)


def build_folder(
    client: Client, *, folder: Path, tag: str, base: str, labels: Mapping[str, str], on_progress: OnProgress
) -> None:
    """Build ``folder`` and tag the result. Raises ``ApiError``, and leaves no container of the build behind."""

    def once() -> None:
        with _sdk(client, _BUILD_SECONDS) as api:
            # The host's network also works if the daemon has no bridge.
            steps = api.build(
                path=str(folder), tag=tag, buildargs={"BASE": base}, labels=dict(labels), network_mode="host", rm=True,
                forcerm=True, decode=True,
            )  # fmt: skip
            _follow(steps, on_progress)

    # Each step that runs a command is a container. A repeated build reuses the layers already built.
    retry_transient(once, ApiError)


def build_files(
    client: Client, *, files: Mapping[str, bytes], tag: str, base: str, labels: Mapping[str, str],
    on_progress: OnProgress,
) -> None:  # fmt: skip
    """Build from these files, which include a Dockerfile, and tag the result. Raises ``ApiError``.

    The build steps use Docker's network for containers, or no network if there is none. They never use the host's
    network, because commands in a Dockerfile must not reach services that listen only on this host.
    """
    import tarfile  # lazy: +2 ms; only builds need it

    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            # A registry does not store modes: make scripts executable.
            entry.size, entry.mode = len(content), 0o755 if content.startswith(b"#!") else 0o644
            tar.addfile(entry, io.BytesIO(content))
    # A Dockerfile that names its own base keeps it.
    needs_base = re.search(rb"(?im)^\s*ARG\s+BASE\s*$", files.get("Dockerfile", b""))

    def once(network: str) -> None:
        context.seek(0)
        with _sdk(client, _BUILD_SECONDS) as api:
            steps = api.build(
                fileobj=context, custom_context=True, tag=tag, buildargs={"BASE": base} if needs_base else {},
                labels=dict(labels), network_mode=network, rm=True, forcerm=True, decode=True,
            )  # fmt: skip
            _follow(steps, on_progress)

    if _has_bridge(client):
        retry_transient(lambda: once("default"), ApiError)
        return
    # Warn even if the build succeeds, because an image may be incomplete if a download is optional.
    logging.getLogger("toolc").warning(f"the image {tag} is built without a network: {_NO_BRIDGE}")
    try:
        retry_transient(lambda: once("none"), ApiError)
    except ApiError as error:
        raise ApiError(f"{error} (the build has no network: {_NO_BRIDGE})", error.status) from error


def _has_bridge(client: Client) -> bool:
    """Return whether the daemon has its default network. Without it, build steps silently have no network."""
    networks = client.call("GET", "/networks", timeout=_LIST_SECONDS)
    names = [each.get("Name") for each in networks if isinstance(each, dict)] if isinstance(networks, list) else []
    return not _DEFAULT_NETWORKS.isdisjoint(names)


def save_archive(client: Client, image: str, file: IO[bytes]) -> None:
    """Write an image to a file, like ``docker save``. Raises ``ApiError``."""
    with _sdk(client, _BUILD_SECONDS) as api:
        for piece in api.get_image(image):
            file.write(piece)


def load_archive(client: Client, archive: Path) -> None:
    """Load the images of an archive, like ``docker load``. Raises ``ApiError``."""
    with archive.open("rb") as file, _sdk(client, _BUILD_SECONDS) as api:
        _follow(api.load_image(file), lambda _: None)  # type: ignore[no-untyped-call]


def tag_image(client: Client, image: str, tag: str) -> None:
    """Let ``tag`` refer to an image of this daemon. Raises ``ApiError``."""
    repository, _, version = tag.rpartition(":") if ":" in tag.rpartition("/")[2] else (tag, "", "latest")
    query = f"repo={quote(repository)}&tag={quote(version)}"
    client.call("POST", f"/images/{quote(image)}/tag?{query}", timeout=_LIST_SECONDS)


def pull(client: Client, image: str, on_progress: OnProgress) -> None:
    """Pull an image, like ``docker pull``. Raises ``ApiError``."""
    with _sdk(client, _PULL_SECONDS) as api:
        _follow(api.pull(image, stream=True, decode=True), on_progress)


def has_image(client: Client, image: str) -> bool:
    """Return whether this daemon has the image. Raises ``ApiError``."""
    try:
        client.call("GET", f"/images/{quote(image)}/json", timeout=_LIST_SECONDS)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True


def onbuild_instructions(client: Client, image: str) -> tuple[str, ...]:
    """Return the ``ONBUILD`` instructions of an image, which run in builds that start from it. Raises ``ApiError``.

    A missing image is pulled first. If that fails, return none, because no build can run them.
    """
    if not has_image(client, image):
        try:
            pull(client, image, lambda _: None)
        except ApiError:
            return ()
    described = client.call("GET", f"/images/{quote(image)}/json", timeout=_LIST_SECONDS)
    config = map_under(described, "Config") if isinstance(described, dict) else {}
    return tuple(map(str, list_under(config, "OnBuild")))


@contextmanager
def _sdk(client: Client, seconds: int) -> Iterator[APIClient]:
    """Yield the docker SDK for the same socket, and turn its errors into ``ApiError``."""
    import docker  # lazy: +83 ms; only builds need it
    import urllib3  # lazy: +0 ms; docker imports it

    try:
        with closing(docker.APIClient(base_url=f"unix://{client.socket_path}", version="auto", timeout=seconds)) as api:
            yield api
    except docker.errors.APIError as error:
        if error.response is not None:
            # The response of a failed pull or build is a stream that is not read to its end.
            error.response.close()
        raise ApiError(str(error.explanation or error), error.status_code or 0) from error
    # The SDK does not convert errors of its transport: OSError from requests, and urllib3's from streams.
    except (docker.errors.DockerException, OSError, urllib3.exceptions.HTTPError) as error:
        raise ApiError(str(error)) from error


def _follow(steps: Iterable[JsonValue], on_progress: OnProgress) -> None:
    """Report the progress of a build or a pull. If it failed, raise ``ApiError`` with its error message."""
    failure = ""
    # Read to the end, because only then does the SDK release its connection.
    for step in steps:
        if not isinstance(step, dict):
            continue
        failure = failure or str(step.get("error") or "").strip()
        # The progress of a layer is reported many times per second, and is meant for a terminal.
        words = "" if "progress" in step else str(step.get("stream") or step.get("status") or "")
        for line in words.splitlines():
            if line.strip():
                on_progress(line.rstrip())
    if failure:
        raise ApiError(failure)


def _built(entry: JsonObject) -> Iterator[BuiltImage]:
    labels, tags, size = entry.get("Labels"), entry.get("RepoTags"), entry.get("Size")
    if not isinstance(labels, dict) or not isinstance(tags, list):
        return
    # Images built from one of these inherit its labels.
    for tag in (tag for tag in tags if str(tag).startswith(f"toolc/{labels.get(NAME_LABEL)}:")):
        yield BuiltImage(
            name=str(labels.get(NAME_LABEL)), tag=str(tag), id=str(entry.get("Id")),
            recipe=str(labels.get(RECIPE_LABEL)), base=str(labels.get(BASE_LABEL)),
            size_bytes=size if isinstance(size, int) else 0,
        )  # fmt: skip
