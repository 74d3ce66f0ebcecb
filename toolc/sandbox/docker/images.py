"""Find the image of a profile on a daemon, and prepare the Python and the packages that its sandboxes need."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.base import EngineSandbox, ImageUsed
from toolc.sandbox.docker import container
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.container_config import LocalImage
from toolc.sandbox.docker.image_builder import base_tag, build_command, build_tag, ensure_built

if TYPE_CHECKING:
    from toolc.sandbox.python.packages import RootFilesystem


@dataclass(frozen=True, slots=True)
class ResolvedImage:
    """An image for sandboxes, and the name by which it was requested."""

    name: str
    image: LocalImage

    @property
    def used(self) -> ImageUsed:
        """The image as shown in ``details``."""
        return ImageUsed(self.name, self.image.id, self.image.names)


StartIn: TypeAlias = Callable[[ResolvedImage, Sequence[str]], EngineSandbox]
"""Starts a small sandbox from an image, in which ``python3 ARGUMENTS...`` is process 1."""

_Key: TypeAlias = tuple[str, tuple[str, ...]]


class Images:
    """The images of one engine's calls. A name refers to the same image until ``forget``."""

    def __init__(self) -> None:
        self._found: dict[str, LocalImage] = {}
        self._ready: Final[dict[_Key, ResolvedImage]] = {}
        self._making = threading.Lock()

    def missing(self, profile: Profile, client: Client) -> str | None:
        """Return why the image of ``profile`` is not available, with the remedy; None if it is. Raises
        ``ApiError``."""
        # An image that the first call builds is not missing before it.
        if profile.build is None:
            try:
                self._bare(name_of(profile), client)
            except InfrastructureError as error:
                return str(error)
        return None

    def ready(self, profile: Profile, client: Client, start: StartIn) -> ResolvedImage:
        """Return the image of ``profile`` with everything it needs, created if necessary.

        Raises ``InfrastructureError`` and ``ApiError``.
        """
        name = name_of(profile)
        key = (name, profile.requirements)
        if known := self._ready.get(key):
            return known
        # Concurrent first calls inspect an image only once.
        with self._making:
            if known := self._ready.get(key):
                return known
            if profile.build:
                ensure_built(client, profile.build)
            made = self._bare(name, client)
            if profile.requirements or not made.image.ours:
                made = self._equipped(made, profile.requirements, client, start)
            self._ready[key] = made
            return made

    def forget(self, profile: Profile) -> None:
        """Ask the daemon again about the image of ``profile`` next time."""
        name = name_of(profile)
        self._found.pop(name, None)
        self._found.pop(base_tag(), None)
        for key in [key for key in self._ready if key[0] == name]:
            self._ready.pop(key, None)

    def _equipped(
        self, bare: ResolvedImage, requirements: tuple[str, ...], client: Client, start: StartIn
    ) -> ResolvedImage:
        from toolc.sandbox.python.packages import prepare_guest_environment  # most calls do not need it

        def base() -> RootFilesystem:
            return _root(self._bare(base_tag(), client), start)

        equipment = prepare_guest_environment(_root(bare, start), base, requirements)
        return ResolvedImage(bare.name, replace(bare.image, command=equipment.command, binds=equipment.binds))

    def _bare(self, name: str, client: Client) -> ResolvedImage:
        image = self._found.get(name) or container.find_image(client, name)
        if image is None:
            raise InfrastructureError(missing_image(name))
        self._found[name] = image
        return ResolvedImage(name, image)


def name_of(profile: Profile) -> str:
    """Return the name of the image that ``profile`` refers to."""
    if profile.build:
        return build_tag(profile.build)
    return profile.image or base_tag()


def missing_image(name: str) -> str:
    """Return the message for a missing image, with the command that builds or pulls it."""
    if name == base_tag():
        return f"toolc's base image {name} is not built; build it with: {build_command(name)}"
    return f"the image {name} is not on this host; get it with: {build_command(name)}"


def _root(bare: ResolvedImage, start: StartIn) -> RootFilesystem:
    from toolc.sandbox.python.packages import RootFilesystem

    return RootFilesystem(bare.image.id, lambda arguments: start(bare, arguments))
