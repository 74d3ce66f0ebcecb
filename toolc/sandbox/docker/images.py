"""Find the image of a profile on a daemon, and prepare the Python and the packages that its sandboxes need."""

import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, replace
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.base_image import built_image, load_base
from toolc.sandbox.docker.container import find_image
from toolc.sandbox.docker.container_config import LocalImage
from toolc.sandbox.docker.image_builder import build_command, build_tag
from toolc.sandbox.images.stored import name_of_base
from toolc.sandbox.interface import EngineSandbox, ImageUsed

_Key: TypeAlias = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ResolvedImage:
    """An image for sandboxes, with its requested name, and its tree if it is a base image."""

    name: str
    local: LocalImage
    tree: str = ""

    @property
    def used(self) -> ImageUsed:
        """The image as shown in ``details``."""
        return ImageUsed(self.name, self.local.id, self.local.names, self.tree)


StartSandbox: TypeAlias = Callable[[ResolvedImage, Sequence[str]], EngineSandbox]
"""Starts a small sandbox from an image, in which ``python3 ARGUMENTS...`` is process 1."""


class Images:
    """The images of one engine's calls. A name refers to the same image until ``forget`` is called."""

    def __init__(self) -> None:
        self._found: dict[str, LocalImage] = {}
        self._resolved: Final[dict[_Key, ResolvedImage]] = {}
        self._resolving = threading.Lock()

    def missing_reason(self, profile: Profile, client: Client) -> str | None:
        """Return why the image of ``profile`` is missing, with the remedy, or None if it is not. Raises ``ApiError``.

        Base images and images of ``build`` folders are never missing, because they are created when they are needed.
        """
        if profile.image and profile.build is None:
            try:
                self._find(profile.image, client)
            except InfrastructureError as error:
                return str(error)
        return None

    def resolve(self, profile: Profile, client: Client, start: StartSandbox) -> ResolvedImage:
        """Return the image of ``profile``, ready for sandboxes. Raises ``InfrastructureError`` and ``ApiError``."""
        name = name_of(profile)
        key = (name, profile.requirements)
        if known := self.resolved(profile):
            return known
        # Concurrent first calls inspect an image only once.
        with self._resolving:
            if known := self._resolved.get(key):
                return known
            if profile.build:
                built_image(client, profile.build)
            image = self._find(name, client) if profile.image or profile.build else _base(name, client)
            if profile.requirements or not image.local.ours:
                image = self._with_python(image, profile, client, start)
            self._resolved[key] = image
            return image

    def resolved(self, profile: Profile) -> ResolvedImage | None:
        """Return the image of ``profile`` if it was resolved before and not forgotten, or None."""
        return self._resolved.get((name_of(profile), profile.requirements))

    def forget(self, profile: Profile) -> None:
        """Ask the daemon again about the image of ``profile`` next time."""
        name = name_of(profile)
        self._found.pop(name, None)
        for key in [key for key in self._resolved if key[0] == name]:
            self._resolved.pop(key, None)

    def _with_python(
        self, image: ResolvedImage, profile: Profile, client: Client, start: StartSandbox
    ) -> ResolvedImage:
        from toolc.sandbox.python.packages import RootFilesystem, prepare_guest_environment  # lazy: +4 ms

        def root(image: ResolvedImage) -> RootFilesystem:
            return RootFilesystem(image.local.id, lambda arguments: start(image, arguments))

        environment = prepare_guest_environment(
            root(image), lambda: root(_base(name_of_base(profile), client)), profile.requirements
        )
        local = replace(image.local, command=environment.command, binds=environment.binds)
        return replace(image, local=local)

    def _find(self, name: str, client: Client) -> ResolvedImage:
        image = self._found.get(name) or find_image(client, name)
        if image is None:
            raise InfrastructureError(missing_image(name))
        self._found[name] = image
        return ResolvedImage(name, image)


def name_of(profile: Profile) -> str:
    """Return the name of the image that ``profile`` refers to."""
    if profile.build:
        return build_tag(profile.build)
    return profile.image or name_of_base(profile)


def missing_image(name: str) -> str:
    """Return the message for a missing image, with the command that builds or pulls it."""
    return f"the image {name} is not on this host; get it with: {build_command(name)}"


def _base(name: str, client: Client) -> ResolvedImage:
    local, base = load_base(client, name)
    return ResolvedImage(name, local, base.tree)
